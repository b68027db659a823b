import { Type } from '@sinclair/typebox'
import type { AccessContext, Definition } from '../../lib/index.ts'
import type { Receipts, Shape, Storage } from '../../lib/storage/index.ts'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import tap, { test } from 'tap'
import type { Test } from 'tap'
import { html } from '../../lib/formats/html.ts'
import collection, { json, schemaSql } from '../../lib/index.ts'
import { hal } from '../../lib/formats/hal.ts'
import type { Feature } from '../../lib/features/index.ts'
import type { Format } from '../../lib/formats/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import type { IdempotencyOptions } from '../../lib/features/idempotency.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { build, logged, notes, request } from '../app.ts'
import { databases } from '../storage/databases.ts'
import type { Database } from '../storage/databases.ts'
import { define } from '../define.ts'

// The responses to writes, and what is stored, on every storage.

interface Store {
  readonly adapter: <Item extends object>(shape: Shape) => Storage<Item>
  /** Undefined for memory. */
  readonly database: Database | undefined
  createTable(definition: Definition): Promise<void>
}

interface Available {
  readonly name: string
  readonly skip: string | false
  /** The same for every test of this file. */
  open(): Promise<Store>
}

const opened = new Map<string, Promise<Database>>()

/** Starting a server takes longer than most tests, so each is started once. */
function openOnce ({ name, open }: (typeof databases)[number]): Promise<Database> {
  const database = opened.get(name) ?? open()
  opened.set(name, database)
  return database
}

tap.teardown(async () => {
  for (const database of opened.values()) await (await database).end()
})

const stores: readonly Available[] = [
  {
    name: 'memory',
    skip: false,
    open: async () => ({ adapter: memory(), database: undefined, async createTable () {} })
  },
  ...databases.map((available): Available => ({
    name: available.name,
    skip: available.skip,
    async open () {
      const database = await openOnce(available)
      const adapter = database.adapter()
      return {
        adapter,
        database,
        createTable: (definition) => adapter.createTable(definition)
      }
    }
  }))
]

async function serve (t: Test, ...definitions: Definition[]): Promise<FastifyInstance> {
  return build(t, definitions)
}

const uuid = Type.String({ format: 'uuid', readOnly: true })

for (const { name, skip, open } of stores) {
  test(
    `${name}: a write that changes nothing keeps the version and updatedAt, and calls no hook`,
    { skip },
    async (t) => {
      const { adapter, createTable } = await open()
      const Place = Type.Object({
        id: uuid,
        name: Type.String(),
        at: Type.Optional(Type.Object({ city: Type.String(), tags: Type.Array(Type.String()) })),
        opened: Type.Optional(Type.String({ format: 'date-time' })),
        secret: Type.Optional(Type.String({ writeOnly: true })),
        updatedAt: Type.String({ format: 'date-time', readOnly: true })
      })
      const changes: string[] = []
      const writes: string[] = []
      const journal: Feature<object> = {
        name: 'journal',
        setup: (host) =>
          host.addHook('onWrite', async ({ action }) => {
            writes.push(action)
          })
      }
      const places = define({
        name: 'places',
        schema: Place,
        storage: adapter,
        hooks: {
          afterCommit: ({ action }) => {
            changes.push(action)
          }
        }
      })
      const keyed = places.with(idempotency(), journal)
      await createTable(keyed)
      const app = await build(t, keyed)
      const content = {
        name: 'Home',
        at: { city: 'Rome', tags: ['a', 'b'] },
        opened: '2026-01-01T05:00:00+01:00',
        secret: 's'
      }
      const created = await request(app, 'POST /places', { content })
      const url = String(created.headers.location)
      const read = async () => {
        const { headers, payload } = await request(app, `GET ${url}`)
        return { etag: headers.etag, payload }
      }
      const before = await read()
      changes.length = writes.length = 0

      // In another order, with another spelling of the date, and without the property that a client cannot read.
      const same = { opened: '2026-01-01T04:00:00Z', at: { tags: ['a', 'b'], city: 'Rome' }, name: 'Home' }
      for (const [target, sent, fields] of [
        [`PUT ${url}`, same, {}],
        [`PUT ${url}`, same, { 'if-match': String(before.etag) }],
        [`PATCH ${url}`, {}, {}],
        [`PATCH ${url}`, { at: { city: 'Rome' }, secret: 's' }, {}],
        [`PATCH ${url}`, { name: 'Home' }, { 'idempotency-key': '"same"' }]
      ] as const) {
        const response = await request(app, target, { content: sent, fields })
        t.equal(response.statusCode, 200, `${target} ${JSON.stringify(sent)}`)
        if (target.startsWith('PATCH')) t.equal(response.headers.etag, before.etag)
        t.strictSame(await read(), before)
      }
      const again = await request(app, `PATCH ${url}`, {
        content: { name: 'Home' },
        fields: { 'idempotency-key': '"same"' }
      })
      t.strictSame([again.statusCode, again.headers['idempotent-replayed']], [200, 'true'], 'the receipt is stored')
      t.strictSame([changes, writes], [[], []])

      for (const [target, sent] of [
        [`PATCH ${url}`, { at: { tags: ['a'] } }],
        [`PATCH ${url}`, { opened: null }],
        [`PATCH ${url}`, { secret: 'other' }]
      ] as const) {
        const previous = await read()
        t.equal((await request(app, target, { content: sent })).statusCode, 200)
        t.not((await read()).etag, previous.etag, JSON.stringify(sent))
      }
      t.strictSame(
        [changes, writes],
        [
          ['update', 'update', 'update'],
          ['update', 'update', 'update']
        ]
      )
    }
  )
}

for (const { name, skip, open } of stores) {
  test(`${name}: idempotency keys are separate for each caller`, { skip }, async (t) => {
    const { adapter, createTable } = await open()
    const Order = Type.Object({
      id: uuid,
      tenant: Type.String({ readOnly: true }),
      amount: Type.Integer(),
      cost: Type.Optional(Type.Integer())
    })
    const byKey = ({ request }: AccessContext) => ({ values: { tenant: String(request?.headers['x-tenant-key']) } })
    const keyed = { 'idempotency-key': 'order-1' }

    await t.test('if a hook identifies the caller by any header, and the scope differs', async (t) => {
      const orders = define({
        name: 'orders',
        schema: Order,
        storage: adapter,
        routes: {
          all: {
            async onRequest (request) {
              if (request.headers['x-tenant-key'] === undefined) {
                throw Object.assign(new Error('who?'), { statusCode: 401 })
              }
            }
          }
        },
        access: { scope: byKey }
      }).with(idempotency())
      await createTable(orders)
      const app = await serve(t, orders)
      const post = (tenant: string) =>
        request(app, 'POST /orders', { content: { amount: 1 }, fields: { ...keyed, 'x-tenant-key': tenant } })
      const [red, blue, again] = [await post('red'), await post('blue'), await post('red')]
      t.strictSame([red.json().tenant, blue.statusCode, blue.json().tenant], ['red', 201, 'blue'])
      t.strictSame([again.headers.location, again.headers['idempotent-replayed']], [red.headers.location, 'true'])
      const patch = (tenant: string, location: unknown) =>
        request(app, `PATCH ${location}`, {
          content: { amount: 2 },
          fields: { 'idempotency-key': 'patch', 'x-tenant-key': tenant }
        })
      t.equal((await patch('red', red.headers.location)).statusCode, 200)
      t.equal((await patch('blue', blue.headers.location)).json().tenant, 'blue')
      t.equal(
        (await patch('blue', red.headers.location)).statusCode,
        422,
        'a caller can use a key for one request only'
      )
    })

    await t.test('if the scope has only a filter', async (t) => {
      const orders = define({
        name: 'filtered',
        schema: Type.Object({ id: uuid, amount: Type.Integer() }),
        storage: adapter,
        access: {
          scope: ({ request }) => ({
            filter: { 'amount.lt': Number(request?.headers['x-limit']) }
          })
        }
      }).with(idempotency())
      await createTable(orders)
      const app = await serve(t, orders)
      const post = (limit: string) =>
        request(app, 'POST /filtered', { content: { amount: 1 }, fields: { ...keyed, 'x-limit': limit } })
      const [ten, twenty, again] = [await post('10'), await post('20'), await post('10')]
      t.not(twenty.headers.location, ten.headers.location)
      t.equal(again.headers.location, ten.headers.location)
    })

    await t.test('if one collection is registered with a parameter in its prefix', async (t) => {
      const orders = define({
        name: 'mounted',
        schema: Type.Object({ id: uuid, amount: Type.Integer() }),
        storage: adapter
      }).with(idempotency())
      await createTable(orders)
      const app = Fastify()
      t.after(() => app.close())
      await app.register(collection, { ...orders, prefix: '/:tenant' })
      const post = (tenant: string) => request(app, `POST /${tenant}/mounted`, { content: { amount: 1 }, fields: keyed })
      const [red, blue] = [await post('red'), await post('blue')]
      t.strictSame([red.statusCode, blue.statusCode, blue.headers['idempotent-replayed']], [201, 201, undefined])
    })
  })

  test(`${name}: a receipt stores a limited part of the response`, { skip }, async (t) => {
    const { adapter, database, createTable } = await open()
    let stored = 0
    const counting = <Item extends object>(shape: Shape): Storage<Item> => {
      const storage = adapter<Item>(shape)
      const watch = (receipts: Receipts): Receipts => ({
        claim: (...given) => receipts.claim(...given),
        keep (receipt, context) {
          stored += Buffer.byteLength(receipt.answer ?? '')
          return receipts.keep(receipt, context)
        },
        release: (...given) => receipts.release(...given),
        sweep: (...given) => receipts.sweep(...given)
      })
      return {
        ...storage,
        receipts: watch(storage.receipts!),
        transaction: (work, context) => {
          return storage.transaction!((inner) => work({ ...inner, receipts: watch(inner.receipts!) }), context)
        }
      }
    }
    const large = define({
      name: 'large',
      schema: Type.Object({ id: uuid, text: Type.String(), count: Type.Integer({ default: 0 }) }),
      storage: counting
    }).with(idempotency(), bulk())
    await createTable(large)
    const app = await serve(t, large)
    const created = await request(app, 'POST /large', { content: { text: 'x'.repeat(200_000) } })
    for (const accept of ['application/json', 'application/hal+json', 'application/xml']) {
      for (let count = 1; count <= 10; count++) {
        const options = { content: { count }, fields: { accept, 'idempotency-key': `"${accept} ${count}"` } }
        const first = await request(app, `PATCH ${created.headers.location}`, options)
        const again = await request(app, `PATCH ${created.headers.location}`, options)
        t.strictSame([first.statusCode, first.payload.length > 200_000], [200, true])
        t.strictSame(
          [again.statusCode, again.payload, again.headers['content-type'], again.headers.etag],
          [204, '', undefined, first.headers.etag]
        )
      }
    }
    t.ok(stored < 30 * 2048, `30 receipts keep ${stored} bytes`)
    if (database !== undefined) {
      const [row] = (await database.rows('SELECT SUM(LENGTH(answer)) AS total FROM large_receipts')) as Array<{
        total: unknown
      }>
      t.equal(Number(row!.total), stored)
    }
    const small = await request(app, 'POST /large', { content: { text: 'x'.repeat(10_000) } })
    const options = { content: { count: 1 }, fields: { 'idempotency-key': 'small' } }
    t.equal(
      (await request(app, `PATCH ${small.headers.location}`, options)).payload,
      (await request(app, `PATCH ${small.headers.location}`, options)).payload
    )
  })

  test(`${name}: PUT to an id that the caller cannot see always returns the same response`, { skip }, async (t) => {
    const { adapter, createTable } = await open()
    let calls = 0
    const counting = <Item extends object>(shape: Shape): Storage<Item> => {
      const storage = adapter<Item>(shape)
      return {
        ...storage,
        find (...given) {
          calls++
          return storage.find(...given)
        },
        insert (...given) {
          calls++
          return storage.insert(...given)
        }
      }
    }
    const Page = Type.Object({
      id: Type.String(),
      tenant: Type.String({ readOnly: true }),
      text: Type.String(),
      deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
    })
    const scope = ({ request }: AccessContext) => ({ values: { tenant: String(request?.headers['x-tenant']) } })
    const pages = define({
      name: 'pages',
      schema: Page,
      storage: counting,
      id: { generate: 'client' },
      put: { create: true },
      access: { scope }
    }).with(softDelete({ property: 'deletedAt' }))
    await createTable(pages)
    const app = await serve(t, pages)
    const red = { 'x-tenant': 'red' }
    const blue = { 'x-tenant': 'blue' }
    for (const id of ['living', 'removed']) {
      t.equal((await request(app, 'POST /pages', { content: { id, text: 'secret' }, fields: blue })).statusCode, 201)
    }
    t.equal((await request(app, 'DELETE /pages/removed', { fields: blue })).statusCode, 204)
    const answers: unknown[] = []
    for (const id of ['living', 'removed']) {
      for (const target of [`PUT /pages/${id}`, 'POST /pages']) {
        calls = 0
        const {
          statusCode,
          headers: { date, 'content-length': length, ...headers },
          payload
        } = await request(app, target, { content: { id, text: 'mine' }, fields: red })
        answers.push({
          statusCode,
          headers,
          payload: payload.replaceAll(id, 'id'),
          calls,
          target: target.slice(0, 4)
        })
        t.equal(statusCode, 409)
        t.ok(calls <= 8, `${calls} calls of the storage`)
      }
    }
    t.strictSame(answers[0], answers[2])
    t.strictSame(answers[1], answers[3])
    t.match(JSON.parse((answers[0] as { payload: string }).payload), {
      code: 'not-unique',
      errors: [{ pointer: '/id' }]
    })
    t.equal(
      (await request(app, 'PUT /pages/free', { content: { text: 'mine' }, fields: red })).statusCode,
      201
    )
    t.equal(
      (await request(app, 'PUT /pages/removed', { content: { text: 'mine' }, fields: blue })).statusCode,
      410,
      'in its own scope the caller gets 410'
    )
    t.equal((await request(app, 'GET /pages/living', { fields: blue })).json().text, 'secret')
  })

  test(`${name}: parallel PUTs that create one item, with DELETE in between, all complete`, { skip }, async (t) => {
    const { adapter, createTable } = await open()
    const things = define({
      name: 'raced',
      schema: Type.Object({ id: Type.String(), text: Type.String() }),
      storage: adapter,
      id: { generate: 'client' },
      put: { create: true }
    })
    await createTable(things)
    const app = await serve(t, things)
    const put = (text: number) => request(app, 'PUT /raced/a', { content: { text: String(text) } })
    const statuses = (await Promise.all(Array.from({ length: 10 }, (_, index) => put(index)))).map(
      ({ statusCode }) => statusCode
    )
    t.strictSame(statuses.sort(), [...Array(9).fill(200), 201])
    const mixed = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? put(index) : request(app, 'DELETE /raced/a')))
    )
    t.ok(
      mixed.every(({ statusCode }) => [200, 201, 204, 404, 409].includes(statusCode)),
      mixed.map(({ statusCode }) => statusCode).join()
    )
  })
}

test('without a scope, callers are distinguished by their credentials', async (t) => {
  const app = await build(
    t,
    notes({ access: { authenticate: () => undefined, vary: ['X-Token'], allow: 'public' } }).with(idempotency())
  )
  const locations = new Set<unknown>()
  const callers = [
    {},
    { authorization: 'a' },
    { authorization: 'a', cookie: 'a' },
    { cookie: 'a' },
    { 'x-api-key': 'a' },
    { 'x-api-key': 'b' },
    { 'x-token': 'a' }
  ]
  for (const fields of [...callers, ...callers]) {
    locations.add(
      (await request(app, 'POST /notes', { content: { text: 'a' }, fields: { 'idempotency-key': 'k', ...fields } })).headers
        .location
    )
  }
  t.equal(locations.size, callers.length)
})

test('idempotency with hooks or predicates on its actions requires authenticate or a scope', async (t) => {
  const checkRefused = (options: object) =>
    t.throws(() => notes({ ...options }).with(idempotency()), {
      code: 'FST_COLLECTION_BAD_OPTION',
      message: /idempotency keeps the keys of callers apart.*access: \{ authenticate/
    })
  const hook = async (): Promise<void> => {}
  for (const name of ['onRequest', 'preParsing', 'preValidation', 'preHandler']) {
    checkRefused({ routes: { all: { [name]: hook } } })
    checkRefused({ routes: { create: { [name]: [hook] } } })
    checkRefused({ routes: { update: { [name]: hook } } })
  }
  checkRefused({ access: { allow: () => true } })
  checkRefused({ access: { allow: { update: () => true } } })
  const checkAccepted = (options: object, keys?: IdempotencyOptions) =>
    t.doesNotThrow(() => notes(options).with(idempotency(keys)))
  checkAccepted({ routes: { all: { onSend: hook, config: {} }, list: { onRequest: hook } } })
  checkAccepted({ routes: { update: { onRequest: hook } } }, { actions: ['create'] })
  checkAccepted({ access: { allow: { list: () => true, create: 'public' } } })
  checkAccepted({ routes: { all: { onRequest: hook } }, access: { scope: () => undefined } })
  checkAccepted({ routes: { all: { onRequest: hook } }, access: { authenticate: () => 'ada' } })
})

test('a replay leaves out everything that its caller can no longer see', async (t) => {
  let role = 'admin'
  let limit = 10
  const Order = Type.Object({
    id: uuid,
    amount: Type.Integer(),
    cost: Type.Integer({ default: 7, readOnly: true }),
    margin: Type.Integer({ default: 3, readOnly: true })
  })
  const app = await build(
    t,
    define({
      name: 'orders',
      schema: Order,
      storage: memory(),
      access: {
        authenticate: () => 'ada',
        visible: { cost: () => role !== 'clerk', margin: () => role === 'admin' },
        scope: () => ({ filter: { 'amount.lt': limit } })
      }
    }).with(idempotency())
  )
  const post = (key: string) => request(app, 'POST /orders', { content: { amount: 1 }, fields: { 'idempotency-key': key } })
  const first = await post('admin')
  t.match(first.json(), { cost: 7, margin: 3 })
  role = 'clerk'
  const hidden = await post('admin')
  t.strictSame(
    [hidden.statusCode, hidden.payload, hidden.headers.location, hidden.headers['idempotent-replayed']],
    [201, '', first.headers.location, 'true']
  )
  const own = await post('clerk')
  t.strictSame(Object.keys(own.json()), ['id', 'amount'])
  role = 'seller'
  t.equal((await post('clerk')).payload, own.payload, 'a response that shows less than the caller may see is replayed')
  role = 'admin'
  t.equal((await post('admin')).payload, first.payload)
  limit = 5
  const outside = await post('admin')
  t.strictSame(
    [outside.statusCode, outside.payload, outside.headers.location],
    [201, '', first.headers.location],
    'the key is the same in another scope, where the item may not be visible'
  )
})

test('a replay is a page as well', async (t) => {
  const app = await build(t, notes({ formats: [json, html] }).with(idempotency()))
  const options = { content: { text: 'a' }, fields: { accept: 'text/html', 'idempotency-key': 'page' } }
  const [first, again] = [await request(app, 'POST /notes', options), await request(app, 'POST /notes', options)]
  t.match(first.headers['content-type'], /^text\/html/)
  t.strictSame(
    [again.statusCode, again.payload, again.headers['content-type'], again.headers.location],
    [201, first.payload, first.headers['content-type'], first.headers.location]
  )
})

test('a response that cannot be rendered after a write is sent without content, and logged', async (t) => {
  let fails = false
  const broken = (): void => {
    if (fails) throw new Error('cannot be rendered')
  }
  const csv: Format = {
    ...json,
    name: 'csv',
    mediaType: 'text/csv',
    item: (item) => {
      broken()
      return Object.values(item).join()
    },
    list: (items) => {
      broken()
      return items.map((item) => Object.values(item).join()).join('\n')
    }
  }
  const pages: Format = {
    ...html,
    page: (...given) => {
      broken()
      return html.page!(...given)
    }
  }
  const links: Format = {
    ...hal,
    item: (...given) => {
      broken()
      return hal.item(...given)
    },
    list: (...given) => {
      broken()
      return hal.list(...given)
    }
  }
  const { lines, logger } = logged()
  const app = await build(
    t,
    notes({
      formats: [json, links, csv, pages],
      put: { create: true }
    }).with(idempotency(), bulk()),
    { logger }
  )
  for (const accept of ['application/hal+json', 'text/csv', 'text/html']) {
    const post = async (content: unknown, fields: Record<string, string> = {}) =>
      request(app, 'POST /notes', { content, fields: { accept, ...fields } })
    const failRendering = async (send: () => ReturnType<typeof request>): Promise<unknown[]> => {
      fails = true
      const { statusCode, headers, payload } = await send()
      fails = false
      const logs = lines.splice(0).map(({ level, err, msg }) => `${level} ${(err as Error).message} ${msg}`)
      t.ok(
        logs.every((line) => /^50 cannot be rendered .* without content$/.test(line)),
        `${logs}`
      )
      return [
        statusCode,
        payload,
        headers['content-type'],
        headers['preference-applied'],
        'etag' in headers,
        'location' in headers,
        logs.length > 0
      ]
    }
    const id = `01900000-0000-7000-8000-00000000000${accept.length % 10}`
    const at = String((await post({ text: 'a' })).headers.location)
    t.strictSame(
      await failRendering(() => post({ text: 'b' })),
      [201, '', undefined, undefined, true, true, true],
      `POST ${accept}`
    )
    t.strictSame(await failRendering(() => post({ text: 'b' }, { prefer: 'return=representation' })), [
      201,
      '',
      undefined,
      undefined,
      true,
      true,
      true
    ])
    t.strictSame(
      await failRendering(() => post({ text: 'c' }, { 'idempotency-key': `"${accept}"` })),
      [201, '', undefined, undefined, true, true, true],
      `POST with a key ${accept}`
    )
    const again = await post({ text: 'c' }, { 'idempotency-key': `"${accept}"` })
    t.strictSame(
      [again.statusCode, again.headers['content-type'], again.headers['idempotent-replayed'], 'location' in again.headers],
      [201, accept === 'text/html' ? 'text/html; charset=utf-8' : accept, 'true', true],
      'the replay has the content, which can be written now'
    )
    t.strictSame(
      await failRendering(() => post([{ text: 'd' }, { text: 'e' }])),
      [201, '', undefined, undefined, false, false, true],
      `POST of several ${accept}`
    )
    t.strictSame(
      await failRendering(() => request(app, `PUT ${at}`, { content: { text: 'f' }, fields: { accept } })),
      [204, '', undefined, undefined, false, false, true],
      `PUT ${accept}`
    )
    t.strictSame(
      await failRendering(() => request(app, `PUT /notes/${id}`, { content: { text: 'f' }, fields: { accept } })),
      [201, '', undefined, undefined, false, true, true],
      `PUT that creates ${accept}`
    )
    t.strictSame(
      await failRendering(() => request(app, `PATCH ${at}`, { content: { text: 'g' }, fields: { accept } })),
      [204, '', undefined, undefined, true, false, true],
      `PATCH ${accept}`
    )
    t.strictSame(
      await failRendering(() =>
        request(app, `PATCH ${at}`, { content: { text: 'h' }, fields: { accept, 'idempotency-key': `"${accept} patch"` } })
      ),
      [204, '', undefined, undefined, true, false, true],
      `PATCH with a key ${accept}`
    )
    t.equal((await request(app, `GET ${at}`)).json().text, 'h', 'each write is stored')
    t.strictSame(
      await failRendering(() => request(app, `DELETE ${at}`, { fields: { accept, prefer: 'return=representation' } })),
      [204, '', undefined, undefined, false, false, true],
      `DELETE ${accept}`
    )
    t.equal((await request(app, `GET ${at}`)).statusCode, 404)
    fails = true
    t.equal((await request(app, `GET /notes/${id}`, { fields: { accept } })).statusCode, 500, 'a read fails')
    fails = false
    lines.length = 0
  }
  t.equal((await request(app, 'GET /notes?count=true')).headers['x-total-count'], String(3 * 6), 'nothing is undone')
})

const deferred = {
  sqlite: ' REFERENCES parents(id) DEFERRABLE INITIALLY DEFERRED',
  postgres: ' REFERENCES parents(id) DEFERRABLE INITIALLY DEFERRED'
}

for (const available of databases) {
  const { name, skip } = available
  if (name === 'mysql') continue // It has no deferred constraints.
  test(`${name}: a constraint that fails at commit is a conflict or a missing target, also with a key and in bulk`, { skip }, async (t) => {
    const database = await openOnce(available)
    const adapter = database.adapter()
    const schema = Type.Object({ id: uuid, parent: Type.String(), code: Type.String() })
    const options = { name: 'deferred', schema, storage: adapter } as const
    const things = define(options).with(idempotency(), bulk())
    await database.run('CREATE TABLE parents (id TEXT PRIMARY KEY)', "INSERT INTO parents VALUES ('a')")
    const made = await schemaSql(things)
    await database.run(
      ...made
        .replace(/("parent" [^,]*) NOT NULL/, `$1 NOT NULL${deferred[name]}`)
        .split(';\n')
        .filter((text) => text !== '')
    )
    // SQLite defers foreign keys alone.
    if (name === 'postgres') {
      await database.run(
        'ALTER TABLE deferred ADD CONSTRAINT deferred_code UNIQUE (code) DEFERRABLE INITIALLY DEFERRED'
      )
    }
    const app = await serve(t, things)
    const first = await request(app, 'POST /deferred', { content: { parent: 'a', code: 'x' } })
    t.equal(first.statusCode, 201, first.payload)
    const other = await request(app, 'POST /deferred', { content: { parent: 'a', code: 'y' } })
    let keys = 0
    const answer = async (target: string, content: unknown, keyed: boolean): Promise<unknown[]> => {
      const key = `key-${keys++}`
      const send = () => request(app, target, { content, fields: keyed ? { 'idempotency-key': key } : {} })
      const [{ statusCode, payload }, again] = [await send(), await send()]
      t.equal(again.statusCode, statusCode)
      t.equal(again.headers['idempotent-replayed'], undefined)
      const { code, errors } = JSON.parse(payload)
      return [statusCode, code, errors?.[0].pointer]
    }
    for (const keyed of [false, true]) {
      const orphan = { parent: 'none', code: `${keyed}` }
      // SQLite does not say which foreign key failed. The values of a single statement tell it.
      const isNamed = name === 'postgres' || !keyed
      const [status, code] = isNamed ? [422, 'validation-failed'] : [409, 'conflict']
      const pointer = isNamed ? '/parent' : undefined
      t.strictSame(await answer('POST /deferred', orphan, keyed), [status, code, pointer])
      t.strictSame(await answer(`PATCH /deferred/${first.json().id}`, { parent: 'none' }, keyed), [status, code, pointer])
      t.strictSame(
        await answer('POST /deferred', [{ parent: 'a', code: 'free' }, orphan], keyed),
        name === 'postgres' ? [422, 'validation-failed', ''] : [409, 'conflict', undefined]
      )
      if (name !== 'postgres') continue
      const twin = { parent: 'a', code: 'x' }
      t.strictSame(await answer('POST /deferred', twin, keyed), [409, 'not-unique', '/code'])
      t.strictSame(await answer(`PATCH /deferred/${other.json().id}`, { code: 'x' }, keyed), [
        409,
        'not-unique',
        '/code'
      ])
      const bulk = await request(app, 'POST /deferred', { content: [{ parent: 'a', code: 'free' }, twin] })
      t.match(bulk.json(), {
        code: 'not-unique',
        errors: [{ pointer: '', message: 'code must be unique' }],
        detail: /No item was created/
      })
    }
    t.equal((await request(app, 'GET /deferred?count=true')).headers['x-total-count'], '2')
    t.equal(
      (await request(app, 'POST /deferred', { content: { parent: 'a', code: 'z' } })).statusCode,
      201,
      'the connection can be used again'
    )
  })
}
