import type { StorageUse } from '../contract.ts'
import type { Catalog, CatalogIndex, TypeFamily } from './catalog.ts'
import type { Column } from './column.ts'
import { buildAddColumn, buildUniqueIndex, getColumnType } from './create-table.ts'
import type { Kind } from './kind.ts'
import { getColumn, type Layout } from './layout.ts'
import { countDecimals, findChangedNumeral } from './numerals.ts'
import { buildIndex, findIndexes, type UsefulIndex } from './useful-indexes.ts'

/** A difference between a table and its definition. */
export interface Difference {
  /** What differs, and what that means. A sentence without a capital letter and a full stop. */
  readonly what: string
  /** The statements that remove it, without loss of data. */
  readonly statements: readonly string[]
  /** What else removes it: the end of a sentence that begins with the statements, or a sentence if there are none. */
  readonly alternative: string
  /** Whether requests work nevertheless. */
  readonly isWarning?: boolean
}

/** Compares a table with what the statements of a storage rely on. */
export function compareTable (layout: Layout, catalog: Catalog, use: StorageUse): readonly Difference[] {
  const { shape: { id, unique } } = layout
  // An id that the database generates is unique as long as nothing else writes one.
  const sets = id.generate === 'storage' ? unique : [[id.property], ...unique]
  return [
    ...findUnsupportedSettings(layout, catalog, use),
    ...findMissingColumns(layout, catalog),
    ...layout.columns.flatMap((column) => compareColumn(layout, catalog, column, use)),
    ...use.creates ? findExtraColumns(layout, catalog) : [],
    ...sets.flatMap((properties) => findMissingUnique(layout, catalog, properties)),
    ...findMissingIndexes(layout, catalog)
  ]
}

function findUnsupportedSettings ({ dialect }: Layout, { settings }: Catalog, { writes }: StorageUse): Difference[] {
  return [...settings].flatMap(([name, value]): Difference[] => {
    const setting = dialect.catalog.settings[name]
    if (setting === undefined || setting.supports(value, writes)) return []
    const what = `the connection has the setting ${name} = '${value}', ${setting.effect}`
    return [{ what, statements: [], alternative: setting.advice }]
  })
}

function findMissingColumns (layout: Layout, catalog: Catalog): Difference[] {
  const { dialect, table, id, columns, version, nulls } = layout
  const isMissing = (name: string): boolean => {
    const folded = dialect.catalog.foldName(name)
    return !catalog.columns.has(folded) && !dialect.catalog.hiddenColumns.includes(folded)
  }
  const missing = columns.filter(({ name }) => isMissing(name)).map((column): Difference => {
    const option = column.name === column.property
      ? `name the column of "${column.property}" with the storage option "columns"`
      : 'correct the storage option "columns"'
    return {
      what: `the table ${table} has no column ${column.sql}, so every request would fail`,
      // A table without a primary key is not one that was meant.
      statements: column === id ? [] : [buildAddColumn(layout, column)],
      alternative: column === id ? `Add it as the primary key, or ${option}.` : `or ${option}`
    }
  })
  if (version.name !== undefined && isMissing(version.name)) {
    const name = dialect.quote(version.name)
    missing.push({
      what: `the table ${table} has no column ${name} for the version of a row, so every request would fail`,
      statements: layout.managed
        ? [
            `ALTER TABLE ${table} ADD COLUMN ${name} ${dialect.catalog.keyText(40)} NOT NULL DEFAULT ''`,
            `UPDATE ${table} SET ${name} = ${dialect.catalog.randomText}`
          ]
        : [],
      alternative: layout.managed
        ? 'or state with the storage option "version" how the table stores versions'
        : 'Add it, or state with the storage option "version" how the table stores versions.'
    })
  }
  if (nulls !== undefined && isMissing('nulls')) {
    missing.push({
      what: `the table ${table} has no column ${nulls}, which createTable adds for properties that can be both null ` +
        'and missing, so every request would fail',
      statements: [`ALTER TABLE ${table} ADD COLUMN ${nulls} ${dialect.catalog.types.json}`],
      alternative: 'or state with the storage option "version" that the table was not created by createTable'
    })
  }
  return missing
}

/** Which types can store the values of each kind. Text stores decimals of a numeric column exactly. */
const families: Readonly<Record<Kind, readonly TypeFamily[]>> = {
  boolean: ['boolean', 'number'],
  integer: ['number'],
  number: ['number'],
  text: ['text', 'uuid', 'date', 'timestamp', 'number', 'binary'],
  uuid: ['uuid', 'text'],
  date: ['date', 'timestamp', 'text'],
  'date-time': ['timestamp', 'text'],
  json: ['json', 'text', 'binary']
}

function compareColumn (layout: Layout, catalog: Catalog, column: Column, use: StorageUse): Difference[] {
  const { dialect, table, managed, id, version } = layout
  const found = catalog.columns.get(dialect.catalog.foldName(column.name))
  if (found === undefined) return []
  const differences: Difference[] = []
  if (found.family !== undefined && !families[column.kind].includes(found.family)) {
    differences.push({
      what: `the column ${column.sql} of the table ${table} has the type ${found.type}, but "${column.property}" is ` +
        `stored as ${dialect.catalog.types[column.kind]}, so its values cannot be stored, read or compared`,
      statements: [],
      alternative: 'Change the type of the column with a migration, or that of the property in the schema.'
    })
  }
  // In other tables, every comparison is exact whatever the collation.
  if (managed && column.kind === 'text' && found.inexact !== undefined) {
    differences.push({
      what: `the column ${column.sql} of the table ${table} compares as ${found.inexact}, in which different texts ` +
        'can be equal, so filters, ids and scopes would find rows of other values',
      statements: [],
      alternative: `Change its type to ${getColumnType(layout, column)} with a migration, or, if the column has to ` +
        `stay as it is, set the storage option "version" to { column: '${version.name}', as: 'random' }.`
    })
  }
  const isSent = use.writes && !column.generated
  const changed = isSent && column.kind === 'text'
    ? findChangedNumeral(column.schema, (numeral) => dialect.catalog.storeNumeral(found.type, numeral))
    : undefined
  if (changed !== undefined) {
    const { sent, returned } = changed
    const type = found.type.replace(/,\d+\)/, `,${countDecimals(sent)})`)
    differences.push({
      what: `the column ${column.sql} of the table ${table} has the type ${found.type}, which returns "${sent}" as ` +
        `"${returned}", but the schema of "${column.property}" does not allow that, so a stored item could not be ` +
        'changed',
      statements: [],
      alternative: `Change the type of the column to ${type === found.type ? getColumnType(layout, column) : type} ` +
        `with a migration, or the schema so that it allows "${returned}".`
    })
  }
  // In a table created by createTable, a missing property is written as NULL. In others, the database sets its default.
  const canBeNull = column.nullable || (!column.required && (managed || found.needsValue))
  const isWritten = isSent && column !== id
  if (isWritten && found.notNull && canBeNull && !catalog.hasTrigger) {
    const what = column.nullable ? 'null' : 'missing'
    differences.push({
      what: `the column ${column.sql} of the table ${table} is NOT NULL, but "${column.property}" can be ${what}, ` +
        'so such items cannot be stored',
      statements: dialect.catalog.dropNotNull === undefined ? [] : [dialect.catalog.dropNotNull(table, column.sql)],
      alternative: dialect.catalog.dropNotNull === undefined
        ? 'Remove NOT NULL with a migration, or make the property required and not nullable in the schema.'
        : 'or make the property required and not nullable in the schema'
    })
  }
  return differences
}

function findExtraColumns (layout: Layout, catalog: Catalog): Difference[] {
  const { dialect, table, columns, version, nulls } = layout
  if (catalog.indexes === undefined || catalog.hasTrigger) return []
  const known = new Set([
    ...columns.map(({ name }) => name),
    ...version.insert === undefined || version.name === undefined ? [] : [version.name],
    ...nulls === undefined ? [] : ['nulls']
  ].map(dialect.catalog.foldName))
  return [...catalog.columns]
    .filter(([name, { needsValue }]) => needsValue && !known.has(name))
    .map(([, { name }]): Difference => ({
      what: `the column ${dialect.quote(name)} of the table ${table} is NOT NULL without a default and belongs to no ` +
        'property, so new items cannot be stored',
      statements: [],
      alternative: 'Give it a default, remove NOT NULL, add a property for it, or drop it with a migration.'
    }))
}

function findMissingUnique (layout: Layout, catalog: Catalog, properties: readonly string[]): Difference[] {
  const { dialect, table, shape: { id } } = layout
  if (catalog.indexes === undefined) return []
  const folded = new Set(properties.map((property) => dialect.catalog.foldName(getColumn(layout, property).name)))
  const covering = catalog.indexes.filter((index) => index.unique && isCoveredBy(index, catalog, folded))
  if (covering.some(({ predicate }) => predicate === undefined || isNotNullPredicate(predicate, folded))) return []
  const [partial] = covering
  const found = partial === undefined
    ? 'it has no unique index for that'
    : `its unique index "${partial.name}" is only for some rows`
  const isId = properties.length === 1 && properties[0] === id.property
  return [{
    what: `the table ${table} does not keep ${properties.join(' and ')} unique: ${found}`,
    statements: [buildUniqueIndex(layout, properties)],
    alternative: isId ? '' : 'or remove it from "unique"'
  }]
}

/** Whether the index covers only these columns: if they are equal in two rows, it refuses the second. */
function isCoveredBy ({ columns, expressions }: CatalogIndex, catalog: Catalog, names: ReadonlySet<string>): boolean {
  const words = new Set(expressions.match(/[\p{L}\p{N}_$]+/gu))
  const used = [...columns, ...[...catalog.columns.keys()].filter((name) => words.has(name))]
  return used.length > 0 && used.every((name) => names.has(name))
}

/** Whether a partial index leaves out only rows with a null, which are not compared anyway: `email IS NOT NULL`. */
function isNotNullPredicate (predicate: string, names: ReadonlySet<string>): boolean {
  const parts = predicate.replaceAll(/[()"`[\]]/g, '').split(/\s+and\s+/i)
  return parts.every((part) => names.has(/^\s*(\S+)\s+(?:is\s+not\s+null|notnull)\s*$/i.exec(part)?.[1] ?? ''))
}

/** Lists and relations work without an index, but the database reads all rows. */
function findMissingIndexes (layout: Layout, { indexes, columns: found }: Catalog): Difference[] {
  const { dialect, table } = layout
  if (indexes === undefined) return []
  const hasIndex = (columns: readonly Column[]): boolean => {
    const folded = columns.map(({ name }) => dialect.catalog.foldName(name))
    return indexes.some((index) => {
      const first = [...index.columns].slice(0, folded.length)
      return index.predicate === undefined && index.expressions === '' && String(first) === String(folded)
    })
  }
  const useful = findIndexes(layout, (column) => {
    return found.get(dialect.catalog.foldName(column.name))?.type ?? getColumnType(layout, column)
  })
  return useful.filter(({ columns }) => !hasIndex(columns)).map((index): Difference => {
    const isFound = index.use === 'related' && hasIndex(index.columns.slice(0, 1))
    return {
      what: `${describeUse(index)}, but no index of the table ${table} begins with that, so the database reads ` +
        (isFound ? 'all items that are related to one' : 'all rows'),
      statements: [buildIndex(layout, index)],
      alternative: '',
      isWarning: true
    }
  })
}

function describeUse ({ columns, use }: UsefulIndex): string {
  const [first, ...others] = columns.map(({ property }) => property)
  if (use !== 'related') return `lists are ${use} by ${[first, ...others].join(' and ')}`
  return `relations find items by ${first}${others.length === 0 ? '' : ` in the order of ${others.join(' and ')}`}`
}
