import type { RelationKey, Shape } from '../contract.ts'
import { createCodecs, type Codec } from './codec.ts'
import type { Column } from './column.ts'
import type { SqlDialect } from './dialect.ts'
import { getKind, type Kind } from './kind.ts'
import type { SqlOptions } from './options.ts'
import { createVersioning, type Versioning } from './versioning.ts'

/** How a collection is stored in a table of one database. All statements are built from it. */
export interface Layout {
  readonly dialect: SqlDialect
  readonly shape: Shape
  readonly codecs: Readonly<Record<Kind, Codec>>
  /** The quoted name of the table. */
  readonly table: string
  /** How a statement refers to the table, and its columns begin with; undefined if they are not qualified. */
  readonly alias?: string
  /** The parts of the name, unquoted: a schema may come first. */
  readonly path: readonly string[]
  /** The last part of the name. */
  readonly name: string
  /** Whether the table is as `createTable` creates it. */
  readonly managed: boolean
  readonly id: Column
  readonly columns: readonly Column[]
  readonly byProperty: ReadonlyMap<string, Column>
  readonly version: Versioning
  /** The quoted column with the names of properties that are null but could also be missing. */
  readonly nulls: string | undefined
  readonly indexes: ReadonlyArray<readonly string[]>
  /** What relations find rows by. Statements that read and write do not need it. */
  readonly keys: readonly RelationKey[]
  /** The table of the receipts: its quoted name, the parts of its name, and the last part. */
  readonly receipts: { readonly table: string, readonly path: readonly string[], readonly name: string }
}

/** Derives the layout from a shape and the options of the storage. */
export function createLayout (
  dialect: SqlDialect,
  shape: Shape,
  options: SqlOptions,
  keys: readonly RelationKey[] = []
): Layout {
  const managed = typeof (options.version ?? '') === 'string'
  const version = createVersioning(dialect, options.version ?? 'version')
  const defaultCodecs = createCodecs(dialect.toDateTime)
  const codecs = managed
    ? defaultCodecs
    : { ...defaultCodecs, uuid: { ...defaultCodecs.uuid, write: defaultCodecs.text.write } }
  const columns = createColumns(shape, options, { dialect, codecs, version })
  const byProperty = new Map(columns.map((column) => [column.property, column]))
  const id = getColumn({ byProperty, shape }, shape.id.property)
  const needsNulls = managed && columns.some(({ nullable, required }) => nullable && !required)
  const nulls = needsNulls ? 'nulls' : undefined
  if (managed) checkReservedColumns(shape, columns, [version.name, nulls])
  const path = (options.table ?? shape.name).split('.')
  const receipts = (options.receipts ?? `${options.table ?? shape.name}_receipts`).split('.')
  return {
    dialect,
    shape,
    codecs,
    table: path.map(dialect.quote).join('.'),
    path,
    name: path.slice(-1).join(),
    managed,
    id,
    columns,
    byProperty,
    version,
    nulls: nulls === undefined ? undefined : dialect.quote(nulls),
    indexes: options.indexes ?? [],
    keys,
    receipts: {
      table: receipts.map(dialect.quote).join('.'),
      path: receipts,
      name: receipts.slice(-1).join()
    }
  }
}

interface ColumnOptions {
  readonly dialect: SqlDialect
  readonly codecs: Readonly<Record<Kind, Codec>>
  readonly version: Versioning
}

/** Builds the expression that selects a column. */
export function selectColumn (
  dialect: SqlDialect,
  { sql, kind, index }: Pick<Column, 'sql' | 'kind'> & { readonly index: number },
  { compare }: Versioning
): string {
  // A digest of the row needs all columns as text.
  const expression = (compare === undefined ? dialect.castToText : dialect.select[kind])?.(sql) ?? sql
  return expression === sql ? sql : `${expression} AS ${dialect.quote(`text ${index}`)}`
}

function createColumns (shape: Shape, options: SqlOptions, { dialect, codecs, version }: ColumnOptions): Column[] {
  const { schema: { properties = {}, required = [] }, id } = shape
  const versionOption = options.version
  const versionColumn = typeof versionOption === 'object' && 'column' in versionOption
    ? versionOption.column
    : undefined
  return Object.entries(properties).map(([property, schema], index): Column => {
    const { kind, nullable } = getKind(schema)
    const name = getColumnName(property, options.columns)
    const sql = dialect.quote(name)
    return {
      property,
      schema,
      name,
      sql,
      select: selectColumn(dialect, { sql, kind, index }, version),
      kind,
      codec: codecs[kind],
      nullable: nullable && property !== id.property,
      required: required.includes(property) || property === id.property,
      generated: name === versionColumn || (options.generated?.includes(property) ?? false)
    }
  })
}

function checkReservedColumns (
  shape: Shape,
  columns: readonly Column[],
  reserved: ReadonlyArray<string | undefined>
): void {
  for (const name of reserved) {
    const clash = columns.find((column) => column.name === name)
    if (clash !== undefined) {
      throw new TypeError(
        `The storage of ${shape.name} needs the column ${name} itself. ` +
        `Give the property ${clash.property} another column with the option "columns".`
      )
    }
  }
}

/** Returns the column of a property. Nested properties have none: they are stored within their top-level property. */
export function getColumn ({ byProperty, shape }: Pick<Layout, 'byProperty' | 'shape'>, property: string): Column {
  const column = byProperty.get(property)
  if (column === undefined) {
    throw new TypeError(
      `${shape.name} has no column for ${property}. Use a top-level property of the schema: ` +
      `${[...byProperty.keys()].join(', ')}.`
    )
  }
  return column
}

function getColumnName (property: string, columns: SqlOptions['columns']): string {
  if (columns === 'snake_case') {
    return property.replace(/(?<=[\da-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase()
  }
  return columns?.[property] ?? property
}
