import type { SqlDialect, Row } from './dialect.ts'
import type { Session, SignalContext } from './session.ts'

/** A column of a table. */
export interface CatalogColumn {
  readonly name: string
  /** What can be stored in it; undefined if the dialect does not know the type. */
  readonly family: TypeFamily | undefined
  /** The name of the type, in lower case. */
  readonly type: string
  /** The name of its collation, or of its type, if different texts are equal in it. */
  readonly inexact: string | undefined
  readonly notNull: boolean
  /** Whether an INSERT without it fails. */
  readonly needsValue: boolean
}

/** What a type of a database stores. */
export type TypeFamily =
  | 'boolean' | 'number' | 'text' | 'uuid' | 'date' | 'timestamp' | 'json' | 'array' | 'binary'

/** An index, a unique constraint, or a primary key. */
export interface CatalogIndex {
  readonly name: string
  readonly unique: boolean
  /** The columns it covers, in their order. */
  readonly columns: Set<string>
  /** The expressions it covers. */
  expressions: string
  /** The condition of a partial index. */
  predicate: string | undefined
}

/** What the database knows about a table. Names are folded. */
export interface Catalog {
  readonly columns: ReadonlyMap<string, CatalogColumn>
  /** Undefined for a view and the like, for which the database cannot tell. */
  readonly indexes: readonly CatalogIndex[] | undefined
  /** Whether a trigger may set columns of new rows. */
  readonly hasTrigger: boolean
  /** The values of the settings of the connection that matter. */
  readonly settings: ReadonlyMap<string, string>
}

/** Reads the catalog of a table; undefined if the table does not exist. */
export async function readCatalog (
  dialect: SqlDialect,
  path: readonly string[],
  session: Session,
  context: SignalContext
): Promise<Catalog | undefined> {
  const { text, values } = dialect.catalog.query(path)
  const rows = await session.rows({ text, values, context })
  return rows.every(([kind]) => kind === 'setting') ? undefined : toCatalog(rows, dialect)
}

/** The rows are described at `Dialect.catalog`. */
function toCatalog (rows: readonly Row[], { catalog: { foldName, getTypeFamily } }: SqlDialect): Catalog {
  const columns = new Map<string, CatalogColumn>()
  const indexes = new Map<string, CatalogIndex>()
  const settings = new Map<string, string>()
  let isTable = true
  let hasTrigger = false
  const sorted = [...rows].sort((a, b) => Number(a[5]) - Number(b[5]))
  for (const [kind, name, column, detail, condition] of sorted) {
    if (kind === 'column') {
      const type = String(detail).toLowerCase()
      columns.set(foldName(String(column)), {
        name: String(column),
        type,
        inexact: name === null ? undefined : String(name),
        family: getTypeFamily(type),
        notNull: condition !== null,
        needsValue: condition === 'needs value'
      })
    } else if (kind === 'unique' || kind === 'index') {
      const index = indexes.get(String(name)) ?? createIndex(String(name), kind === 'unique')
      indexes.set(index.name, index)
      if (column !== null) index.columns.add(foldName(String(column)))
      if (detail !== null) index.expressions += ` ${foldName(String(detail))}`
      if (condition !== null) index.predicate = foldName(String(condition))
    } else if (kind === 'trigger') {
      hasTrigger = true
    } else if (kind === 'setting') {
      settings.set(String(name), String(detail))
    } else {
      isTable = false
    }
  }
  return { columns, indexes: isTable ? [...indexes.values()] : undefined, hasTrigger, settings }
}

function createIndex (name: string, unique: boolean): CatalogIndex {
  return { name, unique, columns: new Set(), expressions: '', predicate: undefined }
}
