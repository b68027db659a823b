import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { batch } from '../../../lib/doors/batch/batch.ts'
import { action } from '../../../lib/features/action.ts'
import collection, { define, problem, ProblemError } from '../../../lib/index.ts'
import { registry } from '../../../lib/app/registry.ts'
import type { Definition, HookOptions, Options } from '../../../lib/index.ts'
import type { Shape, Storage } from '../../../lib/storage/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { request } from '../../app.ts'

// Calls of other collections in hooks and custom actions. Their refusals are not about the request of the client.

const Product = Type.Object({
  id: Type.Integer(),
  code: Type.String(),
  stock: Type.Integer({ minimum: 0 }),
  cost: Type.Optional(Type.Integer({ maximum: 99 }))
})
const Order = Type.Object({ id: Type.Integer(), product: Type.Integer(), quantity: Type.Integer({ default: 1 }) })
type OrderItem = typeof Order.static

interface Shop {
  readonly app: FastifyInstance
  readonly products: Definition<typeof Product.static>
  readonly log: Array<Record<string, unknown>>
}

type OrderHooks = (products: Shop['products'], app: FastifyInstance) => HookOptions<OrderItem>

async function openShop (t: Test, hooks: OrderHooks, options: Partial<Options<typeof Product>> = {}): Promise<Shop> {
  const log: Array<Record<string, unknown>> = []
  const app = Fastify({ logger: { level: 'info', stream: { write: (line) => { log.push(JSON.parse(line)) } } } })
  t.after(() => app.close())
  const products = define({
    name: 'products',
    schema: Product,
    id: { generate: 'storage' },
    unique: ['code'],
    storage: memory({ items: [{ id: 1, code: 'tea', stock: 5 }, { id: 2, code: 'coffee', stock: 5 }] }),
    ...options
  })
  await app.register(registry)
  await app.register(collection, products)
  const storage = memory({ items: [{ id: 1, product: 1, quantity: 1 }] })
  const orders = define({ name: 'orders', schema: Order, id: { generate: 'storage' }, storage, hooks: hooks(products, app) })
    .with(action('ship', {
      async run ({ item, transaction }) {
        const { item: { stock } } = await transaction.collection(products).read(item.product)
        await transaction.collection(products).update(item.product, { stock: stock - 6 })
      }
    }), action('swallow', {
      async run ({ item, transaction }) {
        await transaction.collection(products).update(item.product, { stock: -1 }).catch(() => {})
        await transaction.collection(products).create({ code: 'new', stock: 1 }).catch(() => {})
      }
    }))
  await app.register(collection, orders)
  app.get('/order/:product', async (request) => {
    const { product } = request.params as { product: string }
    return app.collection(orders).create({ product: Number(product) })
  })
  await app.ready()
  return { app, products, log }
}

/** What each hook does with its product. */
type Use = (calls: ReturnType<FastifyInstance['collection']>, order: OrderItem) => Promise<unknown>

const refusals: ReadonlyArray<[why: string, use: Use, status: number, code: string]> = [
  ['an unknown item', (calls, { product }) => calls.read(product + 7), 409, 'conflict'],
  ['an invalid item', (calls, { product }) => calls.update(product, { stock: -1 }), 409, 'conflict'],
  ['an invalid patch', (calls, { product }) => calls.update(product, [{ op: 'remove', path: '/x' }]), 409, 'conflict'],
  ['a value that is not unique', (calls) => calls.create({ code: 'coffee', stock: 1 }), 409, 'conflict'],
  ['a stale tag', (calls, { product }) => calls.update(product, { stock: 1 }, { ifMatch: '"x"' }), 409, 'conflict'],
  ['a caller without the right', (calls, { product }) => calls.remove(product, { caller: 'eve' }), 403, 'forbidden'],
  ['an anonymous caller', (calls, { product }) => calls.remove(product, { caller: undefined }), 401, 'unauthenticated']
]

const places: ReadonlyArray<[place: string, (use: Use) => OrderHooks]> = [
  ['beforeValidation', (use) => (products, app) => ({
    async beforeValidation ({ item }) {
      await use(app.collection(products) as never, item)
      return item
    }
  })],
  ['beforeWrite', (use) => (products) => ({
    async beforeWrite ({ item, transaction }) { await use(transaction.collection(products) as never, item!) }
  })],
  ['afterWrite', (use) => (products) => ({
    async afterWrite ({ after, transaction }) { await use(transaction.collection(products) as never, after!) }
  })]
]

const access = {
  authenticate: () => undefined,
  allow: { all: 'public', remove: ({ caller }: { caller: unknown }) => caller === 'root' }
} as const

for (const [place, toHooks] of places) {
  test(`a refused call in ${place} is no answer about the request of the client`, async (t) => {
    for (const [why, use, status, code] of refusals) {
      const { app, log } = await openShop(t, toHooks(use), { access })
      for (const target of ['POST /orders', 'PUT /orders/1', 'PATCH /orders/1']) {
        log.length = 0
        const response = await request(app, target, { content: { product: 1, quantity: 3 } })
        t.match(response.json(), { status, code }, `${target}: ${why}`)
        t.equal(response.statusCode, status)
        t.equal(response.json().errors, undefined)
        t.notMatch(response.body, /products|stock|cof|pointer|\/x/, 'nothing of the other collection')
        t.match(log.find(({ err }) => err !== undefined), {
          level: 30,
          collection: 'orders',
          err: { type: 'ProblemError', message: /^Collection products(?:, item \d+)?: / }
        }, 'the log has the call')
      }
      t.strictSame((await request(app, 'GET /orders')).json(), [{ id: 1, product: 1, quantity: 1 }], 'nothing is written')
    }
  })
}

test('the refused call of a custom action is a conflict, whether the app has caught it or not', async (t) => {
  const { app } = await openShop(t, () => ({}), { hooks: { beforeWrite: () => { throw problem('not-found') } } })
  for (const name of ['ship', 'swallow']) {
    const response = await request(app, `POST /orders/1/${name}`)
    t.match([response.statusCode, response.json()], [409, { code: 'conflict' }], name)
    t.notMatch(response.body, /products|stock/)
  }
})

test('an app can map the refusal of a call to a problem of its own', async (t) => {
  const { app } = await openShop(t, (products) => ({
    async beforeWrite ({ item, transaction }) {
      try {
        await transaction.collection(products).read(item!.product)
      } catch (error) {
        if (!(error instanceof ProblemError && error.code === 'not-found')) throw error
        const errors = [{ pointer: '/product', message: 'does not exist' }]
        throw problem('validation-failed', { detail: 'There is no such product.', properties: { errors } })
      }
    }
  }))
  const response = await request(app, 'POST /orders', { content: { product: 7 } })
  t.match([response.statusCode, response.json().errors], [422, [{ pointer: '/product' }]])
})

test('the error of a call names its collection, its item and its properties', async (t) => {
  const { app, products } = await openShop(t, () => ({}))
  const calls = app.collection(products)
  const messages = [
    [calls.read(7), 'Collection products, item 7: No resource has this path, or it is not visible to the caller.'],
    [calls.remove(8), 'Collection products, item 8: No resource has this path, or it is not visible to the caller.'],
    [calls.update(1, { stock: -1 }), 'Collection products, item 1: One property is invalid. /stock must be >= 0.'],
    [
      calls.create({ code: 'tea', stock: 1 }),
      'Collection products: Another item has this code already. /code must be unique.'
    ],
    [calls.create({} as never), 'Collection products: 2 properties are invalid. /code is required, /stock is required.']
  ] as const
  for (const [call, message] of messages) await t.rejects(call as Promise<unknown>, { name: 'ProblemError', message })
})

test('a call from code whose hook makes a refused call is refused as a conflict, with the call as its cause', async (t) => {
  const { app } = await openShop(t, (products) => ({
    async beforeWrite ({ item, transaction }) { await transaction.collection(products).read(item!.product) }
  }))
  const response = await app.inject('/order/7')
  t.match([response.statusCode, response.json().code], [409, 'conflict'])
  t.notMatch(response.body, /products/)
  const orders = app.collections.find(({ path }) => path === '/orders')!.collection as Definition<OrderItem>
  await t.rejects(app.collection(orders).create({ product: 7 }), {
    code: 'conflict',
    message: /^Collection orders: /,
    cause: { code: 'not-found', message: /^Collection products, item 7: / }
  })
})

test('what the work of transaction() throws is for its caller, unchanged', async (t) => {
  const { app, products } = await openShop(t, () => ({}))
  const calls = app.collection(products)
  await t.rejects(calls.transaction(async (transaction) => { await calls.read(7, { transaction }) }), {
    code: 'not-found',
    message: /^Collection products, item 7: /
  })
})

/** A storage whose database does not respond. */
function unreachable (shape: Shape): Storage<object> {
  const storage: Storage<object> = memory()(shape)
  const fail = async () => { throw Object.assign(new Error('ECONNREFUSED'), { unreachable: true, retryAfter: 3 }) }
  const failing = { ...storage, find: fail, insert: fail, replace: fail, remove: fail, list: fail, join: () => failing }
  return failing as Storage<object>
}

test('503 of a call stays 503', async (t) => {
  for (const [place, toHooks] of places) {
    const hooks = toHooks((calls, { product }) => calls.read(product))
    const { app } = await openShop(t, hooks, { storage: unreachable as never })
    const response = await request(app, 'POST /orders', { content: { product: 1 } })
    t.match(
      [response.statusCode, response.json().code, response.headers['retry-after']],
      [503, 'storage-unavailable', '3'],
      place
    )
  }
})

test('a refused call in access.authenticate is 401, in access.allow 403, and 503 stays 503', async (t) => {
  const serve = async (storage: typeof unreachable | ReturnType<typeof memory>) => {
    const app = Fastify()
    t.after(() => app.close())
    const sessions = define({ name: 'sessions', schema: Product, id: { generate: 'storage' }, storage: storage as never })
    const read = async (id: unknown) => { await app.collection(sessions).read(Number(id ?? 1)) }
    const notes = define({
      name: 'notes',
      schema: Order,
      id: { generate: 'storage' },
      storage: memory(),
      access: {
        async authenticate ({ request }) {
          await read(request.headers['x-session'])
          return 'ada'
        },
        async allow ({ request }) {
          await read(request?.headers['x-right'])
          return true
        }
      }
    })
    await app.register(registry)
    for (const definition of [sessions, notes]) await app.register(collection, definition as Definition)
    return app
  }
  const app = await serve(memory({ items: [{ id: 1, code: 'a', stock: 1 }] }))
  t.equal((await request(app, 'GET /notes')).statusCode, 200)
  t.equal((await request(app, 'GET /notes', { fields: { 'x-session': '7' } })).statusCode, 401)
  t.equal((await request(app, 'GET /notes', { fields: { 'x-right': '7' } })).statusCode, 403)
  t.equal((await request(await serve(unreachable), 'GET /notes')).statusCode, 503)
})

test('hooks of nested calls get who has caused the write, although the app itself calls', async (t) => {
  const seen: unknown[] = []
  const note = ({ action, caller, initiator }: { action: string, caller: unknown, initiator: unknown }): void => {
    seen.push([action, caller, initiator])
  }
  const stock = define({
    name: 'stock',
    schema: Product,
    id: { generate: 'storage' },
    storage: memory({ items: [{ id: 1, code: 'tea', stock: 5 }] }),
    hooks: {
      beforeValidation (change) {
        note(change)
        return change.item
      },
      beforeWrite: note,
      afterWrite: note,
      afterCommit: note
    }
  })
  const authenticate = () => 'ada'
  const orders = define({
    name: 'orders',
    schema: Order,
    id: { generate: 'storage' },
    storage: memory({ items: [{ id: 1, product: 1, quantity: 1 }] }),
    access: { authenticate }
  }).with(action('ship', {
    async run ({ transaction }) {
      await transaction.collection(stock).update(1, { stock: 4 })
    }
  }))
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  await app.register(collection, stock)
  await app.register(collection, orders)
  await app.register(batch, { collections: [orders] })

  t.equal((await app.inject({ method: 'POST', url: '/orders/1/ship' })).statusCode, 200)
  t.strictSame(seen.splice(0), Array.from({ length: 4 }, () => ['update', undefined, 'ada']))
  await app.collection(stock).update(1, { stock: 3 })
  t.strictSame(seen.splice(0), Array.from({ length: 4 }, () => ['update', undefined, undefined]))
  await app.collection(stock).update(1, { stock: 2 }, { caller: 'bob' })
  t.strictSame(seen.splice(0), Array.from({ length: 4 }, () => ['update', 'bob', 'bob']))
  const parts = [{ method: 'POST', path: '/orders/1/ship' }]
  t.equal((await app.inject({ method: 'POST', url: '/batch', payload: parts })).statusCode, 200)
  t.strictSame(seen.splice(0), Array.from({ length: 4 }, () => ['update', undefined, 'ada']))
})
