import type { JsonSchema } from '../contract.ts'
import type { Codec } from './codec.ts'
import type { Column } from './column.ts'
import type { JsonArray, SqlDialect, JsonType } from './dialect.ts'
import { getKind, type Kind } from './kind.ts'
import { getColumn, type Layout } from './layout.ts'

/** A property in conditions and orders. */
export interface Operand {
  readonly kind: Kind
  readonly codec: Codec
  readonly nullable: boolean
  /** Expressions that together test for equality. The last is exact. */
  readonly equatable: readonly string[]
  readonly ordered: string
  /** The expression that rows are sorted by: `ordered`, or as much of it as the database compares. */
  readonly sorted: string
  /** How many characters of it the database compares. */
  readonly sortLength: number
  /** The property as text; undefined if it is not text. */
  readonly text: string | undefined
  /** An expression that is NULL if the property is null or missing. */
  readonly presence: string
  /** The expression in a SELECT, whose values the codec reads. */
  readonly value: string
}

/** Returns the operand of a property. The value decides how a property with several types is read. */
export function getOperand (layout: Layout, path: string, value: unknown): Operand {
  const column = layout.byProperty.get(path)
  if (column === undefined) {
    const [property = '', ...names] = path.split('.')
    return getNestedOperand(layout, getColumn(layout, property), { path: names, value })
  }
  return column.kind === 'json'
    ? getNestedOperand(layout, column, { path: [], value })
    : getColumnOperand(layout, column)
}

function getColumnOperand (layout: Layout, column: Column): Operand {
  const { dialect, managed } = layout
  const { sql, kind, codec, nullable, required } = column
  const ordered = dialect.ordered(sql, kind, managed)
  const isIndexed = column === layout.id || (managed && hasIndex(layout, column))
  const isText = kind !== 'boolean' && kind !== 'integer' && kind !== 'number'
  return {
    kind,
    codec,
    nullable: nullable || !required,
    equatable: dialect.equatable(sql, kind, managed),
    ordered,
    ...kind === 'text' && !isIndexed ? toSortable(dialect, ordered) : { sorted: ordered, sortLength: Infinity },
    text: isText ? dialect.text(sql, kind, managed) : undefined,
    presence: sql,
    value: dialect.select[kind]?.(sql) ?? sql
  }
}

function hasIndex ({ shape: { unique }, indexes }: Layout, column: Column): boolean {
  return [...unique, ...indexes].some((properties) => properties.includes(column.property))
}

function toSortable ({ sortLength }: SqlDialect, ordered: string): Pick<Operand, 'sorted' | 'sortLength'> {
  return {
    sorted: sortLength === Infinity ? ordered : `LEFT(${ordered}, ${sortLength})`,
    sortLength
  }
}

const jsonTypes: Readonly<Record<Kind, JsonType | undefined>> = {
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  text: 'string',
  uuid: 'string',
  date: 'string',
  'date-time': 'string',
  json: undefined
}

const kinds: Readonly<Record<JsonType, Kind>> = {
  string: 'text',
  number: 'number',
  boolean: 'boolean'
}

interface NestedValue {
  readonly path: readonly string[]
  readonly value: unknown
}

/** An array in conditions. */
export interface ArrayOperand {
  readonly array: JsonArray
  /** The type and the codec of the items that it is searched for. */
  readonly type: JsonType
  readonly codec: Codec
}

/** Returns the operand of an array; undefined if the property is none. The value decides the type of the items. */
export function getArrayOperand (layout: Layout, path: string, value: unknown): ArrayOperand | undefined {
  const { dialect: { validJson }, byProperty, codecs, managed } = layout
  const [outer = '', ...names] = byProperty.has(path) ? [path] : path.split('.')
  const { sql, kind } = getColumn(layout, outer)
  if (kind !== 'json') return undefined
  const type = getJsonType(value)
  return {
    array: { column: managed || validJson === undefined ? sql : validJson(sql), path: names },
    type,
    codec: codecs[kinds[type]]
  }
}

function getNestedOperand (layout: Layout, column: Column, { path, value }: NestedValue): Operand {
  const { dialect, codecs, managed } = layout
  const { json, validJson } = dialect
  const sql = managed || validJson === undefined ? column.sql : validJson(column.sql)
  const schema = path.reduce<JsonSchema | undefined>((outer, name) => outer?.properties?.[name], column.schema)
  const type = jsonTypes[getKind(schema ?? {}).kind] ?? getJsonType(value)
  const names = json.types[type].map((name) => `'${name}'`).join(', ')
  const presence = json.type(sql, path)
  // The CASE keeps a cast from failing on values of another type that another writer stored.
  const expression = `CASE WHEN ${presence} IN (${names}) THEN ${json.value[type](sql, path)} END`
  return {
    kind: kinds[type],
    codec: codecs[kinds[type]],
    nullable: true,
    equatable: [expression],
    ordered: expression,
    ...type === 'string' ? toSortable(dialect, expression) : { sorted: expression, sortLength: Infinity },
    text: type === 'string' ? expression : undefined,
    presence,
    value: expression
  }
}

function getJsonType (value: unknown): JsonType {
  const type = typeof value
  return type === 'number' || type === 'boolean' ? type : 'string'
}
