import type { Entry, Id } from '../contract.ts'
import type { Column } from './column.ts'
import type { Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'

/** Some columns of a table: what a SELECT says, and how its rows are read. */
export interface Projection<Item> {
  readonly select: string
  readonly read: (row: Row) => Entry<Item>
}

export function projection<Item extends object> (layout: Layout, columns: readonly Column[]): Projection<Item> {
  const { id, version, nulls } = layout
  const select = [...columns.map((column) => column.select), version.select, nulls?.sql].filter((part) => part !== undefined)
  return {
    select: select.join(', '),
    read (row) {
      const item: Record<string, unknown> = {}
      const named = nulls === undefined ? undefined : row[nulls.alias]
      for (const { member, alias, codec, nullable, required } of columns) {
        const value = row[alias]
        if (value !== null) item[member] = codec.read(value)
        else if (nullable && (required || nulls === undefined || isNamed(named, member))) item[member] = null
      }
      // Made of the shape's own members, as far as the columns hold what the schema says.
      return { id: item[id.member] as Id, item: item as Item, version: version.read(row) }
    }
  }
}

function isNamed (named: unknown, member: string): boolean {
  if (typeof named !== 'string') return false
  const members: unknown = JSON.parse(named)
  return Array.isArray(members) && members.includes(member)
}

/** An item as the values of columns; NULL stands for what is null or absent. */
export function valuesOf (columns: readonly Column[], item: object): Value[] {
  // The item is of the shape, and its members are the shape's.
  const members = item as Readonly<Record<string, unknown>>
  return columns.map(({ member, codec }) => {
    const value = members[member]
    return value === undefined || value === null ? null : codec.write(value)
  })
}

/** Which members are null though they could be absent, for the column that tells. */
export function nullsOf (columns: readonly Column[], item: object): string | null {
  const members = item as Readonly<Record<string, unknown>> // as above
  const named = columns.filter(({ member, nullable, required }) => nullable && !required && members[member] === null)
  return named.length === 0 ? null : JSON.stringify(named.map(({ member }) => member))
}
