import assert from 'node:assert/strict'
import type { Context, Entry, Filter, Id, Page, Position, Query, Refusal, Shape, Storage, Supports } from '../contract.ts'
import type { Thing } from './thing.ts'

/** One sentence that is true of every storage that supports what it needs. */
export interface Case {
  readonly says: string
  readonly needs?: ReadonlyArray<keyof Supports>
  /** What is kept; `things` unless said. */
  readonly shape?: Shape
  /** Rejects where the sentence is not true. The storage is fresh and empty. */
  readonly holds: (storage: Storage<Thing>) => Promise<void>
}

const { signal } = new AbortController()

export const everywhere: Context = Object.freeze({ signal, scope: undefined })

export const within = (scope: Filter): Context => Object.freeze({ signal, scope })

/** By id, everything, unless said otherwise. */
export function query (asked: Partial<Query> = {}): Query {
  return Object.freeze({
    filter: undefined,
    search: undefined,
    order: by('id'),
    after: undefined,
    before: undefined,
    limit: 1000,
    properties: undefined,
    count: false,
    ...asked
  })
}

/** An order as it is mostly written: `-` ahead of a property turns it around. */
export function by (...properties: readonly string[]): Query['order'] {
  return properties.map((property) => ({ property: property.replace(/^-/, ''), descending: property.startsWith('-') }))
}

export async function list (storage: Storage<Thing>, asked?: Partial<Query>, context: Context = everywhere): Promise<Page<Thing>> {
  return await storage.list(query(asked), context)
}

export async function ids (storage: Storage<Thing>, asked?: Partial<Query>, context?: Context): Promise<Id[]> {
  return (await list(storage, asked, context)).entries.map(({ id }) => id)
}

export async function find (storage: Storage<Thing>, id: Id, context: Context = everywhere): Promise<Entry<Thing>> {
  const entry = await storage.find(id, context)
  assert.ok(entry !== undefined, `${id} is not found`)
  return entry
}

/** The entry of a write that must not be refused. */
export function kept (result: Entry<Thing> | Refusal): Entry<Thing> {
  assert.ok(!('refused' in result), `the write is refused: ${JSON.stringify(result)}`)
  return result
}

export async function insert (storage: Storage<Thing>, thing: Thing): Promise<Entry<Thing>> {
  return kept(await storage.insert(copy(thing), everywhere))
}

export async function fill (storage: Storage<Thing>, ...all: readonly Thing[]): Promise<void> {
  for (const thing of all) await insert(storage, thing)
}

/** An item belongs to the storage once it is handed over: each write gets its own. */
export function copy (thing: Thing): Thing {
  return structuredClone(thing)
}

/** Equal as JSON is: neither prototypes nor the order of properties count. */
export function same (item: Thing, expected: Thing): void {
  assert.deepEqual(JSON.parse(JSON.stringify(item)), expected)
}

/** Where an entry stands in an order. */
export function position ({ item }: Entry<Thing>, order: Query['order']): Position {
  return order.map(({ property }) => {
    const value = item[property] ?? null
    assert.ok(value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value
  })
}
