import { tracingChannel } from 'node:diagnostics_channel'
import { setTimeout as wait } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import fc from 'fast-check'
import { test } from 'tap'
import type { Test } from 'tap'
import { action } from '../../lib/features/action.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { timeout } from '../../lib/features/timeout.ts'
import { within } from '../../lib/features/within.ts'
import { hal } from '../../lib/formats/hal.ts'
import { html } from '../../lib/formats/html.ts'
import { xml } from '../../lib/formats/xml.ts'
import collection, { define, json, problem } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Definition, Options, StatementEvent } from '../../lib/index.ts'
import type { Shape, Storage } from '../../lib/storage/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, logged, modified, request } from '../app.ts'
import { databases } from '../storage/databases.ts'

const Order = Type.Object({
  id: Type.Integer({ readOnly: true }),
  status: Type.String({ enum: ['draft', 'open', 'closed'] }),
  customer: Type.Optional(Type.String()),
  total: Type.Number({ default: 0 }),
  limit: Type.Optional(Type.Number()),
  code: Type.Optional(Type.String({ maxLength: 20 })),
  secret: Type.Optional(Type.String({ writeOnly: true })),
  place: Type.Optional(Type.Object({ city: Type.Optional(Type.String()), zip: Type.Optional(Type.String()) })),
  number: Type.Optional(Type.String({ readOnly: true })),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

const Tagged = Type.Object({
  id: Type.Integer(),
  status: Type.String(),
  tags: Type.Record(Type.String(), Type.Integer())
})

type OrderItem = typeof Order.static
type OrderStorage = Options<typeof Order>['storage']

const both = { update: true, remove: true, maximum: 10 } as const

function orders (options: Partial<Options<typeof Order>> = {}): Definition<OrderItem> {
  return define({
    name: 'orders',
    schema: Order,
    id: { generate: 'storage' },
    storage: memory(),
    ...options
  })
}

/** Creates orders, one after another. */
async function fill (app: FastifyInstance, contents: readonly object[], url = '/orders'): Promise<void> {
  for (const content of contents) {
    const { statusCode, payload } = await request(app, `POST ${url}`, { content })
    if (statusCode !== 201) throw new Error(payload)
  }
}

async function read (app: FastifyInstance, url = '/orders'): Promise<OrderItem[]> {
  return (await request(app, `GET ${url}`)).json()
}

async function readStatuses (app: FastifyInstance, url?: string): Promise<string> {
  return (await read(app, url)).map(({ status }) => status).join()
}

const open = (customer?: string): object => ({ status: 'open', ...customer !== undefined && { customer } })
const createMany = (count: number) => Array.from({ length: count }, () => open())
const three = [open('ada'), { status: 'draft' }, open('bob')]

const patch = (content: unknown, fields?: Record<string, string>) => ({
  content,
  type: 'application/merge-patch+json',
  ...fields && { fields }
})

/** Opens a storage for a definition, and creates its table. */
interface Opened {
  readonly storage: OrderStorage
  prepare (definition: Definition<OrderItem>): Promise<void>
}

const opened: Readonly<Record<string, { skip: string | false, open: (t: Test) => Promise<Opened> }>> = {
  memory: { skip: false, open: async () => ({ storage: memory(), async prepare () {} }) },
  ...Object.fromEntries(databases.map(({ name, skip, open }) => [name, {
    skip,
    async open (t: Test): Promise<Opened> {
      const database = await open()
      t.teardown(() => database.end())
      const adapter = database.adapter()
      return { storage: adapter, prepare: (definition) => adapter.createTable(definition) }
    }
  }]))
}

const channel = tracingChannel<unknown, StatementEvent>('fastify-collections:statement')

/** Runs the work, and returns the first words of the statements of the collection meanwhile. */
async function traceStatements (work: () => Promise<unknown>): Promise<string[]> {
  const statements: string[] = []
  const note = ({ operation, collection }: StatementEvent) => {
    if (collection !== undefined) statements.push(operation)
  }
  channel.start.subscribe(note as (message: unknown) => void)
  await work()
  channel.start.unsubscribe(note as (message: unknown) => void)
  return statements
}

for (const [name, { skip, open: openStorage }] of Object.entries(opened)) {
  test(`${name}: PATCH of a collection changes all items that match`, { skip }, async (t) => {
    const { storage, prepare } = await openStorage(t)
    const definition = orders({ storage }).with(bulk(both))
    await prepare(definition)
    const app = await build(t, definition)
    await fill(app, three)
    const before = await request(app, 'GET /orders/1')
    const response = await request(app, 'PATCH /orders?status=open', patch({ status: 'closed', customer: null }))
    t.equal(response.statusCode, 200)
    t.strictSame(response.json(), { count: 2 })
    t.equal(response.headers['content-type'], 'application/json')
    t.equal(response.headers['cache-control'], 'no-store')
    t.notOk('etag' in response.headers)
    t.match(await read(app), [{ status: 'closed' }, { status: 'draft' }, { status: 'closed' }])
    const after = await request(app, 'GET /orders/1')
    t.not(after.headers.etag, before.headers.etag)
    t.notOk('customer' in after.json())
    t.ok(after.json().updatedAt > before.json().updatedAt)
    const precondition = { 'if-match': String(before.headers.etag) }
    const stale = await request(app, 'PATCH /orders/1', patch({ total: 1 }, precondition))
    t.equal(stale.statusCode, 412)
  })

  test(`${name}: DELETE of a collection removes all items that match`, { skip }, async (t) => {
    const { storage, prepare } = await openStorage(t)
    const definition = orders({ storage }).with(bulk(both))
    await prepare(definition)
    const app = await build(t, definition)
    await fill(app, three)
    const response = await request(app, 'DELETE /orders?status=open', { fields: { prefer: 'return=representation' } })
    t.equal(response.statusCode, 200)
    t.strictSame(response.json(), { count: 2, ids: [1, 3] })
    t.equal(response.headers['preference-applied'], 'return=representation')
    t.equal(await readStatuses(app), 'draft')
    const none = await request(app, 'DELETE /orders?status=open')
    t.strictSame([none.statusCode, none.json()], [200, { count: 0 }])
  })

  test(`${name}: more matches than the maximum are 409, and nothing is written`, { skip }, async (t) => {
    const { storage, prepare } = await openStorage(t)
    const definition = orders({ storage }).with(bulk({ ...both, maximum: 2 }))
    await prepare(definition)
    const app = await build(t, definition)
    await fill(app, [open(), open(), open()])
    for (const target of ['PATCH', 'DELETE']) {
      const response = await request(app, `${target} /orders?status=open`, patch({ status: 'closed' }))
      t.match(response.json(), { status: 409, code: 'too-many-matches', maximum: 2, detail: /nothing was changed/ })
    }
    t.equal(await readStatuses(app), 'open,open,open')
    t.strictSame((await request(app, 'PATCH /orders?id.in=1,2', patch({ status: 'closed' }))).json(), { count: 2 })
  })

  test(`${name}: the number of statements does not depend on the number of items`, { skip }, async (t) => {
    const { storage, prepare } = await openStorage(t)
    const definition = define({
      name: 'orders',
      schema: Type.Object({ ...Order.properties, id: Type.String({ format: 'uuid', readOnly: true }) }),
      // The ids have another type than in the other tests.
      storage: storage as unknown as <Item extends object>(shape: Shape) => Storage<Item>
    }).with(bulk({ ...both, maximum: 500 }))
    await prepare(definition as unknown as Definition<OrderItem>)
    const app = await build(t, definition)
    // The storage is checked when the app starts.
    await app.ready()
    const counts: number[] = []
    for (const count of [3, 200]) {
      let created = 0
      counts.push((await traceStatements(async () => {
        created = (await request(app, 'POST /orders', { content: createMany(count) })).json().length
      })).length)
      t.equal(created, count)
      let updated = 0
      counts.push((await traceStatements(async () => {
        updated = (await request(app, 'PATCH /orders?status=open', patch({ status: 'closed' }))).json().count
      })).length)
      t.equal(updated, count)
      let removed = 0
      counts.push((await traceStatements(async () => {
        removed = (await request(app, 'DELETE /orders?status=closed')).json().count
      })).length)
      t.equal(removed, count)
    }
    t.strictSame(counts.slice(3), counts.slice(0, 3))
    if (name !== 'memory') t.ok(counts.every((count) => count >= 1 && count <= 3), String(counts))
  })

  test(`${name}: a refused item is named, and nothing is written`, { skip }, async (t) => {
    const { storage, prepare } = await openStorage(t)
    const definition = orders({ storage, unique: ['code'] }).with(bulk(both))
    await prepare(definition)
    const app = await build(t, definition)
    await fill(app, [open(), open(), { status: 'draft', code: 'taken' }])
    const twice = await request(app, 'PATCH /orders?status=open', patch({ code: 'same' }))
    t.match(twice.json(), {
      status: 409,
      code: 'not-unique',
      item: 2,
      detail: /^Item 2: .* Nothing was changed\.$/,
      errors: [{ pointer: '/code', message: 'must be unique' }]
    })
    const taken = await request(app, 'PATCH /orders?status=open', patch({ code: 'taken' }))
    t.match(taken.json(), { status: 409, item: 1 })
    t.strictSame((await read(app)).map(({ code }) => code), [undefined, undefined, 'taken'])
  })

  test(`${name}: a unique value can pass from one item to the next, as with single writes`, { skip }, async (t) => {
    const { storage, prepare } = await openStorage(t)
    const definition = orders({
      storage,
      unique: ['code'],
      hooks: {
        beforeValidation ({ item, action }) {
          if (action === 'create') return item
          return { ...item, code: item.code === 'a' ? 'b' : 'c' }
        }
      }
    }).with(bulk(both))
    await prepare(definition)
    const app = await build(t, definition)
    await fill(app, [{ status: 'open', code: 'b' }, { status: 'open', code: 'a' }])
    // The first item gives its value away before the second one gets it.
    t.strictSame((await request(app, 'PATCH /orders?status=open', patch({ total: 1 }))).json(), { count: 2 })
    t.strictSame((await read(app)).map(({ code }) => code), ['c', 'b'])
  })

  test(`${name}: hooks run for each item, in one transaction`, { skip }, async (t) => {
    const { storage, prepare } = await openStorage(t)
    const events: string[] = []
    const definition = orders({
      storage,
      hooks: {
        beforeValidation ({ item, action, before }) {
          events.push(`beforeValidation ${action} ${before?.id}`)
          return item
        },
        beforeWrite ({ action, item, before }) {
          events.push(`beforeWrite ${action} ${before?.id}`)
          if (item?.total === 7 && item.id === 3) throw problem('conflict', { detail: 'Not this one.' })
        },
        afterWrite ({ action, after }) { events.push(`afterWrite ${action} ${after?.status}`) },
        afterCommit ({ action, before, after }) { events.push(`afterCommit ${action} ${before?.id} ${after?.status}`) }
      }
    }).with(bulk(both))
    await prepare(definition)
    const app = await build(t, definition)
    await fill(app, three)
    events.length = 0
    t.equal((await request(app, 'PATCH /orders?status=open', patch({ status: 'closed' }))).statusCode, 200)
    t.strictSame(events.splice(0), [
      'beforeValidation update 1', 'beforeValidation update 3',
      'beforeWrite update 1', 'afterWrite update closed', 'beforeWrite update 3', 'afterWrite update closed',
      'afterCommit update 1 closed', 'afterCommit update 3 closed'
    ])
    const refused = await request(app, 'PATCH /orders?status=closed', patch({ total: 7 }))
    t.match(refused.json(), { status: 409, detail: /Not this one/ })
    t.strictSame((await read(app)).map(({ total }) => total), [0, 0, 0])
    events.length = 0
    t.equal((await request(app, 'DELETE /orders?status=closed')).statusCode, 200)
    t.strictSame(events.splice(0), [
      'beforeWrite remove 1', 'afterWrite remove undefined', 'beforeWrite remove 3', 'afterWrite remove undefined',
      'afterCommit remove 1 undefined', 'afterCommit remove 3 undefined'
    ])
  })

  test(`${name}: bulk and single writes at the same time lose no update`, { skip }, async (t) => {
    const { storage, prepare } = await openStorage(t)
    for (const hooks of [{}, { beforeValidation: ({ item }: { item: OrderItem }) => item }]) {
      const definition = define({
        name: 'orders',
        schema: Tagged,
        id: { generate: 'storage' },
        // The items have other properties than those of the other tests.
        storage: storage as unknown as <Item extends object>(shape: Shape) => Storage<Item>,
        hooks: hooks as object
      }).with(bulk(both))
      if (Object.keys(hooks).length === 0) await prepare(definition as unknown as Definition<OrderItem>)
      const app = await build(t, definition)
      await fill(app, Array.from({ length: 5 }, () => ({ status: 'open', tags: {} })))
      const { length } = await read(app)
      const writes = Array.from({ length: 6 }, async (_, index) => {
        return request(app, 'PATCH /orders?status=open', patch({ tags: { [`bulk${index}`]: index } }))
      })
      const singles = Array.from({ length: length * 3 }, async (_, index) => {
        return request(app, `PATCH /orders/${index % length + 1}`, patch({ tags: { [`single${index % 3}`]: index } }))
      })
      const responses = await Promise.all([...writes, ...singles])
      for (const { statusCode, payload } of responses) t.equal(statusCode, 200, payload)
      for (const { tags } of await read(app) as unknown as Array<{ tags: Record<string, number> }>) {
        for (let index = 0; index < 6; index++) t.equal(tags[`bulk${index}`], index)
        for (let index = 0; index < 3; index++) t.type(tags[`single${index}`], 'number')
      }
    }
  })
}

test('a request needs a condition, and takes no parameter of pages', async (t) => {
  const app = await build(t, orders({ list: { search: ['customer'] } }).with(bulk(both)))
  await fill(app, three)
  for (const method of ['PATCH', 'DELETE']) {
    const content = patch({ status: 'closed' })
    t.match((await request(app, `${method} /orders`, content)).json(), {
      status: 400,
      code: 'invalid-query',
      detail: /needs a condition/
    })
    for (const parameter of ['limit=1', 'cursor=x', 'sort=total', 'fields=id', 'count=true']) {
      const name = parameter.split('=', 1).join()
      t.match((await request(app, `${method} /orders?status=open&${parameter}`, content)).json(), {
        status: 400,
        code: 'invalid-query',
        parameter: name
      }, parameter)
    }
    t.match((await request(app, `${method} /orders?stats=open`, content)).json(), { status: 400, parameter: 'stats' })
    t.match((await request(app, `${method} /orders?total=x`, content)).json(), { status: 400, parameter: 'total' })
    t.match((await request(app, `${method} /orders?secret=x`, content)).json(), { status: 400, parameter: 'secret' })
  }
  t.equal(await readStatuses(app), 'open,draft,open')
  const searched = await request(app, 'PATCH /orders?q=ADA', patch({ status: 'closed' }))
  t.strictSame(searched.json(), { count: 1 })
  t.equal(await readStatuses(app), 'closed,draft,open')
})

test('preconditions are 400, whatever the items are, and etag.required does not apply', async (t) => {
  const app = await build(t, orders({ etag: { required: true } }).with(bulk(both)))
  await fill(app, three)
  const date = new Date().toUTCString()
  for (const header of [{ 'if-match': '*' }, { 'if-none-match': '"a"' }, { 'if-unmodified-since': date }]) {
    for (const method of ['PATCH', 'DELETE']) {
      t.match((await request(app, `${method} /orders?status=open`, patch({ total: 1 }, header as Record<string, string>))).json(), {
        status: 400,
        code: 'bad-request',
        detail: new RegExp(`If-Match, If-None-Match and If-Unmodified-Since are not supported on ${method} of a list`)
      })
    }
  }
  t.strictSame((await request(app, 'PATCH /orders?status=open', patch({ total: 1 }))).json(), { count: 2 })
})

test('content that no item accepts is refused as for one item, and names the first', async (t) => {
  const app = await build(t, orders().with(bulk(both)))
  await fill(app, three)
  const send = (content: unknown, type = 'application/merge-patch+json') => {
    return request(app, 'PATCH /orders?status=open', { content, type })
  }
  const cases: ReadonlyArray<[unknown, string]> = [
    [{ status: 'lost' }, '/status'],
    [{ id: 7 }, '/id'],
    [{ number: 'x' }, '/number'],
    [{ updatedAt: '2026-01-01T00:00:00Z' }, '/updatedAt'],
    [{ stats: 'x' }, '/stats'],
    [{ total: '1' }, '/total'],
    [{ total: null }, '/total']
  ]
  for (const [content, pointer] of cases) {
    const response = (await send(content)).json()
    t.match(response, { status: 422, code: 'validation-failed', item: 1, errors: [{ pointer }] }, pointer)
    t.match(response.detail, /^Item 1: .* Nothing was changed\.$/)
    const single = (await request(app, 'PATCH /orders/1', patch(content))).json()
    t.strictSame(response.errors, single.errors)
  }
  t.match((await send('{"status":')).json(), { status: 400, code: 'malformed-content' })
  for (const content of ['[]', '"text"', 'null']) {
    t.match((await send(content)).json(), { status: 422, errors: [{ pointer: '', message: 'must be object' }] })
  }
  const refused = await send([{ op: 'replace', path: '/status', value: 'closed' }], 'application/json-patch+json')
  t.equal(refused.statusCode, 415)
  t.equal(refused.headers['accept-patch'], 'application/merge-patch+json, application/json')
  t.equal((await send({ total: 1 }, 'application/json')).statusCode, 200)
  t.match((await request(app, 'PATCH /orders?status=open')).json(), { status: 400, code: 'malformed-content' })
  t.equal(await readStatuses(app), 'open,draft,open')
})

test('an item that the patch makes invalid is named, and nothing is written', async (t) => {
  const schema = Type.Unsafe<OrderItem>({
    ...Order,
    if: { properties: { status: { const: 'closed' } } },
    then: { required: ['customer'] }
  })
  const app = await build(t, orders({ schema: schema as unknown as typeof Order }).with(bulk(both)))
  await fill(app, [open('ada'), open(), open('bob')])
  const response = (await request(app, 'PATCH /orders?status=open', patch({ status: 'closed' }))).json()
  t.match(response, { status: 422, item: 2, errors: [{ pointer: '/customer', message: 'is required' }] })
  t.equal(await readStatuses(app), 'open,open,open')
})

test('items that a patch does not change are counted, and keep their versions', async (t) => {
  const committed: unknown[] = []
  const app = await build(t, orders({
    hooks: { afterCommit: ({ action, before }) => { committed.push([action, before?.id]) } }
  }).with(bulk(both)))
  await fill(app, three)
  committed.length = 0
  const { headers: { etag } } = await request(app, 'GET /orders/1')
  const content = patch({ customer: 'ada' }, { prefer: 'return=representation' })
  t.strictSame((await request(app, 'PATCH /orders?status=open', content)).json(), { count: 2, ids: [1, 3] })
  t.equal((await request(app, 'GET /orders/1')).headers.etag, etag)
  t.strictSame(committed, [['update', 3]])
})

test('the response is in the format that the client accepts, or has no content', async (t) => {
  const app = await build(t, orders({ formats: [json, hal, xml, html] }).with(bulk(both)))
  await fill(app, three)
  const send = (fields: Record<string, string>) => request(app, 'PATCH /orders?status=open', patch({ total: 1 }, fields))
  const minimal = await send({ prefer: 'return=minimal' })
  t.strictSame([minimal.statusCode, minimal.payload], [204, ''])
  t.equal(minimal.headers['preference-applied'], 'return=minimal')
  const inXml = await send({ accept: 'application/xml', prefer: 'return=representation' })
  t.match(inXml.payload, /<count>2<\/count>/)
  t.match(inXml.payload, /<ids>/)
  t.match((await send({ accept: 'application/hal+json' })).json(), { count: 2, _links: { up: { href: '/orders' } } })
  t.match((await send({ accept: 'text/html' })).payload, /<!doctype html>/i)
  t.equal((await send({ accept: 'image/png' })).statusCode, 406)
  t.equal((await request(app, 'DELETE /orders?status=open', { fields: { accept: 'image/png' } })).statusCode, 406)
})

test('OPTIONS and 405 name PATCH and DELETE of the collection only if they are enabled', async (t) => {
  const allow = async (definition: Definition<OrderItem>) => {
    const app = await build(t, definition)
    const options = await request(app, 'OPTIONS /orders')
    const refused = await request(app, 'PUT /orders')
    t.equal(refused.headers.allow, options.headers.allow)
    return [options.headers.allow, options.headers['accept-patch']]
  }
  t.strictSame(await allow(orders().with(bulk())), ['GET, HEAD, POST, QUERY, OPTIONS', undefined])
  t.strictSame(await allow(orders().with(bulk({ update: true }))), [
    'GET, HEAD, POST, PATCH, QUERY, OPTIONS', 'application/merge-patch+json, application/json'
  ])
  t.strictSame(await allow(orders().with(bulk({ remove: true }))), [
    'GET, HEAD, POST, DELETE, QUERY, OPTIONS', undefined
  ])
  const app = await build(t, orders().with(bulk({ remove: true })))
  t.equal((await request(app, 'PATCH /orders?status=open', patch({ total: 1 }))).statusCode, 405)
})

test('a caller needs the right to write and the right to list', async (t) => {
  const access = (allowed: Record<string, readonly string[]>): NonNullable<Options<typeof Order>['access']> => ({
    authenticate: ({ request }) => request.headers['x-user'] as string | undefined,
    allow: ({ caller, action }) => caller !== undefined && allowed[String(caller)]!.includes(action)
  })
  const app = await build(t, orders({
    access: access({
      root: ['create', 'list', 'read', 'update', 'remove'],
      writer: ['read', 'update', 'remove'],
      reader: ['list', 'read'],
      blind: ['list', 'update']
    })
  }).with(bulk(both)))
  const as = (user: string) => ({ 'x-user': user })
  for (const content of three) await request(app, 'POST /orders', { content, fields: as('root') })
  const send = (user: string) => request(app, 'PATCH /orders?status=open', patch({ total: 1 }, as(user)))
  t.equal((await request(app, 'PATCH /orders?status=open', patch({ total: 1 }))).statusCode, 401)
  t.equal((await send('writer')).statusCode, 403)
  t.equal((await send('reader')).statusCode, 403)
  t.strictSame([(await send('blind')).statusCode, (await send('blind')).payload], [204, ''])
  t.strictSame((await send('root')).json(), { count: 2 })
  t.equal((await request(app, 'DELETE /orders?status=open', { fields: as('writer') })).statusCode, 403)
  const getAllow = async (user: string) => (await request(app, 'OPTIONS /orders', { fields: as(user) })).headers.allow
  t.equal(await getAllow('writer'), 'OPTIONS')
  t.equal(await getAllow('root'), 'GET, HEAD, POST, PATCH, DELETE, QUERY, OPTIONS')
})

test('items outside of the scope do not exist, and none can leave it', async (t) => {
  const app = await build(t, orders({
    access: {
      authenticate: ({ request }) => request.headers['x-user'] as string | undefined,
      scope: ({ caller }) => caller === 'root' ? undefined : { values: { customer: String(caller) } },
      visible: { total: ({ caller }) => caller === 'root' }
    }
  }).with(bulk(both)))
  const as = (user: string) => ({ 'x-user': user })
  for (const user of ['ada', 'bob', 'ada']) await request(app, 'POST /orders', { content: open(), fields: as(user) })
  const send = (query: string, content: object, user = 'ada') => {
    return request(app, `PATCH /orders?${query}`, patch(content, { ...as(user), prefer: 'return=representation' }))
  }
  t.strictSame((await send('id.gte=1', { status: 'closed' })).json(), { count: 2, ids: [1, 3] })
  t.match((await send('id.gte=1', { customer: 'bob' })).json(), {
    status: 422,
    item: 1,
    errors: [{ pointer: '/customer' }]
  })
  t.match((await send('total=0', { status: 'open' })).json(), { status: 400, parameter: 'total' })
  t.match((await send('id=1', { total: 5 })).json(), { status: 422, errors: [{ pointer: '/total' }] })
  t.strictSame((await send('total=0', { status: 'open' }, 'root')).json(), { count: 3, ids: [1, 2, 3] })
  const removed = await request(app, 'DELETE /orders?id.gte=1', { fields: as('bob') })
  t.strictSame(removed.json(), { count: 1 })
})

test('with softDelete, items are marked, and deleted ones do not match', async (t) => {
  const schema = Type.Object({ ...Order.properties, deletedAt: Type.Optional(Type.String({ format: 'date-time' })) })
  const definition = define({ name: 'orders', schema, id: { generate: 'storage' }, storage: memory() })
    .with(bulk(both), softDelete({ property: 'deletedAt', allow: () => true }))
  const app = await build(t, definition)
  await fill(app, three)
  t.strictSame((await request(app, 'DELETE /orders?status=open')).json(), { count: 2 })
  t.equal((await request(app, 'GET /orders/1')).statusCode, 410)
  t.equal(await readStatuses(app), 'draft')
  t.equal(await readStatuses(app, '/orders?deleted=true'), 'open,draft,open')
  t.strictSame((await request(app, 'PATCH /orders?status=open', patch({ total: 5 }))).json(), { count: 0 })
  t.match((await request(app, 'PATCH /orders?status=open&deleted=true', patch({ total: 5 }))).json(), {
    status: 400,
    parameter: 'deleted'
  })
})

test('a key makes PATCH and DELETE of a collection safe to repeat', async (t) => {
  const app = await build(t, orders().with(bulk({ ...both, maximum: 1000 }), idempotency()))
  await fill(app, three)
  const key = (text: string) => ({ 'idempotency-key': `"${text}"`, prefer: 'return=representation' })
  const update = () => request(app, 'PATCH /orders?status=open', patch({ total: 1 }, key('a')))
  t.strictSame((await update()).json(), { count: 2, ids: [1, 3] })
  await fill(app, [open()])
  const repeated = await update()
  t.strictSame(repeated.json(), { count: 2, ids: [1, 3] })
  t.equal(repeated.headers['idempotent-replayed'], 'true')
  t.equal((await read(app))[3]!.total, 0)
  const other = await request(app, 'PATCH /orders?status=draft', patch({ total: 1 }, key('a')))
  t.match(other.json(), { status: 422, code: 'idempotency-key-reused' })
  const remove = () => request(app, 'DELETE /orders?status=open', { fields: key('b') })
  t.strictSame((await remove()).json(), { count: 3, ids: [1, 3, 4] })
  await fill(app, [open()])
  t.strictSame((await remove()).json(), { count: 3, ids: [1, 3, 4] })
  t.equal(await readStatuses(app), 'draft,open')
  // Nothing was written, so the key is free.
  t.equal((await request(app, 'PATCH /orders?status=open', patch({ status: 'x' }, key('c')))).statusCode, 422)
  t.equal((await request(app, 'PATCH /orders?status=open', patch({ total: 2 }, key('c')))).statusCode, 200)
  const none = await request(app, 'PATCH /orders?status=closed', patch({ total: 2 }, key('d')))
  t.strictSame(none.json(), { count: 0, ids: [] })
  const long = await request(app, 'POST /orders', { content: createMany(600), fields: key('e') })
  t.equal(long.statusCode, 201)
  const first = await request(app, 'PATCH /orders?status=open', patch({ total: 3 }, key('f')))
  t.equal((await request(app, 'PATCH /orders?status=open', patch({ total: 3 }, key('f')))).payload, first.payload)
})

test('within the items of another collection, only its own items match', async (t) => {
  const Shop = Type.Object({ id: Type.Integer(), name: Type.String() })
  const shops = define({ name: 'shops', schema: Shop, id: { generate: 'storage' }, storage: memory() })
  const schema = Type.Object({ ...Order.properties, shopId: Type.Integer() })
  const nested = define({ name: 'orders', schema, id: { generate: 'storage' }, storage: memory() })
  const app = await build(t, [shops, nested.with(bulk(both), within(shops, 'shopId'))])
  await fill(app, [{ name: 'a' }, { name: 'b' }], '/shops')
  await fill(app, three, '/shops/1/orders')
  await fill(app, three, '/shops/2/orders')
  t.strictSame((await request(app, 'PATCH /shops/2/orders?status=open', patch({ total: 1 }))).json(), { count: 2 })
  t.strictSame((await read(app, '/shops/1/orders')).map(({ total }) => total), [0, 0, 0])
  t.match((await request(app, 'PATCH /shops/2/orders?status=open', patch({ shopId: 1 }))).json(), {
    status: 422,
    errors: [{ pointer: '/shopId' }]
  })
  t.equal((await request(app, 'DELETE /shops/3/orders?status=open')).statusCode, 404)
  t.equal((await request(app, 'DELETE /shops/1/orders')).statusCode, 400)
  t.strictSame((await request(app, 'DELETE /shops/1/orders?status=open')).json(), { count: 2 })
  t.equal(await readStatuses(app, '/shops/2/orders'), 'open,draft,open')
})

test('a write that takes too long is 503, and nothing is written', async (t) => {
  const app = await build(t, orders({
    hooks: {
      async beforeValidation ({ item, action }) {
        if (action === 'update') await wait(30)
        return item
      }
    }
  }).with(bulk(both), timeout({ update: 40 })))
  await fill(app, [open(), open(), open()])
  t.match((await request(app, 'PATCH /orders?status=open', patch({ status: 'closed' }))).json(), {
    status: 503,
    code: 'timeout',
    detail: /Nothing was changed/
  })
  await wait(100)
  t.equal(await readStatuses(app), 'open,open,open')
})

test('a failure in the middle leaves nothing behind, with and without methods for several items', async (t) => {
  for (const hasMany of [true, false]) {
    let writes = 0
    const fail = async (): Promise<never> => {
      throw new Error('disk failure')
    }
    const storage = modified((sound) => ({
      transaction: (work, context) => sound.transaction!(async ({ replaceMany, removeMany, ...inner }, handle) => {
        return work({
          ...inner,
          ...hasMany && {
            async replaceMany (replacements, context) {
              await replaceMany!(replacements.slice(0, 2), context)
              return fail()
            }
          },
          replace: (id, item, expected, context) => {
            return ++writes === 3 ? fail() : inner.replace(id, item, expected, context)
          }
        }, handle)
      }, context)
    }))
    const { lines, logger } = logged()
    const app = await build(t, orders({ storage: storage as unknown as OrderStorage }).with(bulk(both)), { logger })
    await fill(app, [open(), open(), open()])
    t.equal((await request(app, 'PATCH /orders?status=open', patch({ status: 'closed' }))).statusCode, 500)
    t.equal(await readStatuses(app), 'open,open,open')
    t.match(lines, [{ err: { message: /disk failure/ } }])
  }
})

test('a write begins again if a storage that does not lock reports a race', async (t) => {
  let lists = 0
  const storage = modified((sound) => ({
    transaction: (work, context) => {
      return sound.transaction!(async (inner, handle) => work({
        ...inner,
        async list (query, context) {
          const page = await inner.list(query, context)
          if (++lists > 1) return page
          // As if another process had written in between.
          return { ...page, entries: page.entries.map((entry) => ({ ...entry, version: 'old' })) }
        }
      }, handle), context)
    }
  }))
  const app = await build(t, orders({ storage: storage as unknown as OrderStorage }).with(bulk(both)))
  await fill(app, three)
  t.strictSame((await request(app, 'PATCH /orders?status=open', patch({ status: 'closed' }))).json(), { count: 2 })
  t.equal(lists, 2)
})

test('responses name the cache groups that they make invalid', async (t) => {
  const app = await build(t, orders({ cache: 'public, max-age=60' }).with(bulk(both)))
  await fill(app, three)
  const { headers } = await request(app, 'PATCH /orders?status=open', patch({ total: 1 }))
  const single = await request(app, 'PATCH /orders/1', patch({ total: 2 }))
  t.ok(headers['cache-group-invalidation'])
  t.equal(headers['cache-group-invalidation'], single.headers['cache-group-invalidation'])
  t.equal(headers['cache-control'], 'no-store')
})

test('options that do not work are refused', async (t) => {
  t.throws(() => orders().with(bulk({ update: 'yes' as never })), { message: /update is "yes". Make it true or false/ })
  t.throws(() => orders().with(bulk({ delete: true } as never)), { message: /no option "delete"/ })
  t.throws(() => orders({ actions: ['list', 'read'] }).with(bulk({ update: true })), {
    message: /actions does not contain "update"/
  })
  t.throws(() => orders({ actions: ['create', 'remove'] }).with(bulk({ remove: true })), {
    message: /actions does not contain "list"/
  })
  const unfiltered = modified((sound) => ({ supports: { ...sound.supports, filter: false } }))
  t.throws(() => orders({ storage: unfiltered as unknown as OrderStorage }).with(bulk(both)), {
    code: 'FST_COLLECTION_UNSUPPORTED'
  })
  const guard = async () => {}
  t.throws(() => orders({ routes: { list: { onRequest: guard } } }).with(bulk(both)), {
    message: /the hooks in the routes of list do not run for a bulk update/
  })
  orders({ routes: { list: { onRequest: guard } } }).with(bulk())
  orders({ routes: { all: { onRequest: guard } } }).with(bulk(both))
  orders({ routes: { list: { onRequest: guard } }, access: { allow: 'public' } }).with(bulk(both))
})

/** The calls of an app that does not listen. */
async function openCalls (t: Test, { storage, prepare }: Opened, options: Partial<Options<typeof Order>> = {}) {
  const definition = define({
    name: 'orders',
    schema: Order,
    id: { generate: 'storage' },
    storage,
    ...options
  }).with(bulk(both))
  await prepare(definition)
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registry)
  await app.register(collection, definition)
  await app.ready()
  return { app, definition, calls: app.collection(definition) }
}

const inMemory: Opened = { storage: memory(), async prepare () {} }

for (const [name, { skip, open: openStorage }] of Object.entries(opened)) {
  test(`${name}: code creates, changes and removes several items`, { skip }, async (t) => {
    const { calls } = await openCalls(t, await openStorage(t))
    const created = await calls.createMany([{ status: 'open' }, { status: 'draft', total: 2 }, { status: 'open' }])
    t.match(created, [{ id: 1, item: { status: 'open', total: 0 } }, { id: 2, item: { total: 2 } }, { id: 3 }])
    t.equal(created[0]!.tag, (await calls.read(1)).tag)
    const filter = { any: [{ status: 'open' }, { 'total.gt': 1 }], not: { id: 1 } }
    t.strictSame(await calls.updateMany({ filter }, { status: 'closed' }), { count: 2, ids: [2, 3] })
    t.match(await calls.read(2), { item: { status: 'closed', total: 2 } })
    t.strictSame(await calls.removeMany({ filter: { status: 'closed' } }), { count: 2, ids: [2, 3] })
    t.strictSame(await calls.removeMany({ filter: { status: 'closed' } }), { count: 0, ids: [] })
  })

  test(`${name}: writes to several items are part of a transaction`, { skip }, async (t) => {
    const { calls } = await openCalls(t, await openStorage(t))
    await calls.createMany([{ status: 'open' }, { status: 'open' }])
    const failure = new Error('on purpose')
    const filter = { status: 'open' }
    await t.rejects(calls.transaction(async (transaction) => {
      await calls.createMany([{ status: 'open' }], { transaction })
      t.strictSame((await calls.updateMany({ filter }, { total: 5 }, { transaction })).ids.length, 3)
      t.strictSame((await calls.removeMany({ filter: { total: 5 } }, { transaction })).count, 3)
      throw failure
    }), failure)
    const statuses: unknown[] = []
    for await (const { item } of calls.list()) statuses.push([item.status, item.total])
    t.strictSame(statuses, [['open', 0], ['open', 0]])
    await calls.transaction(async (transaction) => {
      await calls.updateMany({ filter }, { total: 1 }, { transaction })
      await calls.update(1, { total: 2 }, { transaction })
    })
    t.match(await calls.read(1), { item: { total: 2 } })
    t.match(await calls.read(2), { item: { total: 1 } })
  })

  test(`${name}: an update of several items does what single updates do`, { skip }, async (t) => {
    const { calls } = await openCalls(t, await openStorage(t), { unique: ['code'] })
    // Content with NUL is refused.
    const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary-ascii' }))
      .map((given) => given.replaceAll('\0', ''))
    const item = fc.record({
      status: fc.constantFrom('draft', 'open', 'closed'),
      total: fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)),
      customer: fc.option(text, { nil: undefined }),
      place: fc.option(fc.record({ city: text }), { nil: undefined })
    })
    const change = fc.record({
      status: fc.constantFrom('draft', 'open', 'closed', 'lost'),
      total: fc.oneof(fc.integer(), fc.constant(null)),
      customer: fc.constantFrom('ada', '', null),
      place: fc.oneof(fc.constant(null), fc.record({ city: fc.constantFrom('a"b', null), zip: fc.constant('1') })),
      code: fc.constantFrom('a', 'b')
    }, { requiredKeys: [] })
    const readAll = async (): Promise<object[]> => {
      const items: object[] = []
      for await (const { item: { id, updatedAt, ...rest } } of calls.list({ sort: ['id'] })) items.push(rest)
      return items
    }
    await fc.assert(fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 5 }), change, async (items, patch) => {
      await calls.removeMany({ filter: { 'id.null': false } })
      // Items as a client would send them.
      const contents = JSON.parse(JSON.stringify(items)) as OrderItem[]
      const created = await calls.createMany(contents)
      const before = await readAll()
      const matching = created.filter((entry) => entry.item.status === 'open').map(({ id }) => id)
      const single = calls.transaction(async (transaction) => {
        for (const id of matching) await calls.update(id, patch as object, { transaction })
        throw Object.assign(new Error('undone'), { items: await readInside(transaction) })
      })
      async function readInside (transaction: Parameters<Parameters<typeof calls.transaction>[0]>[0]) {
        const items: object[] = []
        const list = calls.list({ sort: ['id'] }, { transaction })
        for await (const { item: { id, updatedAt, ...rest } } of list) items.push(rest)
        return items
      }
      const expected = await single.catch((error: { items?: object[], code?: string }) => error)
      const actual = await calls.updateMany({ filter: { status: 'open' } }, patch as object)
        .then(({ ids }) => ({ ids }), (error: { code?: string }) => error)
      if ('ids' in actual) {
        t.strictSame(actual.ids, matching)
        t.strictSame(await readAll(), (expected as { items?: object[] }).items)
      } else {
        t.equal(actual.code, (expected as { code?: string }).code)
        t.strictSame(await readAll(), before)
      }
    }), { numRuns: name === 'memory' ? 100 : 40 })
  })
}

test('from code, the rules of the caller apply', async (t) => {
  const { calls } = await openCalls(t, inMemory, {
    access: {
      authenticate: () => undefined,
      allow: ({ caller, action }) => caller === 'ada' || (caller === 'writer' && action !== 'list'),
      scope: ({ caller }) => ({ values: { customer: String(caller) } }),
      visible: { total: () => false }
    }
  })
  const caller = 'ada'
  await calls.createMany([{ status: 'open' }], { caller })
  await calls.createMany([{ status: 'open', customer: 'bob' }, { status: 'open', customer: 'ada' }])
  const open = { filter: { status: 'open' } }
  await t.rejects(calls.updateMany(open, { status: 'closed' }, { caller: 'writer' }), { code: 'forbidden' })
  await t.rejects(calls.removeMany(open, { caller: undefined }), { code: 'unauthenticated' })
  await t.rejects(calls.updateMany({ filter: { total: 0 } }, { status: 'closed' }, { caller }), { code: 'validation-failed' })
  await t.rejects(calls.updateMany(open, { total: 7 }, { caller }), { code: 'validation-failed' })
  t.strictSame(await calls.updateMany(open, { status: 'closed' }, { caller }), { count: 2, ids: [1, 3] })
  t.strictSame(await calls.removeMany(open), { count: 1, ids: [2] })
})

test('from code, mistakes are refused', async (t) => {
  const { calls } = await openCalls(t, inMemory)
  await t.rejects(calls.createMany({ status: 'open' } as never), new TypeError('createMany() takes an array of items.'))
  await t.rejects(calls.createMany([]), { code: 'validation-failed' })
  await t.rejects(calls.createMany(Array.from({ length: 11 }, () => ({ status: 'open' }))), { code: 'validation-failed' })
  await t.rejects(calls.createMany([{ status: 'open' }, { status: 'lost' }]), {
    code: 'validation-failed',
    errors: [{ pointer: '/1/status' }]
  })
  await t.rejects(calls.updateMany({}, { status: 'open' }), { code: 'invalid-query' })
  await t.rejects(calls.updateMany({ filter: {} }, { status: 'open' }), { code: 'invalid-query' })
  for (const filter of [{ all: [] }, { any: [{ status: 'open' }, {}] }, { not: { any: [] } }, { not: { not: {} } }]) {
    await t.rejects(calls.removeMany({ filter }), { code: 'invalid-query' }, JSON.stringify(filter))
  }
  await t.rejects(calls.removeMany({ filter: { status: 'open' }, limit: 1 } as never), {
    message: 'A query has no property "limit". Available properties: filter, q.'
  })
  await t.rejects(calls.updateMany({ filter: { status: 'open' } }, [] as never), { code: 'validation-failed' })
  await calls.createMany([{ status: 'open' }])
  for (const [filter, at] of [
    [{ status: 'open', customer: undefined }, 'filter.customer'],
    [{ status: 'open', any: [{ customer: undefined }] }, 'filter.any.0.customer'],
    [{ 'customer.in': ['ada', undefined] }, 'filter.customer.in.1'],
    [{ status: 'open', customer: () => 'ada' }, 'filter.customer'],
    [{ status: 'open', customer: Symbol('ada') }, 'filter.customer'],
    [{ status: 'open', customer: { toJSON () {} } }, 'filter.customer']
  ] as const) {
    const message = new RegExp(`^The query has no value at ${at.replaceAll('.', '\\.')}\\. Remove the property`)
    await t.rejects(calls.removeMany({ filter } as never), { name: 'TypeError', message })
    await t.rejects(calls.updateMany({ filter } as never, { status: 'draft' }), { name: 'TypeError', message })
    await t.rejects(calls.list({ filter } as never).next(), { name: 'TypeError', message })
  }
  t.strictSame((await calls.list().next()).value?.item.status, 'open', 'nothing was changed')
  const refused = calls.updateMany({ filter: { status: 'open' } }, { status: 'lost' })
  await t.rejects(refused, { code: 'validation-failed', message: /Item 1/ })
})

test('the app can choose the ids of several new items', async (t) => {
  const definition = define({
    name: 'notes',
    schema: Type.Object({ id: Type.String({ format: 'uuid' }), text: Type.String() }),
    storage: memory()
  }).with(bulk())
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registry)
  await app.register(collection, definition)
  await app.ready()
  const id = '01900000-0000-7000-8000-000000000001'
  const calls = app.collection(definition)
  const [first, second] = await calls.createMany([{ id, text: 'a' }, { text: 'b' }])
  t.equal(first!.id, id)
  t.not(second!.id, id)
  await t.rejects(calls.createMany([{ text: 'a' }, { id: 'x', text: 'b' }]), { errors: [{ pointer: '/1/id' }] })
})

test('a custom action cannot have the name of a method for several items', async (t) => {
  t.throws(() => orders().with(action('updateMany', { run () {} })), { message: /Choose another name/ })
})
