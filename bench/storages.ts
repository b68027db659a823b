import type { Context, Id, Query, Storage } from '../lib/storage/contract.ts'
import { openPostgres, openSqlite, type Opened } from './databases.ts'
import { MapStorage } from './map-storage.ts'
import { seed, seedId, type User } from './user.ts'

/** The storages that the contestants of a run can use; the library is loaded only if it is used. */
export const storages: Record<string, () => Promise<Opened>> = {
  memory: async () => ({
    adapter: (await import('../lib/storage/memory.ts')).memory(),
    handWritten: () => new MapStorage()
  }),
  map: async () => ({ adapter: () => new MapStorage() }),
  sqlite: openSqlite,
  postgres: openPostgres
}

/** Scenarios that a storage, or its hand-written replacement, does not support. */
export const lacking: Record<string, readonly string[]> = { map: ['list filtered'] }
export const lackingHandWritten: Record<string, readonly string[]> = { ...lacking, memory: ['list filtered'] }

export const context: Context = { signal: new AbortController().signal, scope: undefined }

export function page (after: string | undefined, limit: number): Query {
  return {
    filter: undefined,
    search: undefined,
    order: [{ property: 'id', descending: false }],
    after: after === undefined ? undefined : [after],
    before: undefined,
    limit,
    properties: undefined,
    count: false
  }
}

export async function fill (storage: Storage<User>, items: number, padding = '') {
  for (let number = 0; number < items; number++) await storage.insert(seed(number, padding), context)
}

/** Removes the items of a scenario, the newest first, so that every round has the same collection. */
export async function reset (storage: Storage<User>, items: number) {
  const created: Id[] = []
  let last = seedId(items - 1)
  for (let more = true; more;) {
    const found = await storage.list(page(last, 1000), context)
    for (const { id } of found.entries) created.push(id)
    last = String(created.at(-1))
    more = found.more
  }
  for (const id of created.reverse()) await storage.remove(id, undefined, context)
}
