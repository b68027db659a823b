import type { AddedRelations, PlaceOf } from '../engine/relation-types.ts'
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
  Entry,
  ItemOfCollection,
  ManyCall,
  Marks,
  MatchedItems,
  PageOfEntries,
  Seen,
  WriteCall
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
  Entry,
  ItemOfCollection,
  ManyCall,
  ManyMethods,
  Marks,
  MatchedItems,
  PageOfEntries,
  Query,
  Seen,
  Sent,
  WriteCall
} from './types.ts'
export type { AddedAggregates, FigureName, GroupOf, GroupsOf, GroupsQuery } from '../engine/aggregate-types.ts'
export type { Patch } from '../http/merge-patch.ts'

// A typed client over fetch. It imports nothing at run time, so browsers can load it as it is.

/** A response that is not 2xx, with the problem that it contains: RFC 9457. */
export class ResponseError extends Error {
  readonly status: number
  readonly type: string
  readonly title: string
  readonly detail: string | undefined
  readonly code: string | undefined
  /** The validation errors, by JSON Pointer. */
  readonly errors: ReadonlyArray<{ readonly pointer: string, readonly message: string }>
  /** The whole content. */
  readonly content: Readonly<Record<string, unknown>>

  constructor (status: number, content: Readonly<Record<string, unknown>>) {
    const problem = content as Partial<ResponseError>
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

  /** The validation errors by the names of inputs, as forms have them: `address.city`. One of the whole item is ''. */
  get fieldErrors (): Readonly<Record<string, string>> {
    return Object.fromEntries(this.errors.map(({ pointer, message }) => {
      const names = pointer.split('/').slice(1)
      return [names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')).join('.'), message]
    }))
  }
}

/** 412: the item has changed since it was read. */
export class StaleError extends ResponseError {}

type Item = Record<string, unknown>
type Id = string | number
type Target = Id | Entry<Item>

interface RequestOptions extends WriteCall {
  readonly method?: string
  readonly body?: unknown
  readonly type?: string
  readonly accept?: string
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

const jsonType = 'application/json'
const patchType = 'application/merge-patch+json'
const entriesType = 'application/vnd.fastify-collections.entries+json'

/** Servers and proxies refuse URIs that are too long; often from 8,000 characters. */
const maxSearchLength = 6000

const listParameters = ['filter', 'sort', 'q', 'limit', 'count', 'cursor', 'offset', 'fields', 'expand']
const aggregateParameters = [
  'filter', 'q', 'by', 'count', 'distinct', 'sum', 'avg', 'min', 'max', 'sort', 'limit'
]
const manyParameters = ['filter', 'q']
/** In a query string, a property with the name of a parameter is compared with `.eq`. */
const reservedNames = new Set([...listParameters, ...aggregateParameters, 'deleted'])

/**
 * Creates a typed client of the collection at a URI, for browsers and Node.js.
 *
 * @example
 * const users = client<typeof import('./users.ts').users>('https://example.com/users')
 * const ada = await users.create({ email: 'ada@example.com' })
 * await users.update(ada, { name: 'Ada' })
 * for await (const { item } of users.list({ filter: { role: 'admin' }, sort: ['email'] })) console.log(item.email)
 */
export function client<Definition, Given extends Marks = object> (
  base: string,
  options: ClientOptions = {}
): ClientOf<Definition, Given> {
  const { id: idProperty = 'id', aggregatePath = 'aggregate' } = options
  const send = createSend(options)

  /** Without content, only the id of the item is known: the caller may not read it, or prefers a minimal response. */
  async function readEntry (response: Response, id: Id): Promise<Entry<Item>> {
    const text = await response.text()
    if (text === '') return { id, tag: getTag(response), item: { [idProperty]: id } }
    const content: unknown = JSON.parse(text)
    if (isEntries(response)) return content as Entry<Item>
    const item = content as Item
    return { id: getId(item) ?? id, tag: getTag(response), item }
  }

  function getId (item: Item): Id | undefined {
    return item[idProperty] as Id | undefined
  }

  function buildUri (id: Id): string {
    return `${base}/${encodeURIComponent(String(id))}`
  }

  async function read (target: Target, call: Call & { readonly expand?: object } = {}): Promise<Entry<Item>> {
    const { expand, ...request } = call
    const search = buildSearch({ expand }) ?? throwInexpressible('The filter of expand')
    const id = checkTarget(target)
    const response = await send(buildUri(id) + (search && `?${search}`), request)
    const entry = await readEntry(response, id)
    // The entity tag of an item with others is not that of the item alone, which writes need.
    return search === '' || isEntries(response) ? entry : { ...entry, tag: undefined }
  }

  /** Returns the precondition that prevents lost updates: none only for an id without one. */
  async function findTag (target: Target, call: RequestOptions): Promise<string | undefined> {
    if (call.ifMatch !== undefined || ('ifMatch' in call && typeof target !== 'object')) {
      if (isTag(call.ifMatch)) return call.ifMatch
      throw new TypeError('ifMatch must be the tag of an entry, or "*". Leave it out to write without a precondition.')
    }
    if (typeof target !== 'object') return undefined
    if (target.tag !== undefined && target.tag !== null) {
      if (isTag(target.tag)) return target.tag
      throw new TypeError('The tag of the entry is not an entity tag. Pass the entry as the client returned it.')
    }
    const { method, body, type, accept, ...rest } = call
    return compareEntry(target, await read(target.id, rest))
  }

  /** An entry without a tag, from a server that does not send them, is compared with the item as it is now. */
  function compareEntry (entry: Entry<Item>, { item, tag }: Entry<Item>): string {
    // Items of a list with `fields` or `expand` have other properties.
    const names = Object.keys(entry.item).filter((name) => name in item && name !== idProperty)
    if (names.some((name) => JSON.stringify(entry.item[name]) !== JSON.stringify(item[name]))) {
      throw new StaleError(412, {
        title: 'Precondition Failed',
        status: 412,
        code: 'precondition-failed',
        detail: 'The item has changed since it was read. Read it again, then decide.'
      })
    }
    if (names.length === 0) {
      throw new TypeError('The entry has neither a tag nor properties to compare. Read it again, or pass its id.')
    }
    return tag ?? throwMissingHeaders()
  }

  async function write (target: Target, request: RequestOptions, suffix = ''): Promise<Response> {
    const id = checkTarget(target)
    const tag = await findTag(target, request)
    const headers = { ...tag !== undefined && { 'if-match': tag }, ...request.headers }
    return send(buildUri(id) + suffix, { ...request, headers })
  }

  async function writeItem (target: Target, request: RequestOptions): Promise<Entry<Item>> {
    return readEntry(await write(target, request), checkTarget(target))
  }

  /** Sends a query that a query string cannot express, or only a long one, as the content of QUERY (RFC 10008). */
  async function sendQuery (query: object, call?: Call): Promise<Response> {
    const search = buildSearch(query)
    if (search === undefined || search.length > maxSearchLength) {
      return send(base, { ...call, method: 'QUERY', body: query })
    }
    return send(base + (search && `?${search}`), call)
  }

  async function readPage (query: object, call?: Call): Promise<PageOfEntries<Item>> {
    const response = await sendQuery(query, call)
    const content: unknown = await response.json()
    if (isEntries(response)) {
      const { entries, next, total } = content as PageOfEntries<Item>
      return { entries, next, total }
    }
    const total = response.headers.get('x-total-count')
    return {
      entries: (content as Item[]).map((item) => ({ id: getId(item)!, tag: undefined, item })),
      next: getCursor(response),
      total: total === null ? undefined : Number(total)
    }
  }

  async function * pages (query: object = {}, call?: Call): AsyncGenerator<PageOfEntries<Item>, undefined> {
    checkNames(query, listParameters)
    const { offset, count, ...rest } = query as { offset?: number, count?: boolean }
    let page = await readPage(query, call)
    const { total } = page
    yield page
    while (page.next !== null) {
      // The items are counted once.
      page = { ...await readPage({ ...rest, cursor: page.next }, call), total }
      yield page
    }
    return undefined
  }

  async function * list (query?: object, call?: Call): AsyncGenerator<Entry<Item>, void> {
    for await (const { entries } of pages(query, call)) yield * entries
  }

  async function create (body: object, call?: Call): Promise<Entry<Item>> {
    const response = await send(base, { ...call, method: 'POST', body })
    const segment = response.headers.get('location')?.split('/').pop() ?? ''
    return readEntry(response, decodeURIComponent(segment))
  }

  async function replace (target: Target, body: object, call?: WriteCall): Promise<Entry<Item>> {
    return writeItem(target, { ...call, method: 'PUT', body })
  }

  async function update (target: Target, body: object, call?: WriteCall): Promise<Entry<Item>> {
    return writeItem(target, { ...call, method: 'PATCH', body, type: patchType })
  }

  async function remove (target: Target, call?: WriteCall): Promise<void> {
    await write(target, { ...call, method: 'DELETE' })
  }

  async function createMany (body: readonly object[], call?: Call): Promise<ReadonlyArray<Entry<Item>>> {
    const response = await send(base, { ...call, method: 'POST', body })
    const text = await response.text()
    if (text === '') return []
    const content: unknown = JSON.parse(text)
    if (isEntries(response)) return (content as PageOfEntries<Item>).entries
    return (content as Item[]).map((item) => ({ id: getId(item)!, tag: undefined, item }))
  }

  async function writeMany (query: object, request: RequestOptions & ManyCall): Promise<MatchedItems> {
    const { ids, ...rest } = request
    checkNames(query, manyParameters)
    // Without the condition, the request would write to more items, such as those of all owners.
    for (const [name, value] of Object.entries(query)) if (value === undefined) throwUndefined(name)
    const search = buildSearch(query) ?? throwInexpressible('The filter')
    const headers = { ...ids === true && { prefer: 'return=representation' }, ...request.headers }
    const content = await readContent(await send(`${base}?${search}`, { ...rest, headers, accept: jsonType }))
    const { count, ids: matched } = Object(content) as Partial<MatchedItems>
    return { count, ids: matched }
  }

  async function updateMany (query: object, body: object, call?: ManyCall): Promise<MatchedItems> {
    return writeMany(query, { ...call, method: 'PATCH', body, type: patchType })
  }

  async function removeMany (query: object, call?: ManyCall): Promise<MatchedItems> {
    return writeMany(query, { ...call, method: 'DELETE' })
  }

  async function aggregate (query: object = {}, call?: Call): Promise<unknown> {
    checkNames(query, aggregateParameters)
    const search = buildSearch(query) ?? throwInexpressible('The filter')
    const response = await send(`${base}/${aggregatePath}${search && `?${search}`}`, { ...call, accept: jsonType })
    return response.json()
  }

  /** Whether an action is on an item: then it is called with an id or an entry. Its input is another object. */
  function isTarget (value: unknown): value is Target {
    if (!isEntry(value)) return isId(value)
    return (typeof value.tag === 'string' && isTag(value.tag)) || getId(value.item) === value.id
  }

  async function run (name: string, parameters: readonly unknown[]): Promise<unknown> {
    const [target] = parameters
    const isOnItem = isTarget(target)
    const [body = {}, call] = (isOnItem ? parameters.slice(1) : parameters) as [object?, Call?]
    const request = { ...call, method: 'POST', body }
    if (!isOnItem) {
      if (!isCall(call)) checkTarget(target)
      return readContent(await send(`${base}/${name}`, request))
    }
    const response = await write(target, request, `/${name}`)
    // An output has no entity tag.
    const isItem = response.status === 204 || isEntries(response) || response.headers.has('etag')
    return isItem ? readEntry(response, checkTarget(target)) : readContent(response)
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
  options: Omit<ClientOptions, 'id' | 'aggregatePath'> = {}
): BatchClient<Collections> {
  const send = createSend(options)
  const post = async (to: string, body: unknown, call?: Call): Promise<unknown> => {
    return (await send(to, { ...call, method: 'POST', body, accept: jsonType })).json()
  }
  return {
    batch: async (parts: unknown, call?: Call) => post(uri, parts, call),
    preview: async (parts: unknown, call?: Call) => post(`${uri}?dryRun=true`, parts, call)
  } as unknown as BatchClient<Collections>
}

function createSend (options: ClientOptions): (uri: string, request?: RequestOptions) => Promise<Response> {
  const { fetch: fetchFunction = fetch, headers: commonHeaders } = options
  return async (uri, request = {}) => {
    const { method = 'GET', body, type = jsonType, accept, headers, signal } = request
    const response = await fetchFunction(uri, {
      method,
      headers: {
        accept: accept ?? `${entriesType}, ${jsonType};q=0.9`,
        ...body !== undefined && { 'content-type': type },
        ...typeof commonHeaders === 'function' ? await commonHeaders() : commonHeaders,
        ...headers
      },
      ...body !== undefined && { body: JSON.stringify(body) },
      ...signal && { signal }
    })
    if (response.ok) return response
    // The response of a proxy may not be JSON.
    const content: unknown = await response.json().catch(() => undefined)
    throw new (response.status === 412 ? StaleError : ResponseError)(response.status, Object(content))
  }
}

async function readContent (response: Response): Promise<unknown> {
  const text = await response.text()
  return text === '' ? undefined : JSON.parse(text)
}

/** Whether a response has the ids and tags of its items in the content. No header is needed then. */
function isEntries (response: Response): boolean {
  return response.headers.get('content-type')?.startsWith(entriesType) === true
}

/** Returns the entity tag of a response, if If-Match can have it: proxies weaken tags when they compress. */
function getTag ({ headers }: Response): string | undefined {
  const etag = headers.get('etag')
  return etag === null || etag.startsWith('W/') ? undefined : etag
}

/** Returns the cursor of the next page from the Link header, for responses without entries. */
function getCursor ({ headers, type, url }: Response): string | null {
  const link = headers.get('link')
  // If CORS hides the headers, a hidden link to the next page would look like the last page.
  if (type === 'cors' && link === null && headers.get('etag') === null) throwMissingHeaders()
  const [, next] = /<([^>]*)>; rel="next"/.exec(link ?? '') ?? []
  if (next === undefined) return null
  // RFC 8288, section 3.2: relative to the response. A response without a URI is that of a test.
  const cursor = new URL(next, url === '' ? 'http://localhost' : url).searchParams.get('cursor')
  if (cursor === null) throw new TypeError('The link to the next page has no cursor, which this client needs.')
  return cursor
}

function throwMissingHeaders (): never {
  throw new TypeError(
    'The response has no readable ETag. Expose it to pages of other origins with corsOptions() in the service.'
  )
}

function isObject (value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

function isId (value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number'
}

function isTag (value: unknown): value is string {
  return typeof value === 'string' && /^(\*|(W\/)?".*")$/.test(value)
}

/** By its properties: an entry may be a copy, or come from a store or from JSON. */
function isEntry (value: unknown): value is Entry<Item> {
  return isObject(value) && isId(value['id']) && isObject(value['item'])
}

/** Whether a value can be the last parameter of a method: an input has other properties. */
function isCall (value: unknown): boolean {
  return value === undefined || Object.keys(Object(value)).every((name) => name === 'signal' || name === 'headers')
}

function checkTarget (target: unknown): Id {
  if (isEntry(target)) return target.id
  if (isId(target)) return target
  throw new TypeError(
    'This is not an entry. Pass one that the client returned, { id, tag, item }; or an id, with { ifMatch: tag } for ' +
      'a precondition.'
  )
}

function checkNames (query: object, names: readonly string[]): void {
  const unknown = Object.keys(query).find((name) => !names.includes(name))
  if (unknown === undefined) return
  const condition = JSON.stringify(unknown)
  throw new TypeError(
    `${condition} is not a parameter of this query, which has ${names.join(', ')}. ` +
      `If it is a condition, put it in filter: { filter: { ${condition}: ... } }.`
  )
}

function throwUndefined (name: string): never {
  throw new TypeError(`The condition "${name}" has no value. Remove it, or set one.`)
}

function throwInexpressible (name: string): never {
  throw new TypeError(
    `${name} must be one that a query string can express: conditions that must all be met, without all, any, not ` +
      'and empty objects. Only the methods list and pages take others.'
  )
}

interface SearchQuery {
  readonly filter?: object
  readonly expand?: object | undefined
}

/** Builds a query string; undefined if there is none that expresses the filters. */
function buildSearch ({ filter, expand = [], ...rest }: SearchQuery): string | undefined {
  const search = new Search()
  for (const [name, value] of Object.entries(rest)) if (value !== undefined) search.add(name, value)
  if (filter !== undefined) search.addFilter(filter)
  const paths = Array.isArray(expand) ? expand : search.addExpansion(expand)
  if (paths.length > 0) search.add('expand', paths)
  return search.isExpressible ? String(search.parameters) : undefined
}

/** The parameters of a query string. */
class Search {
  readonly parameters = new URLSearchParams()
  isExpressible = true

  add (name: string, value: unknown): void {
    const text = toText(value)
    // A list with one empty text would be an empty list; and no parameter can be there twice.
    if ((Array.isArray(value) && value.length > 0 && text === '') || this.parameters.has(name)) {
      this.isExpressible = false
    }
    this.parameters.append(name, text)
  }

  /** Adds conditions, also those of nested objects: `author.country`, `comments.some.text.like`. */
  addFilter (filter: object, prefix = '', path = ''): void {
    for (const [name, value] of Object.entries(filter)) {
      const at = path + name
      checkValue(value, at)
      if (isObject(value) && Object.keys(value).length > 0 && name !== 'not') {
        this.addFilter(value, `${prefix}${name}.`, `${at}.`)
      } else if (isObject(value) || name === 'all' || name === 'any') {
        this.isExpressible = false
      } else {
        const last = name.slice(name.lastIndexOf('.') + 1)
        this.add(prefix + name + (reservedNames.has(last) ? '.eq' : ''), value)
      }
    }
  }

  /** Adds the parameters of the lists to include, and returns the paths of relations: `comments.author`. */
  addExpansion (relations: object, prefix = ''): string[] {
    return Object.entries(relations).flatMap(([name, given]) => {
      if (given === undefined) return []
      const path = prefix + name
      const { expand = {}, filter = {}, ...options } = Object(given) as Partial<Record<string, object>>
      for (const [option, value] of Object.entries(options)) {
        if (value !== undefined) this.add(`expand.${path}.${option}`, value)
      }
      this.addFilter(filter, `expand.${path}.`)
      return [path, ...this.addExpansion(expand, `${path}.`)]
    })
  }
}

/** Without the condition, the response would have more items. */
function checkValue (value: unknown, path: string): void {
  if (value === undefined) throwUndefined(path)
  if (value === null) {
    throw new TypeError(`The condition "${path}" is null. For items without a value, write { "${path}.null": true }.`)
  }
  if (value instanceof Date) value.toISOString()
  else if (Array.isArray(value)) value.forEach((part, index) => checkValue(part, `${path}.${index}`))
  else if (isObject(value)) Object.entries(value).forEach(([name, part]) => checkValue(part, `${path}.${name}`))
}

/** The values of a list are separated by commas. */
function toText (value: unknown): string {
  if (Array.isArray(value)) return value.map((part) => toText(part).replace(/[\\,]/g, '\\$&')).join()
  return value instanceof Date ? value.toISOString() : String(value)
}
