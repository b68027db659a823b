import { parsePointer } from '../../http/json-pointer.ts'
import { isObject } from '../../http/json-value.ts'
import { titleOf } from '../../http/problems.ts'
import type { Problem } from '../../http/problems.ts'

// A problem, as admin interfaces show it.

/** More do not fit where a message is shown. */
const mostTold = 3

/** In one text, for clients that show no more than that. */
export function message (problem: Problem): string {
  const text = problem.detail ?? titleOf(problem)
  if (problem.name !== 'validation-failed') return text
  const told = Object.entries(errorsByField(problem) ?? {}).slice(0, mostTold).map(([field, failure]) => `${field === form ? 'The item' : field} ${failure}`)
  return told.length === 0 ? text : `${text} ${told.join(', ')}.`
}

/** Where a form has errors that are of no field. */
const form = 'root.serverError'

/** The failures by the names of fields, with dots; undefined where the problem tells none. */
export function errorsByField ({ members: properties }: Problem): Record<string, string> | undefined {
  const errors = properties?.errors
  if (!Array.isArray(errors)) return undefined
  const fields = errors.map((failure: unknown) => {
    const { pointer, message } = isObject(failure) ? failure : {}
    const path = typeof pointer === 'string' ? parsePointer(pointer)?.join('.') : undefined
    return [path === undefined || path === '' ? form : path, String(message)]
  })
  return Object.fromEntries(fields)
}
