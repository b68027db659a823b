import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import collection, { define, problem, ProblemError } from '../../../lib/index.ts'
import { registry } from '../../../lib/app/registry.ts'
import type { CommittedChange, Definition } from '../../../lib/index.ts'
import { softDelete } from '../../../lib/features/soft-delete.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { logged, request } from '../../app.ts'
import { databases } from '../../storage/databases.ts'

// app.collection(definition): the rules of a definition, without HTTP.

const Order = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  product: Type.String({ minLength: 1 }),
  quantity: Type.Integer({ minimum: 1, default: 1 }),
  status: Type.String({ default: 'open', readOnly: true }),
  note: Type.Optional(Type.String()),
  secret: Type.Optional(Type.String({ writeOnly: true })),
  tenant: Type.Optional(Type.String()),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

const missingId = '0190a000-0000-7000-8000-000000000000'

/** An app that serves the definitions and does not listen. */
async function open (
  t: { after(close: () => Promise<unknown>): void },
  definitions: readonly Definition[],
  options = {}
): Promise<ReturnType<typeof Fastify>> {
  const app = Fastify({ ...options })
  t.after(() => app.close())
  await app.register(registry)
  for (const definition of definitions) await app.register(collection, definition)
  await app.ready()
  return app
}

/** Returns the code of the problem that a call throws. */
async function refusal (call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call
    return undefined
  } catch (error) {
    if (error instanceof ProblemError) return error.code
    throw error
  }
}

for (const { name, skip, open: openDatabase } of [
  { name: 'memory', skip: false as const, open: undefined },
  ...databases
]) {
  test(`calls from code create, read, list, replace, update and remove as requests do: ${name}`, { skip }, async (t) => {
    const database = await openDatabase?.()
    t.after(() => database?.end())
    const changes: string[] = []
    const adapter = database?.adapter()
    const afterCommit = ({ action, request }: CommittedChange<object>): void => {
      changes.push(request === undefined ? action : 'a request')
    }
    const orders = define({
      name: 'orders',
      schema: Order,
      storage: adapter ?? memory(),
      list: { filter: ['product'] },
      hooks: { afterCommit }
    })
    await adapter?.createTable(orders)
    const app = await open(t, [orders])
    const calls = app.collection(orders)

    const first = await calls.create({ product: 'pen', note: undefined, secret: 's', status: 'paid' })
    t.match(first.item, { product: 'pen', quantity: 1, status: 'paid', secret: 's', createdAt: first.item.updatedAt })
    t.notOk('note' in first.item, 'a property that is undefined is left out')
    const got = await request(app, `GET /orders/${first.id}`)
    t.equal(got.headers.etag, first.tag)
    t.notOk('secret' in got.json())

    t.equal((await calls.read(first.id)).tag, first.tag)
    const updated = await calls.update(first.id, { quantity: 2, note: 'soon' })
    t.not(updated.tag, first.tag)
    t.equal(await refusal(calls.update(first.id, { quantity: 3 }, { ifMatch: first.tag })), 'precondition-failed')
    const patched = await calls.update(first.id, [{ op: 'remove', path: '/note' }], { ifMatch: updated.tag })
    t.notOk('note' in patched.item)
    t.equal((await calls.update(first.id, { quantity: 2 })).tag, patched.tag, 'nothing has changed')
    const replaced = await calls.replace(first.id, { product: 'ink', secret: 't' })
    t.match(replaced.item, { product: 'ink', quantity: 1, createdAt: first.item.createdAt })

    const own = await calls.create({ id: missingId, product: 'own' })
    t.equal(own.id, missingId, 'the app may choose the id')
    t.equal((await request(app, `GET /orders/${missingId}`)).json().product, 'own')
    t.equal(await refusal(calls.create({ id: missingId, product: 'own' })), 'not-unique')
    await calls.remove(missingId)

    for (let index = 0; index < 5; index++) await calls.create({ product: `p${index}`, quantity: index + 1 })
    const listed: unknown[] = []
    const query = { filter: { 'quantity.gte': 2, any: [{ product: 'p1' }, { not: { product: 'p2' } }] } } as const
    for await (const { item } of calls.list({ ...query, sort: ['-quantity'], limit: 2 })) listed.push(item.product)
    t.strictSame(listed, ['p4', 'p3', 'p1'])
    const pages: unknown[] = []
    for await (const { entries, total } of calls.pages({ limit: 4, count: true })) pages.push([entries.length, total])
    t.strictSame(pages, [[4, 6], [2, 6]])
    const sorted = { filter: { 'product.ne': 'own' }, sort: ['-quantity', 'product'], limit: 2 } as const
    type Start = { readonly cursor: string } | { readonly offset: number }
    const readFrom = async (place: Start, most: number): Promise<[string[], string | null]> => {
      const found: string[] = []
      for await (const { entries, next } of calls.pages({ ...sorted, ...place })) {
        for (const { item } of entries) found.push(item.product)
        if (found.length >= most || next === null) return [found, next]
      }
      throw new Error('the last page has a next one')
    }
    const [skipped, next] = await readFrom({ offset: 1 }, 2)
    t.strictSame(skipped, ['p3', 'p2'])
    t.strictSame(await readFrom({ cursor: String(next) }, 10), [['p1', 'ink', 'p0'], null])
    const search = 'product.ne=own&sort=-quantity,product&limit=2&fields=product'
    const overHttp = (await request(app, `GET /orders?${search}&cursor=${next}`)).json()
    t.strictSame(overHttp, [{ product: 'p1' }, { product: 'ink' }], 'the cursors are those of HTTP')
    t.equal(await refusal(calls.pages({ cursor: String(next) }).next()), 'invalid-query', 'a cursor of another list')
    const since = new Date(0)
    for await (const { id } of calls.list({ filter: { 'createdAt.lt': since } })) t.fail(`${id} is not that old`)

    t.equal(await refusal(calls.remove(first.id, { ifMatch: first.tag })), 'precondition-failed')
    await calls.remove(first.id)
    t.equal(await refusal(calls.read(first.id)), 'not-found')
    t.equal(await refusal(calls.remove(first.id)), 'not-found')
    t.strictSame(changes, ['create', 'update', 'update', 'replace', 'create', 'remove', ...Array(5).fill('create'), 'remove'])
  })
}

test('a refused call throws a ProblemError with the code, the status and the failures of the problem', async (t) => {
  const orders = define({ name: 'orders', schema: Order, storage: memory(), unique: ['product'] })
  const app = await open(t, [orders])
  const calls = app.collection(orders)
  const invalid = await calls.create({ product: '', quantity: 0.5 }).catch((error: unknown) => error)
  t.ok(invalid instanceof ProblemError)
  t.match(invalid, {
    code: 'validation-failed',
    statusCode: 422,
    message: '2 properties are invalid.',
    errors: [{ pointer: '/product' }, { pointer: '/quantity' }]
  })
  await calls.create({ product: 'pen' })
  t.equal(await refusal(calls.create({ product: 'pen' })), 'not-unique')
  t.equal(await refusal(calls.create({ product: '\ud800' })), 'malformed-content')
  t.equal(await refusal(calls.replace(missingId, { product: '\ud800' })), 'not-found')
  t.equal(await refusal(calls.read('no id')), 'not-found')
  t.equal(await refusal(calls.update(missingId, {})), 'not-found')
  const missing = await calls.read(missingId).catch((error: unknown) => error)
  t.match(missing, { message: 'No resource has this path, or it is not visible to the caller.', errors: [] })
  const unknown = calls.list({ filter: JSON.parse('{ "prodct": "pen" }') }).next()
  t.equal(await refusal(unknown), 'validation-failed')
  t.equal(await refusal(calls.list({ q: '\ud800' }).next()), 'malformed-content')
})

test('a problem of a call that a route lets pass is its response, and one that a hook lets pass is a conflict', async (t) => {
  const products = define({ name: 'products', schema: Order, storage: memory() })
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  await app.register(collection, products)
  await app.register(collection, define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    hooks: {
      async beforeValidation ({ item }) {
        await app.collection(products).read(item.product)
        return item
      }
    }
  }))
  app.get('/report', async () => app.collection(products).read(missingId))
  const refused = await request(app, 'POST /orders', { content: { product: missingId } })
  t.equal(refused.statusCode, 409)
  t.match(refused.json(), { code: 'conflict', status: 409 })
  t.equal((await request(app, 'GET /report')).statusCode, 404)
})

test('hooks run for calls: their problems are problem errors, their other errors are thrown as they are', async (t) => {
  const { lines, logger } = logged()
  const failure = new Error('on purpose')
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    hooks: {
      beforeValidation ({ item, request }) {
        t.equal(request, undefined)
        if (item.product === 'refused') throw problem('conflict')
        if (item.product === 'failed') throw failure
        return { ...item, note: 'by the hook' }
      },
      afterCommit () {
        throw failure
      }
    }
  })
  const app = await open(t, [orders], { logger })
  const calls = app.collection(orders)
  t.equal((await calls.create({ product: 'pen' })).item.note, 'by the hook')
  t.equal(lines.length, 1, 'an error after the commit is logged')
  t.equal(await refusal(calls.create({ product: 'refused' })), 'conflict')
  await t.rejects(calls.create({ product: 'failed' }), failure)
})

test('without a caller, create uses the id of the item if the library generates ids', async (t) => {
  const orders = define({ name: 'orders', schema: Order, storage: memory() })
  const Numbered = Type.Object({ id: Type.Integer({ readOnly: true }), name: Type.String() })
  const numbered = define({ name: 'numbered', schema: Numbered, id: { generate: 'storage' }, storage: memory() })
  const app = await open(t, [orders, numbered])
  const calls = app.collection(orders)
  for (const id of ['x', 'ABCDABCD-0000-7000-8000-000000000000', '']) {
    await t.rejects(calls.create({ id, product: 'pen' }), {
      code: 'validation-failed',
      errors: [{ pointer: '/id', message: 'is not a valid id' }]
    })
  }
  t.not((await calls.create({ id: missingId, product: 'pen' }, { caller: 'ann' })).id, missingId)
  t.equal((await app.collection(numbered).create({ id: 7, name: 'one' })).id, 1, 'the storage generates it')
})

test('rules run for callers only; hooks cannot tell an anonymous call from code from one of the app', async (t) => {
  const seen: unknown[] = []
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    access: {
      allow ({ caller, request }) {
        seen.push(['rule', caller, request?.method])
        return true
      }
    },
    hooks: {
      beforeValidation ({ item, caller, request }) {
        seen.push(['hook', caller, request?.method])
        return item
      }
    }
  })
  const app = await open(t, [orders])
  const calls = app.collection(orders)
  await calls.create({ product: 'pen' }, { caller: 'ada' })
  t.same(seen.splice(0), [['rule', 'ada', undefined], ['hook', 'ada', undefined]])
  await calls.create({ product: 'pen' }, { caller: undefined })
  t.same(seen.splice(0), [['rule', undefined, undefined], ['hook', undefined, undefined]])
  await calls.create({ product: 'pen' })
  t.same(seen.splice(0), [['hook', undefined, undefined]])
})

test('with a caller, its access rules, rows and properties apply; without one, the app may do everything', async (t) => {
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    etag: { required: true },
    put: { create: true },
    access: {
      authenticate: () => undefined,
      allow: {
        all: 'authenticated',
        list: 'public',
        create: ({ caller }) => caller !== 'reader',
        remove: () => 'hidden'
      },
      scope: ({ caller }) => caller === undefined ? undefined : ({ values: { tenant: caller } }),
      visible: { note: ({ caller }) => caller === 'ada' }
    }
  })
  const app = await open(t, [orders])
  const calls = app.collection(orders)
  const own = await calls.create({ product: 'pen', secret: 's', note: 'n' }, { caller: 'ada' })
  t.equal(own.item.tenant, 'ada')
  t.notOk('secret' in own.item, 'a caller does not see writeOnly properties')
  t.equal(own.item.note, 'n')
  const { id } = own
  t.equal(await refusal(calls.read(id, { caller: 'bob' })), 'not-found')
  t.equal(await refusal(calls.read(id, { caller: undefined })), 'unauthenticated', 'an anonymous caller is a caller')
  t.equal(await refusal(calls.create({ product: 'pen', tenant: 'bob' }, { caller: 'ada' })), 'validation-failed')
  t.equal(await refusal(calls.create({ product: 'pen' }, { caller: 'reader' })), 'forbidden')
  t.equal(await refusal(calls.remove(id, { caller: 'ada' })), 'not-found')
  t.equal((await calls.read(id)).item.secret, 's')
  t.equal((await calls.update(id, { tenant: 'bob', status: 'paid' })).item.status, 'paid')

  const seen = await calls.read(id, { caller: 'bob' })
  t.notOk('note' in seen.item)
  t.equal(await refusal(calls.create({ product: 'pen', note: 'n' }, { caller: 'bob' })), 'validation-failed')
  t.equal(await refusal(calls.update(id, { note: 'n' }, { caller: 'bob' })), 'validation-failed')
  t.equal(
    await refusal(calls.update(id, { status: 'open' }, { caller: 'bob' })),
    'validation-failed',
    'the property is readOnly for this caller'
  )
  await calls.update(id, { note: 'changed' })
  t.equal(await refusal(calls.update(id, { quantity: 5 }, { caller: 'bob', ifMatch: seen.tag })), 'precondition-failed')
  const { tag } = await calls.read(id, { caller: 'bob' })
  t.equal((await calls.update(id, { quantity: 5 }, { caller: 'bob', ifMatch: tag })).item.quantity, 5)
  t.equal((await calls.read(id)).item.note, 'changed')

  t.equal(await refusal(calls.replace(missingId, { product: 'x' }, { caller: 'reader' })), 'not-found')
  t.equal((await calls.replace(missingId, { product: 'x' }, { caller: 'ada' })).id, missingId)
  const other = '0190a000-0000-7000-8000-000000000001'
  t.equal((await calls.replace(other, { product: 'x', tenant: 'ada' })).id, other)
  const rows: unknown[] = []
  for await (const entry of calls.list({}, { caller: 'ada' })) rows.push(entry.id)
  t.strictSame(rows, [missingId, other])
})

test('layers of storages apply to calls, and code cannot set what features set', async (t) => {
  const Note = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    text: Type.String(),
    deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
  })
  const notes = define({ name: 'notes', schema: Note, storage: memory() })
    .with(softDelete({ property: 'deletedAt' }))
  const app = await open(t, [notes])
  const { id } = await app.collection(notes).create({ text: 'a' })
  const deletedAt = '2026-01-01T00:00:00.000Z'
  t.equal(await refusal(app.collection(notes).update(id, { deletedAt })), 'validation-failed')
  await app.collection(notes).remove(id)
  t.equal((await request(app, `GET /notes/${id}`)).statusCode, 410)
})

test('a collection is found wherever it is registered, and what the app does not serve is an error', async (t) => {
  const orders = define({ name: 'orders', schema: Order, storage: memory() })
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  const early = app.collection(orders)
  await t.rejects(early.create({ product: 'pen' }), { code: 'FST_COLLECTION_NOT_REGISTERED' })
  await app.register(async (child) => {
    await child.register(collection, { ...orders, prefix: '/v1' })
    t.equal((await child.collection(orders).create({ product: 'pen' })).item.product, 'pen')
  })
  await app.ready()
  t.equal((await early.create({ product: 'ink' })).item.product, 'ink')
  t.equal((await request(app, 'GET /v1/orders')).json().length, 2)
  await t.rejects(app.collection(orders.with()).read(missingId), { code: 'FST_COLLECTION_NOT_REGISTERED' })
  t.throws(() => app.collection(JSON.parse('"orders"')), {
    code: 'FST_COLLECTION_NO_DEFINITION',
    message: 'collection() needs what define() returns. Pass the definition, as in app.collection(users), not "orders".'
  })
})

test('misspelled options are refused, and an aborted signal ends a call', async (t) => {
  const orders = define({ name: 'orders', schema: Order, storage: memory() })
  const app = await open(t, [orders])
  const calls = app.collection(orders)
  await t.rejects(calls.create({ product: 'pen' }, JSON.parse('{ "calller": "ada" }')), /no option "calller"/)
  await t.rejects(calls.list(JSON.parse('{ "before": "x" }')).next(), /no property "before"/)
  const controller = new AbortController()
  await calls.create({ product: 'a' })
  await calls.create({ product: 'b' })
  const walk = calls.list({ limit: 1 }, { signal: controller.signal })
  await walk.next()
  controller.abort(new Error('enough'))
  await t.rejects(walk.next(), /enough/)
  await t.rejects(calls.create({ product: 'pen' }, { signal: controller.signal }), /enough/)
})

test('a call changes neither its argument nor what it has returned before', async (t) => {
  const Thing = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    tags: Type.Array(Type.String())
  })
  const things = define({ name: 'things', schema: Thing, storage: memory() })
  const app = await open(t, [things])
  const given = { tags: ['a'] }
  const { id } = await app.collection(things).create(given)
  given.tags.push('b')
  t.strictSame((await app.collection(things).read(id)).item.tags, ['a'])
})

test('the registry can be registered after collections, and the app can have a decorator of that name', async (t) => {
  const products = define({ name: 'products', schema: Order, storage: memory() })
  const late = Fastify()
  const other = Fastify()
  t.after(() => Promise.all([late.close(), other.close()]))
  await late.register(collection, products)
  await late.register(registry)
  t.ok((await late.collection(products).create({ product: 'pen' })).id)
  await other.register(collection, products)
  other.decorate('collection', (() => 'its own') as never)
  t.equal((other.collection as () => unknown)(), 'its own')
})
