import { isObject } from '../http/json-value.ts'
import type { JsonObject as Json } from '../http/json-value.ts'

// Converts to OpenAPI 3.0, the default of @fastify/swagger. Its schemas have no null, no constants and no tuples.

/** Keywords whose values are data, not schemas. */
const dataKeywords = new Set(['example', 'default', 'enum'])
/** Keywords whose keys are names, not keywords. */
const mapKeywords = new Set(['properties', 'patternProperties', '$defs'])

/** Converts any part of a document. */
export function toOpenApi30 (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toOpenApi30)
  if (!isObject(value)) return value
  const out: Json = {}
  for (const [keyword, inner] of Object.entries(value)) {
    const converted = convertValue(keyword, inner)
    Object.assign(out, keywords[keyword]?.(converted, value) ?? { [keyword]: converted })
  }
  return out
}

function convertValue (keyword: string, value: unknown): unknown {
  if (dataKeywords.has(keyword)) return value
  if (!mapKeywords.has(keyword) || !isObject(value)) return toOpenApi30(value)
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, toOpenApi30(schema)]))
}

function isNullSchema (schema: unknown): boolean {
  return isObject(schema) && schema.type === 'null'
}

/** Allows only null. The type does not matter, but `nullable` requires one. */
const nullSchema: Json = { type: 'object', nullable: true, enum: [null] }

const convertUnion = (keyword: string) => (value: unknown): Json | undefined => {
  if (!Array.isArray(value) || !value.some(isNullSchema)) return undefined
  const choices = value.filter((choice) => !isNullSchema(choice)) as Json[]
  const [first, ...others] = choices
  if (others.length === 0 && first?.type !== undefined) return { ...first, nullable: true }
  return { [keyword]: addNull(choices) }
}

/** Allows null in one of the choices. Some generators cannot express a choice that allows only null. */
function addNull (choices: readonly Json[]): Json[] {
  // Other keywords, such as `enum`, still refuse null.
  const index = choices.findIndex((choice) => choice.type !== undefined && choice.enum === undefined)
  if (index < 0) return [...choices, nullSchema]
  return choices.with(index, { ...choices[index], nullable: true })
}

const convertExclusive = (bound: string, keyword: string) => (value: unknown): Json => (
  { [bound]: value, [keyword]: true }
)

/** By keyword. A function that returns undefined leaves the keyword as it is. */
const keywords: Readonly<Record<string, (value: unknown, schema: Json) => Json | undefined>> = {
  type: (value) => {
    if (!Array.isArray(value)) return undefined
    const [first, ...others] = value.filter((type) => type !== 'null') as string[]
    const nullable = others.length + 1 < value.length
    if (others.length === 0) return { type: first, nullable }
    const choices: Json[] = [first, ...others].map((type) => ({ type }))
    return { anyOf: nullable ? addNull(choices) : choices }
  },
  anyOf: convertUnion('anyOf'),
  oneOf: convertUnion('oneOf'),
  const: (value) => ({ enum: [value] }),
  examples: (value) => ({ example: [value].flat()[0] }),
  exclusiveMinimum: convertExclusive('minimum', 'exclusiveMinimum'),
  exclusiveMaximum: convertExclusive('maximum', 'exclusiveMaximum'),
  prefixItems: (value) => ({ items: { anyOf: value } }),
  patternProperties: (value) => ({ additionalProperties: { anyOf: Object.values(value as Json) } }),
  additionalProperties: (_value, { patternProperties }) => patternProperties === undefined ? undefined : {},
  unevaluatedProperties: () => ({})
}
