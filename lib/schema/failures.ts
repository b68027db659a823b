import type { ErrorObject } from 'ajv/dist/2019.js'
import { escapePointer, toPointer } from '../http/json-pointer.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'

/** An invalid property, by its JSON Pointer (RFC 6901). */
export interface Failure {
  readonly pointer: string
  readonly message: string
}

/** An error of Ajv, or the one that stands for all errors of a union. Then `text` is its message. */
export interface ValidationError extends ErrorObject {
  readonly text?: string
}

interface FailureWithError extends Failure {
  readonly error: ValidationError
}

/** More would not help a reader, and would let a small request cause a response of megabytes. */
export const maxFailures = 100

/** In characters. Clients choose the names in a map, and each failure below one repeats it. */
export const maxPointerLength = 2000

/** Whether the pointer to a part of the value is too long to be repeated in many failures. */
export function hasLongPointers (value: unknown, maximum = maxPointerLength): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some((item) => hasLongPointers(item, maximum))
  return Object.keys(value).some((name) => {
    return name.length > maximum || hasLongPointers(Reflect.get(value, name), maximum - name.length)
  })
}

/** Lists properties by their paths, as many as a problem can have. */
export function listFailures (paths: Iterable<ReadonlyArray<string | number>>, message: string): Failure[] {
  const failures: Failure[] = []
  let length = 0
  for (const path of paths) {
    const pointer = toPointer(path)
    length += pointer.length
    // The first one is always listed, however long it is.
    if (failures.length > 0 && length > maxFailures * maxPointerLength) break
    failures.push({ pointer, message })
    if (failures.length === maxFailures) break
  }
  return failures
}

/**
 * Replaces the errors of a union, which begin at `start` and end with its own, by those that a client needs.
 * A union of many branches would otherwise have hundreds of errors for each value.
 */
export function replaceUnionErrors (errors: ValidationError[], start: number, maximum: number): void {
  const union = errors.pop()!
  const selected = selectFailures(union, errors.splice(start).map(toFailure))
  for (const { error, message } of selected.slice(0, maximum)) {
    errors.push(message === getMessage(error) ? error : { ...error, text: message })
  }
}

/**
 * Removes the errors in a union, which begin at `start`, if there are more than a problem lists: that of the union says
 * enough. Returns how many errors are left.
 */
export function shortenErrors (errors: ValidationError[] | null, start: number): number {
  if (errors === null) return 0
  if (errors.length > start + maxFailures) errors.length = start
  return errors.length
}

/** Turns the errors of Ajv into one failure for each property. */
export function toFailures (errors: readonly ValidationError[]): Failure[] {
  const found: FailureWithError[] = []
  for (const error of errors) {
    if (error.text !== undefined || (error.keyword !== 'anyOf' && error.keyword !== 'oneOf')) {
      found.push(toFailure(error))
      continue
    }
    // Ajv lists the errors of all branches right before the error of the union.
    let start = found.length
    while (start > 0 && isWithinUnion(found[start - 1]!.error, error)) start--
    // Not spread into one push: a call can have fewer arguments than a request can have errors.
    for (const failure of selectFailures(error, found.splice(start))) found.push(failure)
  }
  const first = new Map<string, Failure>()
  for (const { pointer, message } of found) {
    if (first.has(pointer)) continue
    first.set(pointer, { pointer, message })
    if (first.size === maxFailures) break
  }
  return [...first.values()]
}

function toFailure (error: ValidationError): FailureWithError {
  return { error, pointer: getPointer(error), message: getMessage(error) }
}

function getPointer ({ instancePath, params }: ErrorObject): string {
  const { missingProperty, additionalProperty, unevaluatedProperty } = params
  const name: string | undefined = missingProperty ?? additionalProperty ?? unevaluatedProperty
  return name === undefined ? instancePath : `${instancePath}/${escapePointer(name)}`
}

/** Behind a `$ref` the schema path starts again, so only a sibling in the same `allOf` can be excluded by its path. */
function isWithinUnion ({ instancePath, schemaPath }: ErrorObject, union: ErrorObject): boolean {
  if (!`${instancePath}/`.startsWith(`${union.instancePath}/`)) return false
  const intersection = union.schemaPath.slice(0, union.schemaPath.lastIndexOf('/allOf/') + 1)
  return intersection === '' ||
    !schemaPath.startsWith(`${intersection}allOf/`) ||
    schemaPath.startsWith(`${union.schemaPath}/`)
}

/**
 * Selects the failures of the branch that the client most likely meant: one whose properties were checked.
 * A branch that failed as a whole was not meant.
 */
function selectFailures (union: ErrorObject, inner: readonly FailureWithError[]): readonly FailureWithError[] {
  const all = groupByBranch(union, inner)
  const branches = all.filter((branch) => branch.some(({ pointer }) => pointer !== union.instancePath))
  if (branches.length === 0) {
    return [{ error: union, pointer: union.instancePath, message: describeChoices(all) || getMessage(union) }]
  }
  const matching = branches.filter((branch) => !branch.some(isConstantFailure))
  // If every branch requires another constant, the client has to choose one first.
  if (matching.length === 0 && branches.length > 1) {
    return mergeConstantFailures(branches.flat().filter(isConstantFailure))
  }
  const candidates = matching.length === 0 ? branches : matching
  return candidates.reduce((best, branch) => branch.length < best.length ? branch : best)
}

function groupByBranch ({ schemaPath }: ErrorObject, inner: readonly FailureWithError[]): FailureWithError[][] {
  return groupFailures(inner, ({ error: { schemaPath: path } }) => {
    if (!path.startsWith(`${schemaPath}/`)) return 'behind a reference'
    return path.slice(schemaPath.length + 1).split('/', 1)[0]!
  })
}

function groupFailures (
  failures: readonly FailureWithError[],
  getKey: (failure: FailureWithError) => string
): FailureWithError[][] {
  const groups = new Map<string, FailureWithError[]>()
  for (const failure of failures) {
    const key = getKey(failure)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [failure])
    else group.push(failure)
  }
  return [...groups.values()]
}

function isConstantFailure ({ error: { keyword } }: FailureWithError): boolean {
  return keyword === 'const'
}

function mergeConstantFailures (failures: readonly FailureWithError[]): FailureWithError[] {
  const groups = groupFailures(failures, ({ pointer }) => pointer)
  return groups.map((group) => ({ ...group[0]!, message: describeChoices([group]) }))
}

/** Describes what would have been valid, from the errors of each branch. */
function describeChoices (branches: ReadonlyArray<readonly FailureWithError[]>): string {
  // A constant implies its type.
  const errors = branches
    .flatMap((branch) => branch.some(isConstantFailure) ? branch.filter(isConstantFailure) : branch)
    .map(({ error }) => error)
  const filterBy = (keyword: string): ErrorObject[] => errors.filter((error) => error.keyword === keyword)
  const values = filterBy('const').map((error) => error.params.allowedValue)
  const types = filterBy('type').map((error) => error.params.type)
  const choices = [
    ...values.length > 0 ? [`must be one of ${formatValues(values)}`] : [],
    ...errors.filter(({ keyword }) => keyword !== 'const' && keyword !== 'type').map(getMessage),
    ...types.length > 0 ? [`must be ${[...new Set(types)].join(' or ')}`] : []
  ]
  return [...new Set(choices)].join(', or ')
}

/** Messages that differ from those of Ajv: the pointer is more precise, values are listed, or the grammar is better. */
const messages: Readonly<Record<string, (error: ErrorObject) => string>> = {
  required: () => 'is required',
  additionalProperties: () => 'is not a known property',
  unevaluatedProperties: () => 'is not a known property',
  enum: (error) => `must be one of ${formatValues(error.params.allowedValues)}`,
  const: (error) => `must be ${JSON.stringify(error.params.allowedValue)}`,
  minLength: (error) => `must have at least ${formatCount(error, 'character', 'characters')}`,
  maxLength: (error) => `must have at most ${formatCount(error, 'character', 'characters')}`,
  minItems: (error) => `must have at least ${formatCount(error, 'item', 'items')}`,
  maxItems: (error) => `must have at most ${formatCount(error, 'item', 'items')}`,
  minProperties: (error) => `must have at least ${formatCount(error, 'property', 'properties')}`,
  maxProperties: (error) => `must have at most ${formatCount(error, 'property', 'properties')}`
}

function formatCount ({ params: { limit } }: ErrorObject, one: string, several: string): string {
  return `${limit} ${limit === 1 ? one : several}`
}

function getMessage (error: ValidationError): string {
  // Ajv has a message for each of its keywords.
  return error.text ?? messages[error.keyword]?.(error) ?? error.message!
}

function formatValues (values: readonly unknown[]): string {
  return [...new Set(values)].map((value) => JSON.stringify(value)).join(', ')
}

/** 422 with the failures. */
export function validationProblem (failures: readonly Failure[]): Problem {
  const errors = failures.slice(0, maxFailures)
  const count = errors.length
  return problem('validation-failed', {
    detail: count === 1 ? 'One property is invalid.' : `${count} properties are invalid.`,
    properties: { errors }
  })
}
