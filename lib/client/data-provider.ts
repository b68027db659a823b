import { client, ResponseError } from './client.ts'
import type { Call, ClientOptions, Entry, ItemOfCollection, PageOfEntries, WriteCall } from './client.ts'

// What the data providers of react-admin and refine share: records with their entity tags, and writes with If-Match.

export type Item = Record<string, unknown>
export type Id = string | number

/**
 * The property of a record that holds its entity tag. It has a name, not a symbol, because the caches and forms of the
 * frameworks copy records, and copies lose symbols.
 */
export const tagProperty = '$tag'

/** A record of the frameworks: an item with its `id`, and its entity tag as `$tag`. */
export type RecordOf<Definition> = Readonly<ItemOfCollection<Definition>> & {
  readonly id: ItemOfCollection<Definition> extends { id: infer Key extends Id } ? Key : Id
  readonly $tag?: string
}

/** A record whose properties are not known. */
export interface AnyRecord {
  readonly id?: Id
}

/** A collection, as the frameworks call it. */
export interface ResourceOptions {
  /**
   * The path of the collection below the base.
   *
   * @default '/' and the name of the resource
   * @example
   * resources: { posts: { path: '/blog/posts' } }
   */
  readonly path?: string
  /**
   * The property that is the id. Records have it as `id` as well.
   *
   * @default 'id'
   * @example
   * resources: { users: { id: 'login' } }
   */
  readonly id?: string
  /**
   * The `list.limit.maximum` of the definition. Lists that are longer are read page by page.
   *
   * @default 100
   * @example
   * resources: { posts: { maximum: 500 } }
   */
  readonly maximum?: number
  /**
   * The related items that every record includes.
   *
   * @default none
   * @example
   * resources: { posts: { expand: ['author'] } }
   */
  readonly expand?: readonly string[]
}

/** The options of a data provider. */
export interface DataProviderOptions<Resource = ResourceOptions, Name extends string = string> {
  /**
   * Used instead of the global fetch, for example to send cookies.
   *
   * @default the global `fetch`
   * @example
   * fetch: (input, init) => fetch(input, { ...init, credentials: 'include' })
   */
  readonly fetch?: typeof fetch
  /**
   * Headers of every request, or a function that returns them.
   *
   * @default none
   * @example
   * headers: () => ({ authorization: `Bearer ${getToken()}` })
   */
  readonly headers?: NonNullable<ClientOptions['headers']>
  /**
   * Collections that differ from the defaults, by the names of their resources.
   *
   * @default {}
   * @example
   * resources: { users: { id: 'login' }, posts: { expand: ['author'] } }
   */
  readonly resources?: Readonly<Partial<Record<Name, Resource>>>
  /**
   * The message of a save that was refused because the record has changed.
   *
   * @default 'This record has changed since you opened it. Your changes were not saved. Reload to see ...'
   * @example
   * staleMessage: 'Der Eintrag wurde inzwischen geändert.'
   */
  readonly staleMessage?: string
}

/** Returns a function that opens the collection of a resource. All of them follow the same own writes. */
export function openResources (
  base: unknown,
  options: DataProviderOptions,
  name: string
): (resource: string) => ResourceClient {
  // Features of these names were for definitions.
  if (typeof base !== 'string') {
    throw new TypeError(
      `${name}() is a data provider for browsers, and takes the URI of the collections: ${name}('/api'). ` +
        'Definitions need no feature for it: remove it from with().'
    )
  }
  const tags = new Tags()
  return (resource) => new ResourceClient(base, resource, options, tags)
}

const defaultStaleMessage = 'This record has changed since you opened it. Your changes were not saved. ' +
  'Reload to see the current version.'

/** The frameworks know names and values only at run time. */
interface UntypedClient {
  pages (query: object, call?: Call): AsyncGenerator<PageOfEntries<Item>, undefined>
  read (id: Id, call?: Call & { readonly expand?: readonly string[] }): Promise<Entry<Item>>
  create (item: Item, call?: Call): Promise<Entry<Item>>
  update (target: Entry<Item>, patch: Item, call?: WriteCall): Promise<Entry<Item>>
  remove (target: Entry<Item>, call?: WriteCall): Promise<void>
}

/** The client of a resource, and how its entries become records. */
export class ResourceClient {
  readonly name: string
  readonly idProperty: string
  readonly maximum: number
  readonly items: UntypedClient
  readonly #expand: readonly string[]
  readonly #tags: Tags

  constructor (base: string, name: string, options: DataProviderOptions, tags: Tags) {
    const { path = `/${name}`, id = 'id', maximum = 100, expand = [] } = options.resources?.[name] ?? {}
    const { fetch: fetchFunction, headers } = options
    this.name = name
    this.idProperty = id
    this.maximum = maximum
    this.#expand = expand
    this.items = client(base + path, {
      id,
      ...fetchFunction && { fetch: fetchFunction },
      ...headers && { headers }
    }) as unknown as UntypedClient
    this.#tags = tags
  }

  toRecord ({ id, tag, item }: Entry<Item>): Item {
    return { ...item, id, ...tag !== undefined && { [tagProperty]: tag } }
  }

  toItem (record: object): Item {
    const { [tagProperty]: tag, ...item } = record as Item
    if (this.idProperty !== 'id') delete item['id']
    return item
  }

  /** What to include: the names of the options, and others. */
  getExpand (names: readonly string[] = []): { readonly expand?: readonly string[] } {
    const all = [...new Set([...this.#expand, ...names])]
    return all.length === 0 ? {} : { expand: all }
  }

  /** Maps the `id` of the frameworks to the property that is the id. */
  toProperty (name: string): string {
    return name === 'id' ? this.idProperty : name
  }

  /** Reads a part of a list. It can be longer than a page of the server. */
  async readRange (query: object, { offset, length }: { offset: number, length: number }, signal?: AbortSignal) {
    const limit = (count: number): number => Math.min(length - count, this.maximum)
    const first = { count: true, ...query, limit: limit(0), ...offset > 0 && { offset } }
    let page = await this.readPage(first, signal)
    const { total } = page
    const entries = [...page.entries]
    while (page.next !== null && entries.length < length) {
      page = await this.readPage({ ...query, limit: limit(entries.length), cursor: page.next }, signal)
      entries.push(...page.entries)
    }
    return { entries, total }
  }

  async readPage (query: object, signal?: AbortSignal): Promise<PageOfEntries<Item>> {
    const { value } = await this.items.pages(query, { signal }).next()
    return value!
  }

  /** Reads items by their ids, as many at a time as a page can have. */
  async readMany (given: readonly Id[], query: object, signal?: AbortSignal): Promise<Item[]> {
    const ids = [...new Set(given)]
    const parts = Array.from({ length: Math.ceil(ids.length / this.maximum) }, (_, index) => {
      return ids.slice(index * this.maximum, (index + 1) * this.maximum)
    })
    const pages = await Promise.all(parts.map(async (part) => {
      const filter = { [`${this.idProperty}.in`]: part }
      return this.readRange({ ...query, filter, count: undefined }, { offset: 0, length: part.length }, signal)
    }))
    return pages.flatMap(({ entries }) => entries.map((entry) => this.toRecord(entry)))
  }

  /** Updates an item if it has this tag, and remembers what the tag became. */
  async update (entry: Entry<Item>, patch: Item): Promise<Entry<Item>> {
    const tag = this.#follow(entry)
    const updated = await this.items.update({ ...entry, tag }, patch)
    this.#tags.replace(this.getPlace(entry.id), tag, updated.tag)
    return updated
  }

  async remove (entry: Entry<Item>): Promise<void> {
    await this.items.remove({ ...entry, tag: this.#follow(entry) })
  }

  #follow ({ id, tag }: Entry<Item>): string | undefined {
    return tag === undefined ? undefined : this.#tags.follow(this.getPlace(id), tag)
  }

  /** What tags are remembered by. */
  getPlace (id: Id): string {
    return `${this.name}/${id}`
  }
}

/** A map that forgets what was set first. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  override set (key: Key, value: Value): this {
    this.delete(key)
    if (this.size >= 10_000) this.delete(this.keys().next().value!)
    return super.set(key, value)
  }
}

/** Which tags own writes have led to: the frameworks may save a record again before they have the result of a save. */
class Tags {
  readonly #next = new BoundedMap<string, string>()

  /** Returns the newest tag that own writes have led to. A write of another client in between is not among them. */
  follow (place: string, tag: string): string {
    const next = this.#next.get(`${place} ${tag}`)
    return next === undefined ? tag : this.follow(place, next)
  }

  replace (place: string, before: string | undefined, after: string | undefined): void {
    if (before === undefined || before === '*' || after === undefined || before === after) return
    // An item can be as it was before, and have the same tag again.
    this.#next.delete(`${place} ${after}`)
    this.#next.set(`${place} ${before}`, after)
  }
}

export function isObject (value: unknown): value is Item {
  return Object.prototype.toString.call(value) === '[object Object]'
}

/**
 * Returns the merge patch from one state of a record to another. Forms may send a part of a record, so what `to` does
 * not have is kept. An empty input sends null, and `{ city: null }` for an object that does not exist: neither is a
 * change.
 */
export function getDifference (from: Item, to: Item): Item {
  const patch: Item = {}
  for (const [name, value] of Object.entries(to)) {
    const before = from[name] ?? null
    if (JSON.stringify(value ?? null) === JSON.stringify(before)) continue
    const canMerge = isObject(value) && (before === null || isObject(before))
    const change = canMerge ? getDifference(before ?? {}, value) : value
    if (!canMerge || Object.keys(change as Item).length > 0) patch[name] = change ?? null
  }
  return patch
}

/** Returns a pattern for `like`. */
export function toPattern (start: string, value: unknown, end: string): string {
  return start + String(value).replace(/[\\*]/g, '\\$&') + end
}

/** The error of a record whose tag is not known. */
export function createUnknownTagError (detail: string): ResponseError {
  return new ResponseError(428, { title: 'Precondition Required', status: 428, code: 'precondition-required', detail })
}

const maxWrites = 6

/** Writes several items, a few at a time. All of them are tried; the error says which failed. */
export async function writeEach<Key, Result> (
  keys: readonly Key[],
  write: (key: Key) => Promise<Result>,
  staleMessage?: string
): Promise<Result[]> {
  const results: Result[] = []
  const failures = new Map<number, unknown>()
  const queue = keys.entries()
  const work = async (): Promise<void> => {
    for (const [index, key] of queue) {
      await write(key).then((result) => { results[index] = result }, (error: unknown) => failures.set(index, error))
    }
  }
  await Promise.all(Array.from({ length: Math.min(maxWrites, keys.length) }, work))
  if (failures.size === 0) return results
  const [[, first]] = [...failures] as [[number, unknown]]
  if (keys.length === 1) throw first
  const failed = [...failures.keys()].sort((a, b) => a - b).map((index) => toName(keys[index], index))
  const names = failed.slice(0, 10).join(', ') + (failed.length > 10 ? ', ...' : '')
  const message = isStale(first) ? staleMessage ?? defaultStaleMessage : (first as Error).message
  const detail = `${failed.length} of ${keys.length} failed (${names}). ${message}`
  if (!(first instanceof ResponseError)) throw new Error(detail, { cause: first })
  throw new ResponseError(first.status, { ...first.content, detail, failed, errors: [] })
}

/** New items have no id yet, so they are counted from 1. */
function toName (key: unknown, index: number): Id {
  return typeof key === 'string' || typeof key === 'number' ? key : index + 1
}

function isStale (error: unknown): boolean {
  return error instanceof ResponseError && error.status === 412 && error.content['failed'] === undefined
}

/** What the users of a form read, and the errors at its inputs. A stale record is not an error of an input. */
export function describeError (error: ResponseError, staleMessage = defaultStaleMessage) {
  if (isStale(error)) return { message: staleMessage }
  const failures = Object.entries(error.fieldErrors)
  const texts = failures.slice(0, 3).map(([name, text]) => `${name === '' ? 'It' : name} ${text}.`)
  const message = [error.message, ...texts].join(' ')
  // As react-hook-form has the error of a whole form.
  const errors = Object.fromEntries(failures.map(([name, text]) => [name === '' ? 'root.serverError' : name, text]))
  return { message, ...failures.length > 0 && { errors } }
}

/** Gives the errors of methods the form that the framework expects. */
export function convertErrors<Methods extends object> (
  methods: Methods,
  convert: (error: ResponseError) => Error
): Methods {
  const entries = Object.entries(methods).map(([name, method]: [string, unknown]) => {
    if (typeof method !== 'function') return [name, method]
    return [name, async (...given: unknown[]): Promise<unknown> => {
      try {
        return await method(...given)
      } catch (error) {
        throw error instanceof ResponseError ? convert(error) : error
      }
    }]
  })
  return Object.fromEntries(entries)
}
