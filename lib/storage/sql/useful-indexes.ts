import type { JsonSchema, Order, RelationKey } from '../contract.ts'
import type { Column } from './column.ts'
import { buildCreateTable, getColumnType, getIndexName, getKeys, type NewIndex } from './create-table.ts'
import type { Layout } from './layout.ts'
import { getOperand } from './operand.ts'
import type { Reference } from './reference-constraints.ts'

/** An index that lists or relations of a definition can use. */
export interface UsefulIndex extends NewIndex {
  readonly columns: readonly Column[]
  readonly use: 'ordered' | 'filtered' | 'related'
}

/** Finds the indexes that lists and relations of a definition can use. `getType` returns the type of a column. */
export function findIndexes (
  layout: Layout,
  getType: (column: Column) => string = (column) => getColumnType(layout, column)
): UsefulIndex[] {
  const found = [
    ...findListIndexes(layout).map((index) => toUsefulIndex(layout, index, getType)),
    ...layout.keys.map((key) => findRelationIndex(layout, key, getType))
  ].filter((index) => index !== undefined)
  return found.filter((index, position) => !found.some((other, otherPosition) => {
    const isFirst = other.columns.length > index.columns.length || otherPosition < position
    return isFirst && beginsWith(other.columns, index.columns)
  }))
}

function beginsWith (columns: readonly Column[], first: readonly Column[]): boolean {
  return first.every((column, position) => column === columns[position])
}

type ListIndex = Pick<UsefulIndex, 'columns' | 'use'>

/** Nested properties, JSON and booleans have no indexes. */
function findListIndexes (layout: Layout): ListIndex[] {
  const { byProperty, id, shape: { lists } } = layout
  const found: ListIndex[] = []
  const ordered = findOrderColumns(layout)
  if (ordered.length > 0) found.push({ columns: ordered, use: 'ordered' })
  for (const property of lists?.filter ?? []) {
    const column = byProperty.get(property)
    if (column === undefined || column === id || column.kind === 'boolean') continue
    // The index of the order serves the filter as well.
    if (ordered[0] !== column && canFind(layout, column)) found.push({ columns: [column], use: 'filtered' })
  }
  return found
}

/** Whether an index finds rows by the value of a column. */
function canFind ({ dialect, managed }: Layout, { sql, kind }: Column): boolean {
  return kind !== 'json' && (managed || dialect.equatable(sql, kind, managed)[0] === sql)
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

/** Finds the index that returns the rows of a key in their order, or at least finds them. */
function findRelationIndex (
  layout: Layout,
  { property, order }: RelationKey,
  getType: (column: Column) => string
): UsefulIndex | undefined {
  const { byProperty, id } = layout
  const column = byProperty.get(property)
  if (column === undefined || column === id || !canFind(layout, column)) return undefined
  const ordered = toOrderedColumns(layout, order)
  const whole = ordered && toUsefulIndex(layout, {
    columns: [column, ...ordered.columns],
    use: 'related',
    descending: ordered.descending
  }, getType)
  return whole ?? toUsefulIndex(layout, { columns: [column], use: 'related' }, getType)
}

/** Returns the columns of an order before the id; undefined if an index cannot return rows in that order. */
function toOrderedColumns (
  layout: Layout,
  order: readonly Order[]
): { columns: Column[], descending: ReadonlySet<Column> } | undefined {
  const { dialect, byProperty, id } = layout
  const isReverse = order.some(({ property, descending }) => property === id.property && descending)
  const columns: Column[] = []
  const descending = new Set<Column>()
  for (const { property, descending: isDescending } of order) {
    if (property === id.property) break
    const column = byProperty.get(property)
    if (column === undefined || column.kind === 'json') return undefined
    const { sorted, nullable } = getOperand(layout, property, undefined)
    const plain = isDescending ? `${column.sql} DESC` : column.sql
    if (dialect.orderBy(sorted, isDescending, nullable) !== plain) return undefined
    columns.push(column)
    // An index can be read backwards, and the id is ascending in all of them.
    if (isDescending !== isReverse) descending.add(column)
  }
  return { columns, descending }
}

/** Builds the statement that creates an index. */
export function buildIndex ({ dialect, path }: Layout, { name, key }: NewIndex): string {
  return `CREATE INDEX ${dialect.catalog.indexOn(name, path)} (${key.join(', ')})`
}

/** Returns undefined if a column can be too long for an index. */
function toUsefulIndex (
  layout: Layout,
  { columns, use, descending }: ListIndex & { readonly descending?: ReadonlySet<Column> },
  getType: (column: Column) => string
): UsefulIndex | undefined {
  const { dialect, id } = layout
  const parts = columns.map((column, position) => {
    const { kind, sql, schema } = column
    if (kind !== 'text') return sql
    const limits = { maxLength: getMaxLength(schema), share: columns.length }
    // An id is in an index, of the other table, whatever its length.
    const isKey = use === 'related' && position === 0
    return dialect.catalog.indexText(sql, getType(column), limits) ?? (isKey ? sql : undefined)
  })
  if (!parts.every((part) => part !== undefined)) return undefined
  // The beginning of a text finds rows, but does not order them.
  const isOrdered = use === 'ordered' || columns.length > 1
  if (isOrdered && parts.some((part, position) => part !== columns[position]?.sql)) return undefined
  const key = parts.map((part, position) => descending?.has(columns[position]!) === true ? `${part} DESC` : part)
  return {
    columns,
    use,
    name: getIndexName(layout, columns.map(({ property }) => property)),
    // The indexes of InnoDB contain the primary key already.
    key: dialect.catalog.inlineIndexes ? key : [...key, id.sql]
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

/** Builds the statements that create a table of a collection with the indexes for its lists and relations. */
export function buildNewTable (layout: Layout, references: readonly Reference[] = []): string[] {
  const keys = getKeys(layout)
  const indexes = findIndexes(layout).filter(({ columns }) => !keys.some((key) => beginsWith(key, columns)))
  return buildCreateTable(layout, indexes, references)
}
