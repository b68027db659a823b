import type { Column } from './column.ts'
import type { Row } from './dialect.ts'
import { getColumn, type Layout } from './layout.ts'
import { getUniqueName } from './refusal.ts'
import type { Session, SignalContext } from './session.ts'

/** A unique index or constraint, or a primary key. */
interface UniqueIndex {
  readonly name: string
  /** The columns it covers. */
  readonly columns: Set<string>
  /** The expressions it covers. */
  expressions: string
  /** The condition of a partial index. */
  predicate: string | undefined
}

/** What the database knows about a table. */
interface Catalog {
  readonly columns: ReadonlySet<string>
  /** Undefined for a view and the like, for which the database cannot tell. */
  readonly indexes: readonly UniqueIndex[] | undefined
}

/**
 * Looks in the catalog of the database for what the statements rely on: the columns, and a unique index for the id and
 * for each set of unique properties. Returns a sentence for each that is missing. Throws if the table does not exist.
 */
export async function checkTable (
  layout: Layout,
  session: Session,
  context: SignalContext
): Promise<readonly string[]> {
  const { dialect, table, shape: { id, unique } } = layout
  const { text, values } = dialect.catalog(layout.path)
  const rows = await session.rows({ text, values, context })
  if (rows.length === 0) throw new Error(`The table ${table} does not exist.`)
  const catalog = readCatalog(rows, dialect.foldName)
  // An id that the database generates is unique as long as nothing else writes one.
  const sets = id.generate === 'storage' ? unique : [[id.property], ...unique]
  return [
    ...findMissingColumns(layout, catalog),
    ...sets.flatMap((properties) => findMissingIndex(layout, catalog, properties))
  ]
}

/** The rows are described at `Dialect.catalog`. */
function readCatalog (rows: readonly Row[], foldName: (name: string) => string): Catalog {
  const columns = new Set<string>()
  const indexes = new Map<string, UniqueIndex>()
  let isTable = true
  for (const [kind, name, column, expression, predicate] of rows) {
    if (kind === 'column') {
      columns.add(foldName(String(column)))
    } else if (kind === 'unique') {
      const index = indexes.get(String(name)) ?? createIndex(String(name))
      indexes.set(index.name, index)
      if (column !== null) index.columns.add(foldName(String(column)))
      if (expression !== null) index.expressions += ` ${foldName(String(expression))}`
      if (predicate !== null) index.predicate = foldName(String(predicate))
    } else {
      isTable = false
    }
  }
  return { columns, indexes: isTable ? [...indexes.values()] : undefined }
}

function createIndex (name: string): UniqueIndex {
  return { name, columns: new Set(), expressions: '', predicate: undefined }
}

function findMissingColumns ({ dialect, table, columns, version, nulls }: Layout, catalog: Catalog): string[] {
  const isMissing = (name: string): boolean => {
    const folded = dialect.foldName(name)
    return !catalog.columns.has(folded) && !dialect.hiddenColumns.includes(folded)
  }
  const missing = columns
    .filter(({ name }) => isMissing(name))
    .map((column) => `the table ${table} has no column ${column.sql}. ${getColumnFix(column)}`)
  if (version.name !== undefined && isMissing(version.name)) {
    missing.push(
      `the table ${table} has no column ${dialect.quote(version.name)} for the version of a row. ` +
      'Add it, or state with the storage option "version" how the table stores versions.'
    )
  }
  if (nulls !== undefined && isMissing('nulls')) {
    missing.push(
      `the table ${table} has no column ${nulls}, which createTable adds for properties that can be both null and ` +
      'missing. Add it, or state with the storage option "version" that the table was not created by createTable.'
    )
  }
  return missing
}

function getColumnFix ({ name, property }: Column): string {
  return name === property
    ? `Add it, or name the column of "${property}" with the storage option "columns".`
    : 'Add it, or correct the storage option "columns".'
}

function findMissingIndex (layout: Layout, catalog: Catalog, properties: readonly string[]): string[] {
  const { dialect, path, table, shape: { id } } = layout
  if (catalog.indexes === undefined) return []
  const columns = properties.map((property) => getColumn(layout, property))
  const folded = new Set(columns.map(({ name }) => dialect.foldName(name)))
  // A missing column is reported already.
  if ([...folded].some((name) => !catalog.columns.has(name))) return []
  const covering = catalog.indexes.filter((index) => isCoveredBy(index, catalog, folded))
  if (covering.some(({ predicate }) => predicate === undefined || isNotNullPredicate(predicate, folded))) return []
  const [partial] = covering
  const found = partial === undefined
    ? 'it has no unique index for that'
    : `its unique index "${partial.name}" is only for some rows`
  const target = dialect.indexOn(getUniqueName(layout, properties), path)
  const statement = `CREATE UNIQUE INDEX ${target} (${columns.map(({ sql }) => sql).join(', ')})`
  const isId = properties.length === 1 && properties[0] === id.property
  const otherwise = isId ? '' : ', or remove it from "unique"'
  const names = properties.join(' and ')
  return [`the table ${table} does not keep ${names} unique: ${found}. Run ${statement}${otherwise}.`]
}

/** Whether the index covers only these columns: if they are equal in two rows, it refuses the second. */
function isCoveredBy ({ columns, expressions }: UniqueIndex, catalog: Catalog, names: ReadonlySet<string>): boolean {
  const words = new Set(expressions.match(/[\p{L}\p{N}_$]+/gu))
  const used = [...columns, ...[...catalog.columns].filter((name) => words.has(name))]
  return used.length > 0 && used.every((name) => names.has(name))
}

/** Whether a partial index leaves out only rows with a null, which are not compared anyway: `email IS NOT NULL`. */
function isNotNullPredicate (predicate: string, names: ReadonlySet<string>): boolean {
  const parts = predicate.replaceAll(/[()"`[\]]/g, '').split(/\s+and\s+/i)
  return parts.every((part) => names.has(/^\s*(\S+)\s+(?:is\s+not\s+null|notnull)\s*$/i.exec(part)?.[1] ?? ''))
}
