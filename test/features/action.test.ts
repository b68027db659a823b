import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import type { TObject } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import collection, { define, json, problem, TransactionError } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { HookOptions, ProblemError } from '../../lib/index.ts'
import type { Shape, Storage } from '../../lib/storage/index.ts'
import { action } from '../../lib/features/action.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { describeLayers } from '../../lib/features/index.ts'
import { redirects } from '../../lib/features/redirects.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { timeout } from '../../lib/features/timeout.ts'
import { within } from '../../lib/features/within.ts'
import { hal } from '../../lib/formats/hal.ts'
import { html } from '../../lib/formats/html.ts'
import { xml } from '../../lib/formats/xml.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, logged, modified, request } from '../app.ts'
import { databases } from '../storage/databases.ts'

// Custom actions, as requests and as calls from code.

const Order = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  product: Type.String(),
  quantity: Type.Integer({ minimum: 1 }),
  status: Type.String({ default: 'open', readOnly: true }),
  reason: Type.Optional(Type.String()),
  deletedAt: Type.Optional(Type.String({ format: 'date-time', readOnly: true })),
  updatedAt: Type.Optional(Type.String({ format: 'date-time', readOnly: true }))
})

const Product = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  name: Type.String(),
  stock: Type.Integer({ minimum: 0 })
})

interface OrderItem {
  id: string
  product: string
  quantity: number
  status: string
  reason?: string
  deletedAt?: string
  updatedAt?: string
}

const Cancel = Type.Object({
  reason: Type.String({ minLength: 1 }),
  notify: Type.Optional(Type.Boolean({ default: true }))
}, { additionalProperties: false })

type AnyAdapter = <Item extends object>(shape: Shape) => Storage<Item>

/** Orders that can be cancelled, shipped and counted, over one storage with products. */
function defineShop (storage: AnyAdapter, hooks: HookOptions<OrderItem> = {}) {
  const products = define({ name: 'products', schema: Product, storage })
  const orders = define({ name: 'orders', schema: Order, storage, hooks, formats: [json, xml, hal] })
    .with(
      action('cancel', {
        input: Cancel,
        when: ({ item }) => item.status === 'open' || 'Only open orders can be cancelled.',
        run: ({ item, input }) => ({ ...item, status: 'cancelled', reason: `${input.reason} ${input.notify}` })
      }),
      action('ship', {
        output: Type.Object({ parcel: Type.String(), left: Type.Integer() }, { additionalProperties: false }),
        async run ({ item, transaction }) {
          const { item: { stock } } = await transaction.collection(products).read(item.product)
          const left = stock - item.quantity
          if (left < 0) throw problem('conflict', { detail: 'Not enough in stock.' })
          await transaction.collection(products).update(item.product, { stock: left })
          return { item: { ...item, status: 'shipped' }, output: { parcel: `${item.id}-1`, left } }
        }
      })
    )
    .with(
      action('count', {
        on: 'collection',
        safe: true,
        input: Type.Object({ least: Type.Integer({ default: 1 }) }),
        output: Type.Object({ count: Type.Integer() }),
        run: ({ input, caller }) => ({ output: { count: input.least + (caller === undefined ? 0 : 100) } })
      }),
      action('close-all', {
        on: 'collection',
        async run ({ collection, transaction }) {
          for await (const { id } of collection.list()) {
            await transaction.collection(orders).cancel(id, { reason: 'closing' })
          }
        }
      })
    )
  return { products, orders }
}

async function openShop (t: { after(close: () => unknown): void }, storage: AnyAdapter) {
  const committed: string[] = []
  const shop = defineShop(storage, {
    afterCommit: ({ action, after }) => { committed.push(`${action} ${after?.status}`) }
  })
  const { lines, logger } = logged()
  const app = Fastify({ logger })
  t.after(() => app.close())
  await app.register(registry)
  return {
    app,
    ...shop,
    committed,
    lines,
    async ready () {
      await app.register(collection, shop.products)
      await app.register(collection, shop.orders)
      await app.ready()
      const { id: product } = await app.collection(shop.products).create({ name: 'pen', stock: 5 })
      const order = await app.collection(shop.orders).create({ product: String(product), quantity: 2 })
      committed.length = 0
      return { product: String(product), id: String(order.id), tag: order.tag, at: `/orders/${order.id}` }
    }
  }
}

const storages = [{ name: 'memory' as const, skip: false as const, open: undefined }, ...databases]

for (const { name, skip, open } of storages) {
  test(`custom actions on ${name}`, { skip }, async (t) => {
    const database = await open?.()
    t.after(() => database?.end())

    async function openEmptyShop (t: { after(close: () => unknown): void }) {
      t.after(() => database?.run('DROP TABLE products', 'DROP TABLE orders'))
      const adapter = database?.adapter()
      const shop = await openShop(t, adapter ?? memory())
      for (const definition of [shop.products, shop.orders]) await adapter?.createTable(definition)
      return { ...shop, ...await shop.ready() }
    }

    await t.test('change an item, and send it', async (t) => {
      const { app, at, committed } = await openEmptyShop(t)
      const before = await request(app, `GET ${at}`)
      const response = await request(app, `POST ${at}/cancel`, { content: { reason: 'late' } })
      t.equal(response.statusCode, 200)
      t.match(response.json(), { status: 'cancelled', reason: 'late true', quantity: 2 })
      t.equal(response.headers['content-location'], at)
      t.not(response.headers.etag, before.headers.etag)
      t.equal(response.headers['cache-control'], 'no-store')
      const after = await request(app, `GET ${at}`)
      t.equal(after.payload, response.payload)
      t.equal(after.headers.etag, response.headers.etag)
      t.strictSame(committed, ['update cancelled'])

      const again = await request(app, `POST ${at}/cancel`, { content: { reason: 'late' } })
      t.equal(again.statusCode, 409)
      t.match(again.json(), { code: 'conflict', detail: 'Only open orders can be cancelled.' })
    })

    await t.test('send an output, and write to another collection in the same transaction', async (t) => {
      const { app, at, product, id, orders } = await openEmptyShop(t)
      const response = await request(app, `POST ${at}/ship`)
      t.equal(response.statusCode, 200)
      t.strictSame(response.json(), { parcel: `${id}-1`, left: 3 })
      t.notOk('etag' in response.headers)
      t.equal((await request(app, `GET /products/${product}`)).json().stock, 3)
      t.equal((await request(app, `GET ${at}`)).json().status, 'shipped')

      const large = await app.collection(orders).create({ product, quantity: 9 })
      const refused = await request(app, `POST /orders/${large.id}/ship`)
      t.match(refused.json(), { status: 409, detail: 'Not enough in stock.' })
      t.equal((await request(app, `GET /products/${product}`)).json().stock, 3)
      t.equal((await request(app, `GET /orders/${large.id}`)).json().status, 'open')
    })

    await t.test('on the collection', async (t) => {
      const { app, at } = await openEmptyShop(t)
      t.strictSame((await request(app, 'POST /orders/count')).json(), { count: 1 })
      t.strictSame((await request(app, 'POST /orders/count', { content: { least: 7 } })).json(), { count: 7 })
      const closed = await request(app, 'POST /orders/close-all')
      t.equal(closed.statusCode, 204)
      t.equal(closed.payload, '')
      t.match((await request(app, `GET ${at}`)).json(), { status: 'cancelled', reason: 'closing true' })
      t.equal((await request(app, 'POST /orders/close-all')).statusCode, 409, 'a problem within it undoes all')
    })

    await t.test('lose no update and no stock under contention', async (t) => {
      const { app, orders, products, product } = await openEmptyShop(t)
      await app.collection(products).update(product, { stock: 50 })
      const entries = await Promise.all(Array.from({ length: 12 }, () => {
        return app.collection(orders).create({ product, quantity: 1 })
      }))
      const results = await Promise.all(entries.flatMap(({ id }) => [
        request(app, `POST /orders/${id}/ship`),
        app.collection(orders).ship(id)
      ]))
      t.equal(results.length, 24)
      t.equal((await app.collection(products).read(product)).item.stock, 26)
    })

    await t.test('from code', async (t) => {
      const { app, orders, id, tag, product, committed } = await openEmptyShop(t)
      const calls = app.collection(orders)
      await t.rejects(calls.cancel(id, { reason: '', notify: true }), { code: 'validation-failed', statusCode: 422 })
      await t.rejects(calls.cancel(id, { reason: 'x' }, { ifMatch: '"other"' }), { code: 'precondition-failed' })
      const { item, tag: newTag } = await calls.cancel(id, { reason: 'code' }, { ifMatch: tag })
      t.equal(item.reason, 'code true')
      t.not(newTag, tag)
      t.strictSame(committed, ['update cancelled'])
      await t.rejects(calls.cancel(id, { reason: 'code' }), { code: 'conflict' })
      await t.rejects(calls.ship('00000000-0000-7000-8000-000000000000'), { code: 'not-found' })
      t.strictSame(await calls.count({ least: 3 }, { caller: 'ann' }), { count: 103 })
      t.equal(await calls['close-all']().catch((error: unknown) => (error as ProblemError).code), 'conflict')

      const second = await calls.create({ product, quantity: 1 })
      const undone = calls.transaction(async (transaction) => {
        await calls.ship(second.id, {}, { transaction })
        t.equal((await calls.read(second.id, { transaction })).item.status, 'shipped')
        throw new Error('undo')
      })
      await t.rejects(undone, { message: 'undo' })
      t.equal((await calls.read(second.id)).item.status, 'open')
    })
  })
}

async function openOrder (t: { after(close: () => unknown): void }): Promise<{ app: FastifyInstance, at: string }> {
  const shop = await openShop(t, memory())
  const { at } = await shop.ready()
  return { app: shop.app, at }
}

test('the content of a request is validated as that of other requests', async (t) => {
  const { app, at } = await openOrder(t)
  const invalid = await request(app, `POST ${at}/cancel`, { content: { reason: '', other: 1 } })
  t.equal(invalid.statusCode, 422)
  t.strictSame(invalid.json().errors.map(({ pointer }: { pointer: string }) => pointer).sort(), ['/other', '/reason'])
  t.match((await request(app, `POST ${at}/cancel`)).json(), { status: 422, errors: [{ pointer: '/reason' }] })
  t.equal((await request(app, `POST ${at}/cancel`, { content: '{' })).statusCode, 400)
  t.equal((await request(app, `POST ${at}/cancel`, { content: '[]' })).statusCode, 422)
  const text = await request(app, `POST ${at}/cancel`, { content: 'late', type: 'text/plain' })
  t.equal(text.statusCode, 415)
  t.equal(text.headers.accept, 'application/json, application/xml')
  t.equal((await request(app, `POST ${at}/cancel`, { fields: { accept: 'image/png' } })).statusCode, 406)
  t.equal((await request(app, `POST ${at}/cancel?force=1`, { content: { reason: 'a' } })).statusCode, 400)
  const content = '<item><reason>late</reason><notify>false</notify></item>'
  const sent = await request(app, `POST ${at}/cancel`, { content, type: 'application/xml', fields: { accept: 'application/xml' } })
  t.equal(sent.statusCode, 200)
  t.match(sent.payload, '<reason>late false</reason>')
})

test('an output is sent in the format that the client accepts', async (t) => {
  const { app, at } = await openOrder(t)
  const inXml = await request(app, 'POST /orders/count', { fields: { accept: 'application/xml' } })
  t.match(inXml.payload, '<count>1</count>')
  const inHal = await request(app, `POST ${at}/ship`, { fields: { accept: 'application/hal+json' } })
  t.match(inHal.json(), { left: 3, _links: { up: { href: at } } })
})

test('other methods get 405, and OPTIONS lists POST, and GET if the action is safe', async (t) => {
  const { app, at } = await openOrder(t)
  for (const [path, allow] of [[`${at}/cancel`, 'POST, OPTIONS'], ['/orders/count', 'GET, HEAD, POST, OPTIONS']]) {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH'].filter((method) => !allow!.includes(method))) {
      const response = await request(app, `${method} ${path}`)
      t.equal(response.statusCode, 405)
      t.equal(response.headers.allow, allow)
    }
    const options = await request(app, `OPTIONS ${path}`)
    t.equal(options.headers.allow, allow)
    t.equal(options.headers['accept-post'], 'application/json, application/xml')
  }
  t.equal((await request(app, `POST ${at}/unknown`)).statusCode, 404)
  t.equal((await request(app, `POST ${at}`)).statusCode, 405)
  t.equal((await request(app, 'POST /orders/0190a000-0000-7000-8000-000000000000/ship')).statusCode, 404)
  t.equal((await request(app, 'POST /orders/no-uuid/ship')).statusCode, 404)
  const encoded = await request(app, `POST ${at}/%63ancel/`, { content: { reason: 'a' } })
  t.equal(encoded.statusCode === 200 ? encoded.headers['content-location'] : at, at)
})

test('preconditions are checked before the content', async (t) => {
  const { app, at } = await openOrder(t)
  const { headers: { etag } } = await request(app, `GET ${at}`)
  const content = { reason: 'a' }
  const failed = await request(app, `POST ${at}/cancel`, { content: '{', fields: { 'if-match': '"other"' } })
  t.equal(failed.statusCode, 412)
  t.equal((await request(app, `POST ${at}/cancel`, { content, fields: { 'if-match': String(etag) } })).statusCode, 200)
  t.equal((await request(app, `POST ${at}/cancel`, { content, fields: { 'if-match': String(etag) } })).statusCode, 412)

  const strict = define({ name: 'orders', schema: Order, storage: memory(), etag: { required: true } })
    .with(
      action('touch', { run: ({ item }) => item }),
      action('look', { safe: true, run () {} }),
      action('free', { etag: { required: false }, run: ({ item }) => item })
    )
  const app2 = await build(t, strict)
  const { headers: { location } } = await request(app2, 'POST /orders', { content: { product: 'a', quantity: 1 } })
  t.equal((await request(app2, `POST ${location}/touch`)).statusCode, 428)
  t.equal((await request(app2, `POST ${location}/look`)).statusCode, 200)
  t.equal((await request(app2, `POST ${location}/free`)).statusCode, 200)
  t.equal((await request(app2, `POST ${location}/free`, { fields: { 'if-match': '"other"' } })).statusCode, 412)
  t.equal((await request(app2, `POST ${location}/look`, { fields: { 'if-match': '"other"' } })).statusCode, 412)
})

test('Prefer: return=minimal leaves out the item, but not an output', async (t) => {
  const { app, at } = await openOrder(t)
  const fields = { prefer: 'return=minimal' }
  t.equal((await request(app, `POST ${at}/ship`, { fields })).statusCode, 200)
  const { headers: { location } } = await request(app, 'POST /orders', { content: { product: 'a', quantity: 1 } })
  const minimal = await request(app, `POST ${location}/cancel`, { content: { reason: 'a' }, fields })
  t.equal(minimal.statusCode, 204)
  t.equal(minimal.headers['preference-applied'], 'return=minimal')
  t.ok(minimal.headers.etag)
})

test('an action that returns nothing, or the same item, writes nothing', async (t) => {
  const writes: string[] = []
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: modified((storage) => ({
      ...storage,
      transaction: (work, context) => storage.transaction!((inner, handle) => work({
        ...inner,
        replace: (...parameters) => {
          writes.push('replace')
          return inner.replace(...parameters)
        }
      }, handle), context)
    })),
    hooks: { afterCommit: ({ action }) => { writes.push(action) } }
  }).with(
    action('nothing', { run () {} }),
    action('same', { run: ({ item }) => item }),
    action('change', {
      run ({ item }) {
        item.quantity++
        return item
      }
    }),
    action('vanish', {
      async run ({ id, collection }) {
        await collection.remove(id)
      }
    })
  )
  const app = await build(t, orders)
  const created = await request(app, 'POST /orders', { content: { product: 'a', quantity: 1 } })
  writes.length = 0
  for (const name of ['nothing', 'same']) {
    const response = await request(app, `POST ${created.headers.location}/${name}`)
    t.equal(response.statusCode, 200)
    t.equal(response.headers.etag, created.headers.etag)
    t.equal(response.payload, created.payload)
  }
  t.strictSame(writes, [])
  t.match((await request(app, `POST ${created.headers.location}/change`)).json(), { quantity: 2 })
  t.strictSame(writes, ['replace', 'update'])
  const removed = await request(app, `POST ${created.headers.location}/vanish`)
  t.equal(removed.statusCode, 204)
  t.equal((await request(app, `GET ${created.headers.location}`)).statusCode, 404)
})

test('what run returns is validated, and passes the hooks of a write', async (t) => {
  const { lines, logger } = logged()
  const seen: string[] = []
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    hooks: {
      beforeValidation: ({ action, item, before }) => {
        if (before !== undefined) seen.push(`${action} ${before.quantity} ${item.quantity}`)
        return item.quantity === 7 ? { ...item, quantity: 70 } : item
      }
    }
  }).with(
    action('set', {
      input: Type.Object({ quantity: Type.Integer() }),
      run: ({ item, input }) => ({ ...item, ...input })
    }),
    action('rename', { run: ({ item }) => ({ ...item, id: '0190a000-0000-7000-8000-000000000000' }) }),
    action('text', { run: () => 'text' as unknown as OrderItem }),
    action('output', {
      output: Type.Object({ count: Type.Integer() }),
      run: () => ({ output: { count: 0.5 } })
    }),
    action('none', { output: Type.Object({}), run: () => undefined as unknown as { output: object } })
  ).with(
    action('write', { safe: true, run: ({ item }) => item }),
    action('crash', { run () { throw new Error('secret') } }),
    action('transact', {
      safe: true,
      run: ({ transaction }) => { transaction.collection(orders) }
    })
  )
  const app = await build(t, orders, { logger })
  const { headers: { location } } = await request(app, 'POST /orders', { content: { product: 'a', quantity: 1 } })
  const call = (name: string, content?: object) => request(app, `POST ${location}/${name}`, { content })
  t.match((await call('set', { quantity: 0 })).json(), { status: 422, errors: [{ pointer: '/quantity' }] })
  t.match((await call('set', { quantity: 7 })).json(), { quantity: 70 })
  t.strictSame(seen, ['update 1 7'])
  for (const name of ['rename', 'text', 'output', 'none', 'write', 'crash', 'transact']) {
    const response = await call(name)
    t.match(response.json(), { status: 500, code: 'internal-error' }, name)
    t.notMatch(response.payload, 'secret')
  }
  t.match((await request(app, `GET ${location}`)).json(), { quantity: 70 })
  t.strictSame(lines.map(({ err }) => (err as { message: string }).message), [
    'The action rename of the collection orders changed the id. Return the item with the id that it has.',
    'The action text of the collection orders returned no item. Return the item to write.',
    'The action output of the collection orders returned an invalid output: /count must be integer. ' +
      'Return { output } that matches its schema.',
    'The action none of the collection orders returned an invalid output: must be object. ' +
      'Return { output } that matches its schema.',
    'The action write of the collection orders is safe, but it returned an item to write. ' +
      'Return nothing, or remove safe.',
    'secret',
    'Collection orders: the action has no transaction, because it is safe. Use getCollection() instead.'
  ])
})

test('hooks get the name of the custom action', async (t) => {
  const { lines, logger } = logged()
  const seen: string[] = []
  const see = (hook: string) => ({ action, customAction }: { action: string, customAction: string | undefined }) => {
    seen.push(`${hook} ${action} ${customAction}`)
  }
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    hooks: {
      beforeValidation (change) {
        see('beforeValidation')(change)
        return change.item
      },
      beforeWrite: see('beforeWrite'),
      afterWrite: see('afterWrite'),
      afterCommit (change) {
        see('afterCommit')(change)
        throw new Error('not sent')
      }
    }
  }).with(
    action('cancel', { run: ({ item }) => ({ ...item, status: 'cancelled' }) }),
    action('open', { run: async ({ collection, id }) => { await collection.update(id, { status: 'open' }) } }),
    {
      name: 'watch',
      setup (host) {
        host.addHook('onWrite', async ({ action, operation: { customAction } }) => {
          see('onWrite')({ action, customAction })
        })
      }
    }
  )
  const app = Fastify({ logger })
  t.after(() => app.close())
  await app.register(registry)
  await app.register(collection, orders)
  await app.ready()
  const { id } = await app.collection(orders).create({ product: 'a', quantity: 1 })
  const hooks = ['beforeValidation', 'beforeWrite', 'onWrite', 'afterWrite', 'afterCommit']
  const checkSeen = (action: string, customAction?: string) => {
    t.strictSame(seen.splice(0), hooks.map((hook) => `${hook} ${action} ${customAction}`))
    t.match(lines.splice(0), [{ collection: 'orders', action: customAction ?? action, err: { message: 'not sent' } }])
  }
  checkSeen('create')
  t.equal((await request(app, `POST /orders/${id}/cancel`)).statusCode, 200)
  checkSeen('update', 'cancel')
  // A call within the action is an update of its own.
  t.equal((await request(app, `POST /orders/${id}/open`)).statusCode, 200)
  checkSeen('update')
  await app.collection(orders).cancel(id)
  checkSeen('update', 'cancel')
  t.equal((await request(app, `PATCH /orders/${id}`, { content: { quantity: 2 } })).statusCode, 200)
  checkSeen('update')
})

test('timestamps are set by the library', async (t) => {
  const orders = define({ name: 'orders', schema: Order, storage: memory() })
    .with(action('touch', { run: ({ item }) => ({ ...item, reason: 'touched', updatedAt: '2000-01-01T00:00:00.000Z' }) }))
  const app = await build(t, orders)
  const { headers: { location } } = await request(app, 'POST /orders', { content: { product: 'a', quantity: 1 } })
  t.ok((await request(app, `POST ${location}/touch`)).json().updatedAt > '2020')
})

test('a storage without transactions compares and writes', async (t) => {
  let isChanged = false
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: modified(({ transaction, join, supports, ...storage }) => ({
      ...storage,
      transaction: undefined as never,
      join: undefined as never,
      supports: { ...supports, transactions: false, receipts: false }
    }))
  })
  const counted = orders.with(
    action('add', {
      async run ({ item }) {
        if (!isChanged) {
          isChanged = true
          await request(app, `PATCH ${location}`, { content: { reason: 'meanwhile' } })
        }
        return { ...item, quantity: item.quantity + 1 }
      }
    }),
    action('join', {
      run: ({ transaction }) => { t.notOk(transaction) }
    }),
    action('refuse', { run () { throw problem('conflict', { detail: 'No.' }) } })
  )
  const { lines, logger } = logged()
  const app = await build(t, counted, { logger })
  const { headers: { location } } = await request(app, 'POST /orders', { content: { product: 'a', quantity: 1 } })
  t.match((await request(app, `POST ${location}/add`)).json(), { quantity: 2, reason: 'meanwhile' })
  t.match((await request(app, `POST ${location}/refuse`)).json(), { status: 409, detail: 'No.' })
  t.equal((await request(app, `POST ${location}/join`)).statusCode, 500)
  t.match(lines, [{ err: { message: /^Collection orders: the action has no transaction, because the storage memory has none\.$/ } }])
  t.ok(TransactionError)
})

test('access rules, scope and hidden properties apply', async (t) => {
  const actions: string[] = []
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    access: {
      authenticate: ({ request }) => request.headers.authorization,
      scope: ({ caller, action }) => {
        actions.push(action)
        return caller === 'boss' ? undefined : { filter: { product: String(caller) } }
      },
      visible: { reason: ({ caller }) => caller === 'boss' }
    }
  }).with(
    action('cancel', {
      input: Type.Object({ note: Type.String() }),
      run: ({ item, input, caller }) => ({ ...item, status: `cancelled by ${String(caller)}`, reason: input.note })
    }),
    action('audit', { allow: ({ caller }) => caller === 'boss', run () {} }),
    action('hide', { allow: () => 'hidden', run () {} }),
    action('move', { run: ({ item }) => ({ ...item, product: 'bob' }) })
  )
  const app = await build(t, orders)
  await app.register(registry)
  const as = (authorization: string) => ({ fields: { authorization } })
  const { id } = (await request(app, 'POST /orders', { content: { product: 'ann', quantity: 1 }, ...as('ann') })).json()
  const content = { note: 'late' }
  const call = (name: string, caller?: string) => {
    return request(app, `POST /orders/${id}/${name}`, { content, ...caller !== undefined && as(caller) })
  }
  const anonymous = await call('cancel')
  t.equal(anonymous.statusCode, 401)
  t.equal(anonymous.headers['www-authenticate'], 'Bearer')
  t.equal((await call('cancel', 'bob')).statusCode, 404, 'outside the scope')
  t.equal((await call('audit', 'ann')).statusCode, 403)
  t.equal((await call('hide', 'boss')).statusCode, 404)
  t.equal((await call('move', 'ann')).statusCode, 422, 'the result must stay in the scope')
  const cancelled = await call('cancel', 'ann')
  t.strictSame(cancelled.json(), {
    id,
    product: 'ann',
    quantity: 1,
    status: 'cancelled by ann',
    updatedAt: cancelled.json().updatedAt
  })
  t.equal(cancelled.headers['cache-control'], 'no-store')
  t.equal((await request(app, `GET /orders/${id}`, as('boss'))).json().reason, 'late')
  t.ok(actions.includes('cancel'))
  t.equal((await request(app, `OPTIONS /orders/${id}/audit`, as('ann'))).headers.allow, 'OPTIONS')
  await t.rejects(app.collection(orders).audit(id, {}, { caller: 'ann' }), { code: 'forbidden' })
  await t.rejects(app.collection(orders).cancel(id, content, { caller: 'bob' }), { code: 'not-found' })
  t.equal((await app.collection(orders).audit(id, {}, { caller: 'boss' })).item.reason, 'late')
  t.notOk('reason' in (await app.collection(orders).cancel(id, content, { caller: 'ann' })).item)
})

test('input refuses unknown properties at any depth, over HTTP and from code', async (t) => {
  const Line = Type.Object({
    product: Type.String(),
    options: Type.Optional(Type.Array(Type.Object({ a: Type.Number() })))
  })
  const inputs: unknown[] = []
  const orders = define({ name: 'orders', schema: Order, storage: memory(), formats: [json, xml, hal] }).with(
    action('add', {
      input: Type.Object({
        line: Line,
        either: Type.Optional(Type.Union([Type.Object({ a: Type.String() }), Type.Null()])),
        marks: Type.Optional(Type.Record(Type.String(), Type.Integer())),
        open: Type.Optional(Type.Object({ a: Type.Number() }, { additionalProperties: true }))
      }),
      run ({ item, input }) {
        inputs.push(input)
        return { ...item, ...input as object }
      }
    }),
    action('touch', { run () {} })
  )
  const app = await build(t, orders)
  await app.register(registry)
  const { id } = (await request(app, 'POST /orders', { content: { product: 'tea', quantity: 1 } })).json()
  const line = { product: 'tea' }
  const refused: Array<[content: object, pointer: string]> = [
    [{ line, status: 'paid' }, '/status'],
    [{ line: { product: 'tea', price: 0 } }, '/line/price'],
    [{ line: { product: 'tea', options: [{ a: 1 }, { a: 1, b: 2 }] } }, '/line/options/1/b'],
    [{ line, either: { a: 'x', b: 1 } }, '/either/b']
  ]
  for (const [content, pointer] of refused) {
    const errors = [{ pointer, message: 'is not a known property' }]
    const answer = await request(app, `POST /orders/${id}/add`, { content })
    t.match(answer.json(), { status: 422, code: 'validation-failed', errors }, pointer)
    await t.rejects(app.collection(orders).add(id, content as never), { code: 'validation-failed', errors }, pointer)
  }
  const markup = await request(app, `POST /orders/${id}/add`, {
    content: '<item><line><product>tea</product><price>0</price></line></item>',
    type: 'application/xml'
  })
  t.match(markup.json(), { status: 422, errors: [{ pointer: '/line/price' }] })
  t.match((await request(app, `POST /orders/${id}/touch`, { content: { a: 1 } })).json(), { errors: [{ pointer: '/a' }] })
  t.strictSame(inputs, [])
  const allowed = { line, marks: { any: 1 }, open: { a: 1, b: 2 } }
  await request(app, `POST /orders/${id}/add`, { content: allowed })
  t.strictSame(inputs, [allowed], 'what the schema opens is open')
})

test('readOnly properties of an input are ignored, as in a POST', async (t) => {
  const inputs: unknown[] = []
  const orders = define({ name: 'orders', schema: Order, storage: memory() }).with(
    action('copy', {
      input: Type.Object({ order: Order, tags: Type.Array(Type.Object({ by: Type.String({ readOnly: true }) })) }),
      run ({ input }) {
        inputs.push(input)
      }
    })
  )
  const app = await build(t, orders)
  const { id } = (await request(app, 'POST /orders', { content: { product: 'tea', quantity: 1 } })).json()
  const order = { id, product: 'tea', quantity: 2, status: 'paid' }
  const answer = await request(app, `POST /orders/${id}/copy`, { content: { order, tags: [{ by: 'me' }] } })
  t.equal(answer.statusCode, 200)
  t.strictSame(inputs, [{ order: { product: 'tea', quantity: 2, status: 'open' }, tags: [{}] }])
})

test('responses have only what the output has, without its writeOnly properties', async (t) => {
  const User = Type.Object({ name: Type.String(), password: Type.String({ writeOnly: true }) })
  const user = { name: 'ann', password: 'secret-1', salt: 'secret-2' }
  const output = Type.Object({
    user: User,
    users: Type.Array(User),
    either: Type.Union([User, Type.Null()]),
    both: Type.Intersect([User, Type.Object({ age: Type.Integer() })]),
    any: Type.Unknown(),
    byName: Type.Record(Type.String(), User),
    pin: Type.Optional(Type.String({ writeOnly: true }))
  })
  const returned = {
    user,
    users: [user, user],
    either: user,
    both: { ...user, age: 5 },
    any: { kept: 1, at: new Date(0) },
    byName: { salt: user },
    pin: 'secret-3',
    more: 'secret-4'
  }
  const orders = define({ name: 'orders', schema: Order, storage: memory(), formats: [json, xml, hal, html] })
    .with(action('report', { on: 'collection', safe: true, output, run: () => ({ output: returned }) }))
  const app = await build(t, orders)
  await app.register(registry)
  const seen = { name: 'ann' }
  t.strictSame((await request(app, 'POST /orders/report')).json(), {
    user: seen,
    users: [seen, seen],
    either: seen,
    both: { name: 'ann', age: 5 },
    any: { kept: 1, at: '1970-01-01T00:00:00.000Z' },
    byName: { salt: seen }
  })
  for (const accept of ['application/json', 'application/xml', 'application/hal+json', 'text/html']) {
    const { statusCode, body } = await request(app, 'POST /orders/report', { fields: { accept } })
    t.equal(statusCode, 200, accept)
    t.match(body, 'ann', accept)
    t.notMatch(body, /secret|password|pin\b/, accept)
  }
  const fromCode: object = await app.collection(orders).report()
  t.match(fromCode, { user: { name: 'ann', password: 'secret-1' }, pin: 'secret-3' }, 'code gets all of the output')
  t.notMatch(JSON.stringify(fromCode), /secret-2|secret-4/)
})

test('an output does not show what is hidden from the caller, at any depth', async (t) => {
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    access: {
      authenticate: ({ request }) => request.headers.authorization,
      visible: { reason: ({ caller }) => caller === 'boss' }
    }
  }).with(
    action('report', {
      output: Type.Object({
        order: Order,
        all: Type.Array(Order),
        reason: Type.String(),
        any: Type.Unknown(),
        open: Type.Object({ kind: Type.String() }, { additionalProperties: true }),
        byName: Type.Record(Type.String(), Type.Integer())
      }),
      run: ({ item }) => ({
        output: {
          order: item,
          all: [item],
          reason: 'none',
          any: { items: [item], at: new Date(0), serialized: { toJSON: () => item } },
          open: { kind: 'order', ...item },
          byName: { reason: 1, product: 2 }
        }
      })
    }),
    action('free', {
      output: Type.Object({}, { additionalProperties: true }),
      run: ({ item }) => ({ output: item })
    })
  )
  const app = await build(t, orders)
  await app.register(registry)
  const as = (authorization: string) => ({ fields: { authorization } })
  const content = { product: 'tea', quantity: 1 }
  const { id } = (await request(app, 'POST /orders', { content: { ...content, reason: 'x' }, ...as('boss') })).json()
  const full = (await request(app, `POST /orders/${id}/report`, as('boss'))).json()
  t.match(full, { order: { reason: 'x' }, all: [{ reason: 'x' }], reason: 'none', byName: { reason: 1 } })
  t.match(full, { any: { items: [{ reason: 'x' }], serialized: { reason: 'x' } }, open: { reason: 'x' } })
  const part = (await request(app, `POST /orders/${id}/report`, as('ann'))).json()
  const { reason, ...seen } = full.order
  t.strictSame(part, {
    order: seen,
    all: [seen],
    any: { items: [seen], at: '1970-01-01T00:00:00.000Z', serialized: seen },
    open: { kind: 'order', ...seen },
    byName: { product: 2 }
  })
  t.strictSame(await app.collection(orders).report(id, {}, { caller: 'ann' }), part)
  t.strictSame((await request(app, `POST /orders/${id}/free`, as('ann'))).json(), seen)
  t.strictSame((await request(app, `POST /orders/${id}/free`, as('boss'))).json(), full.order)
})

test('an input cannot have what is hidden from the caller, however its schema is written', async (t) => {
  const Person = Type.Object({ id: Type.Integer({ readOnly: true }), name: Type.String(), salary: Type.Integer() })
  const { salary } = Person.properties
  const any = { additionalProperties: true }
  const inputs: Record<string, { input: TObject, nested?: boolean }> = {
    whole: { input: Person },
    partial: { input: Type.Partial(Person) },
    partialOmit: { input: Type.Partial(Type.Omit(Person, ['id'])) },
    partialPick: { input: Type.Partial(Type.Pick(Person, ['name', 'salary'])) },
    optional: { input: Type.Object({ name: Type.String(), salary: Type.Optional(salary) }) },
    required: { input: Type.Required(Person) },
    composite: { input: Type.Composite([Person, Type.Object({})]) },
    nullable: { input: Type.Object({ name: Type.String(), salary: Type.Union([salary, Type.Null()]) }) },
    copy: { input: JSON.parse(JSON.stringify(Person)) },
    own: { input: Type.Object({ name: Type.String(), salary: Type.Number({ minimum: 1 }) }) },
    open: { input: Type.Object({ name: Type.String() }, any) },
    openPart: { input: Type.Object({ changes: Type.Object({}, any) }), nested: true },
    unknownPart: { input: Type.Object({ changes: Type.Unknown() }) as never, nested: true },
    map: { input: Type.Object({ changes: Type.Record(Type.String(), Type.Unknown()) }) as never, nested: true },
    partialPart: { input: Type.Object({ changes: Type.Partial(Person) }), nested: true }
  }
  for (const [name, { input, nested = false }] of Object.entries(inputs)) {
    const people = define({
      name: 'people',
      schema: Person,
      storage: memory({ items: [{ id: 1, name: 'Bob', salary: 100 }] }),
      id: { generate: 'storage' },
      access: {
        authenticate: ({ request }) => request.headers.authorization,
        visible: { salary: ({ caller }) => caller === 'hr' }
      }
    }).with(action('edit', {
      input,
      run: ({ item, input }) => ({ ...item, ...nested ? (input as { changes: object }).changes : input, id: item.id })
    }))
    const app = await build(t, people)
    await app.register(registry)
    const as = (authorization: string) => ({ fields: { authorization } })
    const changes = { name: 'Bob', salary: 999 }
    const content = nested ? { changes } : changes
    const errors = [{ pointer: nested ? '/changes/salary' : '/salary', message: 'is not a known property' }]
    const refused = await request(app, 'POST /people/1/edit', { content, ...as('bob') })
    t.match(refused.json(), { status: 422, code: 'validation-failed', errors }, name)
    await t.rejects(
      app.collection(people).edit(1, content, { caller: 'bob' }),
      { code: 'validation-failed', errors },
      name
    )
    t.equal((await request(app, 'GET /people/1', as('hr'))).json().salary, 100, name)
    t.equal((await request(app, 'POST /people/1/edit', { content, ...as('hr') })).json().salary, 999, name)
  }
})

test('the default of a hidden property does not replace its value', async (t) => {
  const Person = Type.Object({
    id: Type.Integer({ readOnly: true }),
    name: Type.String(),
    salary: Type.Integer({ default: 0 })
  })
  const app = await build(t, define({
    name: 'people',
    schema: Person,
    storage: memory({ items: [{ id: 1, name: 'Bob', salary: 100 }] }),
    id: { generate: 'storage' },
    formats: [json, html],
    access: {
      authenticate: ({ request }) => request.headers.authorization,
      visible: { salary: ({ caller }) => caller === 'hr' }
    }
  }).with(action('edit', { input: Person, run: ({ item, input }) => ({ ...item, ...input, id: item.id }) })))
  const as = (authorization: string) => ({ fields: { authorization } })
  const content = { name: 'Rob' }
  t.strictSame((await request(app, 'POST /people/1/edit', { content, ...as('bob') })).json(), { id: 1, name: 'Rob' })
  t.equal((await request(app, 'GET /people/1', as('hr'))).json().salary, 100)
  t.equal((await request(app, 'POST /people/1/edit', { content, ...as('hr') })).json().salary, 0)
  const page = (authorization: string) => request(app, 'GET /people/1', { fields: { authorization, accept: 'text/html' } })
  t.match((await page('hr')).body, 'salary')
  t.notMatch((await page('bob')).body, 'salary', 'the form of the action does not have it either')
})

test('OpenAPI describes what an action accepts and sends', async (t) => {
  const User = Type.Object({
    id: Type.Integer({ readOnly: true }),
    name: Type.String({ default: 'ann' }),
    password: Type.String({ writeOnly: true }),
    reason: Type.String()
  })
  const app = Fastify()
  t.after(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Shop', version: '1' } } })
  await app.register(collection, define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    access: { visible: { reason: () => false } }
  }).with(action('swap', {
    allow: 'public',
    input: Type.Object({ user: User }),
    output: Type.Object({ users: Type.Array(User) }),
    run: () => ({ output: { users: [] } })
  })))
  await app.ready()
  const { components } = app.swagger() as { components: { schemas: Record<string, object> } }
  const find = (suffix: string) => {
    const name = Object.keys(components.schemas).find((name) => name.endsWith(suffix))!
    return JSON.parse(JSON.stringify(components.schemas[name]))
  }
  const input = find('SwapInput')
  t.equal(input.additionalProperties, false)
  t.strictSame(Object.keys(input.properties.user.properties), ['name', 'password', 'reason'])
  t.strictSame(input.properties.user.required, ['password', 'reason'])
  const output = find('SwapOutput')
  t.strictSame(Object.keys(output.properties.users.items.properties), ['id', 'name', 'reason'])
  t.strictSame(output.properties.users.items.required, ['id', 'name'])
})

test('an Idempotency-Key repeats the response of a custom action', async (t) => {
  let runs = 0
  const orders = define({ name: 'orders', schema: Order, storage: memory() })
    .with(
      idempotency({ required: true }),
      action('add', {
        run ({ item }) {
          runs++
          return { ...item, quantity: item.quantity + 1 }
        }
      }),
      action('other', { run: ({ item }) => item }),
      action('stop', { idempotent: true, run: ({ item }) => ({ ...item, reason: 'stopped' }) })
    )
  const app = await build(t, orders)
  const key = (value: string) => ({ fields: { 'idempotency-key': `"${value}"` } })
  const content = { product: 'a', quantity: 1 }
  const { headers: { location } } = await request(app, 'POST /orders', { content, ...key('a') })
  t.equal((await request(app, `POST ${location}/add`)).statusCode, 400, 'the key is required')
  const first = await request(app, `POST ${location}/add`, key('b'))
  const second = await request(app, `POST ${location}/add`, key('b'))
  t.equal(second.payload, first.payload)
  t.equal(second.headers['idempotent-replayed'], 'true')
  t.equal(runs, 1)
  t.equal((await request(app, `POST ${location}/other`, key('b'))).statusCode, 422, 'the key of another action')
  t.equal((await request(app, `POST ${location}/stop`)).statusCode, 200, 'an idempotent action needs no key')
})

test('other features apply to custom actions', async (t) => {
  const newIds = new Map<string, string>()
  const run = ({ item }: { item: OrderItem }) => ({ ...item, reason: 'touched' })
  const base = define({ name: 'orders', schema: Order, storage: memory() })
  const orders = base.with(
    action('touch', { run }),
    action('wait', {
      run: ({ signal }) => new Promise<void>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    }),
    softDelete({ property: 'deletedAt' }),
    timeout(50),
    redirects({ to: ({ id }) => newIds.get(id), status: 308 })
  )
  const app = await build(t, orders)
  const { headers: { location }, ...created } = await request(app, 'POST /orders', { content: { product: 'a', quantity: 1 } })
  newIds.set('old', created.json().id)
  const moved = await request(app, 'POST /orders/old/touch')
  t.equal(moved.statusCode, 308)
  t.equal(moved.headers.location, `${location}/touch`)
  t.equal((await request(app, `POST ${location}/wait`)).statusCode, 503)
  await request(app, `DELETE ${location}`)
  t.equal((await request(app, `POST ${location}/touch`)).statusCode, 410)
})

test('a nested collection has its custom actions below its parent', async (t) => {
  const products = define({ name: 'products', schema: Product, storage: memory() })
  const orders = define({ name: 'orders', schema: Order, storage: memory() })
    .with(
      within(products, 'product'),
      action('touch', { run: ({ item }) => ({ ...item, reason: 'touched' }) }),
      action('move', { run: ({ item }) => ({ ...item, product: 'elsewhere' }) }),
      action('count', { on: 'collection', output: Type.Object({}), run: () => ({ output: {} }) })
    )
  const app = await build(t, [products, orders])
  const [pen, ink] = await Promise.all(['pen', 'ink'].map(async (name) => {
    return (await request(app, 'POST /products', { content: { name, stock: 1 } })).json().id as string
  }))
  const order = await request(app, `POST /products/${pen}/orders`, { content: { quantity: 1 } })
  const touched = await request(app, `POST ${order.headers.location}/touch`)
  t.match(touched.json(), { reason: 'touched' })
  t.equal(touched.headers['content-location'], order.headers.location)
  t.equal((await request(app, `POST /products/${ink}/orders/${order.json().id}/touch`)).statusCode, 404)
  t.equal((await request(app, `POST ${order.headers.location}/move`)).statusCode, 422)
  t.equal((await request(app, `POST /products/${pen}/orders/count`)).statusCode, 200)
  t.equal((await request(app, 'POST /products/0190a000-0000-7000-8000-000000000000/orders/count')).statusCode, 404)
})

test('an id of over 100 characters needs maxParamLength', async (t) => {
  const Slug = Type.Object({ slug: Type.String({ maxLength: 300 }), status: Type.String({ default: 'open' }) })
  const pages = define({ name: 'pages', schema: Slug, id: { property: 'slug', generate: 'client' }, storage: memory() })
    .with(action('close', { run: ({ item }) => ({ ...item, status: 'closed' }) }))
  for (const maxParamLength of [100, 200]) {
    const app = await build(t, pages, { routerOptions: { maxParamLength } })
    const slug = String(maxParamLength / 100).repeat(150)
    t.equal((await request(app, 'POST /pages', { content: { slug } })).statusCode, 201)
    t.equal((await request(app, `GET /pages/${slug}`)).statusCode, 200)
    const response = await request(app, `POST /pages/${slug}/close`)
    t.equal(response.statusCode, maxParamLength === 200 ? 200 : 404)
  }
})

test('a page evaluates the rule of each custom action once', async (t) => {
  const evaluated: string[] = []
  const allow = ({ action }: { action: string }) => {
    evaluated.push(action)
    return action !== 'close'
  }
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    formats: [json, html],
    access: { allow: { all: 'public' } }
  }).with(
    action('open', { allow, run () {} }),
    action('close', { allow, run () {} }),
    action('import', { on: 'collection', allow, run () {} })
  )
  const app = await build(t, orders)
  const { headers: { location } } = await request(app, 'POST /orders', { content: { product: 'a', quantity: 1 } })
  evaluated.length = 0
  const fields = { accept: 'text/html' }
  const page = await request(app, `GET ${location}`, { fields })
  t.match(page.payload, '>Open</button>')
  t.notMatch(page.payload, '>Close</button>')
  t.strictSame(evaluated.splice(0).sort(), ['close', 'import', 'open'])
  t.match((await request(app, 'GET /orders', { fields })).payload, '>Import</button>')
  t.strictSame(evaluated.sort(), ['close', 'import', 'open'])
})

test('links of HAL name the actions that are possible and allowed', async (t) => {
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    formats: [json, hal],
    access: { authenticate: ({ request }) => request.headers.authorization, allow: 'public' }
  }).with(
    action('cancel', {
      when: ({ item }) => item.status === 'open',
      run: ({ item }) => ({ ...item, status: 'cancelled' })
    }),
    action('audit', { title: 'Check the books', allow: ({ caller }) => caller === 'boss', run () {} }),
    action('count', { on: 'collection', run () {} })
  )
  const app = await build(t, orders)
  const { headers: { location } } = await request(app, 'POST /orders', { content: { product: 'a', quantity: 1 } })
  const read = (authorization: string, path = String(location), more = {}) => {
    return request(app, `GET ${path}`, { fields: { accept: 'application/hal+json', authorization, ...more } })
  }
  const [ann, boss] = [await read('ann'), await read('boss')]
  t.strictSame(ann.json()._links, {
    self: { href: location },
    collection: { href: '/orders' },
    cancel: { href: `${location}/cancel`, title: 'Cancel' }
  })
  t.strictSame(boss.json()._links.audit, { href: `${location}/audit`, title: 'Check the books' })
  t.not(ann.headers.etag, boss.headers.etag, 'they are different representations')
  t.equal((await read('ann', undefined, { 'if-none-match': String(boss.headers.etag) })).statusCode, 200)
  t.equal((await read('ann', undefined, { 'if-none-match': String(ann.headers.etag) })).statusCode, 304)
  t.equal((await read('boss')).payload, boss.payload)
  const [listed] = (await read('boss', '/orders')).json()._embedded.items
  t.strictSame(Object.keys(listed._links), ['self', 'collection', 'audit', 'cancel'])

  const fields = { 'if-match': String(boss.headers.etag), authorization: 'boss' }
  const cancelled = await request(app, `POST ${location}/cancel`, { fields })
  t.equal(cancelled.statusCode, 200, 'a tag of another format is a precondition as well')
  t.notOk('cancel' in (await read('ann')).json()._links)
})

test('an action that only reads sees the transaction that it has joined', async (t) => {
  const counted = define({
    name: 'counted',
    schema: Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), name: Type.String() }),
    storage: memory()
  }).with(action('count', {
    on: 'collection',
    safe: true,
    output: Type.Object({ count: Type.Integer() }),
    async run ({ collection }) {
      let count = 0
      for await (const { entries } of collection.pages()) count += entries.length
      return { output: { count } }
    }
  }))
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  await app.register(collection, counted)
  const calls = app.collection(counted)
  const count = await calls.transaction(async (transaction) => {
    await calls.create({ name: 'a' }, { transaction })
    return calls.count({}, { transaction })
  })
  t.strictSame(count, { count: 1 })
})

test('options of the route apply', async (t) => {
  const orders = define({ name: 'orders', schema: Order, storage: memory() })
    .with(action('touch', {
      run: ({ item }) => item,
      route: { onRequest: async (_request, reply) => reply.code(418).send({}) }
    }))
  const app = await build(t, orders)
  t.equal((await request(app, 'POST /orders/0190a000-0000-7000-8000-000000000000/touch')).statusCode, 418)
})

test('mistakes are refused when the action is added', (t) => {
  const run = (): void => {}
  const base = define({ name: 'orders', schema: Order, storage: memory() })
  const named = define({
    name: 'articles',
    schema: Type.Object({ slug: Type.String() }),
    id: { property: 'slug', generate: 'client' },
    storage: memory()
  })
  const withRules = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    access: { allow: { list: () => true } }
  })
  const cases: ReadonlyArray<readonly [make: () => unknown, message: RegExp]> = [
    [() => base.with(action('no/slash', { run })), /action\("no\/slash"\): the name is a path segment\. Use letters/],
    [() => base.with(action('update', { run })), /action\("update"\): calls, clients, links or OpenAPI already have/],
    [() => base.with(action('query', { run })), /action\("query"\): .* Choose another name/],
    [() => base.with(action('then', { run })), /action\("then"\): .* Choose another name/],
    [() => base.with(action('toString', { run })), /action\("toString"\): .* Choose another name/],
    [() => base.with(action('a', { run }), action('a', { run })), /the feature "action:a" is added twice/],
    [() => named.with(action('import', { on: 'collection', run })), /an item can have the id "import"/],
    [() => base.with(action('a', {} as { run: typeof run })), /action\("a"\): run is missing\. Make it a function/],
    [() => base.with(action('a', { run, on: 'page' as 'item' })), /on is "page"\. Use "item" or "collection"/],
    [() => base.with(action('a', { run, when: true as never })), /when must be a function of an item/],
    [() => base.with(action('a', { run, on: 'collection', when: () => true })), /when must be a function of an item/],
    [() => base.with(action('a', { run, input: Type.String() as never })), /input must be a schema of an object/],
    [
      () => base.with(action('a', { run, input: Type.Object({ to: Type.String({ format: 'phone' }) }) })),
      /Collection orders, input of action\("a"\): the format "phone" is unknown/
    ],
    [
      () => base.with(action('a', { run, input: Type.Object({ count: Type.Integer({ default: 'one' }) }) })),
      /input of action\("a"\): the default "one" is invalid against its own schema/
    ],
    [
      () => base.with(action('a', { run: () => ({ output: { at: 1 } }), output: Type.Object({ at: Type.Unsafe({ format: 'day' }) }) })),
      /output of action\("a"\): the format "day" is unknown/
    ],
    [() => base.with(action('a', { run, foo: 1 } as { run: typeof run })), /action\("a"\): there is no option "foo"/],
    [() => base.with(action('a', { run, allow: () => true })), /the action "a" has allow, but the definition has no access/],
    [() => withRules.with(action('a', { run })), /the action "a" has no allow, and access\.allow has no rule for all/],
    [() => withRules.with(action('a', { run, allow: 'authenticated' })), /callers are not identified/],
    [() => withRules.with(action('a', { run, allow: 'all' as 'public' })), /allow of the action "a" is "all"\. It must be/]
  ]
  for (const [make, message] of cases) t.throws(make, { message })
  t.doesNotThrow(() => base.with(action('a', { run, allow: 'public' })))
  // The input is not stored, so it can have dates in any form.
  const dated = Type.Object({ at: Type.String({ format: 'date-time', maxLength: 20 }) })
  t.doesNotThrow(() => base.with(action('a', { run, input: dated })))
  t.end()
})

test('two apps that serve the same definition call the collections of their own', async (t) => {
  const Note = Type.Object({ id: Type.String({ format: 'uuid' }), text: Type.String() })
  const logs = define({ name: 'logs', schema: Note, storage: memory() })
  const notes = define({ name: 'notes', schema: Note, storage: memory() }).with(action('log', {
    on: 'collection',
    output: Type.Object({ count: Type.Integer() }),
    async run ({ getCollection }) {
      await getCollection(logs).create({ text: 'called' })
      return { output: { count: 1 } }
    }
  }))
  // Its functions are composed before an app serves it.
  describeLayers(notes)
  const open = async (definitions: ReadonlyArray<typeof logs | typeof notes>) => {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(registry)
    for (const definition of definitions) await app.register(collection, definition)
    return app
  }
  const [without, full] = [await open([notes]), await open([notes, logs])]
  const call = async (app: FastifyInstance) => (await app.inject({ method: 'POST', url: '/notes/log' })).statusCode
  t.strictSame([await call(without), await call(full), await call(without)], [500, 200, 500])
  t.strictSame(await full.collection(notes).log({}), { count: 1 })
  t.equal((await full.inject('/logs')).json().length, 2)
})
