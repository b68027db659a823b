import type { Entry, Id, Order, Position, Scalar, Shape } from '../contract.ts'
import { IdGenerator } from './id-generator.ts'
import { Ordering } from './order.ts'
import { OrderedList } from './ordered-list.ts'
import { findTaken, UniqueIndex } from './unique.ts'

export interface WalkOptions {
  readonly order: readonly Order[]
  /** The position after which the walk starts; without it, it starts at the end. */
  readonly from: Position | undefined
  readonly backward: boolean
  /**
   * Visits only entries that have this value in the first property of the order, which is ascending. Then the walk
   * starts at the first of them, and goes forward.
   */
  readonly within?: Scalar
}

/** The entries of a storage, or of a transaction over it. */
export interface Rows<Item> {
  readonly shape: Shape
  readonly idGenerator: IdGenerator
  readonly size: number
  get (id: Id): Entry<Item> | undefined
  /** Sets an entry, or removes it. */
  set (id: Id, entry: Entry<Item> | undefined): void
  /** Finds the first unique properties of the item whose values have an owner that counts. */
  findTaken (item: Item, counts: (owner: Id) => boolean): readonly string[] | undefined
  /** Visits entries in order until a visit returns false. */
  walk (options: WalkOptions, visit: (entry: Entry<Item>) => boolean): void
}

/** The same for all versions of an item, so that a replace seldom moves anything in the indexes. */
interface Cell<Item> {
  entry: Entry<Item>
}

interface Index<Item> {
  readonly ordering: Ordering
  readonly list: OrderedList<Cell<Item>>
}

/** Besides the one by id. Each costs a little at every write. */
const maxIndexes = 8

/** The committed entries, with an index for each of the orders used last. */
export class Table<Item extends object> implements Rows<Item> {
  readonly shape: Shape
  readonly idGenerator: IdGenerator
  readonly #uniques: readonly UniqueIndex[]
  readonly #cells = new Map<Id, Cell<Item>>()
  readonly #byId: Index<Item>
  /** The least recently used comes first. */
  readonly #indexes = new Map<string, Index<Item>>()

  constructor (shape: Shape) {
    this.shape = shape
    this.idGenerator = new IdGenerator(shape)
    this.#uniques = shape.unique.map((properties) => new UniqueIndex(properties))
    this.#byId = this.#createIndex([{ property: shape.id.property, descending: false }])
  }

  get size (): number {
    return this.#cells.size
  }

  get (id: Id): Entry<Item> | undefined {
    return this.#cells.get(id)?.entry
  }

  set (id: Id, entry: Entry<Item> | undefined): void {
    const cell = this.#cells.get(id)
    for (const unique of this.#uniques) unique.update(id, cell?.entry.item, entry?.item)
    if (cell !== undefined && entry !== undefined) this.#change(cell, entry)
    else if (cell !== undefined) this.#delete(cell)
    else if (entry !== undefined) this.#add({ entry })
  }

  findTaken (item: Item, counts: (owner: Id) => boolean): readonly string[] | undefined {
    return findTaken(this.#uniques, item, counts)
  }

  walk ({ order, from, backward, within }: WalkOptions, visit: (entry: Entry<Item>) => boolean): void {
    // An order and its opposite share one index, walked up or down.
    const opposite = order[0]?.descending === true
    const { ordering, list } = this.#getIndex(order, opposite)
    const visitCell = ({ entry }: Cell<Item>) => visit(entry)
    if (within !== undefined) {
      list.ascend(
        ({ entry }) => ordering.compareFirst(entry, within) >= 0,
        ({ entry }) => ordering.compareFirst(entry, within) === 0 && visit(entry)
      )
    } else if (backward === opposite) {
      list.ascend(({ entry }) => from === undefined || ordering.compareToPosition(entry, from) > 0, visitCell)
    } else {
      list.descend(({ entry }) => from !== undefined && ordering.compareToPosition(entry, from) >= 0, visitCell)
    }
  }

  #add (cell: Cell<Item>): void {
    this.#cells.set(cell.entry.id, cell)
    this.#byId.list.add(cell)
    for (const { list } of this.#indexes.values()) list.add(cell)
  }

  #change (cell: Cell<Item>, entry: Entry<Item>): void {
    const moved = [...this.#indexes.values()].filter(({ ordering }) => ordering.compare(cell.entry, entry) !== 0)
    for (const { list } of moved) list.delete(cell)
    cell.entry = entry
    for (const { list } of moved) list.add(cell)
  }

  #delete (cell: Cell<Item>): void {
    this.#cells.delete(cell.entry.id)
    this.#byId.list.delete(cell)
    for (const { list } of this.#indexes.values()) list.delete(cell)
  }

  #getIndex (order: readonly Order[], opposite: boolean): Index<Item> {
    if (order.length === 1) return this.#byId
    const key = order.map(({ property, descending }) => (descending === opposite ? '+' : '-') + property).join()
    const index = this.#indexes.get(key) ??
      this.#createIndex(order.map(({ property, descending }) => ({ property, descending: descending !== opposite })))
    this.#indexes.delete(key)
    this.#indexes.set(key, index)
    const [leastRecent] = this.#indexes.keys()
    if (this.#indexes.size > maxIndexes && leastRecent !== undefined) this.#indexes.delete(leastRecent)
    return index
  }

  #createIndex (order: readonly Order[]): Index<Item> {
    const ordering = new Ordering(order, this.shape.id.property)
    const sorted = ordering.sort(this.#cells.values())
    return { ordering, list: new OrderedList((a, b) => ordering.compare(a.entry, b.entry), sorted) }
  }
}
