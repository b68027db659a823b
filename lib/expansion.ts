import { reader } from './access.ts'
import type { Collection } from './definition.ts'
import { isPersonal } from './guard.ts'
import { logUnreadable } from './listing/unreadable.ts'
import { scopedBy } from './narrowing.ts'
import type { Related } from './options.ts'
import type { Request } from './request.ts'
import { scopeOf } from './scope.ts'
import type { Entry, Id } from './storage/contract.ts'
import type { Expansion, Relatives, View } from './view.ts'
import { hiddenFrom, membersSeen } from './visibility.ts'

interface Wanted {
  readonly fields?: readonly string[]
  readonly expand?: readonly string[]
  readonly request: Request
}

/** How the client wants to see these entries; undefined where it wants them as they are. */
export async function viewOf (collection: Collection, entries: ReadonlyArray<Entry<object>>, { fields, expand, request }: Wanted): Promise<View | undefined> {
  if (fields === undefined && expand === undefined) return undefined
  const personal = expand?.some(name => isPersonal(collection.relations[name]!.collection.guard, 'read')) === true
  return { fields, expansion: expand && await expansion(collection, entries, { names: expand, request }), personal }
}

/** One query for each relation, however many items there are. */
async function expansion (collection: Collection, entries: ReadonlyArray<Entry<object>>, { names, request }: { names: readonly string[], request: Request }): Promise<Expansion> {
  return new Map(await Promise.all(names.map(async name => {
    const { collection: other, member } = collection.relations[name]!
    const ids = new Set(entries.map(({ item }) => referred(item, member)).filter(id => id !== undefined))
    return [name, await found(other, [...ids], request)] as const
  })))
}

function referred (item: object, member: string): Id | undefined {
  const id: unknown = Reflect.get(item, member)
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

/** What the caller may not read there is as if it were not. */
async function found (other: Related, ids: readonly Id[], { context, original }: Request): Promise<Relatives> {
  const by = ids.length === 0 ? undefined : await reader(other, original)
  if (by === undefined) return { sight: { members: other.members, hidden: undefined }, entries: new Map() }
  const asking = { action: 'read', incoming: original, caller: by.caller } as const
  const [scope, hidden] = [await scopeOf(other, asking), await hiddenFrom(other, asking)]
  const { storage, id: { member } } = other
  const page = await storage.list({
    filter: { member, is: 'in', value: ids },
    search: undefined,
    order: [{ member, descending: false }],
    after: undefined,
    before: undefined,
    limit: ids.length,
    members: undefined,
    count: false
  }, scopedBy(scope?.filter, context))
  logUnreadable(other.name, page, original)
  return { sight: { members: membersSeen(other, hidden), hidden }, entries: new Map(page.entries.map(entry => [entry.id, entry])) }
}
