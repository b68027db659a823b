import type { Shape, Storage, Supports } from './contract.ts'
import { checkTable } from './sql/check-table.ts'
import { createTable } from './sql/create-table.ts'
import { needsReceipts, toShape, type Described } from './sql/described.ts'
import type { Dialect } from './sql/dialect.ts'
import { layout, type Layout } from './sql/layout.ts'
import type { SqlOptions } from './sql/options.ts'
import { createReceipts, ReceiptStatements, SqlReceipts } from './sql/receipts.ts'
import { Reading } from './sql/reading.ts'
import { commitRefused } from './sql/refusal.ts'
import type { Session } from './sql/session.ts'
import { Writing } from './sql/writing.ts'

export type { Described } from './sql/described.ts'
export type { ExistingVersion, SqlOptions } from './sql/options.ts'

export interface SqlAdapter {
  <Item extends object>(shape: Shape): Storage<Item>
  /** Makes the tables of a collection, and their indexes; one that exists is left as it is. */
  createTable (collection: Described): Promise<void>
  /** The same as text, for a migration. */
  createTableSql (collection: Described): string
}

/** A database: what it does in its own way, and what runs its statements. */
export interface Engine {
  readonly dialect: Dialect
  readonly session: Session
}

const supports: Supports = Object.freeze({
  generatedIds: true,
  unique: true,
  filter: true,
  order: true,
  search: true,
  count: true,
  transactions: true,
  receipts: true
})

/** The storage of every SQL database. */
export function sql ({ dialect, session }: Engine, options: SqlOptions): SqlAdapter {
  const statements = (collection: Described) => {
    const table = layout(dialect, toShape(collection), options)
    const receipts = needsReceipts(collection) ? createReceipts(table) : []
    return table.own || receipts.length === 0 ? [...createTable(table), ...receipts] : receipts
  }
  const adapter = <Item extends object>(shape: Shape): Storage<Item> => {
    const table = layout(dialect, shape, options)
    const reading = new Reading<Item>(table)
    return storage(session, { table, reading, writing: new Writing(table, reading), receipts: new ReceiptStatements(table) })
  }
  return Object.assign(adapter, {
    async createTable (collection: Described) {
      for (const text of statements(collection)) await session.execute(text)
    },
    createTableSql: (collection: Described) => statements(collection).map((text) => `${text};\n`).join('')
  })
}

interface Verbs<Item extends object> {
  readonly table: Layout
  readonly reading: Reading<Item>
  readonly writing: Writing<Item>
  readonly receipts: ReceiptStatements
}

function storage<Item extends object> (session: Session, verbs: Verbs<Item>): Storage<Item> {
  const { table, reading, writing } = verbs
  const refuse = async (error: unknown): Promise<never> => { throw await commitRefused(table, session, error) }
  return {
    name: table.dialect.name,
    supports,
    list: (query, context) => reading.list(session, query, context),
    find: (id, context) => reading.find(session, id, context),
    insert: (draft, context) => writing.insert(session, draft, context),
    replace: (id, item, expected, context) => writing.replace(session, item, { id, expected, context }),
    remove: (id, expected, context) => writing.remove(session, { id, expected, context }),
    transaction: (work) => session.transaction((inner) => work(storage(inner, verbs))).catch(refuse),
    exclusive: (work) => session.exclusive(table.table, (inner) => work(storage(inner, verbs))).catch(refuse),
    receipts: new SqlReceipts(verbs.receipts, session),
    check: (context) => checkTable(table, session, context)
  }
}
