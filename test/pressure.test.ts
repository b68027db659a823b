import { setTimeout as wait } from 'node:timers/promises'
import rateLimit from '@fastify/rate-limit'
import underPressure from '@fastify/under-pressure'
import Fastify from 'fastify'
import { test } from 'tap'
import collection, { corsOptions } from '../lib/index.ts'
import { service } from '../lib/app/service.ts'
import { build, created, notes, request } from './app.ts'

// @fastify/rate-limit and @fastify/under-pressure, the real plugins, around collections.

test('a limit on one action returns 429 as a problem, with the headers of the plugin (RFC 6585, section 4)', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(rateLimit, { global: false })
  await app.register(
    collection,
    notes({ routes: { create: { config: { rateLimit: { max: 2, timeWindow: 30_000 } } } } })
  )
  for (const remaining of ['1', '0']) {
    const answer = await request(app, 'POST /notes', { content: { text: 'a' } })
    t.equal(answer.statusCode, 201)
    t.equal(String(answer.headers['x-ratelimit-remaining']), remaining)
  }
  const refused = await request(app, 'POST /notes', { content: { text: 'a' } })
  t.equal(refused.statusCode, 429)
  t.match(refused.headers, { 'content-type': 'application/problem+json', 'cache-control': 'no-store' })
  t.ok(Number(refused.headers['retry-after']) > 0 && Number(refused.headers['retry-after']) <= 30)
  t.match(refused.json(), { status: 429, code: 'too-many-requests', detail: /retry in/, instance: '/notes' })
  const list = await request(app, 'GET /notes')
  t.equal(list.json().length, 2, 'nothing was created')
  t.notOk('x-ratelimit-limit' in list.headers)
})

test('a limit on the whole app limits collections and documents, but not probes', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(rateLimit, { max: 1, timeWindow: '1 minute' })
  await app.register(collection, notes())
  await app.register(service)
  t.equal((await request(app, 'GET /notes')).statusCode, 200)
  t.equal((await request(app, 'GET /notes')).statusCode, 429)
  for (let turn = 0; turn < 3; turn++) {
    for (const path of ['/healthz', '/readyz']) {
      t.equal((await request(app, `GET ${path}`)).statusCode, 200, 'probes are not limited')
    }
  }
  t.equal((await request(app, 'GET /')).json().code, 'too-many-requests', 'documents are limited')
})

test('scripts of other origins can read the headers of a rate limit', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(rateLimit, { max: 1 })
  await app.register(collection, notes())
  await request(app, 'GET /notes')
  const { headers } = await request(app, 'GET /notes')
  const exposed = corsOptions().exposedHeaders.map((name) => name.toLowerCase())
  const sent = Object.keys(headers).filter((name) => name.includes('ratelimit') || name === 'retry-after')
  t.equal(sent.length, 4)
  t.strictSame(sent.filter((name) => !exposed.includes(name)), [])
})

test('requests that a collection refuses count against the limit', async (t) => {
  const refusals: ReadonlyArray<readonly [string, number, object]> = [
    ['GET /notes', 401, { access: { authenticate: () => { throw new Error('unknown') } } }],
    ['GET /notes', 403, { access: { allow: () => false } }],
    ['DELETE /notes', 405, {}],
    ['POST /notes', 415, {}]
  ]
  for (const [target, status, given] of refusals) {
    const app = await build(t, [])
    await app.register(rateLimit, { max: 2 })
    await app.register(collection, notes(given))
    const statuses: number[] = []
    for (let turn = 0; turn < 3; turn++) {
      const options = status === 415 ? { content: 'a', type: 'text/plain' } : {}
      statuses.push((await request(app, target, options)).statusCode)
    }
    t.strictSame(statuses, [status, status, 429], `${target} ${status}`)
  }
})

test('under pressure collections return 503 with the Retry-After of the plugin, but probes respond', async (t) => {
  for (const when of ['before', 'after']) {
    const app = await build(t, [])
    const press = (): PromiseLike<unknown> =>
      app.register(underPressure, { maxRssBytes: 1, sampleInterval: 10, retryAfter: 7 } as never)
    if (when === 'before') await press()
    await app.register(collection, notes())
    await app.register(service)
    if (when === 'after') await press()
    await app.ready()
    await created(app, '/notes', { text: 'a' })
    await wait(60)
    for (const target of ['GET /notes', 'POST /notes', 'GET /notes/x', 'GET /']) {
      const answer = await request(app, target)
      t.equal(answer.statusCode, 503, `${target}: ${when}`)
      t.match(answer.headers, {
        'content-type': 'application/problem+json',
        'retry-after': '7',
        'cache-control': 'no-store'
      })
      t.match(answer.json(), { status: 503, code: 'service-unavailable' })
    }
    for (const path of ['/healthz', '/readyz']) {
      t.equal((await request(app, `GET ${path}`)).statusCode, 200, `${path}: ${when}`)
    }
  }
})
