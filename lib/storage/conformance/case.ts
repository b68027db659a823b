import assert from 'node:assert/strict'
import type {
  Context,
  Entry,
  Filter,
  Id,
  Page,
  Position,
  Query,
  Refusal,
  Shape,
  Storage,
  Supports
} from '../contract.ts'
import type { Thing } from './thing.ts'

/** A rule of the contract, and its test. */
export interface Case {
  readonly title: string
  /** What the storage has to support. */
  readonly requires?: ReadonlyArray<keyof Supports>
  /** By default `things`. */
  readonly shape?: Shape
  /** The shape of a second storage in the same database. By default, there is none. */
  readonly beside?: Shape
  /** Rejects if the storage breaks the rule. The storages are new and empty. */
  readonly run: (storage: Storage<Thing>, beside?: Storage<Thing>) => Promise<void>
}

const { signal } = new AbortController()

/** A context that can see all rows. */
export const unscoped: Context = Object.freeze({ signal, scope: undefined })

/** A context that can see only the rows in this scope. */
export const scopedTo = (scope: Filter): Context => Object.freeze({ signal, scope })

/** Builds a query; by default for all entries, ordered by id. */
export function buildQuery (query: Partial<Query> = {}): Query {
  return Object.freeze({
    filter: undefined,
    search: undefined,
    order: orderBy('id'),
    after: undefined,
    before: undefined,
    limit: 1000,
    properties: undefined,
    count: false,
    ...query
  })
}

/** Builds an order. A property with a leading `-` is descending. */
export function orderBy (...properties: readonly string[]): Query['order'] {
  return properties.map((property) => ({
    property: property.replace(/^-/, ''),
    descending: property.startsWith('-')
  }))
}

export async function listThings (
  storage: Storage<Thing>,
  query?: Partial<Query>,
  context: Context = unscoped
): Promise<Page<Thing>> {
  return await storage.list(buildQuery(query), context)
}

export async function listIds (storage: Storage<Thing>, query?: Partial<Query>, context?: Context): Promise<Id[]> {
  return (await listThings(storage, query, context)).entries.map(({ id }) => id)
}

/** Finds a thing that must exist. */
export async function findThing (storage: Storage<Thing>, id: Id, context: Context = unscoped): Promise<Entry<Thing>> {
  const entry = await storage.find(id, context)
  assert.ok(entry !== undefined, `${id} was not found`)
  return entry
}

/** Returns the entry of a write that must not be refused. */
export function assertWritten (result: Entry<Thing> | Refusal): Entry<Thing> {
  assert.ok(!('refused' in result), `the write was refused: ${JSON.stringify(result)}`)
  return result
}

export async function insertThing (storage: Storage<Thing>, thing: Thing): Promise<Entry<Thing>> {
  return assertWritten(await storage.insert(copy(thing), unscoped))
}

export async function insertThings (storage: Storage<Thing>, ...things: readonly Thing[]): Promise<void> {
  for (const thing of things) await insertThing(storage, thing)
}

/** A written item belongs to the storage, so each write gets its own copy. */
export function copy (thing: Thing): Thing {
  return structuredClone(thing)
}

/** Compares as JSON: neither prototypes nor the order of properties matter. */
export function assertSameItem (item: Thing, expected: Thing): void {
  assert.deepEqual(JSON.parse(JSON.stringify(item)), expected)
}

/** Returns the position of an entry in an order. */
export function getPosition ({ item }: Entry<Thing>, order: Query['order']): Position {
  return order.map(({ property }) => {
    const value = item[property] ?? null
    assert.ok(value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value
  })
}
