import type { Id } from '../contract.ts'
import { property, type Read } from './property.ts'

/** Who holds the values of one set of properties that together occur once. */
export class Unique {
  readonly properties: readonly string[]
  readonly #reads: readonly Read[]
  /** The value of a single property is a key as it is. */
  readonly #single: Read | undefined
  readonly #owners = new Map<unknown, Id>()

  constructor (properties: readonly string[]) {
    this.properties = properties
    this.#reads = properties.map(property)
    this.#single = this.#reads.length === 1 ? this.#reads[0] : undefined
  }

  /** Whose the values of this item are. */
  owner (item: object): Id | undefined {
    const key = this.#key(item)
    return key === undefined ? undefined : this.#owners.get(key)
  }

  /** Keeps up with an item that came, changed or went. */
  follow (id: Id, previous: object | undefined, next: object | undefined): void {
    const before = previous && this.#key(previous)
    const after = next && this.#key(next)
    if (before === after) return
    // Within a transaction another item may hold the values already.
    if (before !== undefined && this.#owners.get(before) === id) this.#owners.delete(before)
    if (after !== undefined) this.#owners.set(after, id)
  }

  /** The values as one key; a set with a null in it has none. */
  #key (item: object): unknown {
    const single = this.#single?.(item)
    if (single !== undefined && typeof single !== 'object') return single
    const values = this.#reads.map((read) => read(item))
    return values.includes(null) ? undefined : JSON.stringify(values)
  }
}

/** The first properties of an item that are held by an owner that counts. */
export function taken (uniques: readonly Unique[], item: object, counts: (owner: Id) => boolean): readonly string[] | undefined {
  for (const unique of uniques) {
    const owner = unique.owner(item)
    if (owner !== undefined && counts(owner)) return unique.properties
  }
  return undefined
}
