import type { Entry, Id, Order, Position, Shape } from '../contract.ts'
import { Mint } from './mint.ts'
import { OrderedList } from './ordered-list.ts'
import { Ordering } from './order.ts'
import { taken, Unique } from './unique.ts'

export interface Route {
  readonly order: readonly Order[]
  /** Where to begin, itself left out; without it, at the end the walk comes from. */
  readonly from: Position | undefined
  readonly backward: boolean
}

/** What the verbs need of the entries, be it the table itself or a transaction over it. */
export interface Rows<Item> {
  readonly shape: Shape
  readonly mint: Mint
  readonly size: number
  get (id: Id): Entry<Item> | undefined
  /** Puts an entry in, or takes it out. */
  set (id: Id, entry: Entry<Item> | undefined): void
  /** The first unique properties of the item that are held by an owner that counts. */
  taken (item: Item, counts: (owner: Id) => boolean): readonly string[] | undefined
  walk (route: Route, visit: (entry: Entry<Item>) => boolean): void
}

/** The place of an item: the same for all its versions, so that a replace seldom moves anything. */
interface Cell<Item> {
  entry: Entry<Item>
}

interface Index<Item> {
  readonly ordering: Ordering
  readonly list: OrderedList<Cell<Item>>
}

/** Besides the one by id; each costs a little at every write. */
const indexesKept = 8

export class Table<Item extends object> implements Rows<Item> {
  readonly shape: Shape
  readonly mint: Mint
  readonly #uniques: readonly Unique[]
  readonly #cells = new Map<Id, Cell<Item>>()
  readonly #byId: Index<Item>
  /** The least recently used comes first. */
  readonly #indexes = new Map<string, Index<Item>>()

  constructor (shape: Shape) {
    this.shape = shape
    this.mint = new Mint(shape)
    this.#uniques = shape.unique.map((properties) => new Unique(properties))
    this.#byId = this.#index([{ property: shape.id.property, descending: false }])
  }

  get size (): number {
    return this.#cells.size
  }

  get (id: Id): Entry<Item> | undefined {
    return this.#cells.get(id)?.entry
  }

  set (id: Id, entry: Entry<Item> | undefined): void {
    const cell = this.#cells.get(id)
    for (const unique of this.#uniques) unique.follow(id, cell?.entry.item, entry?.item)
    if (cell !== undefined && entry !== undefined) this.#change(cell, entry)
    else if (cell !== undefined) this.#delete(cell)
    else if (entry !== undefined) this.#add({ entry })
  }

  taken (item: Item, counts: (owner: Id) => boolean): readonly string[] | undefined {
    return taken(this.#uniques, item, counts)
  }

  walk ({ order, from, backward }: Route, visit: (entry: Entry<Item>) => boolean): void {
    // An order and its opposite are one index, walked up or down.
    const opposite = order[0]?.descending === true
    const { ordering, list } = this.#indexOf(order, opposite)
    if (backward === opposite) list.ascend(({ entry }) => from === undefined || ordering.distance(entry, from) > 0, ({ entry }) => visit(entry))
    else list.descend(({ entry }) => from !== undefined && ordering.distance(entry, from) >= 0, ({ entry }) => visit(entry))
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

  #indexOf (order: readonly Order[], opposite: boolean): Index<Item> {
    if (order.length === 1) return this.#byId
    const key = order.map(({ property, descending }) => (descending === opposite ? '+' : '-') + property).join()
    const index = this.#indexes.get(key) ??
      this.#index(order.map(({ property, descending }) => ({ property, descending: descending !== opposite })))
    this.#indexes.delete(key)
    this.#indexes.set(key, index)
    const [leastRecent] = this.#indexes.keys()
    if (this.#indexes.size > indexesKept && leastRecent !== undefined) this.#indexes.delete(leastRecent)
    return index
  }

  #index (order: readonly Order[]): Index<Item> {
    const ordering = new Ordering(order, this.shape.id.property)
    const sorted = ordering.sort(this.#cells.values())
    return { ordering, list: new OrderedList((a, b) => ordering.compare(a.entry, b.entry), sorted) }
  }
}
