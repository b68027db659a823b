import { _, str } from 'ajv'
import type { Code } from 'ajv'
import type { Ajv2019, KeywordCxt } from 'ajv/dist/2019.js'
import type { JsonSchema } from '../storage/contract.ts'
import { toInstant } from '../storage/instant.ts'
import { isSchema } from './subschemas.ts'

// The values that every storage gives back as they are. The same rules hold on all of them, so that an app can change its storage.

type Kind = 'integer' | 'date-time' | 'date'

/** As messages say it. */
export const ranges: Readonly<Record<Kind, string>> = {
  integer: 'must be an integer from -9007199254740991 to 9007199254740991',
  'date-time': 'must be a date-time from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z',
  date: 'must be a date from 0001-01-01 to 9999-12-31'
}

/** The code that tells whether a value is out of range. For integers without a call: an array may have very many of them. */
const failures: Readonly<Record<Kind, (context: KeywordCxt) => Code>> = {
  // RFC 7493, section 2.2: beyond it, a double stands for several integers.
  integer: ({ data }) => _`typeof ${data} == "number" && (${data} > ${Number.MAX_SAFE_INTEGER} || ${data} < ${Number.MIN_SAFE_INTEGER})`,
  'date-time': ({ data, gen }) => _`typeof ${data} == "string" && ${gen.scopeValue('func', { key: isNoInstant, ref: isNoInstant })}(${data})`,
  date: ({ data }) => _`typeof ${data} == "string" && ${data}.startsWith("0000")`
}

function isNoInstant (text: string): boolean {
  return !isWithinYears(text, '0002', '9998') && toInstant(text) === undefined
}

/** In these years, no offset leads out of the range. */
function isWithinYears (text: string, first: string, last: string): boolean {
  const year = text.slice(0, 4)
  return year >= first && year <= last
}

const keyword = 'storable'

/** Lets the validator know the keyword that `withRanges` adds. */
export function addRanges (ajv: Ajv2019): Ajv2019 {
  return ajv.addKeyword({
    keyword,
    schemaType: 'string',
    error: { message: ({ schema }) => str`${ranges[schema as Kind]}` },
    code: context => context.fail(failures[context.schema as Kind](context))
  })
}

/** Keywords whose value is data, or a schema that is not that of the value. */
const untouched = new Set(['const', 'enum', 'default', 'examples', 'not', 'if', 'required', 'type'])
const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** The schema, which at any depth takes only integers and date-times that every storage gives back. */
export function withRanges (schema: JsonSchema): JsonSchema {
  const out: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) out[name] = untouched.has(name) ? value : maps.has(name) ? mapped(value) : within(value)
  const kind = kindOf(schema)
  if (kind !== undefined) out[keyword] = kind
  return out
}

function within (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(within)
  return isSchema(value) ? withRanges(value) : value
}

function mapped (value: unknown): unknown {
  return isSchema(value) ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, within(inner)])) : value
}

function kindOf ({ type, format }: JsonSchema): Kind | undefined {
  const types = [type].flat()
  if (types.includes('integer') && !types.includes('number')) return 'integer'
  return format === 'date-time' || format === 'date' ? format : undefined
}
