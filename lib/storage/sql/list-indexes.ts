import type { JsonSchema } from '../contract.ts'
import type { Column } from './column.ts'
import { buildCreateTable, getColumnType, getIndexName, getKeys, type NewIndex } from './create-table.ts'
import type { Layout } from './layout.ts'

/** An index that lists of a definition can use. */
export interface ListIndex {
  readonly columns: readonly Column[]
  readonly use: 'ordered' | 'filtered'
}

/** Finds the indexes that lists of a definition can use. Nested properties, JSON and booleans have none. */
export function findListIndexes (layout: Layout): ListIndex[] {
  const { dialect, managed, byProperty, id, shape: { lists } } = layout
  const found: ListIndex[] = []
  const ordered = findOrderColumns(layout)
  if (ordered.length > 0) found.push({ columns: ordered, use: 'ordered' })
  for (const property of lists?.filter ?? []) {
    const column = byProperty.get(property)
    if (column === undefined || column === id || column.kind === 'json' || column.kind === 'boolean') continue
    // The index of the order serves the filter as well.
    if (ordered[0] === column) continue
    const [equatable] = dialect.equatable(column.sql, column.kind, managed)
    if (managed || equatable === column.sql) found.push({ columns: [column], use: 'filtered' })
  }
  return found
}

/** Returns the columns of `list.order` before the id; none if an index cannot return rows in that order. */
function findOrderColumns ({ dialect, managed, byProperty, id, shape: { lists } }: Layout): Column[] {
  const columns: Column[] = []
  const order = (lists?.order ?? []).filter(({ property }) => property !== id.property)
  for (const { property, descending } of order) {
    const column = byProperty.get(property)
    if (column === undefined || column.kind === 'json' || descending !== order[0]?.descending) return []
    const { sql, kind, nullable, required } = column
    const isPlain = dialect.ordered(sql, kind, managed) === sql &&
      dialect.orderBy(sql, false, nullable || !required) === sql
    if (!isPlain) return []
    columns.push(column)
  }
  return columns
}

/**
 * Builds the statement that creates an index for lists; undefined if a column can be too long for it. `getType` returns
 * the type of a column.
 */
export function buildListIndex (
  layout: Layout,
  listIndex: ListIndex,
  getType: (column: Column) => string
): string | undefined {
  const index = toNewIndex(layout, listIndex, getType)
  return index && `CREATE INDEX ${layout.dialect.indexOn(index.name, layout.path)} (${index.key.join(', ')})`
}

function toNewIndex (
  layout: Layout,
  { columns, use }: ListIndex,
  getType: (column: Column) => string
): NewIndex | undefined {
  const { dialect, id } = layout
  const parts = columns.map((column) => {
    const { kind, sql, schema } = column
    const limits = { maxLength: getMaxLength(schema), share: columns.length }
    return kind === 'text' ? dialect.indexText(sql, getType(column), limits) : sql
  })
  if (!parts.every((part) => part !== undefined)) return undefined
  // The beginning of a text finds rows, but does not order them.
  if (use === 'ordered' && parts.some((part, index) => part !== columns[index]?.sql)) return undefined
  return {
    name: getIndexName(layout, columns.map(({ property }) => property)),
    // The indexes of InnoDB contain the primary key already.
    key: dialect.inlineIndexes ? parts : [...parts, id.sql]
  }
}

/** The maximum length of a text; `Infinity` if the schema has none. */
function getMaxLength (schema: JsonSchema): number {
  const { maxLength, anyOf, oneOf } = schema
  const branches = anyOf ?? oneOf
  if (Array.isArray(branches)) return Math.max(...branches.map(getMaxLength))
  const values = 'const' in schema ? [schema.const] : schema.enum
  if (Array.isArray(values)) return Math.max(...values.map((value) => String(value).length))
  if (schema.type === 'null') return 0
  return typeof maxLength === 'number' ? maxLength : Infinity
}

/** Builds the statements that create a table of a collection with the indexes for its lists. */
export function buildNewTable (layout: Layout): string[] {
  const keys = getKeys(layout)
  const indexes = findListIndexes(layout)
    .filter(({ columns }) => !keys.some((key) => columns.every((column, index) => column === key[index])))
    .map((listIndex) => toNewIndex(layout, listIndex, (column) => getColumnType(layout, column)))
  return buildCreateTable(layout, indexes.filter((index) => index !== undefined))
}
