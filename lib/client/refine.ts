import { ResponseError } from './client.ts'
import type { ClientOptions, Entry } from './client.ts'
import {
  BoundedMap,
  convertErrors,
  createUnknownTagError,
  describeError,
  openResources,
  tagProperty,
  toPattern,
  writeEach
} from './data-provider.ts'
import type {
  AnyRecord,
  DataProviderOptions,
  Id,
  Item,
  ResourceClient,
  ResourceOptions
} from './data-provider.ts'

export type { RecordOf, ResourceOptions } from './data-provider.ts'

// A data provider of refine that sends the entity tag of a record with each write. It imports nothing of refine: the
// interface is that of @refinedev/core 5.

/** The options of `refine()`. */
export type RefineOptions<Name extends string = string> = DataProviderOptions<ResourceOptions, Name>

/** `meta` of the hooks of refine. */
export interface RefineMeta {
  /** The entity tag for a write, such as `record.$tag`; `*` writes whatever the record is. */
  readonly tag?: string
  /** Related items to include. */
  readonly expand?: readonly string[]
  /** The properties of the records of a list. */
  readonly fields?: readonly unknown[]
  /** Set by refine: aborts the request of a component that is unmounted. */
  readonly queryContext?: { readonly signal?: AbortSignal }
}

interface Resource {
  readonly resource: string
  readonly meta?: RefineMeta
}

interface FilterOf {
  readonly operator: string
  readonly field?: string
  readonly value: unknown
}

interface ListParameters extends Resource {
  readonly pagination?: {
    readonly currentPage?: number
    readonly pageSize?: number
    readonly mode?: 'client' | 'server' | 'off'
  }
  readonly sorters?: ReadonlyArray<{ readonly field: string, readonly order: 'asc' | 'desc' }>
  readonly filters?: readonly FilterOf[]
}

interface CustomParameters {
  readonly url: string
  readonly method: string
  readonly payload?: unknown
  readonly query?: unknown
  readonly headers?: object
}

/** What `refine()` returns: a `DataProvider` of refine. */
export interface RefineProvider<Name extends string = string> {
  /** Reads a page of records, with their number; or all of them, if `pagination.mode` is not `server`. */
  getList<Given extends AnyRecord = Item> (
    params: ListParameters & { readonly resource: Name }
  ): Promise<{ data: Given[], total: number }>
  /** Reads a record. Its tag is the precondition of a later `update`. */
  getOne<Given extends AnyRecord = Item> (params: Resource & { readonly id: Id }): Promise<{ data: Given }>
  /** Reads records by their ids. */
  getMany<Given extends AnyRecord = Item> (
    params: Resource & { readonly ids: readonly Id[] }
  ): Promise<{ data: Given[] }>
  /** Creates a record. */
  create<Given extends AnyRecord = Item, Variables = object> (
    params: Resource & { readonly variables: Variables }
  ): Promise<{ data: Given }>
  /** Creates several records, one by one. */
  createMany<Given extends AnyRecord = Item, Variables = object> (
    params: Resource & { readonly variables: readonly Variables[] }
  ): Promise<{ data: Given[] }>
  /** Saves the values, if no other client has changed the record since it was read. */
  update<Given extends AnyRecord = Item, Variables = object> (
    params: Resource & { readonly id: Id, readonly variables: Variables }
  ): Promise<{ data: Given }>
  /** Changes several records of a list, one by one. */
  updateMany<Given extends AnyRecord = Item, Variables = object> (
    params: Resource & { readonly ids: readonly Id[], readonly variables: Variables }
  ): Promise<{ data: Given[] }>
  /** Removes a record, if no other client has changed it since it was read or listed. */
  deleteOne<Given extends AnyRecord = Item, Variables = object> (
    params: Resource & { readonly id: Id, readonly variables?: Variables }
  ): Promise<{ data: Given }>
  /** Removes several records of a list, one by one. */
  deleteMany<Given extends AnyRecord = Item, Variables = object> (
    params: Resource & { readonly ids: readonly Id[], readonly variables?: Variables }
  ): Promise<{ data: Given[] }>
  /** Sends any other request, with the headers and the `fetch` of the options. */
  custom<Given extends AnyRecord = Item> (params: CustomParameters): Promise<{ data: Given }>
  /** Returns the URI that the collections are below. */
  getApiUrl (): string
}

interface TagSources {
  readonly values?: Item
  readonly meta?: RefineMeta | undefined
  readonly isListed?: boolean
}

type Operator = (name: string, value: unknown) => Item

const compare = (suffix: string): Operator => (name, value) => ({ [name + suffix]: value })
const negate = (operator: Operator): Operator => (name, value) => ({ not: operator(name, value) })
const match = (operator: 'like' | 'ilike', start: string, end: string): Operator => {
  return (name, value) => ({ [`${name}.${operator}`]: toPattern(start, value, end) })
}
const isNull = (value: boolean): Operator => (name) => ({ [`${name}.null`]: value })
const between: Operator = (name, value) => {
  const [from, to] = value as readonly unknown[]
  return { [`${name}.gte`]: from, [`${name}.lte`]: to }
}
const containsAll: Operator = (name, values) => {
  return { all: [values].flat().map((value) => ({ [`${name}.contains`]: value })) }
}

/** Operators with an `s` at the end are those that do not ignore case. */
const operators: Readonly<Record<string, Operator>> = {
  eq: compare(''),
  eqs: compare(''),
  ne: compare('.ne'),
  nes: compare('.ne'),
  lt: compare('.lt'),
  lte: compare('.lte'),
  gt: compare('.gt'),
  gte: compare('.gte'),
  in: compare('.in'),
  nin: compare('.nin'),
  ina: containsAll,
  nina: negate(compare('.overlaps')),
  between,
  nbetween: negate(between),
  null: isNull(true),
  nnull: isNull(false),
  contains: match('ilike', '*', '*'),
  containss: match('like', '*', '*'),
  ncontains: negate(match('ilike', '*', '*')),
  ncontainss: negate(match('like', '*', '*')),
  startswith: match('ilike', '', '*'),
  startswiths: match('like', '', '*'),
  nstartswith: negate(match('ilike', '', '*')),
  nstartswiths: negate(match('like', '', '*')),
  endswith: match('ilike', '*', ''),
  endswiths: match('like', '*', ''),
  nendswith: negate(match('ilike', '*', '')),
  nendswiths: negate(match('like', '*', ''))
}

/** Builds one object, which a query string can express, unless conditions have the same name. */
function toFilter (collection: ResourceClient, filters: readonly FilterOf[]): Item {
  const parts = filters.map((filter) => toCondition(collection, filter)).filter((part) => Object.keys(part).length > 0)
  const flat = parts.flatMap((part) => Object.keys(part).join() === 'all' ? part['all'] as Item[] : [part])
  const names = flat.flatMap((part) => Object.keys(part))
  return new Set(names).size === names.length ? Object.assign({}, ...flat) : { all: flat }
}

function toCondition (collection: ResourceClient, { operator, field, value }: FilterOf): Item {
  if (field === undefined) {
    const parts = (value as readonly FilterOf[]).map((part) => toFilter(collection, [part]))
    const conditions = parts.filter((part) => Object.keys(part).length > 0)
    return conditions.length === 0 ? {} : { [operator === 'or' ? 'any' : 'all']: conditions }
  }
  const build = Object.hasOwn(operators, operator) ? operators[operator]! : undefined
  if (build === undefined) throw new TypeError(`The operator ${operator} is unknown.`)
  const name = collection.toProperty(field)
  const isEquality = operator === 'eq' || operator === 'ne'
  if (value === null && isEquality) return isNull(operator === 'eq')(name, value)
  // An input that was emptied.
  const isEmpty = value === undefined || value === null || (value === '' && !isEquality)
  return isEmpty && operator !== 'null' && operator !== 'nnull' ? {} : build(name, value)
}

/**
 * Creates a data provider for refine over the collections below a URI. A save over the change of another client is
 * refused with a message, and not an overwrite.
 *
 * @example
 * const dataProvider = refine('https://example.com', { resources: { users: { id: 'login' } } })
 * const app = <Refine dataProvider={dataProvider} resources={[{ name: 'users' }]}>...</Refine>
 */
export function refine<Name extends string = string> (
  base: string,
  options: RefineOptions<NoInfer<Name>> = {}
): RefineProvider<Name> {
  const open = openResources(base, options, 'refine')
  const readTags = new BoundedMap<string, string>()
  const listedTags = new BoundedMap<string, string>()
  const { staleMessage } = options

  function remember (known: Map<string, string>, collection: ResourceClient, entry: Entry<Item>): never {
    if (entry.tag !== undefined) known.set(collection.getPlace(entry.id), entry.tag)
    return collection.toRecord(entry) as never
  }

  /** The tag of `meta`, or that in the values, or of the last `getOne`; a delete also takes that of the last list. */
  function toEntry (collection: ResourceClient, id: Id, { values = {}, meta = {}, isListed = false }: TagSources) {
    const place = collection.getPlace(id)
    const stated = meta.tag ?? values[tagProperty] as string | undefined
    const tag = stated ?? readTags.get(place) ?? (isListed ? listedTags.get(place) : undefined)
    if (tag !== undefined) return { id, tag, item: {} }
    throw createUnknownTagError(
      'The record has no entity tag, because it was not read with getOne. ' +
        'Pass meta: { tag: record.$tag }, or meta: { tag: "*" } to write it whatever it is.'
    )
  }

  async function update (collection: ResourceClient, entry: Entry<Item>, variables: unknown): Promise<never> {
    return remember(readTags, collection, await collection.update(entry, collection.toItem(Object(variables))))
  }

  const provider: RefineProvider = {
    getApiUrl: () => base,
    async getList ({ resource, pagination = {}, sorters = [], filters = [], meta = {} }) {
      const collection = open(resource)
      const { currentPage = 1, pageSize = 10, mode = 'server' } = pagination
      const search = filters.find(({ field, value }) => field === 'q' && value !== undefined && value !== '')
      const query = {
        filter: toFilter(collection, filters.filter(({ field }) => field !== 'q')),
        ...search && { q: String(search.value) },
        ...sorters.length > 0 && {
          sort: sorters.map(({ field, order }) => (order === 'desc' ? '-' : '') + collection.toProperty(field))
        },
        ...meta.fields && { fields: [...new Set([collection.idProperty, ...meta.fields.map(String)])] },
        ...collection.getExpand(meta.expand)
      }
      const range = mode === 'server'
        ? { offset: (currentPage - 1) * pageSize, length: pageSize }
        : { offset: 0, length: Infinity }
      const { entries, total = entries.length } = await collection.readRange(query, range, meta.queryContext?.signal)
      return { data: entries.map((entry) => remember(listedTags, collection, entry)), total }
    },
    async getMany ({ resource, ids, meta }) {
      const collection = open(resource)
      const records = await collection.readMany(ids, collection.getExpand(meta?.expand), meta?.queryContext?.signal)
      return { data: records as never[] }
    },
    async getOne ({ resource, id, meta }) {
      const collection = open(resource)
      const call = { ...collection.getExpand(meta?.expand), signal: meta?.queryContext?.signal }
      return { data: remember(readTags, collection, await collection.items.read(id, call)) }
    },
    async create ({ resource, variables }) {
      const collection = open(resource)
      const entry = await collection.items.create(collection.toItem(Object(variables)))
      return { data: remember(readTags, collection, entry) }
    },
    async createMany ({ resource, variables }) {
      const create = async (values: unknown): Promise<never> => {
        return (await provider.create({ resource, variables: values })).data as never
      }
      return { data: await writeEach(variables, create, staleMessage) }
    },
    async update ({ resource, id, variables, meta }) {
      const collection = open(resource)
      return { data: await update(collection, toEntry(collection, id, { values: Object(variables), meta }), variables) }
    },
    async updateMany ({ resource, ids, variables, meta }) {
      const collection = open(resource)
      const write = async (id: Id): Promise<never> => {
        return update(collection, toEntry(collection, id, { meta, isListed: true }), variables)
      }
      return { data: await writeEach(ids, write, staleMessage) }
    },
    async deleteOne ({ resource, id, variables, meta }) {
      const collection = open(resource)
      await collection.remove(toEntry(collection, id, { values: Object(variables), meta, isListed: true }))
      return { data: { id } as never }
    },
    async deleteMany ({ resource, ids, meta }) {
      const collection = open(resource)
      const write = async (id: Id): Promise<never> => {
        await collection.remove(toEntry(collection, id, { meta, isListed: true }))
        return { id } as never
      }
      return { data: await writeEach(ids, write, staleMessage) }
    },
    async custom (params) {
      return { data: await sendCustom(base, params, options) as never }
    }
  }
  return {
    ...convertErrors(provider, (error: ResponseError) => {
      const { message, errors } = describeError(error, staleMessage)
      return Object.assign(new Error(message, { cause: error }), {
        statusCode: error.status,
        content: error.content,
        ...errors && { errors }
      })
    }),
    getApiUrl: provider.getApiUrl
  }
}

/** Sends a request to a path below the base, or to a URI. */
async function sendCustom (base: string, params: CustomParameters, options: ClientOptions): Promise<unknown> {
  const { url, method, payload, query, headers } = params
  const { fetch: fetchFunction = fetch, headers: common } = options
  const search = String(new URLSearchParams(Object(query)))
  const response = await fetchFunction((url.startsWith('/') ? base : '') + url + (search && `?${search}`), {
    method: method.toUpperCase(),
    headers: {
      accept: 'application/json',
      ...payload !== undefined && { 'content-type': 'application/json' },
      ...typeof common === 'function' ? await common() : common,
      ...headers
    },
    ...payload !== undefined && { body: JSON.stringify(payload) }
  })
  const text = await response.text()
  if (!response.ok) throw new ResponseError(response.status, Object(parseJson(text)))
  return text === '' ? undefined : JSON.parse(text)
}

function parseJson (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
