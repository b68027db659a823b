import type { Column } from './column.ts'
import { columnOf, type Layout } from './layout.ts'
import { uniqueName } from './refusal.ts'

/** The statements that make a table for a collection, in their order. */
export function createTable (layout: Layout): string[] {
  const { dialect, table, shape, columns, version, nulls, indexes, own } = layout
  if (!own || version.name === undefined) throw new TypeError(`The table of ${shape.name} exists, as its option "version" says: it is not made here`)
  const uniques = shape.unique.map((properties) => properties.map((property) => columnOf(layout, property)))
  const ordered = indexes.map((properties) => [...properties.map((property) => columnOf(layout, property)), layout.id])
  const lines = columns.map((column) => `${column.sql} ${definition(layout, column, keyShare(column, [[layout.id], ...uniques, ...ordered]))}`)
  lines.push(`${dialect.quote(version.name)} ${dialect.keyText(40)} NOT NULL`)
  if (nulls !== undefined) lines.push(`${nulls} ${dialect.types.json}`)
  shape.unique.forEach((properties, index) => {
    lines.push(`CONSTRAINT ${dialect.quote(uniqueName(layout, properties))} UNIQUE (${list(uniques[index])})`)
  })
  const separate: string[] = []
  indexes.forEach((properties, index) => {
    const name = `${layout.name}_${properties.join('_')}_index`.slice(-60)
    if (dialect.inlineIndexes) lines.push(`INDEX ${dialect.quote(name)} (${list(ordered[index])})`)
    else separate.push(`CREATE INDEX IF NOT EXISTS ${dialect.indexOn(name, layout.path)} (${list(ordered[index])})`)
  })
  return [`CREATE TABLE IF NOT EXISTS ${table} (\n  ${lines.join(',\n  ')}\n)${dialect.tableOptions}`, ...separate]
}

function definition ({ dialect, id, shape }: Layout, column: Column, share: number): string {
  if (column === id) {
    if (shape.id.generate === 'storage' && column.kind !== 'integer') {
      throw new TypeError(`The ids of ${shape.name} are made by the database: the schema must have ${column.property} as an integer`)
    }
    if (shape.id.generate === 'storage') return dialect.identity
    return `${type(column)} NOT NULL PRIMARY KEY`
  }
  const check = column.kind === 'json' ? dialect.jsonCheck(column.sql) : ''
  return `${type(column)}${column.required && !column.nullable ? ' NOT NULL' : ''}${check}`

  function type ({ kind, schema: { maxLength } }: Column): string {
    if (kind !== 'text' || share === 0) return dialect.types[kind]
    const most = Math.floor(dialect.keyLength / share)
    return dialect.keyText(typeof maxLength === 'number' ? Math.min(maxLength, most) : most)
  }
}

/** How many text columns the largest key has that this column is part of; none: 0. */
function keyShare (column: Column, keys: ReadonlyArray<readonly Column[]>): number {
  const shares = keys.filter((key) => key.includes(column)).map((key) => key.filter(({ kind }) => kind === 'text').length)
  return Math.max(0, ...shares)
}

function list (columns: readonly Column[] = []): string {
  return columns.map(({ sql }) => sql).join(', ')
}
