import type { Entry, Id, Unreadable, Version } from '../contract.ts'
import type { Column } from './column.ts'
import type { Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'

/** Some columns of a table: what a SELECT says, and how its rows are read. After the columns stand the version, unless it is derived from them, and the properties that are null. */
export interface Projection<Item> {
  readonly select: string
  /** How many values a row has. */
  readonly width: number
  /** Throws if the row holds what the schema cannot mean. */
  readonly read: (row: Row) => Entry<Item>
  readonly version: (row: Row) => Version
  /** Why `read` throws. */
  readonly explain: (row: Row) => Unreadable
  /** The row, with the values of another in the place of those that cannot be read. */
  readonly substitute: (row: Row, other: Row) => Row
}

export function projection<Item extends object> (layout: Layout, columns: readonly Column[]): Projection<Item> {
  const { id, version, nulls } = layout
  const select = [...columns.map((column) => column.select), version.select, nulls].filter((part) => part !== undefined)
  const count = columns.length
  const versionIn = (row: Row) => version.read(row, count)
  return {
    select: select.join(', '),
    width: select.length,
    read (row) {
      const item: Record<string, unknown> = {}
      for (let at = 0; at < count; at++) {
        const { property, codec, nullable, required } = columns[at]!
        const value = row[at]
        if (value !== null) item[property] = codec.read(value)
        else if (nullable && (required || nulls === undefined || isNamed(row[count + 1], property))) item[property] = null
      }
      // Made of the shape's own properties, as far as the columns hold what the schema says.
      return { id: item[id.property] as Id, item: item as Item, version: versionIn(row) }
    },
    version: versionIn,
    explain (row) {
      const failures = columns.map((column, at) => failure(column, row[at])).filter((reason) => reason !== undefined)
      const key = row[columns.indexOf(id)]
      return { id: failure(id, key) === undefined ? id.codec.read(key) as Id : undefined, reason: failures.join('; ') || 'the column of null properties is no JSON' }
    },
    substitute: (row, other) => row.map((value, at) => at < count && failure(columns[at]!, value) !== undefined ? other[at] : value)
  }
}

/** Why a value of a column cannot be read; undefined if it can. */
function failure ({ name, codec }: Column, value: unknown): string | undefined {
  if (value === null) return undefined
  try {
    codec.read(value)
    return undefined
  } catch (error) {
    return `column ${JSON.stringify(name)}: ${(error as Error).message}`
  }
}

function isNamed (named: unknown, property: string): boolean {
  if (typeof named !== 'string') return false
  const properties: unknown = JSON.parse(named)
  return Array.isArray(properties) && properties.includes(property)
}

/** An item as the values of columns; NULL stands for what is null or absent. */
export function valuesOf (columns: readonly Column[], item: object): Value[] {
  // The item is of the shape, and its properties are the shape's.
  const properties = item as Readonly<Record<string, unknown>>
  const values: Value[] = []
  for (const { property, codec } of columns) {
    const value = properties[property]
    values.push(value === undefined || value === null ? null : codec.write(value))
  }
  return values
}

/** Which properties are null though they could be absent, for the column that tells. */
export function nullsOf (columns: readonly Column[], item: object): string | null {
  const properties = item as Readonly<Record<string, unknown>> // as above
  const named = columns.filter(({ property, nullable, required }) => nullable && !required && properties[property] === null)
  return named.length === 0 ? null : JSON.stringify(named.map(({ property }) => property))
}
