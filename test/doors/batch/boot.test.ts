import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { batch } from '../../../lib/doors/batch/batch.ts'
import type { BatchOptions } from '../../../lib/doors/batch/batch.ts'
import { action } from '../../../lib/features/action.ts'
import { idempotency } from '../../../lib/features/idempotency.ts'
import collection, { define } from '../../../lib/index.ts'
import type { Definition, Options } from '../../../lib/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { sqlite } from '../../../lib/storage/sqlite.ts'
import { modified } from '../../app.ts'

// Mistakes of the app: each is an error at boot that says what to do.

const Thing = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), name: Type.String() })

function things (name: string, options: Partial<Options<typeof Thing>> = {}): Definition {
  return define({ name, schema: Thing, storage: memory(), ...options })
}

async function start (
  definitions: ReadonlyArray<Definition & { prefix?: string }>,
  options: Partial<BatchOptions> = {},
  prepare?: (app: FastifyInstance) => unknown
): Promise<void> {
  const app = Fastify()
  try {
    await prepare?.(app)
    for (const definition of definitions) await app.register(collection, definition)
    await app.register(batch, { collections: definitions, ...options })
    await app.ready()
  } finally {
    await app.close()
  }
}

const hook = async () => {}
const authenticate = () => 'ada'

const mistakes: ReadonlyArray<[string, () => Promise<void>, RegExp]> = [
  ['an unknown option', () => start([things('a')], { maximun: 5 } as never), /no option "maximun"\. Available.*maximum/],
  ['no collections', () => start([things('a')], { collections: [] }), /array of what define\(\) returns/],
  ['something else as a collection', () => start([], { collections: [{} as never] }), /array of what define\(\)/],
  ['a maximum of 0', () => start([things('a')], { maximum: 0 }), /maximum is 0.*1 or more/],
  ['a timeout of 0', () => start([things('a')], { timeout: 0 }), /timeout is 0.*milliseconds/],
  ['a path without a slash', () => start([things('a')], { path: 'batch' }), /path is "batch".*"\/batch"/],
  ['a lease after the expiry', () => start([things('a')], { idempotency: { lease: 2000, expiry: 1000 } }), /lease <= expiry/],
  ['an unknown option of idempotency', () => start([things('a')], { idempotency: { keys: 1 } as never }), /"keys"/],
  ['idempotency without the feature', () => start([things('a')], { idempotency: {} }), /orders\.with\(idempotency\(\)\)/],
  ['a collection of another app', () => start([things('a')], { collections: [things('a')] }), /does not serve/],
  ['the same collection twice', () => {
    const one = things('a')
    return start([one], { collections: [one, one] })
  }, /two collections are served at \/a/],
  ['constraints', () => start([things('a', { routes: { all: { constraints: { host: 'a.example' } } } })]), /constraints/],
  ['a pattern in the prefix', () => start([{ ...things('a'), prefix: '/:x(^\\d+)' }]), /whole segments/],
  ['two databases', () => start([
    things('a'),
    things('b', { storage: sqlite(new DatabaseSync(':memory:')) as never })
  ]), /b is in another database than a.*each database/],
  ['a storage without transactions', () => start([
    things('a', {
      storage: modified((storage) => ({ supports: { ...storage.supports, transactions: false } })) as never
    })
  ]), /has no transactions/],
  ['different functions that authenticate', () => start([
    things('a', { access: { authenticate } }),
    things('b', { access: { authenticate: () => 'ada' } })
  ]), /b and a do not have the same function.*defineWith/],
  ['one collection without authenticate', () => start([things('a', { access: { authenticate } }), things('b')]), /same function/],
  ['hooks in routes without a rule', () => start([things('a', { routes: { remove: { onRequest: hook } } })]), /who may call remove/],
  ['hooks for all routes', () => start([things('a', { routes: { all: { preHandler: hook } } })]), /who may call list/],
  ['hooks in the route of an action', () => start([
    things('a').with(action('go', { route: { onRequest: hook }, run: ({ item }) => item }))
  ]), /who may call go/],
  ['hooks with a rule for another action', () => start([
    things('a', { routes: { remove: { onRequest: hook } }, access: { allow: { list: 'public' } } })
  ]), /who may call remove/],
  ['keys whose callers are not known', () => start([
    things('a').with(idempotency()),
    things('b', { access: { allow: () => true } })
  ]), /idempotency keys of callers/],
  ['another route at the path', () => start([things('a')], {}, (app) => app.post('/batch', hook)), /already serves POST \/batch/]
]

for (const [what, boot, message] of mistakes) {
  test(`${what} is refused at boot`, async (t) => {
    await t.rejects(boot(), { code: 'FST_COLLECTION_BAD_BATCH', message })
  })
}

test('the path can be used twice, below different prefixes, and before the collections', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  const a = things('a', { routes: { all: { onRequest: hook } }, access: { authenticate, allow: 'public' } })
  const b = things('b', { access: { authenticate } })
  await app.register(batch, { collections: [a], prefix: '/one' })
  await app.register(batch, { collections: [b], prefix: '/two' })
  await app.register(collection, { ...a, prefix: '/v1' })
  await app.register(collection, { ...a, prefix: '/v2' })
  await app.register(collection, b)
  const create = (path: string) => ({ method: 'POST', path, content: { name: 'x' } })
  const send = async (url: string, path: string) => {
    return (await app.inject({ method: 'POST', url, payload: [create(path)] })).json()
  }
  t.match(await send('/one/batch', '/v1/a'), [{ status: 201, location: /^\/v1\/a\// }])
  t.match(await send('/one/batch', '/v2/a'), [{ status: 201, location: /^\/v2\/a\// }])
  t.match(await send('/one/batch', '/b'), { problem: { code: 'not-found' } })
  t.match(await send('/two/batch', '/b'), [{ status: 201 }])
})

test('errors of the app and of plugins are problems', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  const definition = things('a')
  let refuse: (reply: { code (status: number): { send (content: object): unknown } }) => unknown = () => {}
  await app.register(collection, definition)
  await app.register(batch, {
    collections: [definition],
    route: { preHandler: async (_request, reply) => refuse(reply) }
  })
  const send = () => app.inject({ method: 'POST', url: '/batch', payload: [{ method: 'GET', path: '/a' }] })
  t.equal((await send()).statusCode, 200)
  refuse = (reply) => reply.code(401).send({ error: 'missing token' })
  t.match((await send()).json(), { status: 401, code: 'unauthenticated', detail: 'missing token' })
  refuse = () => { throw Object.assign(new Error('busy'), { statusCode: 503 }) }
  const response = await send()
  t.match(response.json(), { status: 503, code: 'service-unavailable' })
  t.equal(response.headers['retry-after'], '1')
})
