import type { JsonSchema } from '../contract.ts'

/** The type of a column, or of a property nested in one. */
export type Kind = 'boolean' | 'integer' | 'number' | 'text' | 'uuid' | 'date' | 'date-time' | 'json'

export interface KindInfo {
  readonly kind: Kind
  /** Whether null is one of the values. */
  readonly nullable: boolean
}

const textual: ReadonlySet<Kind> = new Set<Kind>(['text', 'uuid', 'date', 'date-time'])
export const numericKinds: ReadonlySet<Kind> = new Set<Kind>(['integer', 'number'])

/** Returns the narrowest kind that can store every value of the schema; `json` if there is no other. */
export function getKind (schema: JsonSchema): KindInfo {
  const found = new Set(listKinds(schema))
  const nullable = found.has('null')
  const [first = 'json', ...others] = [...found].filter((kind) => kind !== 'null')
  if (others.length === 0) return { kind: first, nullable }
  const all = [first, ...others]
  if (all.every((kind) => textual.has(kind))) return { kind: 'text', nullable }
  if (all.every((kind) => numericKinds.has(kind))) return { kind: 'number', nullable }
  return { kind: 'json', nullable }
}

function listKinds (schema: JsonSchema): ReadonlyArray<Kind | 'null'> {
  const { type, format, anyOf, oneOf } = schema
  const branches = anyOf ?? oneOf
  if (Array.isArray(branches)) return branches.flatMap(listKinds)
  if (type !== undefined) return [type].flat().map((name) => getKindOfType(name, format))
  if ('const' in schema) return [getKindOfValue(schema.const)]
  if (Array.isArray(schema.enum)) return schema.enum.map(getKindOfValue)
  return ['json', 'null']
}

function getKindOfType (type: string, format: string | undefined): Kind | 'null' {
  switch (type) {
    case 'string': return format === 'uuid' || format === 'date' || format === 'date-time' ? format : 'text'
    case 'boolean':
    case 'integer':
    case 'number':
    case 'null': return type
    default: return 'json'
  }
}

function getKindOfValue (value: unknown): Kind | 'null' {
  if (value === null) return 'null'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'string' ? 'text' : 'json'
}
