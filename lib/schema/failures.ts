import type { ErrorObject } from 'ajv/dist/2019.js'
import { escapePointer } from '../http/json-pointer.ts'

/** One property that does not fit, by its JSON Pointer (RFC 6901). */
export interface Failure {
  readonly pointer: string
  readonly message: string
}

interface Found extends Failure {
  readonly error: ErrorObject
}

/** More would tell a person nothing, and an attacker could ask for megabytes of them. */
const most = 100

/** One failure for each property, out of what Ajv found. */
export function failures (errors: readonly ErrorObject[]): Failure[] {
  const found: Found[] = []
  for (const error of errors) {
    if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') {
      found.push({ error, pointer: pointerOf(error), message: message(error) })
      continue
    }
    // What is wrong with each branch stands right in front of the union.
    let start = found.length
    while (start > 0 && within(found[start - 1]!.error, error)) start--
    // One by one: more arguments than a call can have are easily sent.
    for (const failure of meant(error, found.splice(start))) found.push(failure)
  }
  const first = new Map<string, Failure>()
  for (const { pointer, message } of found) {
    if (first.has(pointer)) continue
    first.set(pointer, { pointer, message })
    if (first.size === most) break
  }
  return [...first.values()]
}

function pointerOf ({ instancePath, params }: ErrorObject): string {
  const { missingProperty, additionalProperty, unevaluatedProperty } = params
  const name: string | undefined = missingProperty ?? additionalProperty ?? unevaluatedProperty
  return name === undefined ? instancePath : `${instancePath}/${escapePointer(name)}`
}

/** Behind a reference, the path of the schema begins anew; but a neighbour in an intersection has a path that is known. */
function within ({ instancePath, schemaPath }: ErrorObject, union: ErrorObject): boolean {
  if (!`${instancePath}/`.startsWith(`${union.instancePath}/`)) return false
  const intersection = union.schemaPath.slice(0, union.schemaPath.lastIndexOf('/allOf/') + 1)
  return intersection === '' || !schemaPath.startsWith(`${intersection}allOf/`) || schemaPath.startsWith(`${union.schemaPath}/`)
}

/** A branch whose properties were looked at is the one that was meant; one that failed as a whole was not. */
function meant (union: ErrorObject, inner: readonly Found[]): readonly Found[] {
  const all = branchesOf(union, inner)
  const branches = all.filter(branch => branch.some(({ pointer }) => pointer !== union.instancePath))
  if (branches.length === 0) return [{ error: union, pointer: union.instancePath, message: choice(all) || message(union) }]
  const fitting = branches.filter(branch => !branch.some(isConstant))
  // Where every branch asks for another constant, that is all that can be said.
  if (fitting.length === 0 && branches.length > 1) return constants(branches.flat().filter(isConstant))
  return (fitting.length === 0 ? branches : fitting).reduce((best, branch) => branch.length < best.length ? branch : best)
}

function branchesOf ({ schemaPath }: ErrorObject, inner: readonly Found[]): Found[][] {
  return grouped(inner, ({ error: { schemaPath: path } }) => path.startsWith(`${schemaPath}/`) ? path.slice(schemaPath.length + 1).split('/', 1)[0]! : 'behind a reference')
}

function grouped (found: readonly Found[], key: (found: Found) => string): Found[][] {
  const groups = new Map<string, Found[]>()
  for (const each of found) {
    const group = groups.get(key(each))
    if (group === undefined) groups.set(key(each), [each])
    else group.push(each)
  }
  return [...groups.values()]
}

function isConstant ({ error: { keyword } }: Found): boolean {
  return keyword === 'const'
}

function constants (found: readonly Found[]): Found[] {
  return grouped(found, ({ pointer }) => pointer).map(group => ({ ...group[0]!, message: choice([group]) }))
}

/** What would have done, out of what was wrong with each branch. */
function choice (branches: ReadonlyArray<readonly Found[]>): string {
  // The type of a constant goes without saying.
  const errors = branches.flatMap(branch => branch.some(isConstant) ? branch.filter(isConstant) : branch).map(({ error }) => error)
  const of = (keyword: string): ErrorObject[] => errors.filter(error => error.keyword === keyword)
  const [values, types] = [of('const').map(error => error.params.allowedValue), of('type').map(error => error.params.type)]
  const wanted = [
    ...values.length > 0 ? [`must be one of ${list(values)}`] : [],
    ...errors.filter(({ keyword }) => keyword !== 'const' && keyword !== 'type').map(message),
    ...types.length > 0 ? [`must be ${[...new Set(types)].join(' or ')}`] : []
  ]
  return [...new Set(wanted)].join(', or ')
}

const messages: Readonly<Record<string, (error: ErrorObject) => string>> = {
  required: () => 'is required',
  additionalProperties: () => 'is not a known property',
  unevaluatedProperties: () => 'is not a known property',
  enum: error => `must be one of ${list(error.params.allowedValues)}`,
  const: error => `must be ${JSON.stringify(error.params.allowedValue)}`
}

function message (error: ErrorObject): string {
  // Ajv has one for each of its keywords.
  return messages[error.keyword]?.(error) ?? error.message!
}

function list (values: readonly unknown[]): string {
  return [...new Set(values)].map(value => JSON.stringify(value)).join(', ')
}
