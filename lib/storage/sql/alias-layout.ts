import type { Column } from './column.ts'
import { selectColumn, type Layout } from './layout.ts'

const known = new WeakMap<Layout, Map<string, Layout>>()

/** Returns the layout of a table that a statement refers to by an alias, which is SQL. */
export function aliasLayout (layout: Layout, alias: string): Layout {
  const byAlias = known.get(layout) ?? new Map<string, Layout>()
  known.set(layout, byAlias)
  const aliased = byAlias.get(alias) ?? createAliased(layout, alias)
  byAlias.set(alias, aliased)
  return aliased
}

function createAliased (layout: Layout, alias: string): Layout {
  const { dialect, id, version, nulls } = layout
  const columns = layout.columns.map((column, index): Column => {
    const sql = `${alias}.${column.sql}`
    return { ...column, sql, select: selectColumn(dialect, { sql, kind: column.kind, index }, version) }
  })
  const byProperty = new Map(columns.map((column) => [column.property, column]))
  return {
    ...layout,
    alias,
    columns,
    byProperty,
    id: byProperty.get(id.property)!,
    version: version.within(alias),
    nulls: nulls && `${alias}.${nulls}`
  }
}
