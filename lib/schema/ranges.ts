import { _, str } from 'ajv'
import type { Code } from 'ajv'
import type { Ajv2019, KeywordCxt } from 'ajv/dist/2019.js'
import type { JsonSchema } from '../storage/contract.ts'
import { toInstant } from '../storage/instant.ts'
import { isSchema } from '../json-schema/subschemas.ts'

// The ranges that every storage can store without loss. The same ranges for all let an app change its storage.

type Kind = 'integer' | 'date-time' | 'date'

export const rangeMessages: Readonly<Record<Kind, string>> = {
  integer: 'must be an integer from -9007199254740991 to 9007199254740991',
  'date-time': 'must be a date-time from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z',
  date: 'must be a date from 0001-01-01 to 9999-12-31'
}

/** Builds code that is true if a value is out of range. Integers need no call, because arrays may have very many. */
const rangeChecks: Readonly<Record<Kind, (context: KeywordCxt) => Code>> = {
  // RFC 7493, section 2.2: a greater double represents several integers.
  integer: ({ data }) => {
    const isOutOfRange = _`(${data} > ${Number.MAX_SAFE_INTEGER} || ${data} < ${Number.MIN_SAFE_INTEGER})`
    return _`typeof ${data} == "number" && ${isOutOfRange}`
  },
  'date-time': ({ data, gen }) => {
    const check = gen.scopeValue('func', { key: isOutOfDateRange, ref: isOutOfDateRange })
    return _`typeof ${data} == "string" && ${check}(${data})`
  },
  date: ({ data }) => _`typeof ${data} == "string" && ${data}.startsWith("0000")`
}

function isOutOfDateRange (text: string): boolean {
  // In the years between, no offset leads out of the range.
  const year = text.slice(0, 4)
  if (year >= '0002' && year <= '9998') return false
  return toInstant(text) === undefined
}

const keyword = 'storable'

/** Adds the keyword that `restrictRanges` uses to a validator. */
export function addRangeKeyword (ajv: Ajv2019): Ajv2019 {
  return ajv.addKeyword({
    keyword,
    schemaType: 'string',
    error: { message: ({ schema }) => str`${rangeMessages[schema as Kind]}` },
    code: (context) => context.fail(rangeChecks[context.schema as Kind](context))
  })
}

/** Keywords whose value is not a schema, or not one that the value must match. */
const otherKeywords = new Set(['const', 'enum', 'default', 'examples', 'not', 'if', 'required', 'type'])
const mapKeywords = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** Returns the schema with the ranges added, at any depth. */
export function restrictRanges (schema: JsonSchema): JsonSchema {
  const restricted: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) {
    if (otherKeywords.has(name)) restricted[name] = value
    else if (mapKeywords.has(name)) restricted[name] = restrictMap(value)
    else restricted[name] = restrictValue(value)
  }
  const kind = getKind(schema)
  if (kind !== undefined) restricted[keyword] = kind
  return restricted
}

function restrictValue (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(restrictValue)
  return isSchema(value) ? restrictRanges(value) : value
}

function restrictMap (value: unknown): unknown {
  if (!isSchema(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, restrictValue(inner)]))
}

function getKind ({ type, format }: JsonSchema): Kind | undefined {
  const types = [type].flat()
  if (types.includes('integer') && !types.includes('number')) return 'integer'
  return format === 'date-time' || format === 'date' ? format : undefined
}
