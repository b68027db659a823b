import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { action } from '../../lib/features/action.ts'
import type { ActionContext } from '../../lib/features/action.ts'
import { hal } from '../../lib/formats/hal.ts'
import { json } from '../../lib/formats/json.ts'
import collection, { define, problem } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'

const Order = Type.Object({ id: Type.Integer(), price: Type.Integer() })
const Quote = Type.Object({ price: Type.Number() })

async function build (t: Test) {
  const app = Fastify()
  t.after(() => app.close())
  const orders = define({
    name: 'orders',
    schema: Order,
    id: { generate: 'storage' },
    storage: memory({ items: [{ id: 1, price: 5 }] }),
    formats: [json, hal],
    cache: 'max-age=60'
  }).with(
    action('quote', {
      safe: true,
      input: Type.Object({
        quantity: Type.Integer({ minimum: 1 }),
        rate: Type.Optional(Type.Number()),
        gift: Type.Boolean({ default: false }),
        options: Type.Optional(Type.Array(Type.String())),
        note: Type.Optional(Type.Union([Type.String(), Type.Null()]))
      }),
      output: Quote,
      run: ({ item, input: { quantity, rate = 1, gift, options = [] } }) => ({
        output: { price: item.price * quantity * rate + (gift ? 1 : 0) + options.length }
      })
    }),
    action('view', { safe: true, run () {} }),
    action('search', {
      safe: true,
      on: 'collection',
      input: Type.Object({ near: Type.Object({ x: Type.Number() }) }),
      output: Quote,
      run: ({ input }) => ({ output: { price: input.near.x } })
    }),
    action('touch', { run () {} })
  )
  await app.register(collection, orders)
  return app
}

test('a safe action is served by GET, with its input as query parameters', async (t) => {
  const app = await build(t)
  const quote = await app.inject('/orders/1/quote?quantity=2&rate=1.5&gift=true&options=a,b')
  t.equal(quote.statusCode, 200)
  t.strictSame(quote.json(), { price: 18 })
  t.equal(quote.headers['cache-control'], 'max-age=60')
  t.strictSame((await app.inject('/orders/1/quote?quantity=2&options=a&options=b')).json(), { price: 12 })
  const posted = await app.inject({ method: 'POST', url: '/orders/1/quote', payload: { quantity: 2, rate: 1.5 } })
  t.strictSame(posted.json(), { price: 15 })
  const head = await app.inject({ method: 'HEAD', url: '/orders/1/quote?quantity=2' })
  t.equal(head.statusCode, 200)
  t.equal(head.body, '')
  t.equal((await app.inject('/orders/9/quote?quantity=2')).statusCode, 404)
})

test('its response has an entity tag of its own for each format', async (t) => {
  const app = await build(t)
  const { headers: { etag } } = await app.inject('/orders/1/quote?quantity=2')
  const known = { 'if-none-match': String(etag) }
  const again = await app.inject({ url: '/orders/1/quote?quantity=2', headers: known })
  t.equal(again.statusCode, 304)
  t.equal(again.headers.etag, etag)
  t.equal((await app.inject({ url: '/orders/1/quote?quantity=3', headers: known })).statusCode, 200)
  const accept = 'application/hal+json'
  const inHal = await app.inject({ url: '/orders/1/quote?quantity=2', headers: { ...known, accept } })
  t.equal(inHal.statusCode, 200)
  t.not(inHal.headers.etag, etag)
  const other = await app.inject({ url: '/orders/1/quote?quantity=2', headers: { 'if-match': '"other"' } })
  t.equal(other.statusCode, 412)
})

test('an action without output responds with the item', async (t) => {
  const app = await build(t)
  const item = await app.inject('/orders/1')
  const viewed = await app.inject('/orders/1/view')
  t.equal(viewed.body, item.body)
  t.equal(viewed.headers.etag, item.headers.etag)
})

test('invalid input is refused as in a POST', async (t) => {
  const app = await build(t)
  const invalid: Record<string, string> = {
    '': '/quantity is required',
    'quantity=x': '/quantity must be integer',
    'quantity=0': '/quantity must be >= 1',
    'quantity=1&quantity=2': '/quantity must be integer',
    'quantity=1&gift=maybe': '/gift must be boolean',
    'quantity=1&rate=1e999': '/rate must be number',
    'quantity=1&other=1': '/other is not a known property'
  }
  for (const [query, expected] of Object.entries(invalid)) {
    const response = await app.inject(`/orders/1/quote?${query}`)
    const [{ pointer, message }] = response.json().errors
    t.equal(response.statusCode, 422, query)
    t.equal(`${pointer} ${message}`, expected)
  }
})

test('only actions that a query string can call are served by GET', async (t) => {
  const app = await build(t)
  const allow = async (url: string) => (await app.inject({ method: 'PUT', url })).headers.allow
  t.equal(await allow('/orders/1/quote'), 'GET, HEAD, POST, OPTIONS')
  t.equal(await allow('/orders/search'), 'POST, OPTIONS')
  t.equal(await allow('/orders/1/touch'), 'POST, OPTIONS')
  t.equal((await app.inject('/orders/1/touch')).statusCode, 405)
})

test('what depends on the caller is not stored by shared caches', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  const Me = Type.Object({ name: Type.String() })
  const run = ({ caller }: { caller?: unknown }) => ({ output: { name: String(caller) } })
  for (const [name, cache] of [['public', 'public, max-age=60'], ['private', 'private, max-age=60']] as const) {
    await app.register(collection, define({
      name,
      schema: Order,
      id: { generate: 'storage' },
      storage: memory(),
      cache,
      access: { authenticate: ({ request }) => request.headers['x-user']?.toString(), allow: 'public', vary: ['X-User'] }
    }).with(
      action('me', { on: 'collection', safe: true, output: Me, run }),
      action('account', { on: 'collection', safe: true, allow: 'authenticated', output: Me, run })
    ))
  }
  for (const headers of [{}, { 'x-user': 'ada' }]) {
    for (const [url, expected] of Object.entries({
      '/public': 'public, max-age=60',
      '/public/me': 'no-store',
      '/public/account': 'no-store',
      '/private/me': 'private, max-age=60'
    })) {
      const response = await app.inject({ url, headers })
      t.equal(response.headers['cache-control'], expected, url)
      if (url === '/private/me') t.match(response.headers.vary, /X-User/i)
    }
  }
})

test('run reaches other collections without the app, with the rules of the caller', async (t) => {
  const Product = Type.Object({ id: Type.Integer(), name: Type.String(), owner: Type.String() })
  const products = define({
    name: 'products',
    schema: Product,
    id: { generate: 'storage' },
    storage: memory({ items: [{ id: 1, name: 'Tea', owner: 'ada' }, { id: 2, name: 'Milk', owner: 'bob' }] }),
    access: {
      authenticate: ({ request }) => request.headers['x-user']?.toString(),
      allow: { all: 'public' },
      scope: ({ caller = '' }) => ({ values: { owner: String(caller) } })
    }
  })
  const output = Type.Object({ names: Type.Array(Type.String()) })
  type Context = Pick<ActionContext<object, 'collection', object>, 'getCollection' | 'caller'>
  const listNames = async ({ getCollection, caller }: Context, isAll: boolean) => {
    const names: string[] = []
    for await (const { item } of getCollection(products).list({}, isAll ? {} : { caller })) names.push(item.name)
    return { output: { names } }
  }
  const orders = define({
    name: 'orders',
    schema: Order,
    id: { generate: 'storage' },
    storage: memory(),
    access: { authenticate: ({ request }) => request.headers['x-user']?.toString(), allow: { all: 'public' } }
  }).with(
    action('mine', { on: 'collection', safe: true, output, run: (context) => listNames(context, false) }),
    action('every', { on: 'collection', safe: true, output, run: (context) => listNames(context, true) }),
    action('sell', {
      on: 'collection',
      output,
      async run ({ getCollection, transaction }) {
        await transaction.collection(products).create({ name: 'Jam', owner: 'ada' })
        const { output: { names } } = await listNames({ getCollection, caller: 'ada' }, false)
        if (names.includes('Jam')) throw problem('conflict', { detail: names.join() })
        return { output: { names } }
      }
    })
  )
  const app = Fastify()
  t.after(() => app.close())
  await app.register(collection, products)
  await app.register(collection, orders)
  const headers = { 'x-user': 'ada' }
  t.strictSame((await app.inject({ url: '/orders/mine', headers })).json(), { names: ['Tea'] })
  t.strictSame((await app.inject({ url: '/orders/every', headers })).json(), { names: ['Tea', 'Milk'] })
  const sold = await app.inject({ method: 'POST', url: '/orders/sell', headers })
  t.match(sold.json(), { status: 409, detail: 'Tea,Jam' }, 'calls join the transaction')
  t.strictSame((await app.inject({ url: '/orders/mine', headers })).json(), { names: ['Tea'] }, 'and are undone with it')
})
