import type { JsonSchema } from '../contract.ts'

/** What a column, or a property nested in one, holds. */
export type Kind = 'boolean' | 'integer' | 'number' | 'text' | 'uuid' | 'date' | 'date-time' | 'json'

export interface Described {
  readonly kind: Kind
  /** Null is one of the values. */
  readonly nullable: boolean
}

const textual: ReadonlySet<Kind> = new Set<Kind>(['text', 'uuid', 'date', 'date-time'])
const numeric: ReadonlySet<Kind> = new Set<Kind>(['integer', 'number'])

/** The one kind that keeps every value of the schema; `json` where no narrower one does. */
export function kindOf (schema: JsonSchema): Described {
  const found = new Set(kinds(schema))
  const nullable = found.has('null')
  const [first = 'json', ...others] = [...found].filter((kind) => kind !== 'null')
  if (others.length === 0) return { kind: first, nullable }
  const all = [first, ...others]
  if (all.every((kind) => textual.has(kind))) return { kind: 'text', nullable }
  if (all.every((kind) => numeric.has(kind))) return { kind: 'number', nullable }
  return { kind: 'json', nullable }
}

function kinds (schema: JsonSchema): ReadonlyArray<Kind | 'null'> {
  const { type, format, anyOf, oneOf } = schema
  const branches = anyOf ?? oneOf
  if (Array.isArray(branches)) return branches.flatMap(kinds)
  if (type !== undefined) return [type].flat().map((name) => ofType(name, format))
  if ('const' in schema) return [ofValue(schema.const)]
  if (Array.isArray(schema.enum)) return schema.enum.map(ofValue)
  return ['json', 'null']
}

function ofType (type: string, format: string | undefined): Kind | 'null' {
  if (type === 'string') return format === 'uuid' || format === 'date' || format === 'date-time' ? format : 'text'
  return type === 'boolean' || type === 'integer' || type === 'number' || type === 'null' ? type : 'json'
}

function ofValue (value: unknown): Kind | 'null' {
  if (value === null) return 'null'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'string' ? 'text' : 'json'
}
