import type { JsonSchema } from '../contract.ts'
import type { Codec } from './codec.ts'
import type { Column } from './column.ts'
import type { JsonType } from './dialect.ts'
import { kindOf, type Kind } from './kind.ts'
import { columnOf, type Layout } from './layout.ts'

/** A member as conditions and orders see it. */
export interface Operand {
  readonly kind: Kind
  readonly codec: Codec
  readonly nullable: boolean
  /** Equal exactly where all are. */
  readonly equatable: readonly string[]
  readonly ordered: string
  /** As the text the item has; undefined where the member holds none. */
  readonly text: string | undefined
  /** What is NULL where the member is null or absent. */
  readonly presence: string
}

/** The value tells how a member that holds several types is read; a member of one type never needs it. */
export function operand (layout: Layout, path: string, value: unknown): Operand {
  const column = layout.byMember.get(path)
  if (column === undefined) return nested(layout, columnOf(layout, path.split('.', 1).join()), { path: path.split('.').slice(1), value })
  return column.kind === 'json' ? nested(layout, column, { path: [], value }) : ofColumn(layout, column)
}

function ofColumn ({ dialect, own }: Layout, { sql, kind, codec, nullable, required }: Column): Operand {
  return {
    kind,
    codec,
    nullable: nullable || !required,
    equatable: dialect.equatable(sql, kind, own),
    ordered: dialect.ordered(sql, kind, own),
    text: kind === 'boolean' || kind === 'integer' || kind === 'number' ? undefined : dialect.text(sql, kind, own),
    presence: sql
  }
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

function nested ({ dialect: { json, validJson }, codecs, own }: Layout, column: Column, { path, value }: Place): Operand {
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
    text: type === 'string' ? expression : undefined,
    presence
  }
}

function ofValue (value: unknown): JsonType {
  const type = typeof value
  return type === 'number' || type === 'boolean' ? type : 'string'
}
