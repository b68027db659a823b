import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { ProblemError } from '../../../lib/index.ts'
import { connect, defineProducts, listen, serveShop } from './shop.ts'
import type { Agent } from './shop.ts'

// What one door refuses, shows or hides, every door does: the same steps of three callers with different rules, over
// HTTP, from code, in a batch and by an agent, each on data of its own.

const callers = ['boss', 'clerk', undefined] as const

/** What a step leads to. A refusal is the code of its problem, and what the caller may not do at all is `refused`. */
type Result = { readonly shows: unknown } | { readonly refusal: string | undefined }

interface Step {
  readonly action: 'list' | 'read' | 'create' | 'update' | 'remove' | 'sell' | 'restock' | 'aggregate' | 'count'
  readonly id?: string
  /** The item, the patch or the input. */
  readonly content?: object
  readonly query?: { readonly filter?: object, readonly sort?: string[], readonly sum?: string[] }
  /** Whether the tag is that of the item; otherwise it is that of another one. */
  readonly isStale?: boolean
}

const steps: readonly Step[] = [
  { action: 'list' },
  { action: 'list', query: { filter: { kind: 'tea' }, sort: ['-name'] } },
  { action: 'list', query: { filter: { 'price.gte': 2 } } },
  { action: 'list', query: { sort: ['price'] } },
  { action: 'list', query: { filter: { nothing: 1 } } },
  { action: 'read', id: 'a' },
  { action: 'read', id: 'none' },
  { action: 'create', content: { id: 'c', name: 'Mate', stock: 2 } },
  { action: 'create', content: { id: 'c', name: 'Mate', price: 2 } },
  { action: 'create', content: { id: 'a', name: 'Again' } },
  { action: 'create', content: { id: 'c', nme: 'Mate' } },
  { action: 'update', id: 'a', content: { stock: 7 } },
  { action: 'update', id: 'a', content: { price: 7 } },
  { action: 'update', id: 'a', content: { stock: 'many' } },
  { action: 'update', id: 'a', content: { stock: 7 }, isStale: true },
  { action: 'update', id: 'none', content: { stock: 7 } },
  { action: 'remove', id: 'a' },
  { action: 'remove', id: 'a', isStale: true },
  { action: 'remove', id: 'none' },
  { action: 'sell', id: 'a', content: { count: 1 } },
  { action: 'sell', id: 'a', content: { count: 0 } },
  { action: 'sell', id: 'a', content: { count: 1 }, isStale: true },
  { action: 'restock', id: 'a', content: { count: 1 } },
  { action: 'aggregate', query: { sum: ['stock'] } },
  { action: 'aggregate', query: { sum: ['price'] } },
  { action: 'count' }
]

interface Shop {
  readonly app: FastifyInstance
  readonly products: ReturnType<typeof defineProducts>
  readonly caller: string | undefined
  agent (): Promise<Agent>
}

type Door = (shop: Shop, step: Step) => Promise<Result>

/** Whether the caller may not call the action at all: doors have words of their own for that. */
const refused = new Set(['unauthenticated', 'forbidden', 'no tool'])
/** An invalid query is 400 in a query string, and 422 in an object. */
const invalid = new Set(['invalid-query', 'validation-failed'])

function toRefusal (code: string | undefined): Result {
  if (refused.has(code!)) return { refusal: 'refused' }
  return { refusal: invalid.has(code!) ? 'invalid' : code }
}

const isWrite = ({ action }: Step): boolean => ['update', 'remove', 'sell'].includes(action)

interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
}

function toRequest ({ action, id, query = {} }: Step): HttpRequest {
  const { filter, ...rest } = query
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...filter, ...rest })) search.set(name, String(value))
  const item = `/products/${id}`
  switch (action) {
    case 'list': return { method: 'GET', path: `/products?${search}` }
    case 'aggregate': return { method: 'GET', path: `/products/aggregate?${search}` }
    case 'count': return { method: 'POST', path: '/products/count' }
    case 'read': return { method: 'GET', path: item }
    case 'create': return { method: 'POST', path: '/products' }
    case 'update': return { method: 'PATCH', path: item }
    case 'remove': return { method: 'DELETE', path: item }
    default: return { method: 'POST', path: `${item}/${action}` }
  }
}

/** Returns the tag for If-Match: that of the item, as the caller sees it, or of another one. */
async function findTag ({ app, products, caller }: Shop, { id, isStale = false }: Step): Promise<string> {
  const { tag } = await app.collection(products).read(isStale || id === 'none' ? 'b' : id!, { caller })
  return tag!
}

const doors: Readonly<Record<string, Door>> = {
  async HTTP (shop, step) {
    const { method, path } = toRequest(step)
    const response = await shop.app.inject({
      method,
      url: path,
      headers: {
        ...shop.caller !== undefined && { authorization: `Bearer ${shop.caller}` },
        ...isWrite(step) && { 'if-match': await findTag(shop, step) },
        ...step.content && { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }
      },
      ...step.content && { payload: JSON.stringify(step.content) }
    })
    if (response.statusCode >= 400) return toRefusal(response.json<{ code: string }>().code)
    return { shows: response.statusCode === 204 ? undefined : response.json() as unknown }
  },

  async code (shop, step) {
    const { app, products, caller } = shop
    const { action, id, content, query = {} } = step
    const calls = app.collection(products) as unknown as Record<string, (...parameters: unknown[]) => Promise<any>>
    const options = { caller, ...isWrite(step) && { ifMatch: await findTag(shop, step) } }
    try {
      if (action === 'list') {
        const items: unknown[] = []
        for await (const { item } of app.collection(products).list(query as object, options)) items.push(item)
        return { shows: items }
      }
      if (action === 'aggregate') return { shows: await calls.aggregate!(query, options) }
      const parameters = [id, content].filter((value) => value !== undefined)
      const done = await calls[action]!(...action === 'count' ? [{}] : parameters, options) as undefined | { item?: unknown }
      return { shows: done !== undefined && 'item' in done ? done.item : done }
    } catch (error) {
      if (error instanceof ProblemError) return toRefusal(error.code)
      throw error
    }
  },

  async batch (shop, step) {
    const ifMatch = isWrite(step) ? await findTag(shop, step) : undefined
    const part = { ...toRequest(step), content: step.content, ifMatch }
    const response = await shop.app.inject({
      method: 'POST',
      url: '/batch',
      headers: { ...shop.caller !== undefined && { authorization: `Bearer ${shop.caller}` } },
      payload: [part]
    })
    const body = response.json<any>()
    if (response.statusCode !== 200) return toRefusal(body.problem?.code ?? body.code)
    return { shows: body[0].content }
  },

  async agents (shop, step) {
    const { action, id, content, query } = step
    const agent = await shop.agent()
    const read = async () => (await agent.call('products_read', { id: step.isStale || id === 'none' ? 'b' : id })).value.tag as string
    const takes = ({ create: 'item', update: 'patch', sell: 'input', restock: 'input' } as Record<string, string>)[action]
    const { isError, value } = await agent.call(`products_${action}`, {
      id,
      query,
      ...takes !== undefined && { [takes]: content },
      ...isWrite(step) && { tag: await read() },
      ...['create', 'restock'].includes(action) && { key: randomUUID() }
    })
    if (isError) return toRefusal(/no tool/.test(value.detail) ? 'no tool' : value.code)
    if ('entries' in value) return { shows: value.entries.map(({ item }: { item: unknown }) => item) }
    if ('done' in value) return { shows: undefined }
    return { shows: 'item' in value ? value.item : value }
  }
}

test('every door does the same for three callers with different rules', async (t) => {
  let count = 0
  for (const caller of callers) {
    const results = new Map<string, unknown[]>()
    for (const [door, run] of Object.entries(doors)) {
      const products = defineProducts()
      const app = await serveShop(t, { definitions: [products], callsPerMinute: 10_000 })
      const url = await listen(app)
      let agent: Promise<Agent> | undefined
      const shop = {
        app,
        products,
        caller,
        async agent () {
          agent ??= connect(t, url, caller)
          return agent
        }
      }
      const calls = app.collection(products)
      results.set(door, [])
      for (const [index, step] of steps.entries()) {
        await calls.create({ id: 'a', name: 'Tea', price: 3, kind: 'tea', stock: 5 })
        await calls.create({ id: 'b', name: 'Coffee', price: 4, kind: 'coffee', stock: 6 })
        const result = await run(shop, step)
        const stored: unknown[] = []
        for await (const { id, item } of calls.list({ sort: ['id'] })) {
          stored.push(item)
          await calls.remove(id)
        }
        results.get(door)!.push({ step: `${index} ${step.action}`, result, stored })
        count++
      }
    }
    for (const door of ['code', 'batch', 'agents']) {
      t.strictSame(results.get(door), results.get('HTTP'), `${door} as ${caller ?? 'anonymous'}`)
    }
  }
  t.comment(`${count} calls`)
})
