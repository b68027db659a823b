import type { Shape, Storage, Supports, TransactionHandle } from './contract.ts'
import { buildSchemaSql, checkTable } from './sql/check-table.ts'
import { buildCreateTable } from './sql/create-table.ts'
import type { SqlDialect } from './sql/dialect.ts'
import { createLayout, type Layout } from './sql/layout.ts'
import { ManyWriter } from './sql/many-writer.ts'
import type { SqlOptions } from './sql/options.ts'
import { Reader } from './sql/reader.ts'
import { buildReceiptTable, ReceiptStatements, SqlReceipts } from './sql/receipts.ts'
import { findNewReferences, findReferrers, ReferenceConstraints } from './sql/reference-constraints.ts'
import { toCommitRefused } from './sql/refusal.ts'
import { layoutKey } from './sql/related.ts'
import type { Session } from './sql/session.ts'
import { needsReceipts, toShape, type TableDefinition } from './sql/table-definition.ts'
import { TracedSession } from './sql/traced-session.ts'
import { buildNewTable, findIndexes } from './sql/useful-indexes.ts'
import { Writer } from './sql/writer.ts'

export type { ExistingVersion, SqlOptions } from './sql/options.ts'
export type { TableDefinition } from './sql/table-definition.ts'

/** What `sqlite()`, `postgres()` and `mysql()` return: the value of the option `storage`. It also creates tables. */
export interface SqlAdapter {
  <Item extends object>(shape: Shape): Storage<Item>
  /** Creates the tables of a collection and their indexes, unless they exist. */
  createTable (collection: TableDefinition): Promise<void>
}

/** A database: what is specific to it, and what runs its statements. */
export interface Database {
  readonly dialect: SqlDialect
  readonly session: Session
  /** What the app has opened: storages over the same one share transactions. */
  readonly key: object
}

interface SqlTransaction extends TransactionHandle {
  readonly session: Session
}

const supports: Supports = Object.freeze({
  generatedIds: true,
  unique: true,
  filter: true,
  arrays: true,
  order: true,
  search: true,
  count: true,
  transactions: true,
  receipts: true,
  relations: true
})

/** Creates the storage function of a SQL database. */
export function createSqlAdapter ({ dialect, session, key }: Database, options: SqlOptions): SqlAdapter {
  const toLayout = (collection: TableDefinition) => {
    const { baseStorage, attached } = Object(collection) as Partial<TableDefinition>
    const opened = baseStorage && openedShapes.get(baseStorage)
    return createLayout(dialect, toShape(collection, opened), options, attached?.keys)
  }
  const buildTables = (layout: Layout, collection: TableDefinition, buildTable: (layout: Layout) => string[]) => {
    const receipts = needsReceipts(collection) ? buildReceiptTable(layout) : []
    return layout.managed || receipts.length === 0 ? [...buildTable(layout), ...receipts] : receipts
  }
  const adapter = <Item extends object>(shape: Shape): Storage<Item> => {
    const layout = createLayout(dialect, shape, options)
    const reader = new Reader<Item>(layout)
    const writer = new Writer(layout, reader)
    const manyWriter = ManyWriter.create(layout, reader)
    const receipts = new ReceiptStatements(layout)
    const storage = createStorage(session, { key, layout, reader, writer, manyWriter, receipts })
    openedShapes.set(storage, shape)
    return storage
  }
  return Object.assign(adapter, {
    async createTable (collection: TableDefinition) {
      const layout = toLayout(collection)
      const references = findNewReferences(layout)
      const referrers = findReferrers(layout, collection.attached?.referrers ?? [])
      const needsMore = [findIndexes(layout), references, referrers].some(({ length }) => length > 0)
      const { signal } = new AbortController()
      const constraints = new ReferenceConstraints(session, { signal })
      // An index of a large table takes long to build and blocks writes, so an existing table gets none.
      const exists = needsMore && await constraints.hasTable(layout)
      const creatable = exists ? [] : await constraints.selectCreatable(references)
      const statements = buildTables(layout, collection, (table) => {
        return exists ? buildCreateTable(table) : buildNewTable(table, creatable)
      })
      for (const text of statements) await session.execute(text)
      // Tables that were created before this one could not refer to it.
      if (!exists) await constraints.addToEmptyTables(referrers)
    }
  })
}

/** What each storage was opened with. */
const openedShapes = new WeakMap<object, Shape>()

interface Statements<Item extends object> {
  readonly key: object
  readonly layout: Layout
  readonly reader: Reader<Item>
  readonly writer: Writer<Item>
  /** Undefined if each row of the table needs a statement. */
  readonly manyWriter: ManyWriter<Item> | undefined
  readonly receipts: ReceiptStatements
}

function createStorage<Item extends object> (session: Session, statements: Statements<Item>): Storage<Item> {
  const { layout, reader, writer, manyWriter, key: database } = statements
  const traced = new TracedSession(session, layout.shape.name)
  const toHandle = (inner: Session): SqlTransaction => ({
    database,
    session: inner,
    getClient: async (context) => inner.getClient?.(context)
  })
  const refuse = async (error: unknown): Promise<never> => {
    throw await toCommitRefused(layout, session, error)
  }
  const storage: Storage<Item> & { readonly [layoutKey]: Layout } = {
    [layoutKey]: layout,
    name: layout.dialect.name,
    supports,
    list: (query, context) => reader.list(traced, query, context),
    listBy: (by, query, context) => reader.listBy(traced, by, query, context),
    aggregate: (query, context) => reader.aggregate(traced, query, context),
    find: (id, context) => reader.find(traced, id, context),
    insert: (draft, context) => writer.insert(traced, draft, context),
    replace: (id, item, expected, context) => writer.replace(traced, item, { id, expected, context }),
    remove: (id, expected, context) => writer.remove(traced, { id, expected, context }),
    ...manyWriter?.canInsert === true && {
      insertMany: (drafts, context) => manyWriter.insert(traced, drafts, context)
    },
    ...manyWriter && {
      replaceMany: (replacements, context) => manyWriter.replace(traced, replacements, context),
      removeMany: (entries, context) => manyWriter.remove(traced, entries, context)
    },
    transaction: (work, context) => {
      return session.transaction((inner) => {
        return work(createStorage(inner, statements), toHandle(inner))
      }, context).catch(refuse)
    },
    database,
    // The handle is that of a storage with the same database.
    join: (handle) => createStorage((handle as SqlTransaction).session, statements),
    receipts: new SqlReceipts(statements.receipts, traced),
    check: (context) => checkTable(layout, traced, context),
    schemaSql: (context) => buildSchemaSql(layout, traced, context)
  }
  return storage
}
