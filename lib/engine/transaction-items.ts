import type { Collection } from '../collection.ts'
import type { Entry, Id, Storage, Version } from '../storage/contract.ts'

/** An item, by the collection through which it was locked. */
export interface LockedItem {
  readonly collection: Collection
  readonly id: Id
}

/** More items than this are not locked again. */
const maxLocked = 1000

/** The items that a transaction has read without a lock, and those that it has locked. */
export class TransactionItems {
  readonly #listed = new Map<Storage<object>, Map<Id, Version>>()
  readonly #locked = new Map<Storage<object>, Map<Id, LockedItem>>()
  #lockedCount = 0

  addListed ({ baseStorage }: Collection, entries: ReadonlyArray<Entry<object>>): void {
    let versions = this.#listed.get(baseStorage)
    if (versions === undefined) this.#listed.set(baseStorage, versions = new Map())
    for (const { id, version } of entries) versions.set(id, version)
  }

  /** Returns the version in which the item was listed; undefined if it was not, or was locked since. */
  getListed ({ baseStorage }: Collection, id: Id): Version | undefined {
    return this.#listed.get(baseStorage)?.get(id)
  }

  deleteListed ({ baseStorage }: Collection, id: Id): void {
    this.#listed.get(baseStorage)?.delete(id)
  }

  addLocked (collection: Collection, id: Id): void {
    const { baseStorage } = collection
    let items = this.#locked.get(baseStorage)
    if (items === undefined) this.#locked.set(baseStorage, items = new Map())
    if (items.has(id)) return
    items.set(id, { collection, id })
    this.#lockedCount++
  }

  /** Returns the locked items, in the same order in every transaction. */
  getLocked (): readonly LockedItem[] {
    if (this.#lockedCount > maxLocked) return []
    return [...this.#locked.values()].flatMap((items) => [...items.values()]).sort(compareItems)
  }
}

function compareItems (a: LockedItem, b: LockedItem): number {
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
