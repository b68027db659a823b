import { runUnlessAborted, throwIfAborted, waitUnlessAborted } from './abort-watch.ts'
import { BadStorageError } from './bad-storage.ts'
import type {
  Adapter,
  Context,
  Draft,
  Entry,
  Filter,
  Id,
  Refusal,
  Shape,
  Storage,
  Supports,
  TransactionHandle
} from './contract.ts'
import { compileFilter } from './memory/filter.ts'
import { aggregateRows, readPage, readPages, type PageSource } from './memory/page.ts'
import { MemoryReceipts } from './memory/receipts.ts'
import { RelatedReader, type FindRows } from './memory/related.ts'
import { Table, type Rows } from './memory/table.ts'
import { TransactionRows } from './memory/transaction-rows.ts'
import { TransactionEnded } from './unreachable.ts'
import { createVersion } from './version.ts'

interface Seed<Item> {
  readonly items: readonly Item[]
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

const notFound: Refusal = Object.freeze({ refused: 'not-found' })
const stale: Refusal = Object.freeze({ refused: 'stale' })

/**
 * Stores items in the memory of the process: for tests, for development, and for data that may be lost.
 *
 * @example
 * define({ name: 'users', schema: User, storage: memory() })
 * define({ name: 'colors', schema: Color, storage: memory({ items: [{ id: 1, name: 'red' }] }) })
 */
export function memory (seed?: { readonly items?: never }): <Item extends object>(shape: Shape) => Storage<Item>
export function memory<Item extends object> (seed: Seed<Item>): Adapter<Item>
export function memory<Item extends object> (seed?: Partial<Seed<Item>>) {
  return (shape: Shape): Storage<Item> => {
    checkSeed(seed)
    const table = new Table<Item>(shape)
    for (const item of seed?.items ?? []) {
      // The caller keeps the seed, while inserted items are frozen.
      const own = structuredClone(item)
      const result = insertItem(table, shape.canonical?.(own) ?? own)
      if ('refused' in result) {
        const id = JSON.stringify(Reflect.get(item, shape.id.property))
        throw new Error(`The seed of ${shape.name} contains an item twice: ${id}. Ids and unique values must differ.`)
      }
    }
    return createStorage(table, new MemoryReceipts())
  }
}

/** Callers that do not use TypeScript can pass anything. */
function checkSeed (seed: unknown): void {
  if (seed === undefined) return
  const { items = [], ...others } = Object(seed) as { readonly items?: unknown }
  const isObject = typeof seed === 'object' && seed !== null && !Array.isArray(seed)
  const isValid = isObject && Array.isArray(items) && items.every((item) => typeof item === 'object' && item !== null)
  if (isValid && Object.keys(others).length === 0) return
  const message = 'memory() takes nothing, or an object with an array of items, as in memory({ items: [{ id: 1 }] }).'
  throw new BadStorageError(message)
}

/** All storages in the memory of the process are one database, whose transactions run one after another. */
const database = Object.freeze({ name: 'memory' })

/** The committed rows of a storage: other storages find them by this. A copy of the storage has them, too. */
const rowsKey = Symbol('rows')

function findCommittedRows (storage: Storage<object>): Rows<object> {
  const rows = (storage as { readonly [rowsKey]?: Rows<object> })[rowsKey]
  if (rows === undefined) {
    throw new TypeError(`A filter or an order refers to rows of the storage ${storage.name}, which is not in memory.`)
  }
  return rows
}

/** Settles with the last of the transactions, and of the writes that wait for them. */
let last: Promise<void> | undefined

/** Runs the work after everything that was enqueued before. Work that is aborted while it waits does not begin. */
async function enqueue<Result> (work: () => Promise<Result>, context: Pick<Context, 'signal'>): Promise<Result> {
  const previous = last
  const result = (previous ?? Promise.resolve()).then(() => {
    throwIfAborted(context)
    return work()
  })
  const end = () => {
    if (last === ended) last = undefined
  }
  const ended = result.then(end, end)
  last = ended
  if (previous !== undefined) await waitUnlessAborted(previous, context, { hasNoEffect: true })
  return await result
}

/** What a transaction has written to one storage. */
interface Part {
  readonly storage: unknown
  readonly rows: Rows<object>
  commit (): void
  end (): void
}

/** A transaction, and what it has written to each storage that has joined it. */
class MemoryTransaction implements TransactionHandle {
  readonly database = database
  readonly #parts = new Map<object, Part>()
  #hasEnded = false

  /** Returns the storage over these rows within the transaction. `block` is called once, and returns its reverse. */
  join<Item extends object> (rows: Rows<Item>, receipts: MemoryReceipts, block: () => () => void): Storage<Item> {
    // The storage was created for the same rows.
    const known = this.#parts.get(rows)?.storage as Storage<Item> | undefined
    if (known !== undefined) return known
    this.#checkOpen()
    const innerRows = new TransactionRows(rows)
    const innerReceipts = new MemoryReceipts(receipts)
    const methods = createMethods(innerRows, this.#findRows)
    const use = async <Result>(call: () => Promise<Result>): Promise<Result> => {
      this.#checkOpen()
      return call()
    }
    const storage: Storage<Item> & { readonly [rowsKey]: unknown } = {
      ...methods,
      [rowsKey]: rows,
      list: (query, context) => use(() => methods.list(query, context)),
      listBy: (by, query, context) => use(() => methods.listBy(by, query, context)),
      aggregate: (query, context) => use(() => methods.aggregate(query, context)),
      find: (id, context) => use(() => methods.find(id, context)),
      insert: (draft, context) => use(() => methods.insert(draft, context)),
      replace: (id, item, expected, context) => use(() => methods.replace(id, item, expected, context)),
      remove: (id, expected, context) => use(() => methods.remove(id, expected, context)),
      insertMany: (drafts, context) => use(() => methods.insertMany(drafts, context)),
      replaceMany: (replacements, context) => use(() => methods.replaceMany(replacements, context)),
      removeMany: (entries, context) => use(() => methods.removeMany(entries, context)),
      transaction: (work) => work(storage, this),
      receipts: innerReceipts
    }
    this.#parts.set(rows, {
      storage,
      rows: innerRows,
      commit () {
        innerRows.commit()
        innerReceipts.commit()
      },
      end: block()
    })
    return storage
  }

  commit (): void {
    for (const part of this.#parts.values()) part.commit()
  }

  end (): void {
    this.#hasEnded = true
    for (const part of this.#parts.values()) part.end()
  }

  /** Storages that have not joined the transaction have only committed rows. */
  readonly #findRows: FindRows = (storage) => {
    const rows = findCommittedRows(storage)
    return this.#parts.get(rows)?.rows ?? rows
  }

  #checkOpen (): void {
    if (this.#hasEnded) throw new TransactionEnded()
  }
}

function createStorage<Item extends object> (rows: Rows<Item>, receipts: MemoryReceipts): Storage<Item> {
  /** How many transactions use these rows or wait to do so: writes wait for them, reads see the committed rows. */
  let transactions = 0
  const block = () => {
    transactions++
    return () => { transactions-- }
  }
  const runInOrder = <Result>(context: Context, write: () => Promise<Result>) => {
    return transactions === 0 ? write() : enqueue(write, context)
  }
  // All handles of this database are of this class.
  const join = (handle: TransactionHandle) => (handle as MemoryTransaction).join(rows, receipts, block)
  const methods = createMethods(rows, findCommittedRows)
  const storage: Storage<Item> & { readonly [rowsKey]: unknown } = {
    ...methods,
    [rowsKey]: rows,
    insert: (draft, context) => runInOrder(context, () => methods.insert(draft, context)),
    replace: (id, item, expected, context) => {
      return runInOrder(context, () => methods.replace(id, item, expected, context))
    },
    remove: (id, expected, context) => runInOrder(context, () => methods.remove(id, expected, context)),
    async transaction (work, context) {
      const unblock = block()
      try {
        return await enqueue(async () => {
          const transaction = new MemoryTransaction()
          try {
            const value = await runUnlessAborted(() => work(join(transaction), transaction), context)
            transaction.commit()
            return value
          } finally {
            transaction.end()
          }
        }, context)
      } finally {
        unblock()
      }
    },
    database,
    join,
    receipts
  }
  return storage
}

type Methods<Item> =
  & Pick<Storage<Item>, 'name' | 'supports' | 'list' | 'find' | 'insert' | 'replace' | 'remove'>
  & Required<Pick<Storage<Item>, 'listBy' | 'aggregate' | 'insertMany' | 'replaceMany' | 'removeMany'>>

function createMethods<Item extends object> (rows: Rows<Item>, findRows: FindRows): Methods<Item> {
  const source = { rows, findRows }
  const isCurrent = ({ id, version }: Entry<Item>, scope: Filter | undefined) => {
    return findVisible(source, id, scope)?.version === version
  }
  return {
    name: 'memory',
    supports,
    async list (query, { scope }) {
      return readPage(source, query, scope)
    },
    async listBy (by, query, { scope }) {
      return readPages(source, by, query, scope)
    },
    async aggregate (query, { scope }) {
      return aggregateRows(source, query, scope)
    },
    async find (id, { scope }) {
      return findVisible(source, id, scope)
    },
    async insert (draft) {
      return insertItem(rows, draft)
    },
    async replace (id, item, expected, { scope }) {
      const previous = findVisible(source, id, scope)
      if (previous === undefined) return notFound
      if (expected !== undefined && expected !== previous.version) return stale
      return writeItem(rows, id, item)
    },
    async remove (id, expected, { scope }) {
      const previous = findVisible(source, id, scope)
      if (previous === undefined) return notFound
      if (expected !== undefined && expected !== previous.version) return stale
      rows.set(id, undefined)
      return undefined
    },
    async insertMany (drafts) {
      return writeAll(drafts, (draft) => insertItem(rows, draft), ({ id }) => rows.set(id, undefined))
    },
    async replaceMany (replacements, { scope }) {
      if (!replacements.every(({ before }) => isCurrent(before, scope))) return stale
      return writeAll(
        replacements,
        ({ before, item }) => writeItem(rows, before.id, item),
        (_entry, { before }) => rows.set(before.id, before)
      )
    },
    async removeMany (entries, { scope }) {
      for (const entry of entries) {
        if (!isCurrent(entry, scope)) return stale
        rows.set(entry.id, undefined)
      }
      return undefined
    }
  }
}

/** Writes each, or undoes those before the one that is refused. */
function writeAll<Given, Item> (
  given: readonly Given[],
  write: (one: Given) => Entry<Item> | Refusal,
  undo: (entry: Entry<Item>, one: Given) => void
): ReadonlyArray<Entry<Item>> | Refusal {
  const entries: Array<Entry<Item>> = []
  for (const one of given) {
    const result = write(one)
    if ('refused' in result) {
      for (const [index, entry] of entries.entries()) undo(entry, given[index]!)
      return result
    }
    entries.push(result)
  }
  return entries
}

function findVisible<Item extends object> (
  { rows, findRows }: PageSource<Item>,
  id: Id,
  scope: Filter | undefined
): Entry<Item> | undefined {
  const entry = rows.get(id)
  if (entry === undefined || scope === undefined) return entry
  return compileFilter(scope, new RelatedReader(findRows).compileCondition)(entry.item) ? entry : undefined
}

function insertItem<Item extends object> (rows: Rows<Item>, draft: Draft<Item>): Entry<Item> | Refusal {
  const { idGenerator, shape: { id: { property } } } = rows
  const given = idGenerator.readId(draft)
  const id = idGenerator.resolve(given)
  if (rows.get(id) !== undefined) return { refused: 'not-unique', properties: [property] }
  return writeItem(rows, id, given === id ? draft : { [property]: id, ...draft, [property]: id })
}

function writeItem<Item extends object> (rows: Rows<Item>, id: Id, item: Readonly<Item>): Entry<Item> | Refusal {
  const properties = rows.findTaken(item, (owner) => owner !== id)
  if (properties !== undefined) return { refused: 'not-unique', properties }
  const entry = Object.freeze({ id, item: deepFreeze(item), version: createVersion() })
  rows.set(id, entry)
  return entry
}

/** Freezes in place: readers get the item itself, not a copy. */
function deepFreeze<Value extends object> (value: Value): Readonly<Value> {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null) deepFreeze(part)
  }
  return Object.freeze(value)
}
