import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import type { Test } from 'tap'
import { action } from '../../../lib/features/action.ts'
import { hal } from '../../../lib/formats/hal.ts'
import { html } from '../../../lib/formats/html.ts'
import { define, json } from '../../../lib/index.ts'
import type { Definition, Options } from '../../../lib/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { build, logged, request } from '../../app.ts'

// Functions of the app that decide which links an item has: `links` of a definition, and `when` of a custom action.

const Order = Type.Object({ id: Type.Integer(), status: Type.String(), team: Type.Optional(Type.String()) })
type OrderItem = typeof Order.static

const items = [
  { id: 1, status: 'open', team: 'red' },
  { id: 2, status: 'open' },
  { id: 3, status: 'closed', team: 'blue' }
]

/** Fails for the item without a team, and only for that one. */
const linkTeam = ({ item }: { item: OrderItem }) => ({ team: { href: `/teams/${item.team!.toLowerCase()}` } })
const hasTeam = ({ item }: { item: OrderItem }) => item.team!.length > 0 && item.status === 'open'

interface Functions {
  readonly links?: unknown
  readonly when?: unknown
}

function orders ({ links, when }: Functions): Definition {
  const options = {
    name: 'orders',
    schema: Order,
    id: { generate: 'storage' },
    storage: memory({ items }),
    formats: [json, hal, html],
    ...links !== undefined && { links }
  } as unknown as Options<typeof Order>
  const cancel = action('cancel', { run () {}, ...when !== undefined && { when } } as never)
  return define(options).with(cancel as never)
}

async function serve (t: Test, functions: Functions) {
  const { lines, logger } = logged()
  const app = await build(t, orders(functions), { logger })
  const read = async (url: string, accept = 'application/hal+json') => request(app, `GET ${url}`, { fields: { accept } })
  return { app, read, lines }
}

const always = ['self', 'collection']

test('a links function that throws for one item leaves out the links of that item, and is logged once', async (t) => {
  const { read, lines } = await serve(t, { links: linkTeam })
  for (let attempt = 0; attempt < 3; attempt++) {
    const list = await read('/orders')
    t.equal(list.statusCode, 200)
    const links = list.json()._embedded.items.map((item: { _links: object }) => Object.keys(item._links))
    t.strictSame(links, [[...always, 'cancel', 'team'], [...always, 'cancel'], [...always, 'cancel', 'team']])
    const item = await read('/orders/2')
    t.strictSame([item.statusCode, Object.keys(item.json()._links)], [200, [...always, 'cancel']])
    t.equal((await read('/orders', 'text/html')).statusCode, 200)
    t.equal((await read('/orders/2', 'text/html')).statusCode, 200)
  }
  t.match(lines, [{
    collection: 'orders',
    id: 2,
    msg: 'the function links of the collection orders failed. Its links are left out; this is logged once',
    err: { type: 'TypeError' }
  }])
  t.equal(lines.length, 1)
})

test('a when that throws for one item leaves out its link, and is logged once', async (t) => {
  const { app, read, lines } = await serve(t, { when: hasTeam })
  for (let attempt = 0; attempt < 3; attempt++) {
    const list = await read('/orders')
    t.equal(list.statusCode, 200)
    const links = list.json()._embedded.items.map((item: { _links: object }) => Object.keys(item._links))
    t.strictSame(links, [[...always, 'cancel'], always, always])
    t.equal((await read('/orders/2', 'text/html')).statusCode, 200)
  }
  t.match(lines, [{ collection: 'orders', id: 2, msg: /^the function when of the action "cancel" of the collection orders failed/ }])
  t.equal(lines.length, 1)
  t.equal((await request(app, 'POST /orders/1/cancel')).statusCode, 200)
  t.equal((await request(app, 'POST /orders/3/cancel')).statusCode, 409)
  t.equal((await request(app, 'POST /orders/2/cancel')).statusCode, 500, 'the action itself fails')
})

test('async functions are refused at boot', async (t) => {
  t.throws(() => orders({ when: async () => true }), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: 'Collection orders: action("cancel"): when is an async function, but it decides about links as well. ' +
      'Make it a function that returns true, false or a text, and wait for other data in run.'
  })
  t.throws(() => orders({ links: async () => ({}) }), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: 'Collection orders: links is an async function. Make it a function that returns the links, ' +
      'from the item alone.'
  })
})

test('a promise that when or links returns is an error that says so, and never content', async (t) => {
  for (const outcome of [Promise.resolve(true), Promise.resolve({})]) {
    const { app, read, lines } = await serve(t, { when: () => outcome, links: () => outcome })
    const list = await read('/orders')
    t.strictSame(Object.keys(list.json()._embedded.items[0]._links), always)
    t.match(lines.map(({ err }) => (err as { message: string }).message), [
      'The function when of the action "cancel" returned a promise. Make it return true, false or a text.',
      'The function links returned a promise. Make it return the links.'
    ])
    const response = await request(app, 'POST /orders/1/cancel')
    t.equal(response.statusCode, 500)
    t.type(response.json().detail, 'string')
    t.match(lines.at(-1), { err: { message: /returned a promise/ } })
  }
})

test('a promise that is rejected does not end the process', async (t) => {
  const fail = () => (async () => { throw new Error('on purpose') })()
  const { app, read } = await serve(t, { when: fail, links: fail })
  t.equal((await read('/orders')).statusCode, 200)
  t.equal((await request(app, 'POST /orders/1/cancel')).statusCode, 500)
  // Unhandled rejections are reported after the microtasks.
  await new Promise((resolve) => setImmediate(resolve))
})

test('when has to return true: everything else is 409, with a text as its detail', async (t) => {
  for (const verdict of [false, undefined, null, 0, 1, {}, [], '']) {
    const { app, read } = await serve(t, { when: () => verdict })
    const response = await request(app, 'POST /orders/1/cancel')
    t.equal(response.statusCode, 409, JSON.stringify(verdict))
    t.type(response.json().detail, 'string')
    t.strictSame(Object.keys((await read('/orders/1')).json()._links), always)
  }
  const { app } = await serve(t, { when: () => 'Not today.' })
  t.equal((await request(app, 'POST /orders/1/cancel')).json().detail, 'Not today.')
})
