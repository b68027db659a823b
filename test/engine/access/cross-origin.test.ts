import cors from '@fastify/cors'
import type { FastifyCorsOptions } from '@fastify/cors'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { action } from '../../../lib/features/action.ts'
import collection, { define, defineWith, json, problem } from '../../../lib/index.ts'
import type { AccessOptions } from '../../../lib/index.ts'
import type { Format } from '../../../lib/formats/index.ts'
import { memory } from '../../../lib/storage/memory.ts'

// Requests that a page of another origin can send without the consent of the server: cross-site request forgery.

const Order = Type.Object({ id: Type.Integer(), status: Type.String({ default: 'open' }) })

/** Text without a preflight: a media type that forms can send. */
const text: Format = { ...json, name: 'text', mediaType: 'text/plain' }

interface Setting {
  readonly access?: AccessOptions
  readonly formats?: readonly Format[]
  readonly cors?: FastifyCorsOptions
  readonly server?: FastifyServerOptions
}

async function serve (t: Test, setting: Setting = {}): Promise<FastifyInstance> {
  const app = Fastify(setting.server ?? {})
  t.after(() => app.close())
  if (setting.cors !== undefined) await app.register(cors, setting.cors)
  const isKnown = (value: string | undefined) => /sid=ada|^Basic |^Bearer /i.test(value ?? '')
  const orders = define({
    name: 'orders',
    schema: Order,
    id: { generate: 'storage' },
    storage: memory({ items: [{ id: 1, status: 'open' }] }),
    formats: setting.formats ?? [json],
    access: {
      authenticate ({ request: { headers } }) {
        if (!isKnown(headers.cookie) && !isKnown(headers.authorization)) throw problem('unauthenticated')
        return 'ada'
      },
      ...setting.access
    }
  }).with(
    action('cancel', { run: ({ item }) => ({ ...item, status: 'cancelled' }) }),
    action('purge', { on: 'collection', run () {} }),
    action('look', { safe: true, run () {} }),
    action('rename', { input: Type.Object({ status: Type.Optional(Type.String()) }), run () {} })
  )
  await app.register(collection, orders)
  return app
}

const host = 'shop.example'
const cookie = { cookie: 'sid=ada' }
const basic = { authorization: 'bAsIc YWRhOngK' }

async function post (app: FastifyInstance, headers: Record<string, string>, url = '/orders/1/cancel', payload = '') {
  return app.inject({ method: 'POST', url, headers: { host, ...headers }, ...payload !== '' && { payload } })
}

const refused: ReadonlyArray<Record<string, string>> = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
  { 'sec-fetch-site': 'cross-site', origin: 'null' },
  { 'sec-fetch-site': 'same-site', origin: 'https://evil.shop.example' },
  { 'sec-fetch-site': 'anything else', origin: 'https://shop.example' },
  { origin: 'https://evil.example' },
  { origin: 'https://shop.example.evil.example' },
  { origin: 'https://evil.shop.example' },
  { origin: 'https://shop.example:8443' },
  { origin: 'null' },
  { origin: 'not an origin' },
  { origin: 'https://evil.example', 'content-type': 'text/plain' },
  { origin: 'https://evil.example', 'content-type': 'Text/Plain; application/json' },
  { origin: 'https://evil.example', 'content-type': 'application/x-www-form-urlencoded' },
  { origin: 'https://evil.example', 'content-type': 'multipart/form-data; boundary=x' }
]

const accepted: ReadonlyArray<Record<string, string>> = [
  {},
  { 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'same-origin', origin: 'https://public.name' },
  { 'sec-fetch-site': 'none' },
  { origin: 'https://shop.example' },
  { origin: 'http://shop.example' },
  // With a preflight, which the server has answered.
  { 'sec-fetch-site': 'cross-site', origin: 'https://app.example', 'content-type': 'application/json' },
  { origin: 'https://app.example', 'content-type': 'application/json; charset=utf-8' },
  { origin: 'https://app.example', 'idempotency-key': '"1"' },
  { origin: 'https://app.example', 'if-match': '*' },
  { origin: 'https://app.example', 'x-requested-with': 'XMLHttpRequest' },
  { 'sec-fetch-site': 'cross-site', origin: 'https://app.example', authorization: 'Bearer x' }
]

test('a request that a page of another origin could forge is 403, and changes nothing', async (t) => {
  const app = await serve(t)
  for (const credentials of [cookie, basic, {}]) {
    for (const headers of refused) {
      for (const url of ['/orders/1/cancel', '/orders/purge', '/orders/1/rename']) {
        const response = await post(app, { ...credentials, ...headers } as Record<string, string>, url)
        t.match(
          [response.statusCode, response.headers['content-type'], response.json()],
          [403, 'application/problem+json', { code: 'cross-origin', detail: /CORS/ }],
          `${url} ${JSON.stringify({ ...credentials, ...headers })}`
        )
      }
    }
  }
  t.equal((await app.inject({ url: '/orders/1', headers: cookie })).json().status, 'open')
})

test('a request of the same origin, of another client or with a preflight is served', async (t) => {
  for (const headers of accepted) {
    const app = await serve(t)
    const { statusCode, body } = await post(app, { ...cookie, ...headers })
    t.equal(statusCode, 200, `${JSON.stringify(headers)} ${body}`)
  }
})

test('a port that the scheme of the origin implies is the same as none', async (t) => {
  const app = await serve(t)
  for (const [origin, name, status] of [
    ['https://shop.example', 'shop.example:443', 200],
    ['http://shop.example', 'SHOP.example:80', 200],
    ['http://shop.example', 'shop.example:443', 403],
    ['http://[::1]:3000', '[::1]:3000', 200],
    ['http://[::1]:3000', '', 403]
  ] as const) {
    t.equal((await post(app, { ...cookie, host: name, origin })).statusCode, status, `${origin} ${name}`)
  }
})

test('X-Forwarded-Host counts if the app trusts its proxy', async (t) => {
  for (const [trustProxy, status] of [[true, 200], [false, 403]] as const) {
    const app = await serve(t, { server: { trustProxy } })
    const headers = { ...cookie, host: 'backend:3000', 'x-forwarded-host': host, origin: 'https://shop.example' }
    t.equal((await post(app, headers)).statusCode, status)
  }
})

test('an action that only reads is served to every origin', async (t) => {
  const app = await serve(t)
  for (const headers of refused.slice(0, 12)) {
    t.equal((await post(app, { ...cookie, ...headers }, '/orders/1/look')).statusCode, 200, JSON.stringify(headers))
  }
})

test('the six actions refuse what a page of another origin could forge', async (t) => {
  const forged = { ...cookie, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  const app = await serve(t)
  t.equal((await post(app, forged, '/orders')).statusCode, 400, 'no content')
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    t.equal((await post(app, { ...forged, 'content-type': type }, '/orders', '{}')).statusCode, 415, type)
  }
  const withText = await serve(t, { formats: [json, text] })
  const response = await post(withText, { ...forged, 'content-type': 'text/plain' }, '/orders', '{}')
  t.equal(response.json().code, 'cross-origin', 'a format that forms can send')
  const own = { ...cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'text/plain' }
  t.equal((await post(withText, own, '/orders', '{}')).statusCode, 201)
})

test('an origin that @fastify/cors allows with credentials may send them without a preflight', async (t) => {
  const origin = 'https://app.example'
  const cross = { 'sec-fetch-site': 'cross-site', origin }
  const cases: Array<[why: string, cors: FastifyCorsOptions, headers: Record<string, string>, status: number]> = [
    ['a list of origins', { origin: [origin], credentials: true }, cookie, 200],
    ['one origin', { origin, credentials: true }, cookie, 200],
    ['Basic', { origin, credentials: true }, basic, 200],
    ['another origin', { origin: 'https://other.example', credentials: true }, cookie, 403],
    ['another list', { origin: ['https://other.example'], credentials: true }, cookie, 403],
    ['no credentials allowed, but sent', { origin: [origin] }, cookie, 403],
    ['every origin, but no credentials', { origin: '*' }, cookie, 403],
    ['every origin, and credentials, which browsers do not accept', { origin: '*', credentials: true }, cookie, 403]
  ]
  for (const [why, options, headers, status] of cases) {
    const app = await serve(t, { cors: options })
    t.equal((await post(app, { ...headers, ...cross })).statusCode, status, why)
  }
  for (const options of [{ origin: '*' }, { origin: [origin] }]) {
    const app = await serve(t, { cors: options, access: { allow: 'public' } })
    t.equal((await post(app, cross)).statusCode, 200, 'a request without credentials')
  }
})

test('access.trustedOrigins names origins whose pages need no preflight, or switches the check off', async (t) => {
  const origin = 'https://app.example'
  const trusting = await serve(t, { access: { trustedOrigins: [origin] } })
  t.equal((await post(trusting, { ...cookie, 'sec-fetch-site': 'cross-site', origin })).statusCode, 200)
  t.equal((await post(trusting, { ...cookie, origin: 'https://evil.example' })).statusCode, 403)
  t.equal((await post(trusting, { ...cookie, 'sec-fetch-site': 'cross-site' })).statusCode, 403)
  const open = await serve(t, { access: { trustedOrigins: '*' } })
  for (const headers of refused.slice(0, 12)) t.equal((await post(open, { ...cookie, ...headers })).statusCode, 200)
})

test('origins that browsers do not send are refused at boot', async (t) => {
  const wrong: unknown[] = ['https://a.example', ['a.example'], ['https://a.example/'], ['https://A.example'], ['*'], [1]]
  for (const trustedOrigins of wrong) {
    t.throws(() => define({
      name: 'orders',
      schema: Order,
      storage: memory(),
      access: { trustedOrigins } as AccessOptions
    }), {
      code: 'FST_COLLECTION_BAD_OPTION',
      message: /access\.trustedOrigins is .* It must be an array of origins, such as \["https:\/\/shop\.example"\], or "\*"\./
    })
  }
  const share = defineWith({ storage: memory(), access: { trustedOrigins: ['https://a.example'] } })
  t.doesNotThrow(() => share({ name: 'orders', schema: Order, id: { generate: 'storage' } }))
})
