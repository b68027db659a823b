import { isEqual } from '../http/json-value.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { isSchema } from '../json-schema/subschemas.ts'
import { isKnownFormat } from './validation.ts'

// Libraries write the same schema in different ways. This brings it into the form that TypeBox writes, so that
// messages, lists and the OpenAPI document do not depend on the library.

/** Keywords whose value is an object with a schema for each name. */
const mapKeywords = new Set(['properties', 'patternProperties', '$defs'])
/** Keywords whose value is a schema, or an array of schemas. */
const schemaKeywords = new Set([
  'items', 'prefixItems', 'additionalItems', 'additionalProperties', 'unevaluatedProperties', 'propertyNames',
  'contains', 'not', 'if', 'then', 'else', 'anyOf', 'oneOf', 'allOf'
])

/** Calls the function with each part of a schema: its keyword, and its name or index if there are several. */
export function mapSubschemas (
  schema: JsonSchema,
  map: (part: JsonSchema, keyword: string, key: string | undefined) => unknown
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schema).map(([keyword, value]) => {
    if (mapKeywords.has(keyword) && isSchema(value)) {
      const parts = Object.entries(value)
      return [keyword, Object.fromEntries(parts.map(([name, part]) => {
        return [name, isSchema(part) ? map(part, keyword, name) : part]
      }))]
    }
    if (!schemaKeywords.has(keyword)) return [keyword, value]
    if (!Array.isArray(value)) return [keyword, isSchema(value) ? map(value, keyword, undefined) : value]
    return [keyword, value.map((part, index) => isSchema(part) ? map(part, keyword, String(index)) : part)]
  }))
}

/** Returns the schema in the form that TypeBox writes. */
export function simplifySchema (schema: JsonSchema): JsonSchema {
  const { $schema, ...whole } = simplify(schema)
  return inlineRoot(whole)
}

/** zod writes a schema that has an id of its own as a reference. */
function inlineRoot (schema: JsonSchema): JsonSchema {
  const { $ref, $defs, ...rest } = schema
  const name = typeof $ref === 'string' && $ref.startsWith('#/$defs/') ? $ref.slice('#/$defs/'.length) : undefined
  const target = name === undefined || !isSchema($defs) ? undefined : $defs[name]
  if (!isSchema(target)) return schema
  const isUsed = JSON.stringify($defs).includes('"#/$defs/')
  return { ...target, ...rest, ...isUsed && { $defs } }
}

function simplify (schema: JsonSchema): JsonSchema {
  const simplified = mapSubschemas(schema, simplify)
  for (const step of steps) step(simplified)
  return simplified
}

type Draft = Record<string, unknown>

/** Objects are closed unless the schema opens them, so neither keyword says anything. `id` is a keyword of zod. */
function closeObject (schema: Draft): void {
  delete schema.id
  if (schema.additionalProperties === false) delete schema.additionalProperties
  if (isEqual(schema.required, [])) delete schema.required
  if (isEqual(schema.propertyNames, { type: 'string' })) delete schema.propertyNames
}

/** Ajv knows tuples in the form of draft 2019-09. */
function describeTuple (schema: Draft): void {
  const { prefixItems, items } = schema
  if (!Array.isArray(prefixItems)) return
  delete schema.prefixItems
  schema.items = prefixItems
  if (items !== undefined) schema.additionalItems = items
}

const constantTypes: Readonly<Record<string, string>> = { string: 'string', number: 'number', boolean: 'boolean' }

function describeConstants (schema: Draft): void {
  const { enum: values } = schema
  if (schema.const !== undefined) schema.type ??= constantTypes[typeof schema.const]
  if (!Array.isArray(values) || !values.every((value) => constantTypes[typeof value] !== undefined)) return
  delete schema.enum
  delete schema.type
  const constants = values.map((value) => ({ const: value as unknown, type: constantTypes[typeof value] }))
  if (constants.length === 1) Object.assign(schema, constants[0])
  else schema.anyOf = constants
}

const annotations = new Set(['default', 'title', 'description', 'examples', 'readOnly', 'writeOnly', 'immutable'])

/** `type: ['string', 'null']` is a union. */
function separateTypes (schema: Draft): void {
  const { type, ...rest } = schema
  if (!Array.isArray(type) || !Object.keys(rest).every((keyword) => annotations.has(keyword))) return
  delete schema.type
  schema.anyOf = type.map((one: unknown) => ({ type: one }))
}

/** These are the limits of all integers here. */
function boundInteger (schema: Draft): void {
  if (schema.type !== 'integer') return
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
}

/** arktype repeats the annotations of a union in its branches. */
function simplifyUnion (schema: Draft): void {
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const branches = schema[keyword]
    if (!Array.isArray(branches)) continue
    schema[keyword] = branches.map((branch) => {
      const own = Object.entries(branch as JsonSchema).filter(([name, value]) => {
        return name === 'type' || name === 'format' || !isEqual(value, schema[name])
      })
      return Object.fromEntries(own)
    })
  }
}

const sampleDate = '2026-01-31T12:00:00.000Z'

/**
 * A format that Ajv knows needs no pattern beside it, which would be one more message for each invalid value. The
 * library has the pattern as well, and checks it after Ajv.
 */
function simplifyString (schema: Draft): void {
  const { format, pattern, anyOf } = schema
  if (schema.type === 'null') delete schema.format
  if (typeof format !== 'string') return
  // In JSON Schema, a time has an offset. In zod and valibot it has none.
  if (format === 'time' || (!isKnownFormat(format) && pattern !== undefined)) {
    delete schema.format
    return
  }
  if (!isKnownFormat(format)) return
  // A date-time that cannot be in UTC with milliseconds is refused, and that message needs the pattern.
  const isNeeded = format === 'date-time' && typeof pattern === 'string' && !new RegExp(pattern, 'u').test(sampleDate)
  if (!isNeeded) delete schema.pattern
  if (isFormatOnly(anyOf, format)) {
    delete schema.anyOf
    schema.type = 'string'
  }
}

/** Whether the branches are strings of the format, and constants. arktype writes a UUID in this way. */
function isFormatOnly (branches: unknown, format: string): boolean {
  return Array.isArray(branches) &&
    branches.every(({ type }: JsonSchema) => type === 'string') &&
    branches.some((branch: JsonSchema) => branch.const === undefined && branch.format === format)
}

const steps = [
  closeObject,
  describeTuple,
  describeConstants,
  separateTypes,
  boundInteger,
  simplifyUnion,
  simplifyString
]
