import type { Entry, Id, Storage, Version } from '../storage/contract.ts'

/** The part of a collection by which its items are known in a transaction. */
interface Owner {
  readonly name: string
  readonly baseStorage: Storage<object>
}

/** An item, by the collection through which it was locked. */
export interface LockedItem<Of extends Owner> {
  readonly collection: Of
  readonly id: Id
}

/** More items than this are not locked again. */
const maxLocked = 1000

/** The items that a transaction has read without a lock, and those that it has locked. */
export class TransactionItems<Of extends Owner> {
  readonly #listed = new Map<Storage<object>, Map<Id, Version>>()
  readonly #locked = new Map<Storage<object>, Map<Id, LockedItem<Of>>>()
  #lockedCount = 0

  addListed ({ baseStorage }: Owner, entries: ReadonlyArray<Entry<object>>): void {
    let versions = this.#listed.get(baseStorage)
    if (versions === undefined) this.#listed.set(baseStorage, versions = new Map())
    for (const { id, version } of entries) versions.set(id, version)
  }

  /** Returns the version in which the item was listed; undefined if it was not, or was locked since. */
  getListed ({ baseStorage }: Owner, id: Id): Version | undefined {
    return this.#listed.get(baseStorage)?.get(id)
  }

  deleteListed ({ baseStorage }: Owner, id: Id): void {
    this.#listed.get(baseStorage)?.delete(id)
  }

  addLocked (collection: Of, id: Id): void {
    const { baseStorage } = collection
    let items = this.#locked.get(baseStorage)
    if (items === undefined) this.#locked.set(baseStorage, items = new Map())
    if (items.has(id)) return
    items.set(id, { collection, id })
    this.#lockedCount++
  }

  /** Returns the locked items, in the same order in every transaction. */
  getLocked (): ReadonlyArray<LockedItem<Of>> {
    if (this.#lockedCount > maxLocked) return []
    return [...this.#locked.values()].flatMap((items) => [...items.values()]).sort(compareItems)
  }
}

function compareItems (a: LockedItem<Owner>, b: LockedItem<Owner>): number {
  return compareText(a.collection.name, b.collection.name) || compareIds(a.id, b.id)
}

/** The order in which transactions lock items: the same for all spellings of an id, such as of a UUID. */
export function compareIds (a: Id, b: Id): number {
  return compareText(String(a).toLowerCase(), String(b).toLowerCase()) || compareText(String(a), String(b))
}

function compareText (a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
