import { toPointer } from '../http/json-pointer.ts'
import { isObject } from '../http/json-value.ts'
import type { JsonObject } from '../http/json-value.ts'
import { getProperty } from './annotations.ts'
import { maxFailures, maxPointerLength } from './failures.ts'
import type { Failure } from './failures.ts'
import type { Properties } from './properties.ts'
import type { StandardIssue, StandardResult } from './standard-schema.ts'

// Ajv checks the structure of a value. What JSON Schema cannot express, such as that one date is before another, the
// library of the schema checks afterwards.

/** What the library of a schema checks beyond JSON Schema. */
export interface Refinement {
  readonly vendor: string
  readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>
  /** Whether it can call functions of the app that wait for others. */
  readonly callsApp: boolean
}

/** What is refined, beside the value. */
export interface RefinedValue {
  /** For errors. */
  readonly source: string
  /** What the caller can read and write. */
  readonly properties: Properties
  /** The properties that the caller does not see. */
  readonly hidden: ReadonlySet<string> | undefined
  /** Whether the server sets readOnly properties later. */
  readonly isDraft: boolean
  /** Checks the structure of a changed value. */
  readonly findFailures: (value: unknown) => readonly Failure[] | undefined
}

/** The value to write, or what is wrong with it. */
export type Refined =
  | { readonly value: object, readonly failures?: undefined }
  | { readonly value?: undefined, readonly failures: readonly Failure[] }

/**
 * Checks a value whose structure is valid. The library can change values, such as `trim` of zod. A changed value must
 * be valid, and must not change again: otherwise every write of the item would change it.
 *
 * Most schemas have no asynchronous refinement. Then the result is no promise, which saves every write two awaits.
 */
export function refineValue (
  refinement: Refinement,
  value: object,
  context: RefinedValue
): Refined | Promise<Refined> {
  return continueWith(refinement.validate(value), (result) => {
    if (result.issues !== undefined) {
      const failures = toFailures(refinement, result.issues, value, context)
      return failures.length > 0 ? { failures } : { value }
    }
    const changed = applyChanges(value, result.value) as object
    return changed === value ? { value } : checkChanged(refinement, changed, context)
  })
}

/** Calls the function with the result, now or when the promise is fulfilled. */
export function continueWith<Value, Next> (
  result: Value | Promise<Value>,
  next: (value: Value) => Next | Promise<Next>
): Next | Promise<Next> {
  return result instanceof Promise ? result.then(next) : next(result)
}

function checkChanged (refinement: Refinement, changed: object, context: RefinedValue): Refined | Promise<Refined> {
  const failures = context.findFailures(changed)
  if (failures !== undefined) return { failures }
  return continueWith(refinement.validate(changed), ({ issues, value }) => {
    if (issues === undefined && applyChanges(changed, value) === changed) return { value: changed }
    throw new TypeError(`${context.source}: the schema changes a value, and refuses or changes the result again, ` +
      'so the item would change with every write. Make the transformation idempotent, or move it to a hook.')
  })
}

/**
 * Returns the value with what the library has changed; the same value if that is nothing. No property is added or
 * removed: Ajv has decided which are valid, and defaults are filled in before.
 */
function applyChanges (value: unknown, result: unknown): unknown {
  if (Object.is(value, result)) return value
  if (Array.isArray(value) && Array.isArray(result)) {
    if (value.length !== result.length) return result
    const changed = value.map((element, index) => applyChanges(element, result[index]))
    return changed.some((element, index) => element !== value[index]) ? changed : value
  }
  if (!isPlainObject(value) || !isPlainObject(result)) return result
  let changed = value
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(result, name)) continue
    const property = applyChanges(value[name], result[name])
    if (property !== value[name]) changed = { ...changed, [name]: property }
  }
  return changed
}

function isPlainObject (value: unknown): value is JsonObject {
  return isObject(value) && !(value instanceof Date)
}

/** In characters. A library may quote the value. */
const maxMessageLength = 500

/** One failure for each property. */
function toFailures (
  { vendor }: Refinement,
  issues: readonly StandardIssue[],
  value: object,
  context: RefinedValue
): readonly Failure[] {
  const failures = new Map<string, Failure>()
  let length = 0
  for (const issue of issues) {
    const path = Array.from(issue.path ?? [], (segment) => String(typeof segment === 'object' ? segment.key : segment))
    if (context.isDraft && isStillMissing(value, path, context.properties)) continue
    const failure = describeIssue(getMessage(vendor, issue), path, context)
    length += failure.pointer.length
    if (failures.size > 0 && length > maxFailures * maxPointerLength) break
    if (!failures.has(failure.pointer)) failures.set(failure.pointer, failure)
    if (failures.size === maxFailures) break
  }
  return [...failures.values()]
}

/** The message of arktype quotes the value, which may contain what the caller does not see. */
function getMessage (vendor: string, issue: StandardIssue & { readonly expected?: unknown }): string {
  const { message, expected } = issue
  const text = vendor === 'arktype' && typeof expected === 'string' ? `must be ${expected}` : message
  return text.length > maxMessageLength ? `${text.slice(0, maxMessageLength)}...` : text
}

/** A caller gets no message about a value that it does not see: the message may contain it. */
function describeIssue (message: string, path: readonly string[], { properties, hidden }: RefinedValue): Failure {
  if (path[0] !== undefined && hidden?.has(path[0]) === true) return { pointer: '', message: 'is invalid' }
  const isSecret = findOnPath(path, properties, ({ writeOnly }) => writeOnly)
  return { pointer: toPointer(path), message: isSecret ? 'is invalid' : message }
}

function isStillMissing (value: object, path: readonly string[], properties: Properties): boolean {
  const found = path.reduce<unknown>((part, name) => {
    return typeof part === 'object' && part !== null && Object.hasOwn(part, name) ? Reflect.get(part, name) : undefined
  }, value)
  return found === undefined && findOnPath(path, properties, ({ readOnly }) => readOnly)
}

/** Whether a property on the path has something. */
function findOnPath (
  path: readonly string[],
  properties: Properties,
  test: (property: Properties) => boolean
): boolean {
  let place: Properties | undefined = properties
  for (const name of path) {
    place = getProperty(place, name) ?? place.items
    if (place === undefined) return false
    if (test(place)) return true
  }
  return false
}
