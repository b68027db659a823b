import type { JsonSchema } from '../contract.ts'
import type { Codec } from './codec.ts'
import type { Column } from './column.ts'
import type { Dialect, JsonType } from './dialect.ts'
import { kindOf, type Kind } from './kind.ts'
import { columnOf, type Layout } from './layout.ts'

/** A property as conditions and orders see it. */
export interface Operand {
  readonly kind: Kind
  readonly codec: Codec
  readonly nullable: boolean
  /** Equal exactly where all are. */
  readonly equatable: readonly string[]
  readonly ordered: string
  /** What rows are sorted by: `ordered`, or as much of it as the database compares. */
  readonly sorted: string
  /** How many characters that are. */
  readonly sortLength: number
  /** As the text the item has; undefined where the property holds none. */
  readonly text: string | undefined
  /** What is NULL where the property is null or absent. */
  readonly presence: string
}

/** The value tells how a property that holds several types is read; a property of one type never needs it. */
export function operand (layout: Layout, path: string, value: unknown): Operand {
  const column = layout.byProperty.get(path)
  if (column === undefined) return nested(layout, columnOf(layout, path.split('.', 1).join()), { path: path.split('.').slice(1), value })
  return column.kind === 'json' ? nested(layout, column, { path: [], value }) : ofColumn(layout, column)
}

function ofColumn (layout: Layout, column: Column): Operand {
  const { dialect, own } = layout
  const { sql, kind, codec, nullable, required } = column
  const ordered = dialect.ordered(sql, kind, own)
  return {
    kind,
    codec,
    nullable: nullable || !required,
    equatable: dialect.equatable(sql, kind, own),
    ordered,
    ...kind === 'text' && column !== layout.id && !(own && hasIndex(layout, column)) ? sortable(dialect, ordered) : { sorted: ordered, sortLength: Infinity },
    text: kind === 'boolean' || kind === 'integer' || kind === 'number' ? undefined : dialect.text(sql, kind, own),
    presence: sql
  }
}

function hasIndex ({ shape: { unique }, indexes }: Layout, column: Column): boolean {
  return [...unique, ...indexes].some((properties) => properties.includes(column.property))
}

function sortable ({ sortLength }: Dialect, ordered: string): Pick<Operand, 'sorted' | 'sortLength'> {
  return { sorted: sortLength === Infinity ? ordered : `LEFT(${ordered}, ${sortLength})`, sortLength }
}

const typeOf: Readonly<Record<Kind, JsonType | undefined>> = {
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  text: 'string',
  uuid: 'string',
  date: 'string',
  'date-time': 'string',
  json: undefined
}

const kindOfType: Readonly<Record<JsonType, Kind>> = { string: 'text', number: 'number', boolean: 'boolean' }

interface Place {
  readonly path: readonly string[]
  readonly value: unknown
}

function nested ({ dialect, codecs, own }: Layout, column: Column, { path, value }: Place): Operand {
  const { json, validJson } = dialect
  const sql = own || validJson === undefined ? column.sql : validJson(column.sql)
  const schema = path.reduce<JsonSchema | undefined>((outer, name) => outer?.properties?.[name], column.schema)
  const type = typeOf[kindOf(schema ?? {}).kind] ?? ofValue(value)
  const names = json.types[type].map((name) => `'${name}'`).join(', ')
  const presence = json.type(sql, path)
  // The test keeps a cast from failing on what another writer put there.
  const expression = `CASE WHEN ${presence} IN (${names}) THEN ${json.value[type](sql, path)} END`
  return {
    kind: kindOfType[type],
    codec: codecs[kindOfType[type]],
    nullable: true,
    equatable: [expression],
    ordered: expression,
    ...type === 'string' ? sortable(dialect, expression) : { sorted: expression, sortLength: Infinity },
    text: type === 'string' ? expression : undefined,
    presence
  }
}

function ofValue (value: unknown): JsonType {
  const type = typeof value
  return type === 'number' || type === 'boolean' ? type : 'string'
}
