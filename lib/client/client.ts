import type { AddedRelations, PlaceOf } from '../relations/types.ts'
import type { BatchClient } from './batch-types.ts'
import type { RelatedClient } from './related-types.ts'
import type {
  ActionMethods,
  AddsOfCollection,
  AggregateMethods,
  BulkMethods,
  Call,
  Client,
  ClientOptions,
  ItemOfCollection,
  ManyCall,
  Marks,
  MatchedItems,
  Seen
} from './types.ts'

export type { BatchClient, BatchPart, BatchResult, BatchResults } from './batch-types.ts'
export type { ReadCall, RelatedClient, RelatedListQuery } from './related-types.ts'
export type {
  ActionMethods,
  AddsOfCollection,
  AggregateMethod,
  AggregateMethods,
  BulkMethods,
  Call,
  Client,
  ClientOptions,
  ManyCall,
  ManyMethods,
  ManyQuery,
  Marks,
  MatchedItems,
  PageOfItems,
  Query,
  Seen,
  Sent
} from './types.ts'
export type { AddedAggregates, FigureName, GroupOf, GroupsOf, GroupsQuery } from '../engine/aggregate-types.ts'
export type { Patch } from '../http/merge-patch.ts'

// A typed client over fetch. It imports nothing at run time, so browsers can load it as it is.

/** A problem that the service responded with: RFC 9457. */
export class ProblemError extends Error {
  readonly status: number
  readonly type: string
  readonly title: string
  readonly detail: string | undefined
  readonly code: string | undefined
  /** The validation errors, by property. */
  readonly errors: ReadonlyArray<{ readonly pointer: string, readonly message: string }>
  /** The whole content. */
  readonly content: Readonly<Record<string, unknown>>

  constructor (status: number, content: Readonly<Record<string, unknown>>) {
    const problem = content as Partial<ProblemError>
    const { type = 'about:blank', title = `Status ${status}`, detail, code, errors = [] } = problem
    super(detail ?? title)
    this.name = new.target.name
    this.status = status
    this.type = type
    this.title = title
    this.detail = detail
    this.code = code
    this.errors = errors
    this.content = content
  }
}

/** 412: the item has changed since it was read. */
export class StaleError extends ProblemError {}

function missingEtagError (): TypeError {
  return new TypeError(
    'The response has no readable ETag. Expose it to pages of other origins with corsOptions() in the service.'
  )
}

type Item = Record<string, unknown>
type Target = string | number | Item

interface RequestOptions extends Call {
  readonly method?: string
  readonly body?: unknown
  readonly type?: string
}

/** The methods that all collections have. With relations, those that read know them. */
type StandardMethods<Items, Given extends Marks, Place> =
  [Place] extends [never]
    ? Client<Items, Given>
    : Place extends AddedRelations ? RelatedClient<Items, Given, Place> : never

/** The client of a definition: a method for each action, also for custom ones. */
export type ClientOf<Definition, Given extends Marks = object> =
  StandardMethods<ItemOfCollection<Definition>, Given, PlaceOf<Definition>> &
  ActionMethods<ItemOfCollection<Definition>, Given, AddsOfCollection<Definition>> &
  BulkMethods<ItemOfCollection<Definition>, Given, AddsOfCollection<Definition>> &
  AggregateMethods<Seen<ItemOfCollection<Definition>, Given>, AddsOfCollection<Definition>>

/**
 * Creates a typed client of the collection at a URI, for browsers and Node.js.
 *
 * @example
 * const users = client<typeof import('./users.ts').users>('https://example.com/users')
 * const ada = await users.create({ email: 'ada@example.com' })
 * for await (const user of users.list({ sort: ['email'] })) console.log(user.email)
 */
export function client<Definition, Given extends Marks = object> (
  base: string,
  options: ClientOptions = {}
): ClientOf<Definition, Given> {
  const { fetch: fetchFunction = fetch, headers: commonHeaders, id = 'id', aggregatePath = 'aggregate' } = options
  // By object: another copy of an item, read earlier or later, has another state.
  const tags = new WeakMap<object, string | undefined>()

  async function send (uri: string, request: RequestOptions = {}): Promise<Response> {
    const { method = 'GET', body, type = 'application/json', headers, signal } = request
    const response = await fetchFunction(uri, {
      method,
      headers: {
        accept: 'application/json',
        ...body !== undefined && { 'content-type': type },
        ...typeof commonHeaders === 'function' ? await commonHeaders() : commonHeaders,
        ...headers
      },
      ...body !== undefined && { body: JSON.stringify(body) },
      ...signal && { signal }
    })
    if (response.ok || response.status === 304) return response
    // The response of a proxy may not be JSON.
    const content: unknown = await response.json().catch(() => undefined)
    const ResponseError = response.status === 412 ? StaleError : ProblemError
    throw new ResponseError(response.status, Object(content))
  }

  function remember (item: Item, tag?: string | null): Item {
    tags.set(item, tag ?? undefined)
    return item
  }

  /** Without content, only the id of the item is known: the caller may not read it, or prefers a minimal response. */
  async function readWritten (response: Response, itemId: unknown): Promise<Item> {
    const text = await response.text()
    const item = text === '' ? { [id]: itemId } : JSON.parse(text) as Item
    return remember(item, response.headers.get('etag'))
  }

  function getId (target: Target): unknown {
    return typeof target === 'object' ? target[id] : target
  }

  function buildUri (target: Target): string {
    return `${base}/${encodeURIComponent(String(getId(target)))}`
  }

  async function read (target: Target, call?: Call & { readonly expand?: object }): Promise<Item> {
    const search = buildSearch({ expand: call?.expand })
    // The entity tag of an item with others is not that of the item alone, which writes need.
    if (search !== '') return remember(await (await send(`${buildUri(target)}?${search}`, call)).json() as Item)
    const tag = typeof target === 'object' ? tags.get(target) : undefined
    const headers = { ...call?.headers, ...tag && { 'if-none-match': tag } }
    const response = await send(buildUri(target), { ...call, headers })
    if (response.status === 304) return target as Item
    return remember(await response.json() as Item, response.headers.get('etag'))
  }

  /**
   * Returns the precondition that prevents lost updates. An item from a list, or after a PUT, has no entity tag:
   * it is read again, and must be the same.
   */
  async function buildPrecondition (target: Target, request: RequestOptions): Promise<Record<string, string>> {
    if (typeof target !== 'object') return {}
    if (!tags.has(target)) {
      throw new TypeError(
        'This object is not an item that the client returned. ' +
          'Pass the item itself, or pass its id to write it without a precondition.'
      )
    }
    const known = tags.get(target)
    if (known !== undefined) return { 'if-match': known }
    const { method, body, type, ...call } = request
    const current = await read(String(target[id]), call)
    if (!isSameItem(target, current)) {
      throw new StaleError(412, {
        title: 'Precondition Failed',
        status: 412,
        code: 'precondition-failed',
        detail: 'The item has changed since it was read. Read it again, then decide.'
      })
    }
    const tag = tags.get(current)
    if (tag === undefined) throw missingEtagError()
    tags.set(target, tag)
    return { 'if-match': tag }
  }

  async function write (target: Target, request: RequestOptions, suffix = ''): Promise<Response> {
    const precondition = await buildPrecondition(target, request)
    return send(buildUri(target) + suffix, { ...request, headers: { ...precondition, ...request.headers } })
  }

  async function writeItem (target: Target, request: RequestOptions): Promise<Item> {
    return readWritten(await write(target, request), getId(target))
  }

  async function * pages (
    query: object = {},
    call?: Call
  ): AsyncGenerator<{ items: Item[], total: number | undefined }, void> {
    const search = buildSearch(query)
    let uri: string | undefined = search === '' ? base : `${base}?${search}`
    while (uri !== undefined) {
      const response: Response = await send(uri, call)
      // If CORS hides the headers, a hidden link to the next page would look like the last page.
      if (response.type === 'cors' && response.headers.get('etag') === null) throw missingEtagError()
      const total = response.headers.get('x-total-count')
      const items = await response.json() as Item[]
      yield {
        items: items.map((item) => remember(item)),
        total: total === null ? undefined : Number(total)
      }
      const [, next] = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? []
      // RFC 8288, section 3.2: relative to the response. A response without a URI is that of the base.
      uri = next && (response.url === '' ? next : new URL(next, response.url).href)
    }
  }

  async function * list (query?: object, call?: Call): AsyncGenerator<Item, void> {
    for await (const { items } of pages(query, call)) yield * items
  }

  async function create (body: object, call?: Call): Promise<Item> {
    const response = await send(base, { ...call, method: 'POST', body })
    const segment = response.headers.get('location')?.split('/').pop() ?? ''
    return readWritten(response, decodeURIComponent(segment))
  }

  async function replace (target: Target, body: object, call?: Call): Promise<Item> {
    return writeItem(target, { ...call, method: 'PUT', body })
  }

  async function update (target: Target, body: object, call?: Call): Promise<Item> {
    return writeItem(target, { ...call, method: 'PATCH', body, type: 'application/merge-patch+json' })
  }

  async function remove (target: Target, call?: Call): Promise<void> {
    await write(target, { ...call, method: 'DELETE' })
  }

  async function createMany (body: readonly object[], call?: Call): Promise<Item[]> {
    const text = await (await send(base, { ...call, method: 'POST', body })).text()
    return text === '' ? [] : (JSON.parse(text) as Item[]).map((item) => remember(item))
  }

  async function writeMany (query: object, request: RequestOptions & ManyCall): Promise<MatchedItems> {
    const { ids, ...options } = request
    // Without the condition, the request would write to more items, such as those of all owners.
    const missing = Object.entries<unknown>({ ...query }).find(([, value]) => value === undefined)
    if (missing !== undefined) throw new TypeError(`The condition "${missing[0]}" has no value. Remove it, or set one.`)
    const headers = { ...ids === true && { prefer: 'return=representation' }, ...request.headers }
    const content = await readContent(await send(`${base}?${buildSearch(query)}`, { ...options, headers }))
    const { count, ids: matched } = Object(content) as Partial<MatchedItems>
    return { count, ids: matched }
  }

  async function updateMany (query: object, body: object, call?: ManyCall): Promise<MatchedItems> {
    return writeMany(query, { ...call, method: 'PATCH', body, type: 'application/merge-patch+json' })
  }

  async function removeMany (query: object, call?: ManyCall): Promise<MatchedItems> {
    return writeMany(query, { ...call, method: 'DELETE' })
  }

  async function aggregate (query: object = {}, call?: Call): Promise<unknown> {
    const search = buildSearch(query)
    const uri = `${base}/${aggregatePath}`
    return (await send(search === '' ? uri : `${uri}?${search}`, call)).json()
  }

  /** Whether an action is on an item: then it is called with an id, or with an item of this client. */
  function isTarget (value: unknown): value is Target {
    return typeof value === 'string' || typeof value === 'number' || tags.has(Object(value))
  }

  async function run (name: string, parameters: readonly unknown[]): Promise<Item | undefined> {
    const [target] = parameters
    const [body = {}, call] = (isTarget(target) ? parameters.slice(1) : parameters) as [object?, Call?]
    const request = { ...call, method: 'POST', body }
    if (!isTarget(target)) return readContent(await send(`${base}/${name}`, request))
    const response = await write(target, request, `/${name}`)
    // An output has no entity tag.
    const isItem = response.status === 204 || response.headers.has('etag')
    return isItem ? readWritten(response, getId(target)) : readContent(response)
  }

  const collection: Record<string, unknown> = {
    list, pages, create, read, replace, update, remove, createMany, updateMany, removeMany, aggregate
  }
  // The functions above do not know the type of the items, and the names of custom actions are known to the types only.
  return new Proxy(collection, {
    get (methods, name) {
      if (typeof name === 'symbol' || name in methods || name === 'then') return Reflect.get(methods, name)
      return (...parameters: readonly unknown[]) => run(name, parameters)
    }
  }) as unknown as ClientOf<Definition, Given>
}

/**
 * Creates a typed client for the batches at a URI.
 *
 * @example
 * const shop = batchClient<{ '/orders': typeof orders, '/lines': typeof lines }>('https://example.com/batch')
 * const [order] = await shop.batch([
 *   { id: 'o', method: 'POST', path: '/orders', content: { customer: 7 } },
 *   { method: 'POST', path: '/lines', content: { sku: 'A1' }, refs: { '/orderId': 'o#/id' } }
 * ])
 */
export function batchClient<Collections extends object> (
  uri: string,
  options: Omit<ClientOptions, 'id'> = {}
): BatchClient<Collections> {
  // A batch is a POST of JSON, and so is the creation of an item. Only the types differ.
  const { create: batch } = client(uri, options)
  const { create: preview } = client(`${uri}?dryRun=true`, options)
  return { batch, preview } as unknown as BatchClient<Collections>
}

async function readContent (response: Response): Promise<Item | undefined> {
  const text = await response.text()
  return text === '' ? undefined : JSON.parse(text) as Item
}

/** Compares the properties that both have: items of a list with `fields` or `expand` have others. */
function isSameItem (item: Item, current: Item): boolean {
  return Object.keys(item).every((name) => (
    !(name in current) || JSON.stringify(item[name]) === JSON.stringify(current[name])
  ))
}

function buildSearch ({ expand = [], ...query }: { readonly expand?: object | undefined }): string {
  const { paths, options } = Array.isArray(expand) ? { paths: expand, options: {} } : flattenExpansion(expand)
  const search = new URLSearchParams()
  const parameters = { ...query, ...paths.length > 0 && { expand: paths }, ...options }
  for (const [name, value] of Object.entries<unknown>(parameters)) {
    if (value !== undefined) search.append(name, Array.isArray(value) ? value.map(escapeComma).join() : String(value))
  }
  return String(search)
}

interface FlatExpansion {
  /** The paths of relations: `comments.author`. */
  readonly paths: string[]
  /** The parameters of included lists: `expand.comments.limit`. */
  readonly options: Record<string, unknown>
}

/** Turns the relations of `expand` into parameters of a query string. */
function flattenExpansion (relations: object, prefix = ''): FlatExpansion {
  const paths: string[] = []
  const parameters: Record<string, unknown> = {}
  for (const [name, given] of Object.entries(relations)) {
    if (given === undefined) continue
    const path = prefix + name
    const { expand = {}, filter = {}, ...options } = Object(given) as Record<'expand' | 'filter', object | undefined>
    const inner = flattenExpansion(expand, `${path}.`)
    paths.push(path, ...inner.paths)
    for (const [option, value] of Object.entries({ ...options, ...filter })) {
      parameters[`expand.${path}.${option}`] = value
    }
    Object.assign(parameters, inner.options)
  }
  return { paths, options: parameters }
}

/** The values of a list are separated by commas. */
function escapeComma (value: unknown): string {
  return String(value).replace(/[\\,]/g, '\\$&')
}
