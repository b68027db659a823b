import type { Id } from '../contract.ts'
import { createReader, type PropertyReader } from './property.ts'

/** The owners of the values of one set of unique properties. */
export class UniqueIndex {
  readonly properties: readonly string[]
  readonly #readers: readonly PropertyReader[]
  /** The value of a single property is a key as it is. */
  readonly #single: PropertyReader | undefined
  readonly #owners = new Map<unknown, Id>()

  constructor (properties: readonly string[]) {
    this.properties = properties
    this.#readers = properties.map(createReader)
    this.#single = this.#readers.length === 1 ? this.#readers[0] : undefined
  }

  /** Finds the item that has the values of this one. */
  findOwner (item: object): Id | undefined {
    const key = this.#getKey(item)
    return key === undefined ? undefined : this.#owners.get(key)
  }

  /** Updates the index for an item that was added, changed or removed. */
  update (id: Id, previous: object | undefined, next: object | undefined): void {
    const before = previous && this.#getKey(previous)
    const after = next && this.#getKey(next)
    if (before === after) return
    // Within a transaction another item may have the values already.
    if (before !== undefined && this.#owners.get(before) === id) this.#owners.delete(before)
    if (after !== undefined) this.#owners.set(after, id)
  }

  /** The values as one key; undefined if one of them is null. */
  #getKey (item: object): unknown {
    const single = this.#single?.(item)
    if (single !== undefined && typeof single !== 'object') return single
    const values = this.#readers.map((read) => read(item))
    return values.includes(null) ? undefined : JSON.stringify(values)
  }
}

/** Finds the first unique properties of an item whose values have an owner that counts. */
export function findTaken (
  uniques: readonly UniqueIndex[],
  item: object,
  counts: (owner: Id) => boolean
): readonly string[] | undefined {
  for (const unique of uniques) {
    const owner = unique.findOwner(item)
    if (owner !== undefined && counts(owner)) return unique.properties
  }
  return undefined
}
