import type { Shape } from '../contract.ts'
import { codecs, type Codec } from './codec.ts'
import type { Column } from './column.ts'
import type { Dialect } from './dialect.ts'
import { kindOf, type Kind } from './kind.ts'
import type { SqlOptions } from './options.ts'
import { versioning, type Versioning } from './versioning.ts'

/** A shape laid out in a table of one database: all that the statements are made of. */
export interface Layout {
  readonly dialect: Dialect
  readonly shape: Shape
  readonly codecs: Readonly<Record<Kind, Codec>>
  /** The name of the table, as a statement has it. */
  readonly table: string
  /** The same, as the database has it: a schema may come first. */
  readonly path: readonly string[]
  /** The last of it. */
  readonly name: string
  /** Whether the table is as `createTable` makes it. */
  readonly own: boolean
  readonly id: Column
  readonly columns: readonly Column[]
  readonly byProperty: ReadonlyMap<string, Column>
  readonly version: Versioning
  /** The column, as a statement has it, that names the properties that are null where they could be absent too. */
  readonly nulls: string | undefined
  readonly indexes: ReadonlyArray<readonly string[]>
  /** The table of the receipts: as a statement has it, as the database has it, and the last of that. */
  readonly receipts: { readonly table: string, readonly path: readonly string[], readonly name: string }
}

export function layout (dialect: Dialect, shape: Shape, options: SqlOptions): Layout {
  const { schema: { properties = {}, required = [] }, id: { property: idProperty } } = shape
  const own = typeof (options.version ?? '') === 'string'
  const versionColumn = typeof options.version === 'object' && 'column' in options.version ? options.version.column : undefined
  const version = versioning(dialect, options.version ?? 'version')
  const isDigest = version.compare === undefined
  const all = codecs(dialect.instant)
  const kept = own ? all : { ...all, uuid: { ...all.uuid, write: all.text.write } }
  const columns = Object.entries(properties).map(([property, schema], index): Column => {
    const { kind, nullable } = kindOf(schema)
    const name = columnName(property, options.columns)
    const sql = dialect.quote(name)
    const expression = (isDigest ? dialect.textual : dialect.select[kind])?.(sql) ?? sql
    return {
      property,
      schema,
      name,
      sql,
      select: expression === sql ? sql : `${expression} AS ${dialect.quote(`text ${index}`)}`,
      kind,
      codec: kept[kind],
      nullable: nullable && property !== idProperty,
      required: required.includes(property) || property === idProperty,
      generated: name === versionColumn || (options.generated?.includes(property) ?? false)
    }
  })
  const byProperty = new Map(columns.map((column) => [column.property, column]))
  const id = columnOf({ byProperty, shape }, idProperty)
  const nulls = own && columns.some(({ nullable, required }) => nullable && !required) ? 'nulls' : undefined
  for (const reserved of own ? [version.name, nulls] : []) {
    const clash = columns.find(({ name }) => name === reserved)
    if (clash !== undefined) throw new TypeError(`The column ${reserved} of ${shape.name} is needed by the storage: give the property ${clash.property} another with the option "columns"`)
  }
  const path = (options.table ?? shape.name).split('.')
  const receipts = (options.receipts ?? `${options.table ?? shape.name}_receipts`).split('.')
  return {
    dialect,
    shape,
    codecs: kept,
    table: path.map(dialect.quote).join('.'),
    path,
    name: path.slice(-1).join(),
    own,
    id,
    columns,
    byProperty,
    version,
    nulls: nulls === undefined ? undefined : dialect.quote(nulls),
    indexes: options.indexes ?? [],
    receipts: { table: receipts.map(dialect.quote).join('.'), path: receipts, name: receipts.slice(-1).join() }
  }
}

/** Only a property of the item itself has one; what is nested is part of it. */
export function columnOf ({ byProperty, shape }: Pick<Layout, 'byProperty' | 'shape'>, property: string): Column {
  const column = byProperty.get(property)
  if (column === undefined) throw new TypeError(`${shape.name} has no column for ${property}: the schema has no such member of the item itself`)
  return column
}

function columnName (property: string, columns: SqlOptions['columns']): string {
  if (columns === 'snake_case') return property.replace(/(?<=[\da-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase()
  return columns?.[property] ?? property
}
