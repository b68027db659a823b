import type { Adapter, Draft, Entry, Filter, Id, Refusal, Shape, Storage, Supports } from './contract.ts'
import { compileFilter } from './memory/filter.ts'
import { readPage } from './memory/page.ts'
import { MemoryReceipts } from './memory/receipts.ts'
import { Table, type Rows } from './memory/table.ts'
import { TransactionRows } from './memory/transaction-rows.ts'
import { createVersion } from './version.ts'

interface Seed<Item> {
  readonly items: readonly Item[]
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

const notFound: Refusal = Object.freeze({ refused: 'not-found' })
const stale: Refusal = Object.freeze({ refused: 'stale' })

/**
 * Stores items in the memory of the process: for tests, for development, and for data that may be lost.
 *
 * @example
 * define({ name: 'users', schema: User, storage: memory() })
 * define({ name: 'colors', schema: Color, storage: memory({ items: [{ id: 1, name: 'red' }] }) })
 */
export function memory (): <Item extends object>(shape: Shape) => Storage<Item>
export function memory<Item extends object> (seed: Seed<Item>): Adapter<Item>
export function memory<Item extends object> (seed?: Seed<Item>) {
  return (shape: Shape): Storage<Item> => {
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

function createStorage<Item extends object> (rows: Rows<Item>, receipts: MemoryReceipts): Storage<Item> {
  /** Settles with the transactions started so far: writes wait for them, reads see the committed rows. */
  let lastTransaction: Promise<void> | undefined
  return {
    name: 'memory',
    supports,
    async list (query, { scope }) {
      return readPage(rows, query, scope)
    },
    async find (id, { scope }) {
      return findVisible(rows, id, scope)
    },
    async insert (draft) {
      if (lastTransaction !== undefined) await lastTransaction
      return insertItem(rows, draft)
    },
    async replace (id, item, expected, { scope }) {
      if (lastTransaction !== undefined) await lastTransaction
      const previous = findVisible(rows, id, scope)
      if (previous === undefined) return notFound
      if (expected !== undefined && expected !== previous.version) return stale
      return writeItem(rows, id, item)
    },
    async remove (id, expected, { scope }) {
      if (lastTransaction !== undefined) await lastTransaction
      const previous = findVisible(rows, id, scope)
      if (previous === undefined) return notFound
      if (expected !== undefined && expected !== previous.version) return stale
      rows.set(id, undefined)
      return undefined
    },
    transaction (work) {
      const result = (lastTransaction ?? Promise.resolve()).then(async () => {
        const innerRows = new TransactionRows(rows)
        const innerReceipts = new MemoryReceipts(receipts)
        const value = await work(createStorage(innerRows, innerReceipts))
        innerRows.commit()
        innerReceipts.commit()
        return value
      })
      const end = () => {
        if (lastTransaction === ended) lastTransaction = undefined
      }
      const ended = result.then(end, end)
      lastTransaction = ended
      return result
    },
    // Writes wait for transactions anyway.
    exclusive (work) {
      return this.transaction!(work)
    },
    receipts
  }
}

function findVisible<Item extends object> (
  rows: Rows<Item>,
  id: Id,
  scope: Filter | undefined
): Entry<Item> | undefined {
  const entry = rows.get(id)
  if (entry === undefined || scope === undefined) return entry
  return compileFilter(scope)(entry.item) ? entry : undefined
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
