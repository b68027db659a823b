import { Changes } from './memory/changes.ts'
import type { Adapter, Draft, Entry, Filter, Id, Refusal, Shape, Storage, Supports } from './contract.ts'
import { filter } from './memory/filter.ts'
import { Ledger } from './memory/ledger.ts'
import { page } from './memory/page.ts'
import { Table, type Rows } from './memory/table.ts'
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

const absent: Refusal = Object.freeze({ refused: 'not-found' })
const stale: Refusal = Object.freeze({ refused: 'stale' })

/**
 * Stores items in the memory of the process: for tests, for development, and for what may be lost.
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
      // The seed stays the caller's, while what is inserted gets frozen.
      const own = structuredClone(item)
      const result = insert(table, shape.canonical?.(own) ?? own)
      if ('refused' in result) throw new Error(`The seed of ${shape.name} holds an item twice: ${JSON.stringify(Reflect.get(item, shape.id.property))}`)
    }
    return storage(table, new Ledger())
  }
}

function storage<Item extends object> (rows: Rows<Item>, ledger: Ledger): Storage<Item> {
  /** Ends with the transactions begun so far: writes wait for them, reads see what was before. */
  let turn: Promise<void> | undefined
  return {
    name: 'memory',
    supports,
    async list (query, { scope }) {
      return page(rows, query, scope)
    },
    async find (id, { scope }) {
      return visible(rows, id, scope)
    },
    async insert (draft) {
      if (turn !== undefined) await turn
      return insert(rows, draft)
    },
    async replace (id, item, expected, { scope }) {
      if (turn !== undefined) await turn
      const previous = visible(rows, id, scope)
      if (previous === undefined) return absent
      if (expected !== undefined && expected !== previous.version) return stale
      return write(rows, id, item)
    },
    async remove (id, expected, { scope }) {
      if (turn !== undefined) await turn
      const previous = visible(rows, id, scope)
      if (previous === undefined) return absent
      if (expected !== undefined && expected !== previous.version) return stale
      rows.set(id, undefined)
      return undefined
    },
    transaction (work) {
      const result = (turn ?? Promise.resolve()).then(async () => {
        const changes = new Changes(rows)
        const answers = new Ledger(ledger)
        const done = await work(storage(changes, answers))
        changes.commit()
        answers.commit()
        return done
      })
      const end = () => { if (turn === mine) turn = undefined }
      const mine = result.then(end, end)
      turn = mine
      return result
    },
    // Writes wait for transactions.
    exclusive (work) {
      return this.transaction!(work)
    },
    receipts: ledger
  }
}

function visible<Item extends object> (rows: Rows<Item>, id: Id, scope: Filter | undefined): Entry<Item> | undefined {
  const entry = rows.get(id)
  return entry === undefined || scope === undefined || filter(scope)(entry.item) ? entry : undefined
}

function insert<Item extends object> (rows: Rows<Item>, draft: Draft<Item>): Entry<Item> | Refusal {
  const { mint, shape: { id: { property } } } = rows
  const given = mint.given(draft)
  const id = mint.id(given)
  if (rows.get(id) !== undefined) return { refused: 'not-unique', properties: [property] }
  return write(rows, id, given === id ? draft : { [property]: id, ...draft, [property]: id })
}

function write<Item extends object> (rows: Rows<Item>, id: Id, item: Readonly<Item>): Entry<Item> | Refusal {
  const properties = rows.taken(item, (owner) => owner !== id)
  if (properties !== undefined) return { refused: 'not-unique', properties }
  const entry = Object.freeze({ id, item: freeze(item), version: createVersion() })
  rows.set(id, entry)
  return entry
}

/** All the way down and in place: whoever reads gets the item itself, never a copy. */
function freeze<Value extends object> (value: Value): Readonly<Value> {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) freeze(part)
  return Object.freeze(value)
}
