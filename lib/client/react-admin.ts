import type { Entry, PageOfEntries, ResponseError } from './client.ts'
import {
  BoundedMap,
  convertErrors,
  createUnknownTagError,
  describeError,
  getDifference,
  isObject,
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

// A data provider of react-admin that sends the entity tag of a record with each write. It imports nothing of
// react-admin: the interface is that of ra-core 5.

/** A collection, as react-admin calls it. */
export interface ReactAdminResourceOptions extends ResourceOptions {
  /**
   * How pages are found: by their number, with a total; or by cursors, for long lists and for definitions with
   * `list: { offset: false }`.
   *
   * @default 'offset'
   * @example
   * resources: { events: { pages: 'cursor' } }
   */
  readonly pages?: 'offset' | 'cursor'
}

/** The options of `reactAdmin()`. */
export type ReactAdminOptions<Name extends string = string> = DataProviderOptions<ReactAdminResourceOptions, Name>

/** `meta` of the hooks and components of react-admin. */
export interface ReactAdminMeta {
  /** The entity tag for a write, instead of that of the record; `*` writes whatever the record is. */
  readonly tag?: string
  /** Related items to include. */
  readonly expand?: readonly string[]
  /** The properties of the records of a list. */
  readonly fields?: readonly string[]
  /** Further conditions, as a filter of the client has them. */
  readonly filter?: object
  /** Relations whose items are put into the cache, with their resources: `{ author: 'users' }`. */
  readonly prefetch?: Readonly<Record<string, string>>
}

interface Read {
  readonly meta?: ReactAdminMeta
  readonly signal?: AbortSignal
}

interface ListParameters extends Read {
  readonly pagination?: { readonly page: number, readonly perPage: number }
  readonly sort?: { readonly field: string, readonly order: 'ASC' | 'DESC' }
  readonly filter?: unknown
}

interface List<Given> {
  data: Given[]
  total?: number
  pageInfo?: { hasNextPage: boolean, hasPreviousPage: boolean }
  meta?: object
}

interface Write {
  readonly meta?: ReactAdminMeta
}

/** What `reactAdmin()` returns: a `DataProvider` of react-admin. */
export interface ReactAdminProvider<Name extends string = string> {
  /** Reads a page of records, with their number. */
  getList<Given extends AnyRecord = Item> (resource: Name, params: ListParameters): Promise<List<Given>>
  /** Reads a record. */
  getOne<Given extends AnyRecord = Item> (resource: Name, params: Read & { readonly id: Id }): Promise<{ data: Given }>
  /** Reads records by their ids. */
  getMany<Given extends AnyRecord = Item> (
    resource: Name,
    params: Read & { readonly ids: readonly Id[] }
  ): Promise<{ data: Given[] }>
  /** Reads a page of the records that refer to another one. */
  getManyReference<Given extends AnyRecord = Item> (
    resource: Name,
    params: ListParameters & { readonly target: string, readonly id: Id }
  ): Promise<List<Given>>
  /** Creates a record. */
  create<Given extends AnyRecord = Item> (
    resource: Name,
    params: Write & { readonly data: object }
  ): Promise<{ data: Given }>
  /** Saves what has changed since `previousData`, if no other client has changed the record since. */
  update<Given extends AnyRecord = Item> (
    resource: Name,
    params: Write & { readonly id: Id, readonly data: object, readonly previousData?: object }
  ): Promise<{ data: Given }>
  /** Changes several records, one by one. */
  updateMany (resource: Name, params: Write & { readonly ids: readonly Id[], readonly data: object }): Promise<{
    data: Id[]
  }>
  /** Removes a record, if no other client has changed it since it was read. */
  delete<Given extends AnyRecord = Item> (
    resource: Name,
    params: Write & { readonly id: Id, readonly previousData?: object }
  ): Promise<{ data: Given }>
  /** Removes several records, one by one. */
  deleteMany (resource: Name, params: Write & { readonly ids: readonly Id[] }): Promise<{ data: Id[] }>
  /** Requests are aborted when the component that needs them is unmounted. */
  readonly supportAbortSignal: true
}

const suffixes: Readonly<Record<string, (value: unknown) => [operator: string, operand: unknown]>> = {
  gt: (value) => ['.gt', value],
  gte: (value) => ['.gte', value],
  lt: (value) => ['.lt', value],
  lte: (value) => ['.lte', value],
  neq: (value) => ['.ne', value],
  like: (value) => ['.like', toPattern('*', value, '*')],
  ilike: (value) => ['.ilike', toPattern('*', value, '*')]
}

/** `{ author: { country: ['AT', 'CH'] }, views_gte: 3 }` becomes `{ 'author.country.in': [...], 'views.gte': 3 }`. */
function toFilter (collection: ResourceClient, given: object, prefix = ''): Item {
  const filter: Item = {}
  for (const [key, value] of Object.entries(given)) {
    const name = prefix === '' ? collection.toProperty(key) : prefix + key
    const [, property = '', suffix = ''] = /^(.+)_([a-z]+)$/.exec(name) ?? []
    if (value === undefined) continue
    if (name === 'all' || name === 'any' || name === 'not') filter[name] = value
    else if (isObject(value)) Object.assign(filter, toFilter(collection, value, `${name}.`))
    else if (value === null) filter[`${name}.null`] = true
    else if (Object.hasOwn(suffixes, suffix)) {
      const [operator, operand] = suffixes[suffix]!(value)
      filter[property + operator] = operand
    } else if (Array.isArray(value) && !/\.(in|nin|overlaps)$/.test(name)) filter[`${name}.in`] = value
    else filter[name] = value
  }
  return filter
}

/**
 * Creates a data provider for react-admin over the collections below a URI. A save over the change of another client
 * is refused with a message, and not an overwrite.
 *
 * @example
 * const dataProvider = reactAdmin('https://example.com', { resources: { users: { id: 'login' } } })
 * const app = <Admin dataProvider={dataProvider}>...</Admin>
 */
export function reactAdmin<Name extends string = string> (
  base: string,
  options: ReactAdminOptions<NoInfer<Name>> = {}
): ReactAdminProvider<Name> {
  const open = openResources(base, options, 'reactAdmin')
  const listedTags = new BoundedMap<string, string>()
  const cursors = new BoundedMap<string, string>()
  const { staleMessage } = options

  function getPaging (resource: string): 'offset' | 'cursor' {
    const { resources = {} } = options as ReactAdminOptions
    return resources[resource]?.pages ?? 'offset'
  }

  function getExpand (collection: ResourceClient, { expand = [], prefetch = {} }: ReactAdminMeta = {}) {
    return collection.getExpand([...expand, ...Object.keys(prefetch)])
  }

  async function list (resource: string, params: ListParameters): Promise<List<Item>> {
    const collection = open(resource)
    const { pagination: { page = 1, perPage = 25 } = {}, sort, meta = {}, signal } = params
    const { q, ...given } = Object(params.filter) as Item
    const query = {
      filter: { ...toFilter(collection, given), ...meta.filter },
      ...String(q ?? '').trim() !== '' && { q },
      ...sort && { sort: [(sort.order === 'DESC' ? '-' : '') + collection.toProperty(sort.field)] },
      ...meta.fields && { fields: [...new Set([collection.idProperty, ...meta.fields])] },
      ...getExpand(collection, meta)
    }
    const found = getPaging(resource) === 'cursor'
      ? await readByCursor(collection, query, { page, perPage }, signal)
      : await collection.readRange(query, { offset: (page - 1) * perPage, length: perPage }, signal)
    for (const { id, tag } of found.entries) if (tag !== undefined) listedTags.set(collection.getPlace(id), tag)
    // A list that is longer than a page of the server is an export, whose columns are the properties.
    const isExport = perPage > collection.maximum
    return {
      data: found.entries.map((entry) => collection.toRecord(isExport ? { ...entry, tag: undefined } : entry)),
      ...found.total !== undefined && { total: found.total },
      ...'next' in found && { pageInfo: { hasNextPage: found.next !== null, hasPreviousPage: page > 1 } },
      ...meta.prefetch && { meta: { prefetched: collectRelated(found.entries, meta.prefetch) } }
    }
  }

  /** The cursors of the pages before are remembered, or read. */
  async function readByCursor (
    collection: ResourceClient,
    query: object,
    { page, perPage }: { readonly page: number, readonly perPage: number },
    signal?: AbortSignal
  ): Promise<PageOfEntries<Item>> {
    const getKey = (number: number): string => JSON.stringify([collection.name, query, perPage, number])
    let number = page
    while (number > 1 && !cursors.has(getKey(number))) number--
    for (;; number++) {
      const cursor = cursors.get(getKey(number))
      const limit = Math.min(perPage, collection.maximum)
      const found = await collection.readPage({ ...query, limit, cursor }, signal)
      if (found.next !== null) cursors.set(getKey(number + 1), found.next)
      if (number === page) return found
      if (found.next === null) return { entries: [], next: null, total: undefined }
    }
  }

  /** Related items for the cache of react-admin, so that references find them without a request. */
  function collectRelated (
    entries: ReadonlyArray<Entry<Item>>,
    prefetch: Readonly<Record<string, string>>
  ): Record<string, Item[]> {
    const found: Record<string, Item[]> = {}
    for (const [relation, resource] of Object.entries(prefetch)) {
      const { idProperty } = open(resource)
      const items = entries.map(({ item }) => item[relation]).filter(isObject)
      const records = new Map(items.map((item) => [item[idProperty], { ...item, id: item[idProperty] }]))
      found[resource] = [...found[resource] ?? [], ...records.values()]
    }
    return found
  }

  /** The record before the change, with its tag. Without a tag, the client reads the item and compares it. */
  function toEntry (
    collection: ResourceClient,
    id: Id,
    { previousData, data, meta = {} }: Write & { readonly data?: object, readonly previousData?: object }
  ): Entry<Item> {
    const record = Object(previousData ?? data) as Item
    const tag = meta.tag ?? record[tagProperty] as string | undefined
    if (tag === undefined && previousData === undefined) {
      throw createUnknownTagError('The record has no entity tag. Pass previousData, or meta: { tag: record.$tag }.')
    }
    return { id, tag, item: collection.toItem(record) }
  }

  async function writeListed (
    resource: string,
    { ids, meta = {} }: Write & { readonly ids: readonly Id[] },
    write: (collection: ResourceClient, entry: Entry<Item>) => Promise<unknown>
  ): Promise<{ data: Id[] }> {
    const collection = open(resource)
    await writeEach(ids, async (id) => {
      const tag = meta.tag ?? listedTags.get(collection.getPlace(id))
      if (tag !== undefined) return write(collection, { id, tag, item: {} })
      throw createUnknownTagError(
        'The record is not in a list that was read. Pass meta: { tag: "*" } to write it whatever it is.'
      )
    }, staleMessage)
    return { data: [...ids] }
  }

  const provider: ReactAdminProvider = {
    supportAbortSignal: true,
    async getList (resource, params) {
      return list(resource, params) as Promise<List<never>>
    },
    async getManyReference (resource, { target, id, ...params }) {
      return list(resource, { ...params, filter: { ...Object(params.filter), [target]: id } }) as Promise<List<never>>
    },
    async getOne (resource, { id, meta, signal }) {
      const collection = open(resource)
      const entry = await collection.items.read(id, { ...getExpand(collection, meta), signal })
      return { data: collection.toRecord(entry) as never }
    },
    async getMany (resource, { ids, meta, signal }) {
      const collection = open(resource)
      return { data: await collection.readMany(ids, getExpand(collection, meta), signal) as never[] }
    },
    async create (resource, { data }) {
      const collection = open(resource)
      const entry = await collection.items.create(getDifference({}, collection.toItem(data)))
      return { data: collection.toRecord(entry) as never }
    },
    async update (resource, params) {
      const collection = open(resource)
      const { id, data, previousData } = params
      const patch = getDifference(collection.toItem(previousData ?? {}), collection.toItem(data))
      if (previousData !== undefined && Object.keys(patch).length === 0) return { data: previousData as never }
      return { data: collection.toRecord(await collection.update(toEntry(collection, id, params), patch)) as never }
    },
    async updateMany (resource, params) {
      return writeListed(resource, params, async (collection, entry) => {
        return collection.update(entry, collection.toItem(params.data))
      })
    },
    async delete (resource, params) {
      const collection = open(resource)
      await collection.remove(toEntry(collection, params.id, params))
      return { data: (params.previousData ?? { id: params.id }) as never }
    },
    async deleteMany (resource, params) {
      return writeListed(resource, params, async (collection, entry) => collection.remove(entry))
    }
  }
  // Hooks of react-admin read these properties, and do not require its class.
  return convertErrors(provider, (error: ResponseError) => {
    const { message, errors } = describeError(error, staleMessage)
    return Object.assign(new Error(message, { cause: error }), {
      name: 'HttpError',
      status: error.status,
      body: { ...error.content, message, errors }
    })
  })
}
