import type { Entry, Id, Shape } from '../contract.ts'
import type { IdGenerator } from './id-generator.ts'
import { Ordering } from './order.ts'
import type { Rows, WalkOptions } from './table.ts'
import { findTaken, UniqueIndex } from './unique.ts'

/** The rows as a transaction sees them: what it has written so far, over the rows of the storage. */
export class TransactionRows<Item extends object> implements Rows<Item> {
  readonly shape: Shape
  readonly idGenerator: IdGenerator
  readonly #rows: Rows<Item>
  readonly #uniques: readonly UniqueIndex[]
  readonly #entries = new Map<Id, Entry<Item> | undefined>()
  size: number

  constructor (rows: Rows<Item>) {
    this.shape = rows.shape
    this.idGenerator = rows.idGenerator
    this.#rows = rows
    this.#uniques = rows.shape.unique.map((properties) => new UniqueIndex(properties))
    this.size = rows.size
  }

  get (id: Id): Entry<Item> | undefined {
    return this.#entries.has(id) ? this.#entries.get(id) : this.#rows.get(id)
  }

  set (id: Id, entry: Entry<Item> | undefined): void {
    const previous = this.get(id)
    this.size += Number(entry !== undefined) - Number(previous !== undefined)
    for (const unique of this.#uniques) unique.update(id, this.#entries.get(id)?.item, entry?.item)
    this.#entries.set(id, entry)
  }

  findTaken (item: Item, counts: (owner: Id) => boolean): readonly string[] | undefined {
    return findTaken(this.#uniques, item, counts) ??
      this.#rows.findTaken(item, (owner) => counts(owner) && !this.#entries.has(owner))
  }

  /** Merges the written entries, in their order, into the walk over the rows of the storage. */
  walk (options: WalkOptions, visit: (entry: Entry<Item>) => boolean): void {
    const { order, from, backward, within } = options
    const ordering = new Ordering(order, this.shape.id.property)
    const sign = backward ? -1 : 1
    const written = [...this.#entries.values()]
      .filter((entry) => entry !== undefined)
      .filter((entry) => within === undefined || ordering.compareFirst(entry, within) === 0)
      .filter((entry) => from === undefined || ordering.compareToPosition(entry, from) * sign > 0)
      .sort((a, b) => ordering.compare(b, a) * sign)
    let isWanted = true
    const visitWritten = (until?: Entry<Item>) => {
      for (let next = written.at(-1); isWanted && next !== undefined; next = written.at(-1)) {
        if (until !== undefined && ordering.compare(next, until) * sign > 0) return
        written.pop()
        isWanted = visit(next)
      }
    }
    this.#rows.walk(options, (entry) => {
      visitWritten(entry)
      if (isWanted && !this.#entries.has(entry.id)) isWanted = visit(entry)
      return isWanted
    })
    visitWritten()
  }

  commit (): void {
    for (const [id, entry] of this.#entries) this.#rows.set(id, entry)
  }
}
