import type { Entry, Id, Shape } from '../contract.ts'
import type { Mint } from './mint.ts'
import { Ordering } from './order.ts'
import type { Route, Rows } from './table.ts'
import { taken, Unique } from './unique.ts'

/** What a transaction has written so far, seen over the rows below as if it were among them already. */
export class Changes<Item extends object> implements Rows<Item> {
  readonly shape: Shape
  readonly mint: Mint
  readonly #rows: Rows<Item>
  readonly #uniques: readonly Unique[]
  readonly #entries = new Map<Id, Entry<Item> | undefined>()
  size: number

  constructor (rows: Rows<Item>) {
    this.shape = rows.shape
    this.mint = rows.mint
    this.#rows = rows
    this.#uniques = rows.shape.unique.map((properties) => new Unique(properties))
    this.size = rows.size
  }

  get (id: Id): Entry<Item> | undefined {
    return this.#entries.has(id) ? this.#entries.get(id) : this.#rows.get(id)
  }

  set (id: Id, entry: Entry<Item> | undefined): void {
    const previous = this.get(id)
    this.size += Number(entry !== undefined) - Number(previous !== undefined)
    for (const unique of this.#uniques) unique.follow(id, this.#entries.get(id)?.item, entry?.item)
    this.#entries.set(id, entry)
  }

  taken (item: Item, counts: (owner: Id) => boolean): readonly string[] | undefined {
    return taken(this.#uniques, item, counts) ??
      this.#rows.taken(item, (owner) => counts(owner) && !this.#entries.has(owner))
  }

  walk (route: Route, visit: (entry: Entry<Item>) => boolean): void {
    const { order, from, backward } = route
    const ordering = new Ordering(order, this.shape.id.property)
    const sign = backward ? -1 : 1
    const own = [...this.#entries.values()]
      .filter((entry) => entry !== undefined)
      .filter((entry) => from === undefined || ordering.distance(entry, from) * sign > 0)
      .sort((a, b) => ordering.compare(b, a) * sign)
    let wanted = true
    const visitOwn = (until?: Entry<Item>) => {
      for (let next = own.at(-1); wanted && next !== undefined; next = own.at(-1)) {
        if (until !== undefined && ordering.compare(next, until) * sign > 0) return
        own.pop()
        wanted = visit(next)
      }
    }
    this.#rows.walk(route, (entry) => {
      visitOwn(entry)
      if (wanted && !this.#entries.has(entry.id)) wanted = visit(entry)
      return wanted
    })
    visitOwn()
  }

  commit (): void {
    for (const [id, entry] of this.#entries) this.#rows.set(id, entry)
  }
}
