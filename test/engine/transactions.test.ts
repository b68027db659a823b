import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import collection, { define, problem, ProblemError, TransactionError } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Definition, HookOptions, PendingWrite, Transaction } from '../../lib/index.ts'
import type { Feature } from '../../lib/features/index.ts'
import type { Context, Shape, Storage } from '../../lib/storage/index.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { memory } from '../../lib/storage/memory.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { wrapStorage } from '../../lib/storage/wrap-storage.ts'
import { logged, request } from '../app.ts'
import { databases } from '../storage/databases.ts'
import type { Database } from '../storage/databases.ts'

// Hooks and calls that share one transaction, on every storage.

const Product = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  name: Type.String(),
  stock: Type.Integer({ minimum: 0 })
})

const Order = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  product: Type.String(),
  quantity: Type.Integer({ minimum: 1 }),
  status: Type.String({ default: 'open' }),
  note: Type.Optional(Type.String())
})

const Event = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  text: Type.String({ minLength: 1 })
})

interface OrderItem {
  id: string
  product: string
  quantity: number
  status: string
  note?: string
}

interface Closing {
  after(close: () => unknown): void
}

const absentId = '0190a000-0000-7000-8000-000000000000'

/** Runs statements of the app on the client of a transaction, whatever the driver. */
async function runSql ({ client }: Transaction, text: string): Promise<void> {
  const driver = client as { exec?(text: string): void; query?(text: string): Promise<unknown> }
  if (driver.exec !== undefined) driver.exec(text)
  else await driver.query!(text)
}

const storages = [{ name: 'memory' as const, skip: false as const, open: undefined }, ...databases]

interface Shop {
  readonly app: FastifyInstance
  readonly products: Definition<{ id: string; name: string; stock: number }>
  readonly orders: Definition<OrderItem>
  readonly events: Definition<{ id: string; text: string }>
  readonly committed: string[]
  texts(): Promise<string[]>
  stock(id: string | number): Promise<number>
}

/** Orders reduce the stock of their product, and write an event, in the transaction of the order. */
async function openShop (
  t: Closing,
  database: Database | undefined,
  hooks: HookOptions<OrderItem> = {}
): Promise<Shop> {
  t.after(() => database?.run('DROP TABLE products', 'DROP TABLE events', 'DROP TABLE orders'))
  const adapter = database?.adapter()
  const storage = adapter ?? memory()
  const committed: string[] = []
  const products = define({
    name: 'products',
    schema: Product,
    storage,
    hooks: { afterCommit: ({ action }) => { committed.push(`product ${action}`) } }
  })
  const events = define({ name: 'events', schema: Event, storage })
  const orders: Definition<OrderItem> = define({
    name: 'orders',
    schema: Order,
    storage,
    hooks: {
      async beforeWrite ({ action, item, before, transaction }) {
        if (action === 'remove') {
          if (before?.status === 'paid') throw problem('conflict', { detail: 'The order is paid.' })
          return
        }
        if (action !== 'create') return
        const goods = transaction.collection(products)
        const { item: { stock } } = await goods.read(item.product)
        await goods.update(item.product, { stock: stock - item.quantity })
      },
      async afterWrite ({ action, after, before, transaction }) {
        await transaction.collection(events).create({ text: `${action} ${(after ?? before)?.quantity}` })
        if (after?.note === 'fail') throw new Error('on purpose')
      },
      afterCommit: ({ action }) => { committed.push(`order ${action}`) },
      ...hooks
    }
  })
  for (const definition of [products, events, orders]) await adapter?.createTable(definition)
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  for (const definition of [products, events, orders]) await app.register(collection, definition)
  await app.ready()
  return {
    app,
    products,
    orders,
    events,
    committed,
    async texts () {
      const texts: string[] = []
      for await (const { item } of app.collection(events).list()) texts.push(item.text)
      return texts.sort()
    },
    stock: async (id) => (await app.collection(products).read(id)).item.stock
  }
}

for (const { name, skip, open } of storages) {
  test(name, { skip }, async (t) => {
    const database = await open?.()
    t.after(() => database?.end())

    await t.test('features write to other collections in the transaction of the write', async (t) => {
      t.after(() => database?.run('DROP TABLE events', 'DROP TABLE audited'))
      const adapter = database?.adapter()
      const storage = adapter ?? memory()
      const events = define({ name: 'events', schema: Event, storage })
      const audit: Feature<object> = {
        name: 'audit',
        setup (host) {
          host.addHook('onWrite', async ({ action, before, after, transaction }) => {
            const { text } = (after ?? before)!.item as { text: string }
            const calls = text === 'outside' ? app.collection(events) : transaction.collection(events)
            await calls.create({ text: `${action} ${text}` })
            await runSql(transaction, 'SELECT 1').catch((error: unknown) => { if (name !== 'memory') throw error })
            if (text === 'refused') throw problem('conflict', { detail: 'The audit refuses it.' })
            if (text === 'failed') throw new Error('on purpose')
          })
        }
      }
      const audited = define({ name: 'audited', schema: Event, storage }).with(audit, bulk(), idempotency())
      const { logger, lines } = logged()
      const app = Fastify({ logger })
      t.after(() => app.close())
      await app.register(registry)
      for (const definition of [events, audited]) {
        await adapter?.createTable(definition)
        await app.register(collection, definition)
      }
      const texts = async () => (await request(app, 'GET /events')).json().map((event: { text: string }) => event.text).sort()
      const post = (content: unknown, fields = {}) => request(app, 'POST /audited', { content, fields })
      const posted = await post({ text: 'a' })
      t.equal(posted.statusCode, 201)
      t.equal((await post([{ text: 'b' }, { text: 'c' }])).statusCode, 201)
      t.equal((await post({ text: 'd' }, { 'idempotency-key': '"d"' })).statusCode, 201)
      t.equal((await request(app, `DELETE ${posted.headers.location}`)).statusCode, 204)
      const done = ['create a', 'create b', 'create c', 'create d', 'remove a']
      t.strictSame(await texts(), done)

      t.match((await post({ text: 'refused' })).json(), { code: 'conflict', detail: 'The audit refuses it.' })
      t.equal((await post([{ text: 'e' }, { text: 'failed' }])).statusCode, 500)
      t.equal((await post({ text: 'outside' })).statusCode, 500, 'a call outside of the transaction is refused')
      t.match(JSON.stringify(lines), /Pass \{ transaction \} to the call/)
      await t.rejects(app.collection(audited).create({ text: 'outside' }), TransactionError)
      t.strictSame(await texts(), done, 'nothing of a write that was undone')
      t.equal((await request(app, 'GET /audited')).json().length, 3)
    })

    await t.test('hooks write to other collections in the transaction of the write', async (t) => {
      const { app, products, committed, texts, stock } = await openShop(t, database)
      const { id: product } = await app.collection(products).create({ name: 'pen', stock: 5 })
      committed.length = 0
      const created = await request(app, 'POST /orders', { content: { product, quantity: 2 } })
      t.equal(created.statusCode, 201)
      t.equal(await stock(product), 3)
      t.strictSame(await texts(), ['create 2'])
      t.strictSame(committed, ['product update', 'order create'])

      committed.length = 0
      const tooMany = await request(app, 'POST /orders', { content: { product, quantity: 4 } })
      t.equal(tooMany.statusCode, 409, 'the problem of the inner call is not about what was sent')
      t.match([tooMany.json().code, tooMany.json().errors], ['conflict', undefined])
      const failed = await request(app, 'POST /orders', { content: { product, quantity: 1, note: 'fail' } })
      t.equal(failed.statusCode, 500)
      t.notMatch(failed.payload, /on purpose/)
      t.equal(await stock(product), 3, 'everything is undone')
      t.strictSame(await texts(), ['create 2'])
      t.equal((await request(app, 'GET /orders')).json().length, 1)
      t.strictSame(committed, [], 'nothing was committed')

      const at = String(created.headers.location)
      const patched = await request(app, `PATCH ${at}`, { content: { status: 'paid' } })
      t.equal(patched.statusCode, 200)
      const vetoed = await request(app, `DELETE ${at}`)
      t.equal(vetoed.statusCode, 409)
      t.match(vetoed.json(), { code: 'conflict', detail: 'The order is paid.' })
      await request(app, `PATCH ${at}`, { content: { note: 'fail' } })
      t.notOk('note' in (await request(app, `GET ${at}`)).json())
      await request(app, `PUT ${at}`, { content: { product, quantity: 3 } })
      t.equal((await request(app, `DELETE ${at}`)).statusCode, 204)
      t.strictSame(await texts(), ['create 2', 'remove 3', 'replace 3', 'update 2'])
    })

    await t.test('parallel writes whose hooks read and write one item lose nothing', async (t) => {
      const { app, products, orders, texts, stock } = await openShop(t, database)
      const { id: product } = await app.collection(products).create({ name: 'pen', stock: 20 })
      await Promise.all(Array.from({ length: 12 }, async (_, index) => {
        if (index % 2 === 0) await app.collection(orders).create({ product: String(product), quantity: 1 })
        else t.equal((await request(app, 'POST /orders', { content: { product, quantity: 1 } })).statusCode, 201)
      }))
      t.equal(await stock(product), 8)
      t.equal((await texts()).length, 12)
    })

    await t.test('transaction() commits the calls of several collections, or none of them', async (t) => {
      const { app, products, events, committed, texts, stock } = await openShop(t, database)
      const goods = app.collection(products)
      const [first, second] = [await goods.create({ name: 'a', stock: 10 }), await goods.create({ name: 'b', stock: 0 })]
      committed.length = 0
      const result = await goods.transaction(async (transaction) => {
        const { item } = await goods.read(first.id, { transaction })
        await goods.update(first.id, { stock: item.stock - 4 }, { transaction })
        await goods.update(second.id, { stock: 4 }, { transaction })
        await app.collection(events).create({ text: 'moved' }, { transaction })
        const seen: unknown[] = []
        for await (const { item } of goods.list({ sort: ['name'] }, { transaction })) seen.push(item.stock)
        t.strictSame(seen, [6, 4], 'a transaction sees what it has written')
        t.strictSame(committed, [])
        return 'done'
      })
      t.equal(result, 'done')
      t.strictSame(committed, ['product update', 'product update'])
      t.strictSame(await texts(), ['moved'])

      await t.rejects(goods.transaction(async (transaction) => {
        await goods.update(first.id, { stock: 0 }, { transaction })
        await goods.remove(second.id, { transaction })
        throw new Error('on purpose')
      }), /on purpose/)
      await t.rejects(goods.transaction(async (transaction) => {
        await goods.replace(first.id, { name: 'c', stock: 0 }, { transaction })
        await goods.update(absentId, { stock: 1 }, { transaction })
      }), { code: 'not-found' })
      t.equal(await stock(first.id), 6)
      t.equal(await stock(second.id), 4)

      await goods.transaction(async (transaction) => {
        const refused = await goods.create({ name: 'x', stock: -1 }, { transaction }).catch((error: unknown) => error)
        t.ok(refused instanceof ProblemError)
        await Promise.all(['y', 'z'].map((name) => goods.create({ name, stock: 1 }, { transaction })))
      })
      t.equal((await request(app, 'GET /products')).json().length, 4)
    })

    await t.test('parallel transfers keep the sum', async (t) => {
      const { app, products } = await openShop(t, database)
      const goods = app.collection(products)
      const ids: Array<string | number> = []
      for (const name of ['a', 'b', 'c']) ids.push((await goods.create({ name, stock: 100 })).id)
      await Promise.all(Array.from({ length: 6 }, async (_, index) => {
        const from = ids[index % 3]!
        const to = ids[(index + 1 + (index % 2)) % 3]!
        await goods.transaction(async (transaction) => {
          const source = await goods.read(from, { transaction })
          await goods.update(from, { stock: source.item.stock - 1 }, { transaction })
          const target = await goods.read(to, { transaction })
          await goods.update(to, { stock: target.item.stock + 1 }, { transaction })
        })
      }))
      let sum = 0
      for await (const { item } of goods.list()) sum += item.stock
      t.equal(sum, 300)
    })

    if (database === undefined) return

    await t.test('statements of the app on the client are part of the transaction', async (t) => {
      const { app, orders, products, texts } = await openShop(t, database, {
        beforeWrite () {},
        async afterWrite ({ transaction, after }) {
          await runSql(transaction, `INSERT INTO events (id, text, version) VALUES ('${after!.id}', 'by SQL', 'v')`)
          if (after?.note === 'again') {
            await runSql(transaction, `INSERT INTO events (id, text, version) VALUES ('${after!.id}', 'by SQL', 'v')`)
          }
        }
      })
      const { id: product } = await app.collection(products).create({ name: 'pen', stock: 5 })
      const content = { product: String(product), quantity: 2 }
      t.equal((await request(app, 'POST /orders', { content })).statusCode, 201)
      t.strictSame(await texts(), ['by SQL'])
      const failed = await request(app, 'POST /orders', { content: { ...content, note: 'again' } })
      t.equal(failed.statusCode, 500, 'an error of its own statement is not one of the item')
      t.strictSame(await texts(), ['by SQL'])
      await t.rejects(app.collection(orders).create({ ...content, note: 'again' }), /unique|duplicate/i)
      t.equal((await request(app, 'GET /orders')).json().length, 1)
    })

    if (name === 'sqlite') return

    await t.test('after a deadlock, the hooks of one of the writes run again', async (t) => {
      let runs = 0
      let arrived = 0
      let release!: () => void
      const both = new Promise<void>((resolve) => { release = resolve })
      const { app, products, texts, stock } = await openShop(t, database, {
        async beforeWrite ({ item, transaction }) {
          runs++
          const goods = transaction.collection(products)
          const [first, second] = item!.product.split(',')
          await goods.update(first!, { stock: 1 })
          // Each holds the row that the other one needs next.
          if (++arrived === 2) release()
          await both
          await goods.update(second!, { stock: 1 })
        }
      })
      const goods = app.collection(products)
      const { id: a } = await goods.create({ name: 'a', stock: 0 })
      const { id: b } = await goods.create({ name: 'b', stock: 0 })
      const responses = await Promise.all([`${a},${b}`, `${b},${a}`].map((product) => {
        return request(app, 'POST /orders', { content: { product, quantity: 1 } })
      }))
      t.strictSame(responses.map(({ statusCode }) => statusCode), [201, 201])
      t.ok(runs > 2)
      t.strictSame(await texts(), ['create 1', 'create 1'], 'what the victim wrote is undone')
      t.strictSame([await stock(a), await stock(b)], [1, 1])
    })
  })
}

/** An app in memory. */
async function serve (t: Closing, ...definitions: Definition[]): Promise<FastifyInstance> {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  for (const definition of definitions) await app.register(collection, definition)
  await app.ready()
  return app
}

test('beforeWrite can change the item, which is validated again', async (t) => {
  const returned: Record<string, unknown> = {
    changed: { note: 'by the hook' },
    invalid: { quantity: 0 },
    id: { id: absentId },
    nothing: undefined,
    none: null
  }
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    hooks: {
      beforeWrite ({ item }: PendingWrite<OrderItem>) {
        const change = returned[item!.product]
        // A hook in JavaScript can return anything.
        return (change === undefined || change === null ? change : { ...item, ...change }) as OrderItem
      }
    }
  })
  const app = await serve(t, orders)
  const post = (product: string) => request(app, 'POST /orders', { content: { product, quantity: 1 } })
  t.equal((await post('changed')).json().note, 'by the hook')
  const invalid = await post('invalid')
  t.equal(invalid.statusCode, 422)
  t.equal(invalid.json().errors[0].pointer, '/quantity')
  t.equal((await post('id')).statusCode, 500)
  t.equal((await post('none')).statusCode, 500)
  t.equal((await post('nothing')).statusCode, 201)
  t.equal((await request(app, 'GET /orders')).json().length, 2)
})

test('the hooks run with bulk, Idempotency-Key, soft delete and scopes', async (t) => {
  const Note = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    text: Type.String(),
    at: Type.String({ format: 'date-time', default: '2026-01-01T00:00:00Z' }),
    deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
  })
  const calls: string[] = []
  const notes = define({
    name: 'notes',
    schema: Note,
    storage: memory(),
    access: { scope: () => ({ filter: { not: { text: 'outside' } } }) },
    hooks: {
      beforeWrite ({ action, item, before }) {
        calls.push(`before ${action} ${item?.text ?? before?.text}`)
        if (item?.text === 'moved') return { ...item, text: 'outside' }
        if (item?.text === 'broken') return { ...item, at: 'never' }
        if (item?.text === 'veto' || before?.text === 'veto') throw problem('conflict')
        return item?.text === 'upper' ? { ...item, text: 'UPPER' } : undefined
      },
      afterWrite ({ action, after, before }) {
        calls.push(`after ${action} ${after?.text ?? before?.text}`)
      }
    }
  }).with(softDelete({ property: 'deletedAt' }), bulk(), idempotency())
  const app = await serve(t, notes)
  t.equal((await request(app, 'POST /notes', { content: [{ text: 'a' }, { text: 'upper' }] })).statusCode, 201)
  t.strictSame(calls.splice(0), ['before create a', 'after create a', 'before create upper', 'after create UPPER'])
  t.equal((await request(app, 'POST /notes', { content: [{ text: 'a' }, { text: 'veto' }] })).statusCode, 409)
  t.equal((await request(app, 'POST /notes', { content: [{ text: 'a' }, { text: 'broken' }] })).statusCode, 422)
  t.equal((await request(app, 'POST /notes', { content: { text: 'moved' } })).statusCode, 422)
  t.equal((await request(app, 'GET /notes')).json().length, 2)

  calls.length = 0
  const fields = { 'idempotency-key': '"k"' }
  for (const replayed of [undefined, 'true']) {
    const answer = await request(app, 'POST /notes', { content: { text: 'once' }, fields })
    t.equal(answer.headers['idempotent-replayed'], replayed)
  }
  t.strictSame(calls.splice(0), ['before create once', 'after create once'])

  const posted = await request(app, 'POST /notes', { content: { text: 'upper' } })
  t.equal(posted.statusCode, 201)
  t.equal(posted.json().text, 'UPPER')
  const at = String(posted.headers.location)
  t.equal((await request(app, `PATCH ${at}`, { content: { text: 'plain' } })).json().text, 'plain')
  t.equal((await request(app, `PATCH ${at}`, { content: { text: 'veto' } })).statusCode, 409)
  t.equal((await request(app, `PATCH ${at}`, { content: { text: 'broken' } })).statusCode, 422)
  calls.length = 0
  t.equal((await request(app, `DELETE ${at}`)).statusCode, 204)
  t.strictSame(calls, ['before remove plain', 'after remove plain'])
})

test('a write that lost a race calls its hooks again, and only what was written last stays', async (t) => {
  const events = define({ name: 'events', schema: Event, storage: memory() })
  let isFirst = true
  const orders: Definition<OrderItem> = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    hooks: {
      async beforeValidation ({ action, item }) {
        if (action === 'update' && isFirst) {
          isFirst = false
          await app.collection(orders).update(item.id, { note: 'another write came first' })
        }
        return item
      },
      async beforeWrite ({ item, transaction }) {
        await transaction.collection(events).create({ text: `${item?.quantity} ${item?.note}` })
      }
    }
  })
  const app = await serve(t, events, orders)
  const { id } = await app.collection(orders).create({ product: 'pen', quantity: 1 })
  const patched = await request(app, `PATCH /orders/${id}`, { content: { quantity: 2 } })
  t.match(patched.json(), { quantity: 2, note: 'another write came first' })
  t.strictSame(
    (await request(app, 'GET /events?sort=text')).json().map(({ text }: { text: string }) => text),
    ['1 another write came first', '1 undefined', '2 another write came first']
  )
})

const Note = Type.Object({
  id: Type.String(),
  owner: Type.String(),
  n: Type.Integer({ default: 0 }),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})

type Interfere = (storage: Storage<object>, context: Context) => Promise<unknown>

/**
 * Serves two notes of ann. Another process writes after the first list, as READ COMMITTED allows, or before the first
 * write, as a database without locks does.
 */
async function serveNotes (t: Closing, interfere: Interfere, moment: 'list' | 'replace' = 'list') {
  let isFirst = true
  const interfereAt = async (reached: 'list' | 'replace', storage: Storage<object>, context: Context) => {
    if (reached !== moment || !isFirst) return
    isFirst = false
    await interfere(storage, { ...context, scope: undefined })
  }
  const notes = define({
    name: 'notes',
    schema: Note,
    id: { generate: 'client' },
    // The items are those of the schema: it is the same storage.
    storage: (shape: Shape) => wrapStorage(memory()(shape), (inner) => ({
      ...inner,
      async list (query, context) {
        const page = await inner.list(query, context)
        await interfereAt('list', inner, context)
        return page
      },
      async replace (id, item, expected, context) {
        await interfereAt('replace', inner, context)
        return inner.replace(id, item, expected, context)
      }
    })) as Storage<typeof Note.static>,
    access: { authenticate: () => 'ann', scope: ({ caller }) => ({ values: { owner: String(caller) } }) }
  }).with(softDelete({ property: 'deletedAt' }))
  const calls = (await serve(t, notes)).collection(notes)
  for (const id of ['a', 'b']) await calls.create({ id, owner: 'ann' })
  return calls
}

test('a transaction whose listed item was removed since runs again, whoever calls', async (t) => {
  const deleted = { id: 'b', owner: 'ann', n: 0, deletedAt: '2026-01-01T00:00:00.000Z' }
  const removals: Record<string, Interfere> = {
    removed: (storage, context) => storage.remove('b', undefined, context),
    'marked as deleted': (storage, context) => storage.replace('b', deleted, undefined, context)
  }
  for (const [description, interfere] of Object.entries(removals)) {
    for (const options of [{}, { caller: 'ann' }]) {
      const calls = await serveNotes(t, interfere)
      let attempts = 0
      await calls.transaction(async (transaction) => {
        attempts++
        for await (const { id, item } of calls.list({}, { ...options, transaction })) {
          await calls.update(id, { n: item.n + 1 }, { ...options, transaction })
        }
      })
      t.equal(attempts, 2, description)
      t.equal((await calls.read('a')).item.n, 1, description)
    }
  }
})

test('a transaction whose listed item is removed just before it is written runs again', async (t) => {
  const calls = await serveNotes(t, (storage, context) => storage.remove('a', undefined, context), 'replace')
  let attempts = 0
  await calls.transaction(async (transaction) => {
    attempts++
    for await (const { id, item } of calls.list({}, { transaction })) {
      await calls.update(id, { n: item.n + 1 }, { transaction })
    }
  })
  t.equal(attempts, 2)
  t.equal((await calls.read('b')).item.n, 1)
})

test('a transaction does not remove an item that was changed since it was listed', async (t) => {
  const changed = { id: 'b', owner: 'ann', n: 7 }
  const calls = await serveNotes(t, (storage, context) => storage.replace('b', changed, undefined, context))
  let attempts = 0
  await calls.transaction(async (transaction) => {
    attempts++
    for await (const { id } of calls.list({}, { transaction })) await calls.remove(id, { transaction })
  })
  t.equal(attempts, 2)
})

test('a listed item that is outside of the scope of a write has not changed', async (t) => {
  const calls = await serveNotes(t, async () => {})
  await calls.update('b', { owner: 'bob' })
  let attempts = 0
  await t.rejects(calls.transaction(async (transaction) => {
    attempts++
    for await (const { id } of calls.list({}, { transaction })) {
      await calls.update(id, { n: 1 }, { caller: 'ann', transaction })
    }
  }), { code: 'not-found' })
  t.equal(attempts, 1)
})

test('a transaction that cannot be used as intended is an error that says so', async (t) => {
  const events = define({ name: 'events', schema: Event, storage: memory() })
  const plain = define({
    name: 'plain',
    schema: Event,
    storage: (shape) => {
      const { transaction, join, database, ...storage }: Storage<{ id: string; text: string }> =
        memory()(shape)
      return { ...storage, supports: { ...storage.supports, transactions: false, receipts: false } }
    }
  })
  const elsewhere = define({
    name: 'elsewhere',
    schema: Event,
    storage: (shape) => ({ ...memory()<{ id: string; text: string }>(shape), database: {} })
  })
  const alone = define({
    name: 'alone',
    schema: Event,
    storage: (shape) => {
      const storage = memory()<{ id: string; text: string }>(shape)
      return { ...storage, transaction: (work, context) => storage.transaction!((inner) => work(inner), context) }
    }
  })
  const slow = define({
    name: 'slow',
    schema: Event,
    storage: memory(),
    hooks: { beforeValidation: ({ item }) => setImmediate(item) }
  })
  const app = await serve(t, events, plain, elsewhere, alone, slow)
  const calls = app.collection(events)
  const text = 'x'
  let kept: Transaction | undefined
  await calls.transaction(async (transaction) => {
    kept = transaction
    t.equal(transaction.client, undefined)
    await t.rejects(app.collection(elsewhere).create({ text }, { transaction }), /elsewhere is in another database/)
    await t.rejects(app.collection(plain).create({ text }, { transaction }), /does not share transactions/)
    await t.rejects(calls.create({ text }), /Pass \{ transaction \}/, 'would wait for itself')
    await t.rejects(calls.transaction(async () => {}), /Pass \{ transaction \}/)
    t.equal((await request(app, 'GET /events')).statusCode, 500, 'so would a request')
    await transaction.collection(events).transaction(async (same) => { t.equal(same, transaction) })
    await app.collection(elsewhere).create({ text })
  })
  let late: Promise<unknown> | undefined
  await calls.transaction(async (transaction) => {
    late = app.collection(slow).create({ text }, { transaction }).catch((error: unknown) => error)
  })
  t.match(await late, { name: 'TransactionError' }, 'a call that is not awaited')
  await t.rejects(calls.create({ text }, { transaction: kept }), TransactionError)
  await t.rejects(calls.create({ text }, { transaction: kept }), /has ended/)
  t.throws(() => kept!.client, /has ended/)
  await t.rejects(calls.create({ text }, JSON.parse('{ "transaction": {} }')), /is not a transaction/)
  await t.rejects(app.collection(plain).transaction(async () => {}), /has no transactions/)
  await app.collection(alone).transaction(async (transaction) => {
    await t.rejects(calls.create({ text }, { transaction }), /the storage memory does not share transactions/)
  })
  t.throws(() => define({
    name: 'plain',
    schema: Event,
    storage: (shape) => {
      const storage = memory()<{ id: string; text: string }>(shape)
      return { ...storage, supports: { ...storage.supports, transactions: false } }
    },
    hooks: { afterWrite () {} }
  }), { code: 'FST_COLLECTION_UNSUPPORTED' })
  t.strictSame((await request(app, 'GET /events')).json(), [])
})

test('a call is refused that would wait for a transaction around the one in which it runs', async (t) => {
  const database = new DatabaseSync(':memory:')
  t.after(() => database.close())
  const adapter = sqlite(database)
  const text = 'x'
  const outer = define({
    name: 'outer',
    schema: Event,
    storage: adapter,
    hooks: { async afterWrite () { await app.collection(between).create({ text }) } }
  })
  const between: Definition<{ id: string; text: string }> = define({
    name: 'between',
    schema: Event,
    storage: memory(),
    hooks: {
      async afterWrite () {
        await t.rejects(app.collection(inner).transaction(async () => {}), TransactionError)
        t.equal((await request(app, 'GET /inner')).statusCode, 500, 'a request')
        await app.collection(inner).create({ text })
      }
    }
  })
  const inner = define({ name: 'inner', schema: Event, storage: adapter })
  for (const definition of [outer, inner]) await adapter.createTable(definition)
  const app = await serve(t, outer, between, inner)
  await t.rejects(app.collection(outer).create({ text }), {
    name: 'TransactionError',
    message: /A call of the collection inner runs in a transaction of outer/
  })
  for (const { name } of [outer, between, inner]) t.strictSame((await request(app, `GET /${name}`)).json(), [], name)
  t.equal((await request(app, 'POST /inner', { content: { text } })).statusCode, 201, 'the database can be used')
})

interface BetterStatement extends Pick<StatementSync, 'all' | 'iterate' | 'run'> {
  readonly database: BetterSqlite
  raw(arrays: boolean): BetterStatement
}

interface BetterSqlite {
  exec(text: string): void
  prepare(text: string): BetterStatement
  transaction(work: () => void): { (): void; readonly immediate: () => void }
}

/** Has what node:sqlite has not: read-only properties that lead to the database, and functions that run statements. */
function toBetterSqlite (database: DatabaseSync): BetterSqlite {
  const better: BetterSqlite = {
    exec: (text) => database.exec(text),
    prepare (text) {
      const statement = database.prepare(text)
      const prepared: BetterStatement = Object.freeze({
        database: better,
        raw (arrays: boolean) {
          statement.setReturnArrays(arrays)
          return prepared
        },
        all: statement.all.bind(statement),
        iterate: statement.iterate.bind(statement),
        run: statement.run.bind(statement)
      })
      return prepared
    },
    transaction: (work) => Object.freeze(Object.assign(() => work(), { immediate: () => work() }))
  }
  return better
}

test('what the client of SQLite has returned cannot be used after the transaction', async (t) => {
  const database = new DatabaseSync(':memory:')
  t.after(() => database.close())
  database.exec('CREATE TABLE log (text TEXT)')
  const adapter = sqlite(toBetterSqlite(database))
  const events = define({ name: 'events', schema: Event, storage: adapter })
  await adapter.createTable(events)
  const app = await serve(t, events)
  const text = "INSERT INTO log VALUES ('x')"
  let late: Array<() => unknown> = []
  await app.collection(events).transaction(async ({ client }) => {
    const better = client as BetterSqlite
    const statement = better.prepare(text).raw(true)
    const run = better.transaction(() => database.exec(text))
    late = [
      () => statement.run(),
      () => statement.database,
      statement.run,
      statement.database.prepare(text).run,
      run,
      run.immediate
    ]
    for (const use of late) use()
    t.strictSame(better.prepare('SELECT count(*) FROM log').raw(true).all(), [[5]])
  })
  for (const use of late) t.throws(() => use(), /The transaction has ended/)
  t.equal(database.prepare('SELECT text FROM log').all().length, 5)
})

test('a call that has failed in part undoes the whole transaction, even if its error is caught', async (t) => {
  const { lines, logger } = logged()
  const events = define({ name: 'events', schema: Event, storage: memory() })
  const orders: Definition<OrderItem> = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    unique: ['note'],
    hooks: {
      async afterWrite ({ transaction, after }) {
        await transaction.collection(events).create({ text: 'written' })
        if (after?.note === 'fail') throw problem('conflict', { detail: 'Too late.' })
      },
      afterCommit () {
        throw new Error('on purpose')
      }
    }
  })
  const app = Fastify({ logger })
  t.after(() => app.close())
  await app.register(registry)
  for (const definition of [events, orders]) await app.register(collection, definition)
  const calls = app.collection(orders)
  const order = { product: 'pen', quantity: 1 }
  await t.rejects(calls.transaction(async (transaction) => {
    await calls.create(order, { transaction })
    await calls.create({ ...order, note: 'fail' }, { transaction }).catch(() => {})
  }), { code: 'conflict' })
  await t.rejects(calls.transaction(async (transaction) => {
    await calls.create({ ...order, note: 'once' }, { transaction })
    await calls.create({ ...order, note: 'once' }, { transaction }).catch(() => {})
  }), { code: 'not-unique' })
  t.strictSame((await request(app, 'GET /events')).json(), [])
  t.strictSame((await request(app, 'GET /orders')).json(), [])
  await calls.transaction((transaction) => calls.create(order, { transaction }))
  t.equal((await request(app, 'GET /events')).json().length, 1)
  t.equal(lines.length, 1, 'the hook afterCommit ran once, after the commit')
})
