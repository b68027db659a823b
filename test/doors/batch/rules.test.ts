import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import { z } from 'zod'
import { batch } from '../../../lib/doors/batch/batch.ts'
import { bulk } from '../../../lib/features/bulk.ts'
import { idempotency } from '../../../lib/features/idempotency.ts'
import { softDelete } from '../../../lib/features/soft-delete.ts'
import { within } from '../../../lib/features/within.ts'
import collection, { define } from '../../../lib/index.ts'
import { registry } from '../../../lib/app/registry.ts'
import type { AccessOptions } from '../../../lib/index.ts'
import { relate } from '../../../lib/relations/relate.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { sqlite } from '../../../lib/storage/sqlite.ts'
import { sendBatch, serveShop } from './shop.ts'

// A caller must not reach through a batch, or a bulk write, what a single request refuses.

const Thing = Type.Object({
  id: Type.String(),
  owner: Type.Optional(Type.String()),
  size: Type.Optional(Type.Integer()),
  data: Type.Optional(Type.Unknown())
})

const byHeader: AccessOptions['authenticate'] = ({ request }) => String(request.headers['x-user'])

test('the caller is identified by the request of the batch, not by that of its first part', async (t) => {
  const methods: string[] = []
  const things = define({
    name: 'things',
    schema: Thing,
    id: { generate: 'client' },
    storage: memory(),
    access: {
      authenticate: ({ request }) => {
        methods.push(request.method)
        return request.method === 'GET' || request.headers['x-token'] === 'full' ? 'ada' : undefined
      }
    }
  })
  const app = await serveShop(t, { things })
  const parts = [{ method: 'GET', path: '/things' }, { method: 'POST', path: '/things', content: { id: 'a' } }]
  t.equal((await sendBatch(app, parts)).statusCode, 401)
  t.equal((await sendBatch(app, parts, { headers: { 'x-token': 'full' } })).statusCode, 200)
  t.strictSame(methods, ['POST', 'POST'])
})

test('a part cannot be about another tenant than the batch', async (t) => {
  const docs = define({
    name: 'docs',
    schema: Thing,
    id: { generate: 'client' },
    storage: memory(),
    access: {
      authenticate: ({ request }) => (request.params as { tenant: string }).tenant === 'a' ? 'ada' : undefined
    }
  })
  const app = Fastify()
  t.after(() => app.close())
  await app.register(collection, { ...docs, prefix: '/:tenant' })
  await app.register(batch, { collections: [docs], prefix: '/:tenant' })
  const send = async (path: string) => (await sendBatch(app, [
    { id: 'd', method: 'POST', path: '/a/docs', content: { id: `d${path.length}` } },
    { method: 'GET', path }
  ], { url: '/a/batch' })).json()
  t.match(await send('/a/docs/{d#/id}'), [{ status: 201 }, { status: 200 }])
  t.match(await send('/b/docs'), { status: 409, part: { index: 1 }, problem: { detail: /":tenant" must be the same/ } })
  t.match(await send('/{d#/id}/docs'), { status: 409, part: { index: 1 } })
})

test('hooks in routes are refused at boot unless access.allow names the action, also those of a parent', async (t) => {
  const hook = async () => {}
  const base = { schema: Thing, id: { generate: 'client' }, storage: memory() } as const
  const guarded = define({ ...base, name: 'a', access: { authenticate: byHeader }, routes: { remove: { preHandler: hook } } })
  await t.rejects(serveShop(t, { guarded }), { message: /who may call remove/ })
  const stated = define({
    ...base, name: 'a', access: { authenticate: byHeader, allow: { remove: 'authenticated' } }, routes: { remove: { preHandler: hook } }
  })
  await t.resolves(serveShop(t, { stated }))
  const teams = define({ ...base, name: 'teams', routes: { all: { onRequest: hook } } })
  const members = define({
    ...base, name: 'members', access: { authenticate: byHeader, allow: 'authenticated' }, routes: { all: { onRequest: hook } }
  }).with(within(teams, 'owner'))
  await t.rejects(serveShop(t, { members }), { message: /routes of teams do not run for parts of a batch.*who may call read\. members is nested in it/ })
  const elsewhere = define({ ...base, name: 'teams', storage: sqlite(new DatabaseSync(':memory:')) })
  const apart = define({ ...base, name: 'members' }).with(within(elsewhere, 'owner'))
  await t.rejects(serveShop(t, { apart }), { message: /is in another database/ })
})

test('a replay has no content of a nested item, whose parent the caller may no longer see', async (t) => {
  const base = { schema: Thing, id: { generate: 'client' }, storage: memory() } as const
  const orders = define({ ...base, name: 'orders', access: { authenticate: byHeader } })
  const lines = define({ ...base, name: 'lines', access: { authenticate: byHeader } })
    .with(within(orders, 'owner'), idempotency())
  const app = await serveShop(t, { orders, lines })
  await app.collection(orders).create({ id: 'o' })
  const headers = { 'x-user': 'eve', 'idempotency-key': '"k"' }
  const send = async () => sendBatch(app, [{ method: 'POST', path: '/orders/o/lines', content: { id: 'l' } }], { headers })
  t.match((await send()).json(), [{ status: 201, content: { id: 'l' } }])
  const again = await send()
  t.equal(again.headers['idempotent-replayed'], 'true')
  t.notOk('content' in again.json()[0])
})

test('a replay has no related or deleted items, which the caller may no longer see', async (t) => {
  const rights = new Set(['eve'])
  const isAllowed = ({ caller }: { readonly caller: string | undefined }) => rights.has(caller ?? '')
  const storage = memory()
  const Team = Type.Object({ id: Type.String(), deletedAt: Type.Optional(Type.String({ format: 'date-time' })) })
  const id = { generate: 'client' } as const
  const { things, teams } = relate({
    things: define({ name: 'things', schema: Thing, id, storage, access: { authenticate: byHeader } }).with(idempotency()),
    teams: define({ name: 'teams', schema: Team, id, storage, access: { authenticate: byHeader, allow: { all: 'authenticated', read: isAllowed } } })
      .with(softDelete({ property: 'deletedAt', allow: isAllowed }))
  }, { things: { team: { to: 'teams', property: 'owner' } } })
  const app = await serveShop(t, { things, teams })
  await app.collection(teams).create({ id: 'red' })
  await app.collection(teams).create({ id: 'old' })
  await app.collection(teams).remove('old')
  await app.collection(things).create({ id: 'a', owner: 'red' })
  const paths = ['/things/a', '/things/a?expand=team', '/things?team.id=red', '/teams', '/teams?deleted=true']
  const headers = { 'x-user': 'eve', 'idempotency-key': '"k"' }
  const send = async () => sendBatch(app, paths.map((path) => ({ method: 'GET', path })), { headers })
  t.match((await send()).json(), [
    { content: { id: 'a' } },
    { content: { team: { id: 'red' } } },
    { content: [{ id: 'a' }] },
    { content: [{ id: 'red' }] },
    { content: [{ id: 'old' }, { id: 'red' }] }
  ])
  rights.clear()
  const again = await send()
  t.equal(again.headers['idempotent-replayed'], 'true')
  t.strictSame(again.json().map((result: object) => 'content' in result), [true, false, false, true, false])
})

test('callers that only the parent of a nested collection identifies do not share their keys', async (t) => {
  const base = { schema: Thing, id: { generate: 'client' }, storage: memory() } as const
  const orders = define({ ...base, name: 'orders', access: { authenticate: byHeader, vary: ['X-User'] } })
  const lines = define({ ...base, name: 'lines' }).with(within(orders, 'owner'))
  const keeper = define({ ...base, name: 'others' }).with(idempotency())
  const app = await serveShop(t, { keeper, lines, orders }, { collections: [keeper, lines] })
  await app.collection(orders).create({ id: 'o' })
  const send = async (user: string) => {
    const headers = { 'x-user': user, 'idempotency-key': '"k"' }
    return sendBatch(app, [{ method: 'GET', path: '/orders/o/lines' }], { headers })
  }
  const responses = [await send('eve'), await send('bob'), await send('eve')]
  t.strictSame(responses.map(({ statusCode }) => statusCode), [200, 200, 200])
  t.strictSame(responses.map(({ headers }) => headers['idempotent-replayed']), [undefined, undefined, 'true'])
})

test('references cannot nest content deeper than a request can', async (t) => {
  const things = define({ name: 'things', schema: Thing, id: { generate: 'client' }, storage: memory() })
  const app = await serveShop(t, { things })
  const deep = JSON.parse('{"x":'.repeat(40) + '{}' + '}'.repeat(40)) as object
  const response = await sendBatch(app, [
    { id: 'a', method: 'POST', path: '/things', content: { id: 'a', data: deep } },
    { method: 'POST', path: '/things', content: { id: 'b', data: deep }, refs: { [`/data${'/x'.repeat(40)}`]: 'a#/data' } }
  ])
  t.match(response.json(), { status: 409, part: { index: 1 }, problem: { errors: [{ message: /deeper than 64 levels/ }] } })
})

test('the conditions of a bulk write match only what the caller can list', async (t) => {
  const things = define({
    name: 'things',
    schema: Thing,
    id: { generate: 'client' },
    storage: memory(),
    access: {
      authenticate: byHeader,
      scope: ({ caller, action }) => {
        if (action === 'update') return undefined
        return { filter: { owner: String(caller) } }
      }
    }
  }).with(bulk({ update: true }))
  const app = await serveShop(t, { things })
  await app.collection(things).create({ id: 'b', owner: 'bob', size: 9 })
  await app.collection(things).create({ id: 'e', owner: 'eve', size: 9 })
  const url = '/things?size.gt=8'
  const response = await app.inject({ method: 'PATCH', url, headers: { 'x-user': 'eve' }, payload: { owner: 'bob' } })
  // An item may leave the rows that the caller can list, as with a single PATCH.
  t.strictSame([response.statusCode, response.json()], [200, { count: 1 }])
  const options = { caller: 'eve' }
  t.strictSame(await app.collection(things).updateMany({ filter: { 'size.gt': 8 } }, { size: 1 }, options), { count: 0, ids: [] })
})

test('a refinement can call the app in a bulk write', async (t) => {
  const storage = sqlite(new DatabaseSync(':memory:'))
  const app = Fastify()
  t.after(() => app.close())
  const users = define({ name: 'users', schema: Thing, id: { generate: 'client' }, storage })
  const Post = z.object({
    id: z.string(),
    size: z.int(),
    author: z.string().refine(async (author) => {
      await app.collection(users).read(author)
      return true
    })
  })
  const posts = define({ name: 'posts', schema: Post, id: { generate: 'client' }, storage }).with(bulk({ update: true }))
  await storage.createTable(users)
  await storage.createTable(posts)
  await app.register(registry)
  await app.register(collection, users)
  await app.register(collection, posts)
  await app.inject({ method: 'POST', url: '/users', payload: { id: 'u' } })
  await app.inject({ method: 'POST', url: '/posts', payload: { id: 'p', size: 1, author: 'u' } })
  const response = await app.inject({ method: 'PATCH', url: '/posts?author=u', payload: { size: 2 } })
  t.strictSame([response.statusCode, response.json()], [200, { count: 1 }])
})
