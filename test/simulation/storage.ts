import type {
  Context,
  Entry,
  Filter,
  Id,
  Page,
  Query,
  Receipt,
  Receipts,
  Refusal,
  Storage
} from '../../lib/storage/contract.ts'
import { joinFilters } from '../../lib/storage/filter.ts'
import { compileFilter } from '../../lib/storage/memory/filter.ts'
import { aggregateRows, readPage, readPages } from '../../lib/storage/memory/page.ts'
import type { PageSource } from '../../lib/storage/memory/page.ts'
import { RelatedReader } from '../../lib/storage/memory/related.ts'
import type { Rows, Table } from '../../lib/storage/memory/table.ts'
import type { Database } from './database.ts'
import { copyRow } from './transaction.ts'
import type { Row, SimulatedTransaction } from './transaction.ts'

// The methods of the contract, over the simulated database.

const supports = Object.freeze({
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

interface StorageOptions {
  /** The database as one process sees it. */
  readonly identity: object
  /** The transaction that the storage has joined. */
  readonly transaction?: SimulatedTransaction
}

type SignalContext = Pick<Context, 'signal'>
type Effect<Result> = (statement: Statement) => Promise<Result>

/** Runs a statement: in the transaction of the storage, or in one of its own. */
type RunStatement = <Result>(text: string, context: SignalContext, effect: Effect<Result>) => Promise<Result>

export function createStorage (database: Database, table: Table<Row>, options: StorageOptions): Storage<Row> {
  const { identity, transaction } = options
  const { shape: { name }, idGenerator } = table

  const runIn = <Result>(own: SimulatedTransaction, text: string, context: SignalContext, effect: Effect<Result>) => {
    return database.statement(own, text, context, () => effect(new Statement(database, table, own)))
  }
  const read: RunStatement = (text, context, effect) => {
    if (transaction !== undefined) return runIn(transaction, text, context, effect)
    return database.single(identity, context, (own) => runIn(own, text, context, effect))
  }
  const createWrite = (method: 'single' | 'singleWrite'): RunStatement => (text, context, effect) => {
    if (transaction !== undefined) return runIn(transaction, text, context, effect)
    return database[method](identity, context, (own) => runIn(own, text, context, async (statement) => {
      const result = await effect(statement)
      database.commit(own)
      return result
    }))
  }
  const write = createWrite('singleWrite')

  const storage: Storage<Row> = {
    name: 'simulated',
    supports,
    database: identity,
    list (query, context) {
      // It has one kind of lock, for all that the contract knows.
      const isLocking = query.lock !== undefined && query.lock !== false && transaction !== undefined
      return read(`list ${name}${isLocking ? ' and lock' : ''}`, context, async (statement) => {
        const page = isLocking
          ? await statement.listAndLock(query, context.scope)
          : await statement.list(query, context.scope)
        return { ...page, entries: page.entries.map(copyEntry) }
      })
    },
    listBy (by, query, { scope, signal }) {
      return read(`list ${name} by ${by.property}`, { signal }, async (statement) => {
        return readPages(statement.readAll(), by, query, scope)
      })
    },
    aggregate (query, { scope, signal }) {
      return read(`aggregate ${name}`, { signal }, (statement) => aggregateRows(statement.readAll(), query, scope))
    },
    find (id, { lock, scope, signal }) {
      const isLocking = lock === true && transaction !== undefined
      return read(`find ${name}/${id}${isLocking ? ' and lock' : ''}`, { signal }, async (statement) => {
        if (isLocking && statement.find(id, scope) !== undefined) await statement.lockRow(id)
        const entry = statement.find(id, scope)
        return entry && copyEntry(entry)
      })
    },
    insert (draft, { signal }) {
      const text = `insert ${name}/${idGenerator.readId(draft) ?? ''}`
      return write(text, { signal }, async (statement) => copyStored(await statement.insert(draft)))
    },
    replace (id, item, expected, { scope, signal }) {
      return write(`replace ${name}/${id}`, { signal }, async (statement) => {
        return await statement.check(id, expected, scope) ?? copyStored(await statement.put(id, item))
      })
    },
    remove (id, expected, { scope, signal }) {
      return write(`remove ${name}/${id}`, { signal }, async (statement) => {
        const refusal = await statement.check(id, expected, scope)
        if (refusal === undefined) statement.set(id, undefined)
        return refusal
      })
    },
    insertMany (drafts, { signal }) {
      return write(`insert ${drafts.length} ${name}`, { signal }, (statement) => {
        return statement.writeAll(drafts, (draft) => statement.insert(draft), ({ id }) => statement.set(id, undefined))
      })
    },
    replaceMany (replacements, { scope, signal }) {
      return write(`replace ${replacements.length} ${name}`, { signal }, async (statement) => {
        if (!await statement.areCurrent(replacements.map(({ before }) => before), scope)) return { refused: 'stale' }
        const stored = new Map(replacements.map(({ before: { id } }) => [id, statement.find(id, undefined)]))
        return statement.writeAll(
          replacements,
          ({ before, item }) => statement.put(before.id, item),
          (_entry, { before }) => statement.set(before.id, stored.get(before.id))
        )
      })
    },
    removeMany (entries, { scope, signal }) {
      return write(`remove ${entries.length} ${name}`, { signal }, async (statement) => {
        if (!await statement.areCurrent(entries, scope)) return { refused: 'stale' }
        for (const { id } of entries) statement.set(id, undefined)
        return undefined
      })
    },
    transaction (work, context) {
      if (transaction !== undefined) return work(storage, transaction)
      return database.transaction(table, identity, work, context)
    },
    join (handle) {
      // All handles of this database are of this class.
      const joined = handle as SimulatedTransaction
      const known = joined.storages.get(table)
      if (known !== undefined) return known
      const created = createStorage(database, table, { identity, transaction: joined })
      joined.storages.set(table, created)
      return created
    },
    // What they store is no effect of a request.
    receipts: createReceipts(database, createWrite('single'))
  }
  database.tableOf.set(storage, table)
  return storage
}

/** As a driver does: each statement returns objects of its own, which nothing protects. */
function copyEntry (entry: Entry<Row>): Entry<Row> {
  return { ...entry, item: copyRow(entry.item) }
}

function copyStored (result: Entry<Row> | Refusal): Entry<Row> | Refusal {
  return 'refused' in result ? result : copyEntry(result)
}

/** What one statement reads and writes, once it has arrived. */
class Statement {
  readonly #database: Database
  readonly #table: Table<Row>
  readonly #transaction: SimulatedTransaction

  constructor (database: Database, table: Table<Row>, transaction: SimulatedTransaction) {
    this.#database = database
    this.#table = table
    this.#transaction = transaction
  }

  get transaction (): SimulatedTransaction {
    return this.#transaction
  }

  async list (query: Query, scope: Filter | undefined): Promise<Page<Row>> {
    return readPage(this.readAll(), query, scope)
  }

  /** As PostgreSQL does: rows are locked one after another, and compared again, until there are enough. */
  async listAndLock (query: Query, scope: Filter | undefined): Promise<Page<Row>> {
    const found = await this.list({ ...query, limit: Infinity }, scope)
    const entries: Array<Entry<Row>> = []
    for (const { id } of found.entries) {
      await this.lockRow(id)
      const current = this.find(id, joinFilters(query.filter, scope))
      if (current !== undefined) entries.push(current)
      if (entries.length > query.limit) break
    }
    const more = entries.length > query.limit
    return { ...found, entries: entries.slice(0, query.limit), more }
  }

  find (id: Id, scope: Filter | undefined): Entry<Row> | undefined {
    this.#transaction.addRead(this.#table, id)
    const entry = this.#rows.get(id)
    if (entry === undefined || scope === undefined) return entry
    const related = new RelatedReader(this.#findRows)
    return compileFilter(scope, related.compileCondition)(entry.item) ? entry : undefined
  }

  async insert (draft: Readonly<Row>): Promise<Entry<Row> | Refusal> {
    const { idGenerator, shape: { id: { property } } } = this.#table
    const given = idGenerator.readId(draft)
    const id = idGenerator.resolve(given)
    await this.lockRow(id)
    if (this.#rows.get(id) !== undefined) return { refused: 'not-unique', properties: [property] }
    return this.put(id, given === id ? draft : { [property]: id, ...draft, [property]: id })
  }

  /** Locks the row, and refuses if it is not the expected one. */
  async check (id: Id, expected: string | undefined, scope: Filter | undefined): Promise<Refusal | undefined> {
    if (this.#rows.get(id) !== undefined) await this.lockRow(id)
    const current = this.find(id, scope)
    if (current === undefined) return { refused: 'not-found' }
    return expected !== undefined && current.version !== expected ? { refused: 'stale' } : undefined
  }

  async areCurrent (entries: ReadonlyArray<Entry<Row>>, scope: Filter | undefined): Promise<boolean> {
    for (const { id, version } of entries) {
      if (await this.check(id, version, scope) !== undefined) return false
    }
    return true
  }

  /** Stores the row, unless a unique value is in use. */
  async put (id: Id, item: Readonly<Row>): Promise<Entry<Row> | Refusal> {
    const { name, unique } = this.#table.shape
    for (const properties of unique) {
      const values = properties.map((property) => item[property] ?? null)
      if (!values.includes(null)) await this.lock(`${name}#${properties.join()}=${JSON.stringify(values)}`)
    }
    const taken = this.#rows.findTaken(item, (owner) => owner !== id)
    if (taken !== undefined) return { refused: 'not-unique', properties: taken }
    const entry = this.#database.createEntry(id, item)
    this.set(id, entry)
    return entry
  }

  set (id: Id, entry: Entry<Row> | undefined): void {
    this.#transaction.set(this.#table, id, entry)
  }

  /** Writes each, or undoes those before the one that is refused. */
  async writeAll<Given> (
    given: readonly Given[],
    write: (one: Given) => Promise<Entry<Row> | Refusal>,
    undo: (entry: Entry<Row>, one: Given) => void
  ): Promise<ReadonlyArray<Entry<Row>> | Refusal> {
    const entries: Array<Entry<Row>> = []
    for (const one of given) {
      const result = await write(one)
      if ('refused' in result) {
        for (const [index, entry] of entries.entries()) undo(entry, given[index]!)
        return result
      }
      entries.push(result)
    }
    return entries.map(copyEntry)
  }

  lockRow (id: Id): Promise<void> {
    return this.lock(`${this.#table.shape.name}/${id}`)
  }

  lock (key: string): Promise<void> {
    return this.#database.lock(this.#transaction, key)
  }

  readAll (): PageSource<Row> {
    this.#transaction.addRead(this.#table, undefined)
    return { rows: this.#rows, findRows: this.#findRows }
  }

  get #rows (): Rows<Row> {
    return this.#transaction.getRows(this.#table)
  }

  /** The rows of another storage of this database. */
  readonly #findRows = (storage: Storage<object>): Rows<object> => {
    const table = this.#database.tableOf.get(storage)!
    this.#transaction.addRead(table, undefined)
    return this.#transaction.getRows(table)
  }
}

function createReceipts (database: Database, write: RunStatement): Receipts {
  const find = (own: SimulatedTransaction, key: string) => own.receipts.get(key) ?? database.receipts.get(key)
  const change = <Result>(
    text: string,
    key: string,
    context: SignalContext,
    effect: (found: Receipt | undefined, own: SimulatedTransaction) => Result
  ): Promise<Result> => write(text, context, async (statement) => {
    await statement.lock(`receipt/${key}`)
    return effect(find(statement.transaction, key), statement.transaction)
  })
  const isClaim = (found: Receipt | undefined, { token }: Receipt) => {
    return found?.token === token && found.answer === undefined
  }
  return {
    claim: (receipt, now, context) => change('claim', receipt.key, context, (found) => {
      if (found !== undefined && found.expires > now) return found
      database.receipts.set(receipt.key, receipt)
      return undefined
    }),
    keep: (receipt, context) => change('keep', receipt.key, context, (found, own) => {
      if (!isClaim(found, receipt)) return false
      own.receipts.set(receipt.key, receipt)
      return true
    }),
    release: (receipt, context) => change('release', receipt.key, context, (found) => {
      if (isClaim(found, receipt)) database.receipts.delete(receipt.key)
    }),
    sweep: (expired, context) => write('sweep', context, async () => {
      for (const { key, expires } of database.receipts.values()) {
        if (expires <= expired) database.receipts.delete(key)
      }
    })
  }
}
