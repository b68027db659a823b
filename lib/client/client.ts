import type { Call, Client, ClientOptions, ItemOfCollection, Marks } from './types.ts'

export type { Call, Client, ClientOptions, Marks, PageOfItems, Patch, Query, Seen, Sent } from './types.ts'

// A collection over fetch, in a browser or anywhere else. It imports nothing, so that it can be sent to a browser as it is.

/** RFC 9457: a refusal of the service. */
export class ProblemError extends Error {
  readonly status: number
  readonly type: string
  readonly title: string
  readonly detail: string | undefined
  readonly code: string | undefined
  /** What does not fit, property by property. */
  readonly errors: ReadonlyArray<{ readonly pointer: string, readonly message: string }>
  /** The whole content. */
  readonly content: Readonly<Record<string, unknown>>

  constructor (status: number, content: Readonly<Record<string, unknown>>) {
    const { type = 'about:blank', title = `Status ${status}`, detail, code, errors = [] } = content as Partial<ProblemError>
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

/** 412: the item has changed since it was seen. */
export class StaleError extends ProblemError {}

function hidden (): TypeError {
  return new TypeError('The answer shows no ETag. For a page of another origin, the service has to expose it: see corsOptions().')
}

type Item = Record<string, unknown>

interface Sending extends Call {
  readonly method?: string
  readonly body?: unknown
  readonly type?: string
}

/**
 * A typed client of the collection at a URI, for browsers and Node.js.
 *
 * @example
 * const users = client<typeof import('./users.ts').users>('https://example.com/users')
 * const ada = await users.create({ email: 'ada@example.com' })
 * for await (const user of users.list({ sort: ['email'] })) console.log(user.email)
 */
export function client<Definition, Given extends Marks = object> (base: string, options: ClientOptions = {}): Client<ItemOfCollection<Definition>, Given> {
  const { fetch: ask = fetch, headers: common, id = 'id' } = options
  // By the object itself: another copy of the item, seen earlier or later, is another state. What nobody holds any more is forgotten.
  const tags = new WeakMap<object, string | undefined>()

  async function send (uri: string, { method = 'GET', body, type = 'application/json', headers, signal }: Sending = {}): Promise<Response> {
    const response = await ask(uri, {
      method,
      headers: { accept: 'application/json', ...body !== undefined && { 'content-type': type }, ...typeof common === 'function' ? await common() : common, ...headers },
      ...body !== undefined && { body: JSON.stringify(body) },
      ...signal && { signal }
    })
    if (response.ok || response.status === 304) return response
    // What stands between the service and us may answer with something else.
    const content: unknown = await response.json().catch(() => undefined)
    throw new (response.status === 412 ? StaleError : ProblemError)(response.status, Object(content))
  }

  function seen (item: Item, tag?: string | null): Item {
    tags.set(item, tag ?? undefined)
    return item
  }

  /** Who may write but not read, or prefers so, is given no content: of that item no more is known than its id. */
  async function received (response: Response, name: unknown): Promise<Item> {
    const text = await response.text()
    return seen(text === '' ? { [id]: name } : JSON.parse(text) as Item, response.headers.get('etag'))
  }

  function uriOf (target: string | number | Item): string {
    const name = typeof target === 'object' ? target[id] : target
    return `${base}/${encodeURIComponent(String(name))}`
  }

  async function read (target: string | number | Item, call?: Call): Promise<Item> {
    const tag = typeof target === 'object' ? tags.get(target) : undefined
    const response = await send(uriOf(target), { ...call, headers: { ...call?.headers, ...tag && { 'if-none-match': tag } } })
    return response.status === 304 ? target as Item : seen(await response.json() as Item, response.headers.get('etag'))
  }

  /** The precondition under which nothing that others wrote is lost. What was seen in a list, or after a PUT, has no tag: it is read, and must be the same. */
  async function condition (target: string | number | Item, { method, body, type, ...call }: Sending): Promise<Record<string, string>> {
    if (typeof target !== 'object') return {}
    if (!tags.has(target)) throw new TypeError('This is not an item as the client gave it, but a copy. Pass the item itself, or its id to write it whatever it is now.')
    const known = tags.get(target)
    if (known !== undefined) return { 'if-match': known }
    const current = await read(String(target[id]), call)
    const same = Object.keys(target).every(name => !(name in current) || JSON.stringify(target[name]) === JSON.stringify(current[name]))
    if (!same) throw new StaleError(412, { title: 'Precondition Failed', status: 412, code: 'precondition-failed', detail: 'The item has changed since it was seen. Read it again, then decide.' })
    const tag = tags.get(current)
    if (tag === undefined) throw hidden()
    tags.set(target, tag)
    return { 'if-match': tag }
  }

  async function write (target: string | number | Item, sending: Sending): Promise<Response> {
    return send(uriOf(target), { ...sending, headers: { ...await condition(target, sending), ...sending.headers } })
  }

  async function written (target: string | number | Item, sending: Sending): Promise<Item> {
    return received(await write(target, sending), typeof target === 'object' ? target[id] : target)
  }

  async function * pages (query: object = {}, call?: Call): AsyncGenerator<{ items: Item[], total: number | undefined }, void> {
    const asked = String(new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined).map(([name, value]): [string, string] => [name, String(value)])))
    for (let uri: string | undefined = asked === '' ? base : `${base}?${asked}`; uri !== undefined;) {
      const response: Response = await send(uri, call)
      // Without it there would be no telling the last page from one whose links are kept from us.
      if (response.type === 'cors' && response.headers.get('etag') === null) throw hidden()
      const total = response.headers.get('x-total-count')
      yield { items: (await response.json() as Item[]).map(item => seen(item)), total: total === null ? undefined : Number(total) }
      const [, next] = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? []
      // RFC 8288 section 3.2; without a URI of its own an answer is that of the base.
      uri = next && (response.url === '' ? next : new URL(next, response.url).href)
    }
  }

  async function * list (query?: object, call?: Call): AsyncGenerator<Item, void> {
    for await (const { items } of pages(query, call)) yield * items
  }

  async function create (body: object, call?: Call): Promise<Item> {
    const response = await send(base, { ...call, method: 'POST', body })
    return received(response, decodeURIComponent(response.headers.get('location')?.split('/').pop() ?? ''))
  }

  return {
    list,
    pages,
    create,
    read,
    replace: (target: string | Item, body: object, call?: Call) => written(target, { ...call, method: 'PUT', body }),
    update: (target: string | Item, body: object, call?: Call) => written(target, { ...call, method: 'PATCH', body, type: 'application/merge-patch+json' }),
    remove: async (target: string | Item, call?: Call) => { await write(target, { ...call, method: 'DELETE' }) }
    // Items are objects of the definition's type; here they are taken and given as they are.
  } as unknown as Client<ItemOfCollection<Definition>, Given>
}
