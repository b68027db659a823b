import { parsePointer } from '../../http/json-pointer.ts'
import { isObject } from '../../http/json-value.ts'
import { getDetail } from '../../http/problems.ts'
import type { Problem } from '../../http/problems.ts'

// Problems in the form that admin clients show.

/** A message has no room for more. */
const maxErrors = 3

/** Returns the problem as one text, for clients that show nothing else. */
export function buildMessage (problem: Problem): string {
  const text = getDetail(problem)
  if (problem.name !== 'validation-failed') return text
  const errors = Object.entries(groupErrorsByField(problem) ?? {}).slice(0, maxErrors)
  if (errors.length === 0) return text
  const messages = errors.map(([field, message]) => `${field === formField ? 'The item' : field} ${message}`)
  return `${text} ${messages.join(', ')}.`
}

/** The field of react-admin for errors of the whole form. */
const formField = 'root.serverError'

/** Returns the validation errors by field name, with dots for nested fields; undefined if the problem has none. */
function groupErrorsByField ({ properties }: Problem): Record<string, string> | undefined {
  const errors = properties?.errors
  if (!Array.isArray(errors)) return undefined
  const fields = errors.map((error: unknown) => {
    const { pointer, message } = isObject(error) ? error : {}
    const path = typeof pointer === 'string' ? parsePointer(pointer)?.join('.') : undefined
    return [path === undefined || path === '' ? formField : path, String(message)]
  })
  return Object.fromEntries(fields)
}

/** Returns the properties that react-admin reads. It needs `errors` as an object: with an array it shows no message. */
export function buildProblemProperties (problem: Problem): Record<string, unknown> {
  const errors = groupErrorsByField(problem)
  return { message: buildMessage(problem), ...errors && { errors } }
}
