import { unscoped } from './context.ts'
import type { Collection } from './definition.ts'
import type { Related } from './options.ts'
import type { Context, Entry, Id } from './storage/contract.ts'
import type { Expansion, View } from './view.ts'

interface Wanted {
  readonly fields?: readonly string[]
  readonly expand?: readonly string[]
  readonly context: Context
}

/** How the client wants to see these entries; undefined where it wants them as they are. */
export async function viewOf (collection: Collection, entries: ReadonlyArray<Entry<object>>, { fields, expand, context }: Wanted): Promise<View | undefined> {
  if (fields === undefined && expand === undefined) return undefined
  return { fields, expansion: expand && await expansion(collection, entries, { names: expand, context }) }
}

/** One query for each relation, however many items there are. */
async function expansion (collection: Collection, entries: ReadonlyArray<Entry<object>>, { names, context }: { names: readonly string[], context: Context }): Promise<Expansion> {
  return new Map(await Promise.all(names.map(async name => {
    const { collection: other, member } = collection.relations[name]!
    const ids = new Set(entries.map(({ item }) => referred(item, member)).filter(id => id !== undefined))
    return [name, await found(other, [...ids], context)] as const
  })))
}

function referred (item: object, member: string): Id | undefined {
  const id: unknown = Reflect.get(item, member)
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

async function found ({ storage, id: { member } }: Related, ids: readonly Id[], context: Context): Promise<Map<unknown, Entry<object>>> {
  if (ids.length === 0) return new Map()
  const { entries } = await storage.list({
    filter: { member, is: 'in', value: ids },
    search: undefined,
    order: [{ member, descending: false }],
    after: undefined,
    before: undefined,
    limit: ids.length,
    members: undefined,
    count: false
  }, unscoped(context))
  return new Map(entries.map(entry => [entry.id, entry]))
}
