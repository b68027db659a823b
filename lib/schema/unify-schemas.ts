import { isEqual } from '../http/json-value.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { mapSubschemas } from './simplify-schema.ts'
import { isSchema, resolveSchema } from '../json-schema/subschemas.ts'

// A schema of another library describes two values: what it accepts, and what it makes of that. An item has one form,
// in requests, in the storage and in responses, so both must be the same, apart from defaults.

/** The two forms differ. The message says where, and what to do. */
export class DifferentSchemas extends Error {}

/** Returns the schema of both values. A property that has a default is always there, so it is required. */
export function unifySchemas (input: JsonSchema, output: JsonSchema): JsonSchema {
  return unify(input, output, { root: input, path: '' })
}

interface Place {
  readonly root: JsonSchema
  /** The path of the property; empty for the schema itself. */
  readonly path: string
}

function unify (input: JsonSchema, output: JsonSchema, { root, path }: Place): JsonSchema {
  checkDefault(input.default, output.default, path)
  for (const keyword of new Set([...Object.keys(input), ...Object.keys(output)])) {
    if (keyword === 'required' || (isContainer(input[keyword]) && isContainer(output[keyword]))) continue
    if (!isEqual(input[keyword], output[keyword])) throw new DifferentSchemas(describeDifference(path, input, output))
  }
  const unified = mapSubschemas(input, (part, keyword, key) => {
    const other = getPart(output[keyword], key)
    if (other === undefined) throw new DifferentSchemas(describeDifference(path, input, output))
    return unify(part, other, { root, path: extendPath(path, keyword, key) })
  })
  const required = getRequired(input, output, { root, path })
  if (required.length > 0) unified.required = required
  else delete unified.required
  return unified
}

function isContainer (value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function getPart (value: unknown, key: string | undefined): JsonSchema | undefined {
  const part: unknown = key === undefined ? value : Object.hasOwn(Object(value), key) && Reflect.get(Object(value), key)
  return isSchema(part) ? part : undefined
}

function extendPath (path: string, keyword: string, key: string | undefined): string {
  if (keyword === 'properties') return path === '' ? key! : `${path}.${key!}`
  if (keyword === '$defs') return key!
  return keyword === 'items' ? `${path}[]` : path
}

function getRequired (input: JsonSchema, output: JsonSchema, { root, path }: Place): string[] {
  const { properties = {}, required = [] } = input
  return Object.keys(properties).filter((property) => {
    const hasDefault = resolveSchema(properties[property]!, root).some((schema) => schema.default !== undefined)
    if (required.includes(property) || hasDefault) return true
    if (output.required?.includes(property) !== true) return false
    throw new DifferentSchemas(`the property "${extendPath(path, 'properties', property)}" can be left out, ` +
      'and its library sets it then, but its JSON Schema has no default. ' +
      'Give it a default that JSON has, or set it in hooks.beforeValidation.')
  })
}

/** A default of JSON Schema is a value: the same for all items. */
function checkDefault (one: unknown, other: unknown, path: string): void {
  const isSame = isEqual(one, other)
  if (isSame && !isCurrentTime(one)) return
  throw new DifferentSchemas(isSame || (one !== undefined && other !== undefined)
    ? `the default of ${describePath(path)} is a function that returns another value each time. ` +
      'Set it in hooks.beforeValidation instead; timestamps and ids are set by the library.'
    : `${describePath(path)} has a default only before or only after validation. Use a plain default.`)
}

/** Two calls in the same millisecond return the same time. */
function isCurrentTime (value: unknown): boolean {
  const time = typeof value === 'string' ? Date.parse(value) : value
  return typeof time === 'number' && Math.abs(Date.now() - time) < 60_000
}

function describePath (path: string): string {
  return path === '' ? 'the schema' : `the property "${path}"`
}

function describeDifference (path: string, input: JsonSchema, output: JsonSchema): string {
  return `${describePath(path)} changes its type or its restrictions when it is validated: ` +
    `from ${shorten(input)} to ${shorten(output)}. ` +
    'An item has one form, in requests, in the storage and in responses. ' +
    'Remove the transformation, and convert values in hooks.beforeValidation.'
}

function shorten (schema: JsonSchema): string {
  const text = JSON.stringify(schema)
  return text.length > 100 ? `${text.slice(0, 100)}...` : text
}
