import type { Entry, Id, Scalar, Unreadable, Version } from '../contract.ts'
import type { Column } from './column.ts'
import type { Row, SqlDialect, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import type { Operand } from './operand.ts'

/**
 * Some columns of a table: the list of a SELECT, and how its rows are read. After the columns come the version, unless
 * it is derived from them, and the names of the properties that are null.
 */
export interface Projection<Item> {
  readonly select: string
  /** How many values a row has. */
  readonly width: number
  /** Throws if the row does not match the schema. */
  readonly read: (row: Row) => Entry<Item>
  readonly readVersion: (row: Row) => Version
  /** Explains why `read` throws. */
  readonly explain: (row: Row) => Unreadable
  /** Returns the row, with unreadable values replaced by those of the other row. */
  readonly substitute: (row: Row, other: Row) => Row
}

export function createProjection<Item extends object> (layout: Layout, columns: readonly Column[]): Projection<Item> {
  const { dialect, id, version, nulls } = layout
  const typedNulls = version.compare === undefined ? columns.map(({ sql }) => dialect.typedNull?.(sql)) : []
  const select = [...columns.map((column) => column.select), version.select, nulls, ...typedNulls]
    .filter((part) => part !== undefined)
  const count = columns.length
  const readVersion = (row: Row) => version.read(row, count)
  return {
    select: select.join(', '),
    width: select.length,
    read (row) {
      const item: Record<string, unknown> = {}
      for (let at = 0; at < count; at++) {
        const { property, codec, nullable, required } = columns[at]!
        const value = row[at]
        if (value !== null) {
          item[property] = codec.read(value)
        } else if (nullable && (required || nulls === undefined || hasName(row[count + 1], property))) {
          item[property] = null
        }
      }
      // The columns are the properties of the schema, and the codecs check their values.
      return { id: item[id.property] as Id, item: item as Item, version: readVersion(row) }
    },
    readVersion,
    explain (row) {
      const failures = columns
        .map((column, at) => explainFailure(column, row[at]))
        .filter((reason) => reason !== undefined)
      const key = row[columns.indexOf(id)]
      return {
        id: explainFailure(id, key) === undefined ? id.codec.read(key) as Id : undefined,
        reason: failures.join('; ') || 'the column of null properties is not JSON'
      }
    },
    substitute (row, other) {
      return row.map((value, at) => {
        const isUnreadable = at < count && explainFailure(columns[at]!, value) !== undefined
        return isUnreadable ? other[at] : value
      })
    }
  }
}

/** Adds the position of each entry in an order to a projection. */
export function withPositions<Item> (
  projection: Projection<Item>,
  { quote }: SqlDialect,
  operands: readonly Operand[]
): Projection<Item> {
  const { width } = projection
  const values = operands.map(({ value }, index) => `${value} AS ${quote(`position ${index}`)}`)
  const readPosition = (row: Row) => operands.map(({ codec }, index) => {
    const value = row[width + index]
    // Lists are ordered by properties that can be compared.
    return value === null ? null : codec.read(value) as Scalar
  })
  // A digest is that of the columns of the table.
  const getRow = (row: Row) => row.slice(0, width)
  return {
    ...projection,
    select: [projection.select, ...values].join(', '),
    width: width + operands.length,
    read: (row) => ({ ...projection.read(getRow(row)), position: readPosition(row) }),
    readVersion: (row) => projection.readVersion(getRow(row)),
    explain (row) {
      const unreadable = projection.explain(getRow(row))
      try {
        projection.read(getRow(row))
        return { ...unreadable, reason: 'a property of a related row, which the list is ordered by, cannot be read' }
      } catch {
        return unreadable
      }
    }
  }
}

/** Explains why a value of a column cannot be read; undefined if it can. */
function explainFailure ({ name, codec }: Column, value: unknown): string | undefined {
  if (value === null) return undefined
  try {
    codec.read(value)
    return undefined
  } catch (error) {
    return `column ${JSON.stringify(name)}: ${(error as Error).message}`
  }
}

function hasName (names: unknown, property: string): boolean {
  if (typeof names !== 'string') return false
  const properties: unknown = JSON.parse(names)
  return Array.isArray(properties) && properties.includes(property)
}

/** Converts an item to the values of columns; NULL for properties that are null or missing. */
export function toValues (columns: readonly Column[], item: object): Value[] {
  // The item matches the schema, whose properties are the columns.
  const properties = item as Readonly<Record<string, unknown>>
  const values: Value[] = []
  for (const { property, codec } of columns) {
    const value = properties[property]
    values.push(value === undefined || value === null ? null : codec.write(value))
  }
  return values
}

/** Lists the properties that are null but could also be missing, for the column that stores their names. */
export function toNulls (columns: readonly Column[], item: object): string | null {
  const properties = item as Readonly<Record<string, unknown>> // as above
  const nulls = columns.filter(({ property, nullable, required }) => {
    return nullable && !required && properties[property] === null
  })
  return nulls.length === 0 ? null : JSON.stringify(nulls.map(({ property }) => property))
}
