import type {
  Condition,
  Context,
  Draft,
  Entry,
  Id,
  Page,
  Query,
  Refusal,
  Storage,
  Supports,
  Version
} from '../lib/storage/contract.ts'
import type { User } from './user.ts'

type Answer = Promise<Entry<User> | Refusal>

const notFound: Refusal = { refused: 'not-found' }
const stale: Refusal = { refused: 'stale' }
const notUnique: Refusal = { refused: 'not-unique', properties: ['email'] }

/** A hand-written storage for this one schema: a map, the ids in order, and an index of the unique property. */
export class MapStorage implements Storage<User> {
  readonly name = 'map'
  readonly supports: Supports = {
    generatedIds: false,
    unique: true,
    filter: true,
    order: false,
    search: false,
    count: true,
    transactions: false,
    receipts: false
  }

  #entries = new Map<Id, Entry<User>>()
  #ids: string[] = []
  #emails = new Map<string, Id>()
  #writes = 0

  #place (id: string) {
    let low = 0
    let high = this.#ids.length
    if (high === 0 || this.#ids[high - 1]! < id) return high
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#ids[middle]! < id) low = middle + 1
      else high = middle
    }
    return low
  }

  #keep (item: User) {
    const entry: Entry<User> = { id: item.id, item, version: (++this.#writes).toString(36) }
    this.#entries.set(item.id, entry)
    this.#emails.set(item.email, item.id)
    return entry
  }

  async list (query: Query, _context: Context): Promise<Page<User>> {
    const { filter, after, limit, count } = query
    if (filter !== undefined) return this.#listMatches(filter as Condition, query)
    let start = 0
    if (after !== undefined) {
      start = this.#place(String(after[0]))
      if (this.#ids[start] === after[0]) start++
    }
    const entries = this.#ids.slice(start, start + limit).map((id) => this.#entries.get(id)!)
    const page = { entries, more: start + limit < this.#ids.length }
    return count ? { ...page, total: this.#ids.length } : page
  }

  /** Only what the scenarios need: one condition on a text, from a value on, and the first page. */
  #listMatches ({ property, is, value }: Condition, { after, limit, count }: Query): Page<User> {
    if (is !== 'gte' || after !== undefined || count) throw new Error('The storage does not support this query.')
    const entries: Array<Entry<User>> = []
    for (const id of this.#ids) {
      const entry = this.#entries.get(id)!
      if (entry.item[property as keyof User] < String(value)) continue
      if (entries.length === limit) return { entries, more: true }
      entries.push(entry)
    }
    return { entries, more: false }
  }

  async find (id: Id, _context: Context) {
    return this.#entries.get(id)
  }

  async insert (draft: Draft<User>, _context: Context): Answer {
    if (this.#emails.has(draft.email)) return notUnique
    const place = this.#place(draft.id)
    if (place === this.#ids.length) this.#ids.push(draft.id)
    else this.#ids.splice(place, 0, draft.id)
    return this.#keep(draft)
  }

  async replace (id: Id, item: Readonly<User>, expected: Version | undefined, _context: Context): Answer {
    const present = this.#entries.get(id)
    if (present === undefined) return notFound
    if (expected !== undefined && present.version !== expected) return stale
    if (present.item.email !== item.email) {
      if (this.#emails.has(item.email)) return notUnique
      this.#emails.delete(present.item.email)
    }
    return this.#keep(item)
  }

  async remove (id: Id, expected: Version | undefined, _context: Context) {
    const present = this.#entries.get(id)
    if (present === undefined) return notFound
    if (expected !== undefined && present.version !== expected) return stale
    this.#ids.splice(this.#place(present.item.id), 1)
    this.#entries.delete(id)
    this.#emails.delete(present.item.email)
  }
}
