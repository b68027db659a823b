import { toPointer } from '../http/json-pointer.ts'
import { isObject } from '../http/json-value.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { maxFailures } from '../schema/failures.ts'
import type { Failure } from '../schema/failures.ts'
import type { Validator } from '../schema/validation.ts'
import type { Id } from '../storage/contract.ts'

/** 422 with the failures. */
export function validationProblem (failures: readonly Failure[]): Problem {
  const errors = failures.slice(0, maxFailures)
  const count = errors.length
  return problem('validation-failed', {
    detail: count === 1 ? 'One property is invalid.' : `${count} properties are invalid.`,
    members: { errors }
  })
}

/** Returns the item, or a problem if it is invalid. */
export function validateItem (validate: Validator, item: unknown): object | Problem {
  const failures = validate(item)
  // The schema of an item only accepts objects.
  return failures === undefined ? item as object : validationProblem(failures)
}

/**
 * An id in the content is read-only and ignored, but one that differs from the URI is a mistake. The result of a PATCH
 * is the complete item, so there the property must be present.
 */
export function checkUriValues (
  content: unknown,
  uriValues: Readonly<Record<string, Id>>,
  extent: 'partial' | 'complete' = 'partial'
): Problem | undefined {
  if (!isObject(content)) return undefined
  for (const property in uriValues) {
    const isStated = extent === 'complete' || Object.hasOwn(content, property)
    if (isStated && content[property] !== uriValues[property]) {
      return validationProblem([{
        pointer: toPointer([property]),
        message: `differs from the URI, which has ${JSON.stringify(uriValues[property])}`
      }])
    }
  }
  return undefined
}

/** Adds these values for the properties that the content leaves out. */
export function withDefaults (content: unknown, values: Readonly<Record<string, unknown>>): unknown {
  return isObject(content) ? { ...values, ...content } : content
}
