import { tracingChannel } from 'node:diagnostics_channel'
import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import { batch } from '../../../lib/doors/batch/batch.ts'
import { relate } from '../../../lib/relations/relate.ts'
import { idempotency } from '../../../lib/features/idempotency.ts'
import { softDelete } from '../../../lib/features/soft-delete.ts'
import { within } from '../../../lib/features/within.ts'
import collection, { define, problem } from '../../../lib/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { sqlite } from '../../../lib/storage/sqlite.ts'
import { defineShop, Line, Order, readAll, sendBatch, serveShop, Stock } from './shop.ts'

test('an order, its lines and the stock are written together, with references and preconditions', async (t) => {
  const shop = defineShop()
  const app = await serveShop(t, shop)
  await app.collection(shop.stock).create({ id: 'A1', left: 5 })
  const { etag } = (await app.inject('/stock/A1')).headers
  const response = await sendBatch(app, [
    { id: 'o', method: 'POST', path: '/orders', content: { customer: 7 } },
    { method: 'POST', path: '/lines', content: { sku: 'A1', quantity: 2 }, refs: { '/orderId': 'o#/id' } },
    { method: 'PATCH', path: '/stock/A1', ifMatch: etag, content: { left: 3 } },
    { method: 'POST', path: '/orders/{o#/id}/submit' },
    { method: 'GET', path: '/lines?orderId={o#/id}' },
    { method: 'GET', path: '/orders/{o#/id}?fields=status' },
    { method: 'POST', path: '/orders/sum' },
    { method: 'PUT', path: '/stock/B2', ifNoneMatch: '*', content: { left: 1 } },
    { method: 'DELETE', path: '/stock/B2' }
  ])
  t.equal(response.statusCode, 200)
  t.match(response.headers, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff'
  })
  const results = response.json()
  const { id } = results[0].content
  t.match(results, [
    { id: 'o', status: 201, location: `/orders/${id}`, content: { customer: 7, status: 'open' } },
    { status: 201, content: { orderId: id, sku: 'A1' } },
    { status: 200, content: { id: 'A1', left: 3 } },
    { status: 200, content: { id, status: 'submitted' } },
    { status: 200, content: [{ orderId: id, sku: 'A1' }] },
    { status: 200, content: { status: 'submitted' } },
    { status: 200, content: { count: 1 } },
    { status: 201, location: '/stock/B2', content: { id: 'B2', left: 1 } },
    { status: 204 }
  ])
  t.equal(results[1].etag, (await app.inject(results[1].location)).headers.etag)
  t.equal(results[3].etag, (await app.inject(results[0].location)).headers.etag)
  t.strictSame(await readAll(app, shop.stock), [{ id: 'A1', left: 3 }])
})

test('if a part is refused, nothing is written, and the problem names the part', async (t) => {
  const shop = defineShop()
  const app = await serveShop(t, shop)
  await app.collection(shop.stock).create({ id: 'A1', left: 5 })
  const create = { id: 'o', method: 'POST', path: '/orders', content: { customer: 7 } }
  const refusals: Array<[object, object]> = [
    [{ method: 'PATCH', path: '/stock/A1', ifMatch: '"x"', content: { left: 3 } }, { code: 'precondition-failed' }],
    [
      { id: 'last', method: 'PATCH', path: '/stock/A1', content: { left: -1 } },
      { code: 'validation-failed', errors: [{ pointer: '/left' }] }
    ],
    [{ method: 'PATCH', path: '/stock/A2', content: { left: 1 } }, { code: 'not-found', status: 404 }],
    [{ method: 'POST', path: '/stock', content: { id: 'A1', left: 1 } }, { code: 'not-unique' }],
    [{ method: 'POST', path: '/stock' }, { code: 'malformed-content' }],
    [{ method: 'POST', path: '/unknown', content: {} }, { code: 'not-found', detail: /has this path\..*with the prefix/ }],
    [{ method: 'POST', path: '/orders/{o#/id}/unknown' }, { code: 'not-found' }],
    [{ method: 'POST', path: '/orders/{o#/id}/submit', content: null }, { code: 'validation-failed' }],
    [{ method: 'POST', path: '/orders', content: null, refs: { '/customer': 'o#/customer' } }, { code: 'validation-failed' }],
    [{ method: 'POST', path: '/orders/{o#/id}/submit/more' }, { code: 'not-found' }],
    [{ method: 'GET', path: '/orders/' }, { code: 'not-found' }],
    [{ method: 'GET', path: '/{o#/id}' }, { code: 'not-found' }],
    [{ method: 'GET', path: '/orders/not-a-uuid' }, { code: 'not-found' }],
    [{ method: 'PUT', path: '/orders', content: {} }, { code: 'method-not-allowed', detail: /Supported: GET, POST\./ }],
    [{ method: 'POST', path: '/orders/{o#/id}', content: {} }, { code: 'method-not-allowed' }],
    [{ method: 'POST', path: '/orders', ifMatch: '*', content: { customer: 1 } }, { code: 'bad-request' }],
    [{ method: 'GET', path: '/orders?unknown=1' }, { code: 'invalid-query', parameter: 'unknown' }],
    [{ method: 'DELETE', path: '/orders/{o#/id}?x=1' }, { code: 'invalid-query' }],
    [{ method: 'GET', path: '/orders/{o#/id}', ifMatch: '"x"' }, { code: 'precondition-failed' }],
    [{ method: 'POST', path: '/orders', content: [{ customer: 1 }] }, { code: 'validation-failed' }],
    [
      { method: 'POST', path: '/lines', content: { sku: 'A1', quantity: 1 }, refs: { '/orderId': 'o#/missing' } },
      { code: 'validation-failed', errors: [{ pointer: '/refs/~1orderId', message: /o#\/missing/ }] }
    ],
    [
      { method: 'POST', path: '/lines', content: { sku: 'A1', quantity: 1 }, refs: { '/a/b': 'o#/id' } },
      { code: 'validation-failed', errors: [{ pointer: '/refs/~1a~1b' }] }
    ],
    [{ method: 'GET', path: '/orders/{o#}' }, { code: 'validation-failed', errors: [{ pointer: '/path' }] }],
    [{ method: 'GET', path: '/orders/{o#/toString}' }, { code: 'validation-failed' }]
  ]
  for (const [part, expected] of refusals) {
    const response = await sendBatch(app, [create, { method: 'DELETE', path: '/stock/A1' }, {
      method: 'PUT', path: '/stock/A1', content: { left: 5 }
    }, part])
    const content = response.json()
    t.equal(response.statusCode, 409, JSON.stringify(content))
    t.match(response.headers, { 'content-type': 'application/problem+json', 'cache-control': 'no-store' })
    const { id } = part as { id?: string }
    t.strictSame(content.part, { index: 3, ...id !== undefined && { id } })
    t.match(content, { code: 'batch-failed', status: 409, detail: /^Part 3 .* Nothing was written\.$/, problem: expected })
    t.strictSame(await readAll(app, shop.orders), [])
    t.strictSame(await readAll(app, shop.stock), [{ id: 'A1', left: 5 }])
  }
})

test('an invalid batch is refused with the places of all mistakes, before anything runs', async (t) => {
  const app = await serveShop(t, defineShop(), { maximum: 3 })
  const get = { method: 'GET', path: '/orders' }
  const mistakes: Array<[unknown, string, RegExp]> = [
    [{}, '', /array of parts/],
    [[], '', /from 1 to 3 parts/],
    [[get, get, get, get], '', /from 1 to 3 parts/],
    [[7], '/0', /object/],
    [[{ ...get, extra: 1 }], '/0/extra', /not a known property/],
    [[{ ...get, id: 'a b' }], '/0/id', /letters/],
    [[{ ...get, id: 'a' }, { ...get, id: 'a' }], '/1/id', /part 0/],
    [[{ ...get, method: 'HEAD' }], '/0/method', /one of/],
    [[{ ...get, path: 7 }], '/0/path', /string/],
    [[{ ...get, path: 'orders' }], '/0/path', /begin with a slash/],
    [[{ ...get, path: '/orders/%' }], '/0/path', /percent-encoded/],
    [[{ ...get, path: '/orders/é' }], '/0/path', /percent-encoded/],
    [[{ ...get, path: '/orders/{}' }], '/0/path', /must be a reference/],
    [[{ ...get, path: '/orders/{a' }], '/0/path', /Braces/],
    [[{ ...get, path: '/orders#a' }], '/0/path', /percent-encoded/],
    [[{ ...get, path: `/${'a'.repeat(9000)}` }], '/0/path', /longer/],
    [[{ ...get, path: '/orders/%4{a#/id}' }], '/0/path', /no earlier part/],
    [[{ ...get, id: 'a', path: '/orders/{a#/id}' }], '/0/path', /no earlier part/],
    [[{ ...get, id: 'a', path: '/orders/{b#/id}' }, { ...get, id: 'b', path: '/orders/{a#/id}' }], '/0/path', /no earlier/],
    [[{ ...get, id: 'a' }, { ...get, path: '/orders/%4{a#/id}' }], '/1/path', /percent-encoded/],
    [[{ ...get, content: {} }], '/0/content', /not possible with GET/],
    [[{ ...get, refs: {} }], '/0/refs', /not possible with GET/],
    [[{ ...get, method: 'POST', refs: [] }], '/0/refs', /object/],
    [[{ ...get, method: 'POST', refs: { a: 'o#/id' } }], '/0/refs/a', /JSON Pointer/],
    [[{ ...get, method: 'POST', refs: { '/a': 'o#/id' } }], '/0/refs/~1a', /no earlier part/],
    [[{ ...get, method: 'POST', refs: { '/a': 7 } }], '/0/refs/~1a', /string/],
    [[{ ...get, id: 'o' }, { ...get, method: 'POST', refs: { '/__proto__/a': 'o#/id' } }], '/1/refs/~1__proto__~1a', /__proto__/],
    [[{ ...get, id: 'o' }, { ...get, method: 'POST', refs: { '/a': 'o#id' } }], '/1/refs/~1a', /must be a reference/],
    [[{ ...get, ifMatch: 7 }], '/0/ifMatch', /entity tag/]
  ]
  for (const [content, pointer, message] of mistakes) {
    const response = await sendBatch(app, content)
    t.equal(response.statusCode, 422, JSON.stringify(content))
    t.match(response.json(), { code: 'validation-failed', errors: [{ pointer, message }] })
  }
  const many = await sendBatch(app, [7, { ...get, path: 'x', method: 'x' }])
  t.strictSame(many.json().errors.map(({ pointer }: { pointer: string }) => pointer), [
    '/0', '/0/method', '/0/path', '/1/method', '/1/path'
  ])
})

test('the request itself has to be JSON without unknown query parameters', async (t) => {
  const app = await serveShop(t, defineShop(), { route: { bodyLimit: 200 } })
  const get = [{ method: 'GET', path: '/orders' }]
  t.match((await sendBatch(app, '[')).json(), { status: 400, code: 'malformed-content' })
  t.match((await sendBatch(app, '[{"method":"GET","method":"POST"}]')).json(), { code: 'malformed-content' })
  t.match((await sendBatch(app, '[{"method":"POST","path":"/orders","content":{"__proto__":{}}}]')).json(), { status: 400 })
  t.match((await app.inject({ method: 'POST', url: '/batch' })).json(), { status: 400, code: 'malformed-content' })
  t.match((await sendBatch(app, get, { headers: { 'content-type': 'text/plain' } })).json(), { status: 415 })
  t.match((await sendBatch(app, get, { headers: { accept: 'text/html' } })).json(), { status: 406 })
  t.match((await sendBatch(app, [...get, { id: 'a'.repeat(200) }])).json(), { status: 413, code: 'content-too-large' })
  t.match((await sendBatch(app, get, { url: '/batch?dry-run=true' })).json(), { code: 'invalid-query', parameter: 'dry-run' })
  t.match((await sendBatch(app, get, { url: '/batch?dryRun=1' })).json(), { code: 'invalid-query', parameter: 'dryRun' })
  t.match((await sendBatch(app, get, { url: '/batch?dryRun=%FF' })).json(), { code: 'invalid-query' })
  t.equal((await sendBatch(app, get, { url: '/batch?dryRun=false' })).statusCode, 200)
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'QUERY'] as const) {
    const response = await app.inject({ method: method as 'GET', url: '/batch' })
    t.equal(response.statusCode, 405)
    t.equal(response.headers.allow, 'POST, OPTIONS')
  }
  const { statusCode, headers } = await app.inject({ method: 'OPTIONS', url: '/batch' })
  t.match({ statusCode, headers }, { statusCode: 204, headers: { allow: 'POST, OPTIONS', 'accept-post': 'application/json' } })
})

test('a preview does everything and writes nothing; afterCommit does not run and no key is stored', async (t) => {
  const calls: string[] = []
  const shop = defineShop({
    hooks: {
      beforeValidation: ({ item }) => {
        calls.push('beforeValidation')
        return item
      },
      beforeWrite: () => { calls.push('beforeWrite') },
      afterWrite: () => { calls.push('afterWrite') },
      afterCommit: () => { calls.push('afterCommit') }
    }
  })
  const app = await serveShop(t, shop)
  const parts = [
    { id: 's', method: 'POST', path: '/stock', content: { id: 'A1', left: 5 } },
    { method: 'GET', path: '/stock/{s#/id}' }
  ]
  const headers = { 'idempotency-key': '"preview"' }
  const preview = await sendBatch(app, parts, { url: '/batch?dryRun=true', headers })
  t.match(preview.json(), [{ status: 201, content: { left: 5 } }, { status: 200, content: { left: 5 } }])
  t.strictSame(calls.splice(0), ['beforeValidation', 'beforeWrite', 'afterWrite'])
  t.strictSame(await readAll(app, shop.stock), [])
  const committed = await sendBatch(app, parts, { headers })
  t.equal(committed.headers['idempotent-replayed'], undefined)
  t.strictSame(calls.splice(0), ['beforeValidation', 'beforeWrite', 'afterWrite', 'afterCommit'])
  const refused = await sendBatch(app, parts, { url: '/batch?dryRun=true' })
  t.match(refused.json(), { code: 'batch-failed', part: { index: 0, id: 's' }, problem: { code: 'not-unique' } })
})

test('a batch with a key is done once, and the key belongs to the whole', async (t) => {
  const shop = defineShop()
  const app = await serveShop(t, shop)
  const parts = [{ id: 'o', method: 'POST', path: '/orders', content: { customer: 7 } }]
  const headers = { 'idempotency-key': '"a"' }
  const first = await sendBatch(app, parts, { headers })
  const again = await sendBatch(app, parts, { headers })
  t.equal(again.headers['idempotent-replayed'], 'true')
  t.equal(again.body, first.body)
  t.equal((await readAll(app, shop.orders)).length, 1)
  t.match((await sendBatch(app, [...parts, ...parts.map((part) => ({ ...part, id: 'p' }))], { headers })).json(), {
    status: 422,
    code: 'idempotency-key-reused'
  })
  // The same key of a single request is another key.
  const single = await app.inject({ method: 'POST', url: '/orders', headers, payload: { customer: 7 } })
  t.equal(single.statusCode, 201)
  t.equal(single.headers['idempotent-replayed'], undefined)
  t.match((await sendBatch(app, parts, { headers: { 'idempotency-key': '"' } })).json(), { code: 'idempotency-key-malformed' })
  // A refused batch releases its key.
  const bad = [{ method: 'POST', path: '/orders', content: {} }]
  const other = { headers: { 'idempotency-key': '"b"' } }
  t.equal((await sendBatch(app, bad, other)).statusCode, 409)
  t.equal((await sendBatch(app, parts, other)).statusCode, 200)
})

test('long results are replayed without their contents, and a key can be required', async (t) => {
  const notes = define({
    name: 'notes',
    schema: Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() }),
    storage: memory()
  }).with(idempotency())
  const app = await serveShop(t, { notes }, { idempotency: { required: true }, route: { bodyLimit: 5_000_000 } })
  const parts = [{ id: 'n', method: 'POST', path: '/notes', content: { text: 'a'.repeat(1_100_000) } }]
  t.match((await sendBatch(app, parts)).json(), { status: 400, code: 'idempotency-key-missing' })
  t.equal((await sendBatch(app, parts, { url: '/batch?dryRun=true' })).statusCode, 200)
  const headers = { 'idempotency-key': 'long' }
  const [{ content, ...first }] = (await sendBatch(app, parts, { headers })).json()
  t.equal(content.text.length, 1_100_000)
  t.strictSame((await sendBatch(app, parts, { headers })).json(), [first])
})

test('a collection that requires a key requires it of batches as well', async (t) => {
  const { orders, lines } = defineShop()
  const strict = define({ name: 'stock', schema: Stock, id: { generate: 'client' }, storage: memory() })
    .with(idempotency({ required: true }))
  const app = await serveShop(t, { orders, lines, strict })
  const create = [{ method: 'POST', path: '/stock', content: { id: 'A1', left: 1 } }]
  t.match((await sendBatch(app, create)).json(), { code: 'idempotency-key-missing' })
  t.equal((await sendBatch(app, create, { headers: { 'idempotency-key': 'a' } })).statusCode, 200)
  t.equal((await sendBatch(app, [{ method: 'GET', path: '/stock' }])).statusCode, 200)
})

test('without a place for responses, a key is refused', async (t) => {
  const { lines, stock } = defineShop()
  const app = await serveShop(t, { lines, stock })
  const response = await sendBatch(app, [{ method: 'GET', path: '/stock' }], { headers: { 'idempotency-key': 'a' } })
  t.match(response.json(), { status: 400, code: 'bad-request', detail: /Idempotency-Key/ })
})

const authenticate = ({ request }: { request: { headers: Record<string, unknown> } }) => {
  const { authorization } = request.headers
  if (authorization === 'bad') throw new Error('bad credentials')
  return authorization === undefined ? undefined : String(authorization)
}

test('every part is authorized before any of them runs, and the caller is identified once', async (t) => {
  let identified = 0
  const ran: string[] = []
  const shop = defineShop({
    access: {
      authenticate: (context) => {
        identified++
        return authenticate(context as never)
      },
      allow: {
        all: 'authenticated',
        create: ({ caller }) => caller === 'ada' || (caller === 'eve' && 'hidden'),
        remove: () => { throw Object.assign(new Error('slow down'), { statusCode: 429, headers: { 'retry-after': '7' } }) },
        replace: () => { throw new Error('broken rule') },
        list: () => { throw problem('service-unavailable', { headers: { 'retry-after': '3' } }) }
      }
    },
    hooks: { beforeValidation: ({ item }) => { ran.push('ran'); return item } }
  })
  const app = await serveShop(t, shop)
  const create = { method: 'POST', path: '/stock', content: { id: 'A1', left: 1 } }
  const submit = { id: 's', method: 'POST', path: '/orders/sum' }
  const send = (parts: object[], authorization?: string) => {
    return sendBatch(app, parts, { headers: authorization === undefined ? {} : { authorization } })
  }
  const anonymous = await send([create, submit])
  t.match(anonymous.json(), { status: 401, code: 'unauthenticated', part: { index: 0 } })
  t.equal(anonymous.headers['www-authenticate'], 'Bearer')
  t.match((await send([create], 'bad')).json(), { status: 401, code: 'unauthenticated' })
  t.match((await send([submit, create], 'bob')).json(), { status: 403, code: 'forbidden', part: { index: 1 } })
  t.match((await send([create, submit], 'eve')).json(), {
    status: 409, code: 'batch-failed', part: { index: 0 }, problem: { status: 404, code: 'not-found' }
  })
  const limited = await send([create, { ...submit, method: 'DELETE', path: '/stock/A1' }], 'ada')
  t.match(limited.json(), { status: 429, part: { index: 1, id: 's' } })
  t.equal(limited.headers['retry-after'], '7')
  const unavailable = await send([create, { method: 'GET', path: '/stock' }], 'ada')
  t.match(unavailable.json(), { status: 503, code: 'service-unavailable', part: { index: 1 } })
  t.equal(unavailable.headers['retry-after'], '3')
  t.match((await send([create, { method: 'PUT', path: '/stock/A1', content: {} }], 'ada')).json(), {
    status: 500, code: 'internal-error', part: { index: 1 }
  })
  t.match(app.lines.at(-1), { err: { message: 'broken rule' }, collection: 'stock', action: 'replace' })
  t.strictSame(ran, [])
  identified = 0
  t.equal((await send([create, { ...create, content: { id: 'A2', left: 1 } }, submit], 'ada')).statusCode, 200)
  t.equal(identified, 1)
  t.strictSame(ran, ['ran', 'ran'])
})

test('scope and visibility apply to each part, and references see only what the caller sees', async (t) => {
  const orders = define({
    name: 'orders',
    schema: Type.Object({ ...Order.properties, tenant: Type.String({ readOnly: true }) }),
    storage: memory(),
    access: {
      authenticate: authenticate as never,
      allow: { all: 'authenticated', read: ({ caller }) => caller !== 'writer', list: 'authenticated' },
      scope: ({ caller }) => ({ values: { tenant: String(caller) } }),
      visible: { margin: () => false }
    }
  }).with(idempotency())
  const app = await serveShop(t, { orders })
  const send = (parts: object[], authorization: string, key?: string) => {
    return sendBatch(app, parts, { headers: { authorization, ...key && { 'idempotency-key': key } } })
  }
  const create = { id: 'o', method: 'POST', path: '/orders', content: { customer: 1, note: 'secret' } }
  const [made] = (await send([create], 'ada')).json()
  t.strictSame(Object.keys(made.content).sort(), ['customer', 'id', 'status', 'tenant'])
  t.equal(made.content.tenant, 'ada')
  t.match((await send([{ method: 'PATCH', path: made.location, content: { customer: 2 } }], 'eve')).json(), {
    problem: { code: 'not-found' }
  })
  t.strictSame((await send([{ method: 'GET', path: '/orders' }], 'eve')).json(), [{ status: 200, content: [] }])
  for (const hidden of ['margin', 'note']) {
    const parts = [create, { method: 'POST', path: '/orders', content: {}, refs: { '/customer': `o#/${hidden}` } }]
    t.match((await send(parts, 'ada')).json(), { code: 'batch-failed', part: { index: 1 } })
  }
  t.match((await send([{ method: 'POST', path: '/orders', content: { customer: 1, margin: 2 } }], 'ada')).json(), {
    problem: { code: 'validation-failed', errors: [{ pointer: '/margin' }] }
  })
  t.match((await send([{ method: 'PATCH', path: made.location, content: { tenant: 'eve' } }], 'ada')).json(), {
    problem: { code: 'validation-failed', errors: [{ pointer: '/tenant' }] }
  })
  t.match((await send([{ method: 'GET', path: '/orders?margin=1' }], 'ada')).json(), { problem: { code: 'invalid-query' } })
  // Who may write but not read gets no content. The location says the id, so references to it work.
  const update = { method: 'PATCH', path: '/orders/{o#/id}', content: { customer: 3 } }
  const written = (await send([create, update], 'writer')).json()
  t.match(written, [{ status: 201, location: /^\/orders\// }, { status: 204 }])
  t.notOk(written.some((result: object) => 'content' in result))
  t.match((await send([create, { ...update, path: '/orders/{o#/customer}' }], 'writer')).json(), { code: 'batch-failed' })
  // The same key of another caller is another key.
  t.notOk((await send([create], 'ada', 'k')).headers['idempotent-replayed'])
  t.notOk((await send([create], 'eve', 'k')).headers['idempotent-replayed'])
  t.ok((await send([create], 'eve', 'k')).headers['idempotent-replayed'])
})

test('a replay shows only what the caller can see then', async (t) => {
  let canSee = true
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    access: { authenticate: authenticate as never, visible: { margin: () => canSee } }
  }).with(idempotency())
  const app = await serveShop(t, { orders })
  const parts = [{ method: 'POST', path: '/orders', content: { customer: 1, margin: 2 } }, { method: 'GET', path: '/orders' }]
  const options = { headers: { authorization: 'ada', 'idempotency-key': 'k' } }
  const first = (await sendBatch(app, parts, options)).json()
  t.strictSame((await sendBatch(app, parts, options)).json(), first)
  canSee = false
  const { content, ...rest } = first[0]
  t.equal(content.margin, 2)
  t.strictSame((await sendBatch(app, parts, options)).json(), [rest, { status: 204 }])
})

test('rules and hooks get the URI of the part, and a rule never sees an unresolved one', async (t) => {
  const seen: unknown[] = []
  const stock = define({
    name: 'stock',
    schema: Stock,
    id: { generate: 'client' },
    storage: memory(),
    access: {
      authenticate: authenticate as never,
      allow: {
        all: 'authenticated',
        update: ({ request }) => (request!.params as { id: string }).id !== 'locked',
        read: ({ request }) => request!.headers.authorization === 'ada'
      }
    },
    hooks: {
      beforeWrite: ({ request }) => {
        seen.push([request!.method, request!.url, request!.params, request!.query, request!.body, request!.ip])
      }
    }
  })
  const app = await serveShop(t, { stock })
  const send = (parts: object[]) => sendBatch(app, parts, { headers: { authorization: 'ada' } })
  const create = { id: 's', method: 'POST', path: '/stock', content: { id: 'locked', left: 1 } }
  t.match((await send([create, { method: 'PATCH', path: '/stock/locked', content: { left: 2 } }])).json(), {
    status: 403, part: { index: 1 }
  })
  t.match((await send([create, { method: 'PATCH', path: '/stock/%6Cocked', content: { left: 2 } }])).json(), { status: 403 })
  t.match((await send([create, { method: 'PATCH', path: '/stock/{s#/id}', content: { left: 2 } }])).json(), {
    code: 'batch-failed', part: { index: 1 }, problem: { code: 'bad-request', detail: /depend on the URI/ }
  })
  t.strictSame(seen, [])
  const parts = [
    { id: 's', method: 'POST', path: '/stock', content: { id: 'a b', left: 1 } },
    { method: 'PATCH', path: '/stock/a%20b', content: { left: 2 } },
    { method: 'DELETE', path: '/stock/{s#/id}' }
  ]
  t.equal((await send(parts)).statusCode, 200)
  t.strictSame(seen, [
    ['POST', '/stock', {}, {}, undefined, '127.0.0.1'],
    ['PATCH', '/stock/a%20b', { id: 'a b' }, {}, undefined, '127.0.0.1'],
    ['DELETE', '/stock/a%20b', { id: 'a b' }, {}, undefined, '127.0.0.1']
  ])
})

test('hooks join the transaction, and what they throw refuses the batch', async (t) => {
  const log = define({
    name: 'log',
    schema: Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String({ maxLength: 5 }) }),
    storage: memory()
  })
  let thrown: unknown
  const shop = defineShop({
    hooks: {
      beforeValidation: ({ item }) => {
        if (item.left === 100) throw Object.assign(new Error('too many'), { statusCode: 400 })
        return item
      },
      afterWrite: async ({ after, transaction }) => {
        await transaction.collection(log).create({ text: after?.id ?? 'gone' })
        if (thrown !== undefined) throw thrown
      }
    }
  })
  const app = await serveShop(t, { ...shop, log })
  const create = (id: string, left = 1) => ({ method: 'POST', path: '/stock', content: { id, left } })
  t.equal((await sendBatch(app, [create('A1'), create('A2')])).statusCode, 200)
  t.strictSame((await readAll(app, log)).map(({ text }) => text).sort(), ['A1', 'A2'])
  const cases: Array<[unknown, object]> = [
    [problem('conflict', { detail: 'Not today.' }), { status: 409, code: 'batch-failed', problem: { code: 'conflict', detail: 'Not today.' } }],
    [problem('forbidden'), { status: 403, code: 'forbidden' }],
    [Object.assign(new Error('teapot'), { statusCode: 418 }), { status: 409, problem: { status: 418, detail: 'teapot' } }],
    [new Error('secret'), { status: 500, code: 'internal-error' }]
  ]
  for (const [error, expected] of cases) {
    thrown = error
    const content = (await sendBatch(app, [{ method: 'GET', path: '/stock' }, create('A3')])).json()
    t.match(content, { ...expected, part: { index: 1 } })
    t.notMatch(JSON.stringify(content), /secret/)
  }
  thrown = undefined
  t.match((await sendBatch(app, [create('A3'), create('A4', 100)])).json(), {
    code: 'batch-failed', part: { index: 1 }, problem: { status: 400, detail: 'too many' }
  })
  // The refused call of a hook says nothing about the other collection.
  t.match((await sendBatch(app, [create('too-long')])).json(), { part: { index: 0 }, problem: { status: 409, code: 'conflict' } })
  t.equal((await readAll(app, shop.stock)).length, 2)
  t.equal((await readAll(app, log)).length, 2)
})

test('a hook that catches a failure of the transaction cannot save the batch', async (t) => {
  const shop = defineShop({
    hooks: {
      afterWrite: async ({ after, transaction }) => {
        if (after?.id !== 'A1') return
        await transaction.collection(shop.stock).update('A1', { left: 2 }).catch(() => {})
        await transaction.collection(shop.stock).update('missing', { left: 2 }).catch(() => {})
        await transaction.collection(shop.stock).create({ id: 'A1', left: 2 }).catch(() => {})
      }
    }
  })
  const app = await serveShop(t, shop)
  const parts = [{ method: 'POST', path: '/stock', content: { id: 'A1', left: 1 } }]
  for (const url of ['/batch?dryRun=true', '/batch']) {
    t.match((await sendBatch(app, parts, { url })).json(), { code: 'batch-failed', problem: { code: 'conflict' } }, url)
  }
  t.strictSame(await readAll(app, shop.stock), [])
})

test('a nested collection, soft delete and parameters of a prefix work in a batch', async (t) => {
  const storage = memory()
  const orders = define({ name: 'orders', schema: Order, storage })
  const lines = define({ name: 'lines', schema: Line, storage }).with(within(orders, 'orderId'))
  const files = define({
    name: 'files',
    schema: Type.Object({
      id: Type.String({ format: 'uuid', readOnly: true }),
      name: Type.String(),
      deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
    }),
    storage
  }).with(softDelete({ property: 'deletedAt', allow: () => true }))
  const app = Fastify()
  t.after(() => app.close())
  await app.register(collection, orders)
  await app.register(collection, lines)
  await app.register(collection, { ...files, prefix: '/:space' })
  await app.register(batch, { collections: [orders, lines, files], prefix: '/v1', path: '/changes' })
  const response = await sendBatch(app, [
    { id: 'o', method: 'POST', path: '/orders', content: { customer: 1 } },
    { id: 'l', method: 'POST', path: '/orders/{o#/id}/lines', content: { sku: 'a', quantity: 1 } },
    { method: 'GET', path: '/orders/{o#/id}/lines' },
    { method: 'PATCH', path: '/orders/{o#/id}/lines/{l#/id}', content: { quantity: 2 } },
    { id: 'f', method: 'POST', path: '/home/files', content: { name: 'a' } },
    { method: 'DELETE', path: '/home/files/{f#/id}' },
    { method: 'GET', path: '/home/files' },
    { method: 'GET', path: '/home/files?deleted=true' },
    { method: 'PATCH', path: '/home/files/{f#/id}', content: { deletedAt: null } }
  ], { url: '/v1/changes' })
  t.match(response.json(), [
    { status: 201 },
    { status: 201, location: /^\/orders\/[^/]+\/lines\/[^/]+$/ },
    { status: 200, content: [{ sku: 'a' }] },
    { status: 200, content: { quantity: 2 } },
    { status: 201, location: /^\/home\/files\// },
    { status: 204 },
    { status: 200, content: [] },
    { status: 200, content: [{ name: 'a' }] },
    { status: 200, content: { name: 'a' } }
  ])
  t.equal((await app.inject(response.json()[1].location)).statusCode, 200)
  const send = async (part: object) => (await sendBatch(app, [part], { url: '/v1/changes' })).json()
  const missing = '/orders/00000000-0000-7000-8000-000000000000/lines'
  t.match(await send({ method: 'POST', path: missing, content: { sku: 'a', quantity: 1 } }), { problem: { code: 'not-found' } })
  t.match(await send({ method: 'POST', path: '/orders/x/lines', content: {} }), { problem: { code: 'not-found' } })
  await send({ method: 'DELETE', path: response.json()[4].location })
  t.match(await send({ method: 'GET', path: response.json()[4].location }), { problem: { code: 'gone' } })
})

test('references fill objects, arrays and JSON Patches, and leave other parts as they are', async (t) => {
  const shop = defineShop()
  const app = await serveShop(t, shop)
  const response = await sendBatch(app, [
    { id: 'o', method: 'POST', path: '/orders', content: { customer: 7, tags: ['a', 'b'] } },
    { id: 'copy', method: 'POST', path: '/orders', refs: { '': 'o#' } },
    {
      method: 'PATCH',
      path: '/orders/{o#/id}',
      content: [{ op: 'replace', path: '/status', value: null }],
      refs: { '/0/value': 'copy#/id' }
    },
    { method: 'POST', path: '/orders', content: { tags: ['x'] }, refs: { '/tags/-': 'o#/tags/1', '/tags/0': 'o#/status', '/customer': 'o#/customer' } },
    { method: 'GET', path: '/orders?customer={o#/customer}&limit=2&count=true' },
    { method: 'GET', path: '/orders/{o#/id}', ifNoneMatch: '*' }
  ])
  const results = response.json()
  t.match(results, [
    { content: { tags: ['a', 'b'] } },
    { content: { customer: 7, tags: ['a', 'b'] } },
    { content: { status: results[1].content.id } },
    { content: { tags: ['open', 'b'], customer: 7 } },
    { status: 200, total: 3, next: /^\/orders\?customer=7&limit=2&count=true&cursor=/ },
    { status: 304 }
  ])
  t.notOk('content' in results[5])
  t.equal(results[4].content.length, 2)
  t.equal((await app.inject(results[4].next)).json().length, 1)
  for (const target of ['/tags/2', '/tags/x', '/customer/a']) {
    const parts = [
      { id: 'o', method: 'POST', path: '/orders', content: { customer: 7 } },
      { method: 'POST', path: '/orders', content: { customer: 7, tags: ['a'] }, refs: { [target]: 'o#/id' } }
    ]
    t.match((await sendBatch(app, parts)).json(), {
      code: 'batch-failed', problem: { errors: [{ pointer: `/refs/${target.replaceAll('/', '~1')}` }] }
    })
  }
})

test('a batch reads items with related items, which it may have written', async (t) => {
  const shop = defineShop()
  const { orders, lines } = relate(
    { orders: shop.orders, lines: shop.lines },
    {
      lines: { order: { to: 'orders', property: 'orderId' } },
      orders: { lines: { to: 'lines', by: 'orderId', limit: 1 } }
    }
  )
  const app = await serveShop(t, { orders, lines })
  const line = { method: 'POST', path: '/lines', content: { sku: 'A1', quantity: 2 }, refs: { '/orderId': 'o#/id' } }
  const results = (await sendBatch(app, [
    { id: 'o', method: 'POST', path: '/orders', content: { customer: 7 } },
    line,
    { ...line, content: { sku: 'B2', quantity: 1 } },
    { method: 'GET', path: '/orders?expand=lines&expand.lines.count=true&lines.some.sku=B2' },
    { method: 'GET', path: '/lines?expand=order&sort=sku' },
    { method: 'GET', path: '/orders/{o#/id}?expand=lines' }
  ])).json()
  const included = { items: [{ sku: 'A1' }], total: 2, next: /^\/lines\?orderId=.*&cursor=/ }
  t.match(results[3], { status: 200, content: [{ customer: 7, lines: included }] })
  t.match(results[4], { status: 200, content: [{ sku: 'A1', order: { customer: 7 } }, { sku: 'B2' }] })
  t.match(results[5], { status: 200, content: { lines: { items: [{ sku: 'A1' }] } } })
  t.notOk('lastModified' in results[5])
  t.match((await app.inject(results[3].content[0].lines.next)).json(), [{ sku: 'B2' }])
  t.match((await sendBatch(app, [{ method: 'GET', path: '/lines?expand=nobody' }])).json(), {
    problem: { code: 'invalid-query', detail: /relations separated by commas: order; not "nobody"/ }
  })
})

test('a precondition that the definition requires is required of parts', async (t) => {
  const stock = define({ name: 'stock', schema: Stock, id: { generate: 'client' }, etag: { required: true }, storage: memory() })
  const app = await serveShop(t, { stock })
  await sendBatch(app, [{ method: 'POST', path: '/stock', content: { id: 'a', left: 1 } }])
  t.match((await sendBatch(app, [{ method: 'DELETE', path: '/stock/a' }])).json(), { problem: { code: 'precondition-required' } })
  t.equal((await sendBatch(app, [{ method: 'DELETE', path: '/stock/a', ifMatch: '*' }])).statusCode, 200)
})

test('a batch that takes too long is rolled back and gets 503', async (t) => {
  let signal: AbortSignal | undefined
  const shop = defineShop({
    hooks: {
      afterWrite: ({ after, transaction }) => {
        signal = transaction.signal
        return after?.id === 'slow' ? new Promise(() => {}) : undefined
      }
    }
  })
  // Long enough for the first write on a busy machine.
  const app = await serveShop(t, shop, { timeout: 1000 })
  const create = (id: string) => ({ method: 'POST', path: '/stock', content: { id, left: 1 } })
  const response = await sendBatch(app, [create('fast'), create('slow')])
  t.match(response.json(), { status: 503, code: 'timeout', detail: /Nothing was changed/ })
  t.equal(response.headers['retry-after'], '1')
  t.ok(signal!.aborted)
  t.strictSame(await readAll(app, shop.stock), [])
  t.equal((await sendBatch(app, [create('fast')])).statusCode, 200)
})

test('lists that are too long for one response are refused', async (t) => {
  const notes = define({
    name: 'notes',
    schema: Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() }),
    storage: memory()
  })
  const app = await serveShop(t, { notes })
  await app.collection(notes).create({ text: 'a'.repeat(2_000_000) })
  const list = { method: 'GET', path: '/notes' }
  t.equal((await sendBatch(app, Array(8).fill(list))).statusCode, 200)
  t.match((await sendBatch(app, Array(9).fill(list))).json(), {
    part: { index: 8 }, problem: { code: 'invalid-query', detail: /longer than/ }
  })
})

test('references cannot repeat a long value until it fills the memory', async (t) => {
  const app = await serveShop(t, defineShop())
  const response = await sendBatch(app, [
    { id: 'o', method: 'POST', path: '/orders', content: { customer: 7, status: 'x'.repeat(400_000) } },
    {
      method: 'POST',
      path: '/orders',
      content: { customer: 7, tags: [] },
      refs: { '/tags/0': 'o#/status', '/tags/1': 'o#/status', '/tags/2': 'o#/status' }
    }
  ])
  t.match(response.json(), {
    status: 409,
    part: { index: 1 },
    problem: { errors: [{ pointer: '/refs/~1tags~12', message: /longer than 1048576 characters/ }] }
  })
})

test('each part is an event of its action, and caches learn which groups have changed', async (t) => {
  const storage = memory()
  const cached = { cache: { list: 'public, max-age=60' }, storage }
  const orders = define({ name: 'orders', schema: Order, ...cached })
  const lines = define({ name: 'lines', schema: Line, ...cached })
  const app = await serveShop(t, { orders, lines })
  const events: unknown[] = []
  const channel = tracingChannel('fastify-collections:action')
  const subscriber = { asyncEnd: (event: object) => { events.push(event) } }
  channel.subscribe(subscriber as never)
  t.after(async () => channel.unsubscribe(subscriber as never))
  const response = await sendBatch(app, [
    { id: 'o', method: 'POST', path: '/orders', content: { customer: 1 } },
    { method: 'POST', path: '/orders', content: { customer: 1 } },
    { method: 'GET', path: '/lines' }
  ])
  t.equal(response.headers['cache-group-invalidation'], '"orders"')
  t.match(events, [
    { collection: 'orders', action: 'create', status: 201, requestId: /^req/ },
    { collection: 'orders', action: 'create', status: 201 },
    { collection: 'lines', action: 'list', status: 200 }
  ])
  events.length = 0
  const refused = await sendBatch(app, [{ method: 'POST', path: '/orders', content: {} }])
  t.equal(refused.headers['cache-group-invalidation'], undefined)
  t.match(events, [{ action: 'create', status: 422, code: 'validation-failed' }])
  const dry = await sendBatch(app, [{ method: 'POST', path: '/orders', content: { customer: 1 } }], { url: '/batch?dryRun=true' })
  t.equal(dry.headers['cache-group-invalidation'], undefined)
})

test('a batch on SQLite is one transaction, and the other requests of the handle wait for it', async (t) => {
  const database = new DatabaseSync(':memory:')
  const storage = sqlite(database)
  const shop = defineShop({ storage })
  for (const definition of Object.values(shop)) await storage.createTable({ ...definition, receipts: true } as never)
  const app = await serveShop(t, shop)
  const parts = (customer: number) => [
    { id: 'o', method: 'POST', path: '/orders', content: { customer } },
    { method: 'POST', path: '/lines', content: { sku: 'a', quantity: 1 }, refs: { '/orderId': 'o#/id' } },
    ...customer === 3 ? [{ method: 'DELETE', path: '/stock/missing' }] : []
  ]
  const responses = await Promise.all([1, 2, 3, 4].map((customer) => {
    return sendBatch(app, parts(customer), { headers: { 'idempotency-key': String(customer) } })
  }))
  t.strictSame(responses.map(({ statusCode }) => statusCode), [200, 200, 409, 200])
  t.equal((await readAll(app, shop.orders)).length, 3)
  t.equal((await readAll(app, shop.lines)).length, 3)
  t.ok((await sendBatch(app, parts(1), { headers: { 'idempotency-key': '1' } })).headers['idempotent-replayed'])
})
