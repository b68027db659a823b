import { randomUUID } from 'node:crypto'
import { tracingChannel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { action } from '../../lib/features/action.ts'
import { aggregates } from '../../lib/features/aggregates.ts'
import { batch } from '../../lib/doors/batch/batch.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { timeout } from '../../lib/features/timeout.ts'
import { within } from '../../lib/features/within.ts'
import { xml } from '../../lib/formats/xml.ts'
import collection, { define, json, problem, ProblemError } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import { describeLayers } from '../../lib/features/index.ts'
import type { Definition, Options, StatementEvent } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { modified, request } from '../app.ts'
import { databases } from '../storage/databases.ts'
import { storages } from '../storages.ts'

const Order = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  status: Type.Union([Type.Literal('open'), Type.Literal('paid'), Type.Literal('sent')]),
  country: Type.Optional(Type.String()),
  total: Type.Integer(),
  weight: Type.Optional(Type.Number()),
  isGift: Type.Optional(Type.Boolean()),
  tags: Type.Optional(Type.Array(Type.String())),
  place: Type.Optional(Type.Object({ city: Type.String() })),
  margin: Type.Optional(Type.Integer()),
  code: Type.Optional(Type.String({ writeOnly: true })),
  price: Type.Optional(Type.String({ pattern: '^\\d+\\.\\d\\d$' })),
  day: Type.Optional(Type.String({ format: 'date' })),
  at: Type.String({ format: 'date-time' }),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})

const options = {
  by: ['status', 'country', 'isGift', 'place.city', 'at.year', 'at.month', 'at.day', 'at.hour', 'day.month', 'margin'],
  of: {
    total: ['sum', 'avg', 'min', 'max', 'distinct'],
    weight: ['sum', 'avg', 'min', 'max'],
    country: ['distinct', 'min', 'max'],
    margin: ['sum', 'max', 'distinct']
  }
} as const

const rows = [
  { status: 'open', country: 'AT', total: 10, weight: 0.5, margin: 3, at: '2026-01-31T23:59:59.999Z', isGift: true },
  { status: 'open', country: 'DE', total: 20, weight: 1.25, margin: 4, at: '2026-02-01T00:00:00Z' },
  { status: 'paid', country: 'AT', total: 5, at: '2026-01-31T22:30:00-02:00', place: { city: 'Graz' }, margin: 5 },
  { status: 'paid', total: -5, at: '2025-12-31T23:59:00Z', place: { city: 'Wien' }, day: '2026-03-31' },
  { status: 'sent', country: 'at', total: 30, at: '2026-02-28T12:00:00Z', isGift: false }
] as const

type OrderOptions = Partial<Options<typeof Order>>

function orders (given: OrderOptions = {}) {
  return define({ name: 'orders', schema: Order, storage: memory(), list: { search: ['country'] }, ...given })
}

async function open (
  t: { after(close: () => Promise<unknown>): void },
  ...definitions: Definition[]
): Promise<FastifyInstance> {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  for (const definition of definitions) await app.register(collection, definition)
  await app.ready()
  return app
}

async function fill (app: FastifyInstance, definition: Definition, items: readonly object[] = rows): Promise<void> {
  for (const item of items) await app.collection(definition).create(item)
}

/** The groups as rows of values: those of `by`, then the figures. */
function flatten (groups: ReadonlyArray<Record<string, unknown>>): unknown[][] {
  return groups.map((group) => Object.values(group).flatMap((part) => {
    return typeof part === 'object' && part !== null ? Object.values(part) : [part]
  }))
}

async function getRows (app: FastifyInstance, search: string, fields = {}): Promise<unknown[][]> {
  const answer = await request(app, `GET /orders/aggregate?${search}`, { fields })
  if (answer.statusCode !== 200) throw new Error(answer.payload)
  return flatten(answer.json().groups)
}

for (const { name, skip, open: openStorage } of storages) {
  test(`figures by groups, over HTTP and from code: ${name}`, { skip }, async (t) => {
    const { storage, prepare } = await openStorage(t)
    const definition = orders({ storage }).with(aggregates(options))
    await prepare(definition)
    const app = await open(t, definition)
    const empty = await request(app, 'GET /orders/aggregate?count=true&sum=total&max=country&distinct=total')
    t.strictSame(empty.json(), {
      groups: [{ by: {}, count: 0, distinct: { total: 0 }, sum: { total: null }, max: { country: null } }],
      more: false
    }, 'no items are one group without by')
    t.strictSame((await request(app, 'GET /orders/aggregate?by=status')).json(), { groups: [], more: false })
    await fill(app, definition)

    const answer = await request(app, 'GET /orders/aggregate?by=status&sum=total&count=true&sort=-count,status&limit=2')
    t.equal(answer.statusCode, 200)
    t.strictSame(answer.json(), {
      groups: [
        { by: { status: 'open' }, count: 2, sum: { total: 30 } },
        { by: { status: 'paid' }, count: 2, sum: { total: 0 } }
      ],
      more: true
    })
    t.strictSame(
      await app.collection(definition).aggregate({
        by: ['status'], sum: ['total'], count: true, sort: ['-count', 'status'], limit: 2
      }),
      answer.json()
    )
    t.strictSame((await request(app, 'GET /orders/aggregate')).json(), { groups: [{ by: {}, count: 5 }], more: false })
    t.strictSame(await app.collection(definition).aggregate(), { groups: [{ by: {}, count: 5 }], more: false })

    t.strictSame(await getRows(app, 'by=country'), [['AT', 2], ['DE', 1], ['at', 1], [null, 1]], 'null comes last')
    t.strictSame(await getRows(app, 'by=isGift'), [[false, 1], [true, 1], [null, 3]])
    t.strictSame(await getRows(app, 'by=place.city&sort=-place.city'), [[null, 3], ['Wien', 1], ['Graz', 1]])
    t.strictSame(await getRows(app, 'by=at.year'), [['2025', 1], ['2026', 4]])
    t.strictSame(
      await getRows(app, 'by=at.month'),
      [['2025-12', 1], ['2026-01', 1], ['2026-02', 3]],
      'an offset is converted to UTC'
    )
    t.strictSame(await getRows(app, 'by=day.month'), [['2026-03', 1], [null, 4]])
    t.strictSame(await getRows(app, 'by=at.hour&status=sent'), [['2026-02-28T12', 1]])
    t.strictSame(
      await getRows(app, 'by=status,country&avg=total,weight&min=weight&sort=-avg.total'),
      [
        ['sent', 'at', 30, null, null],
        ['open', 'DE', 20, 1.25, 1.25],
        ['open', 'AT', 10, 0.5, 0.5],
        ['paid', 'AT', 5, null, null],
        ['paid', null, -5, null, null]
      ]
    )
    t.strictSame(await getRows(app, 'distinct=country&max=country&count=true'), [[5, 3, 'at']])
    t.strictSame(await getRows(app, 'sum=total&at.gte=2026-02-01T00:00:00Z'), [[55]])
    t.strictSame(await getRows(app, 'sum=total&country.in=AT,DE&total.lt=20'), [[15]])
    t.strictSame(await getRows(app, 'by=status&q=at'), [['open', 1], ['paid', 1], ['sent', 1]])
    t.strictSame(
      await app.collection(definition).aggregate({
        sum: ['total'],
        filter: { any: [{ country: 'DE' }, { 'at.lt': new Date('2026-01-01T00:00:00Z') }] }
      }),
      { groups: [{ by: {}, sum: { total: 15 } }], more: false }
    )

    const inside = await app.collection(definition).transaction(async (transaction) => {
      await app.collection(definition).create(rows[0]!, { transaction })
      return app.collection(definition).aggregate({ count: true }, { transaction })
    })
    t.equal(inside.groups[0]!.count, 6, 'a transaction sees its own writes')
  })
}

test('aggregates have the headers of lists, an entity tag, and methods of their own', async (t) => {
  const definition = orders({ cache: 'public, max-age=60', formats: [json, xml] }).with(aggregates(options))
  const app = await open(t, definition)
  await fill(app, definition)
  const url = '/orders/aggregate?by=status&sum=total'
  const answer = await request(app, `GET ${url}`)
  const list = await request(app, 'GET /orders')
  for (const header of ['cache-control', 'cache-groups', 'content-type', 'x-content-type-options']) {
    t.equal(answer.headers[header], list.headers[header], header)
  }
  t.equal(answer.headers.vary, 'Accept', 'it does not depend on Prefer')
  t.notOk('last-modified' in answer.headers, 'a deletion moves no date back')
  const tag = String(answer.headers.etag)
  const known = await request(app, `GET ${url}`, { fields: { 'if-none-match': tag } })
  t.strictSame([known.statusCode, known.payload, known.headers.etag], [304, '', tag])
  t.equal((await request(app, `GET ${url}`, { fields: { 'if-match': '"other"' } })).statusCode, 412)
  const head = await request(app, `HEAD ${url}`)
  t.strictSame(
    [head.statusCode, head.payload, head.headers.etag, head.headers['content-length']],
    [200, '', tag, answer.headers['content-length']]
  )
  await app.collection(definition).create(rows[0]!)
  const changed = await request(app, `GET ${url}`, { fields: { 'if-none-match': tag } })
  t.equal(changed.statusCode, 200)
  t.not(changed.headers.etag, tag)

  t.strictSame((await request(app, 'OPTIONS /orders/aggregate')).headers.allow, 'GET, HEAD, OPTIONS')
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'QUERY']) {
    const refused = await request(app, `${method} /orders/aggregate`)
    t.strictSame([refused.statusCode, refused.headers.allow], [405, 'GET, HEAD, OPTIONS'], method)
  }
  t.equal((await request(app, 'GET /orders/aggregate', { fields: { accept: 'text/css' } })).statusCode, 406)
  const asXml = await request(app, 'GET /orders/aggregate?by=status&status=sent', {
    fields: { accept: 'application/xml' }
  })
  t.equal(
    asXml.payload.replace(/^.*\n/, ''),
    '<item><groups><item><by><status>sent</status></by><count>1</count></item></groups><more>false</more></item>'
  )
})

const unknownDetail = /^The query parameter "x" is unknown\. Available: by, count, distinct, sum, avg, min, max, sort, limit, q\. A list can be filtered by: id, status,/

for (const [search, parameter, detail] of [
  ['x=1', 'x', unknownDetail],
  ['__proto__=1', '__proto__', /unknown/],
  ['fields=status', 'fields', /unknown/],
  ['cursor=x', 'cursor', /unknown/],
  ['by=x', 'by', 'by must be up to 5 of these names, each once: status, country, isGift, place.city, at.year, ' +
    'at.month, at.day, at.hour, day.month, margin; not "x".'],
  ['by=', 'by', /not ""/],
  ['by=status,status', 'by', /each once: status.*; not "status"/],
  ['by=status,country,isGift,at.year,at.month,at.day', 'by', /^by must be up to 5 of these names/],
  ['by=total', 'by', /not "total"/],
  ['by=at.minute', 'by', /not "at.minute"/],
  ['by=status&by=country', 'by', /^by must be given once; several values go into one list/],
  ['sum=country', 'sum', 'sum must be up to 20 of these names, each once: total, weight, margin; not "country".'],
  ['avg=total,x', 'avg', /total, weight; not "x"/],
  ['distinct=status', 'distinct', /not "status"/],
  ['min=', 'min', /^min must be/],
  ['count=yes', 'count', 'count must be true or false.'],
  ['count=false', 'count', 'count must be true if no other figure is requested.'],
  ['sort=x', 'sort', 'sort must be one of these names, once: count; not "x". A - in front means descending.'],
  ['by=status&sum=total&sort=count', 'sort', /status, sum\.total; not "count"/],
  ['sort=count,-count', 'sort', /once: count; not "count"/],
  ['limit=0', 'limit', 'limit must be a whole number from 1 to 1000.'],
  ['limit=1001', 'limit', /from 1 to 1000/],
  ['limit=1.5', 'limit', /whole number/],
  ['total=x', 'total', /^total must be a whole number/],
  ['total.like=1', 'total.like', /total can be followed by/],
  ['code=1', 'code', /unknown/],
  ['q=', 'q', /^q must be text/]
] as const) {
  test(`?${search} is refused`, async (t) => {
    const app = await open(t, orders().with(aggregates(options)))
    const answer = await request(app, `GET /orders/aggregate?${search}`)
    t.match(answer.json(), { status: 400, code: 'invalid-query', parameter, detail })
  })
}

test('a query of code is refused with pointers', async (t) => {
  const definition = orders().with(aggregates(options))
  const app = await open(t, definition)
  const refuse = async (query: object): Promise<unknown> => {
    const error: unknown = await app.collection(definition).aggregate(query).catch((thrown: unknown) => thrown)
    return error instanceof ProblemError ? [error.code, error.problem.properties?.errors] : error
  }
  t.strictSame(await refuse({ limit: 0 }), [
    'validation-failed', [{ pointer: '/limit', message: 'must be a whole number from 1 to 1000' }]
  ])
  t.match(await refuse({ by: ['total'] }), ['validation-failed', [{ pointer: '/by', message: /not "total"/ }]])
  for (const [name, value] of [['by', 'status'], ['sum', 'total'], ['sort', 'count']] as const) {
    t.match(await refuse({ [name]: value }), [
      'validation-failed', [{ pointer: `/${name}`, message: /^must be an array of (?:up to \d+|one) of these names/ }]
    ])
  }
  t.match(await refuse({ by: [1, null] }), ['validation-failed', [{ pointer: '/by', message: /not "1"/ }]])
  t.match(await refuse({ filter: { x: 1 } }), ['validation-failed', [{ pointer: '/filter/x' }]])
  t.match(await refuse({ bi: ['status'] }), { message: /^A query has no property "bi"\. Available properties: by, / })
})

test('cost is limited: the number of figures, long queries, long responses', async (t) => {
  const names = Array.from({ length: 21 }, (_, index) => `n${index}`)
  const Wide = Type.Object({
    id: Type.String({ format: 'uuid' }),
    text: Type.Optional(Type.String()),
    ...Object.fromEntries(names.map((name) => [name, Type.Optional(Type.Integer())]))
  })
  const given: object = { by: ['text'], of: Object.fromEntries(names.map((name) => [name, ['sum', 'avg']])), maximum: 500 }
  const definition = define({ name: 'orders', schema: Wide, storage: memory() }).with(aggregates(given))
  const app = await open(t, definition)
  const sum = names.slice(0, 20).join()
  t.equal((await request(app, `GET /orders/aggregate?sum=${sum}`)).statusCode, 200)
  t.match((await request(app, `GET /orders/aggregate?sum=${names.join()}`)).json(), {
    status: 400, detail: /^sum must be up to 20 of these names/
  })
  t.match((await request(app, `GET /orders/aggregate?sum=${sum}&avg=n0`)).json(), {
    status: 400, parameter: 'avg', detail: 'avg must be omitted: a request can have up to 20 figures.'
  })
  t.match((await request(app, `GET /orders/aggregate?q=${'x'.repeat(8200)}`)).json(), {
    status: 414, detail: 'The query is longer than 8192 characters.'
  })
  for (let index = 0; index < 420; index++) {
    await app.collection(definition).create({ text: String(index).padEnd(10_000, 'x') })
  }
  t.match((await request(app, 'GET /orders/aggregate?by=text')).json(), {
    status: 400, detail: /longer than the 4194304 characters that a response can have\. Request fewer groups/
  })
  const { groups, more } = (await request(app, 'GET /orders/aggregate?by=text&limit=2')).json()
  t.strictSame([groups.length, more], [2, true])
})

for (const { name, skip, open: openStorage } of storages) {
  test(`the values that groups have while they are computed are limited: ${name}`, { skip }, async (t) => {
    const { storage, prepare } = await openStorage(t)
    const definition = orders({ storage }).with(aggregates(options))
    await prepare(definition)
    const app = await open(t, definition)
    const insert = async (count: number, create: (index: number) => object) => {
      const context = { signal: new AbortController().signal, scope: undefined }
      const drafts = Array.from({ length: count }, (_, index) => {
        return { id: randomUUID(), status: 'open', total: 1, at: '2026-01-01T00:00:00Z', ...create(index) }
      })
      await definition.storage.transaction!((inner) => inner.insertMany!(drafts as never, context), context)
    }
    const tooMany = {
      status: 400,
      code: 'invalid-query',
      detail: 'The groups, their figures and the different values that they count are more than 100000 values. ' +
        'Add a filter, group by less, or request fewer figures.'
    }
    // With such a word, SQLite does not group the rows itself.
    const wide = 'GET /orders/aggregate?q=%C3%A9&by=margin&sum=total,weight&avg=total,weight&min=total,weight&max=total,weight'
    await insert(10_000, (index) => ({ country: 'É', margin: index }))
    const answer = await request(app, `${wide},margin&limit=1`)
    t.match(answer.json(), { groups: [{ by: { margin: 0 }, sum: { total: 1 }, max: { margin: 0 } }], more: true })
    await insert(1, () => ({ country: 'É', margin: -1 }))
    t.match((await request(app, `${wide},margin&limit=1`)).json(), tooMany)
    t.equal((await request(app, `${wide}&limit=1`)).statusCode, 200, 'with one figure less')
    t.equal((await request(app, `${wide},margin&limit=1&margin.gte=0`)).statusCode, 200, 'with a filter')
    await t.rejects(app.collection(definition).aggregate({
      by: ['margin'], q: 'é', sum: ['total', 'weight'], avg: ['total', 'weight'], min: ['total', 'weight', 'country'], max: ['total', 'weight']
    }), { message: /more than 100000 values\. Add a filter/ })

    await insert(990, (index) => ({ status: 'sent', country: `É${index}`.padEnd(10_000, 'x') }))
    const distinct = 'GET /orders/aggregate?q=%C3%A9&status=sent&distinct=country'
    t.strictSame((await request(app, distinct)).json().groups, [{ by: {}, distinct: { country: 990 } }])
    await insert(10, () => ({ status: 'sent', country: 'É0'.padEnd(10_000, 'x') }))
    t.equal((await request(app, distinct)).statusCode, 200, 'the same value is held once')
    await insert(1, () => ({ status: 'sent', country: 'É'.padEnd(10_000, 'x') }))
    t.match((await request(app, distinct)).json(), tooMany, 'long texts count more')

    await insert(991, (index) => ({ status: 'paid', margin: index, country: 'É' }))
    const greatest = 'GET /orders/aggregate?q=%C3%A9&status=paid&by=margin&max=country&limit=1'
    t.equal((await request(app, greatest)).statusCode, 200)
    await insert(991, (index) => ({ status: 'paid', margin: index, country: 'É'.padEnd(10_000, 'x') }))
    t.match((await request(app, greatest)).json(), tooMany, 'also if they replace shorter ones')
  })
}

const access: Options<typeof Order>['access'] = {
  authenticate: ({ request }) => request.headers['x-user']?.toString(),
  allow: { all: 'authenticated', list: ({ caller }) => caller === 'stranger' ? 'hidden' : caller !== undefined },
  scope: ({ caller }) => caller === 'admin' ? undefined : { filter: { country: 'AT' } },
  visible: { margin: ({ caller }) => caller === 'admin' }
}

test('access rules, scope and hidden properties apply over both doors', async (t) => {
  const definition = orders({ access }).with(aggregates(options))
  const app = await open(t, definition)
  await fill(app, definition)
  const get = (search: string, user?: string) => {
    return request(app, `GET /orders/aggregate?${search}`, { fields: user === undefined ? {} : { 'x-user': user } })
  }
  t.equal((await get('')).statusCode, 401)
  t.equal((await get('', 'stranger')).statusCode, 404)
  t.equal((await request(app, 'POST /orders/aggregate', { fields: { 'x-user': 'stranger' } })).statusCode, 404)
  t.strictSame((await get('by=country&sum=total', 'ada')).json().groups, [{ by: { country: 'AT' }, sum: { total: 15 } }])
  t.strictSame((await get('sum=margin', 'admin')).json().groups, [{ by: {}, sum: { margin: 12 } }])
  for (const [search, available] of [
    ['by=margin', /day\.month; not "margin"\.$/],
    ['sum=margin', /^sum must be up to 20 of these names, each once: total, weight; not "margin"\.$/],
    ['max=total,margin', /total, weight, country; not "margin"/],
    ['distinct=margin', /total, country; not "margin"/],
    ['margin.gt=1', /unknown/],
    ['sort=margin', /^sort must be/]
  ] as const) {
    const hidden = (await get(search, 'ada')).json()
    t.match(hidden, { status: 400, detail: available }, search)
    const missing = (await get(search.replace('margin', 'nothing'), 'ada')).json()
    t.equal(hidden.detail.replaceAll('margin', 'nothing'), missing.detail, 'as if it did not exist')
  }
  t.strictSame(
    await app.collection(definition).aggregate({ by: ['country'], sum: ['total'] }, { caller: 'ada' }),
    { groups: [{ by: { country: 'AT' }, sum: { total: 15 } }], more: false }
  )
  const fail = async (query: object, caller?: string): Promise<unknown> => {
    return app.collection(definition).aggregate(query, { caller }).then(() => undefined, ({ code }) => code)
  }
  t.equal(await fail({ sum: ['margin'] }, 'ada'), 'validation-failed')
  t.equal(await fail({ sum: ['margin'] }, 'admin'), undefined)
  t.equal(await fail({}), 'unauthenticated')
  t.equal(await fail({}, 'stranger'), 'not-found')
  t.strictSame((await app.collection(definition).aggregate({ sum: ['margin'] })).groups, [{ by: {}, sum: { margin: 12 } }])
})

test('a property that only hidden figures have leaves its parameter out', async (t) => {
  const definition = orders({ access }).with(aggregates({ by: ['margin'], of: { margin: ['sum'] } }))
  const app = await open(t, definition)
  for (const search of ['by=margin', 'sum=margin', 'sum=total']) {
    const answer = await request(app, `GET /orders/aggregate?${search}`, { fields: { 'x-user': 'ada' } })
    t.match(answer.json(), { status: 400, detail: /is unknown\. Available: count, sort, limit, q\./ })
  }
})

test('responses are the same with and without rows and values that the caller cannot see', async (t) => {
  const searches = [
    'by=country', 'by=status&sum=total&distinct=country', 'min=country&max=country,total', 'by=at.month&q=at',
    'by=status&sort=-count&limit=1', 'country.ne=AT', 'avg=total'
  ]
  const answers = await Promise.all([rows, rows.filter((row) => 'country' in row && row.country === 'AT')].map(async (items, index) => {
    const definition = orders({ access }).with(aggregates(options))
    const app = await open(t, definition)
    await fill(app, definition, items.map((item) => ({ ...item, margin: index * 100 })))
    return Promise.all(searches.map(async (search) => {
      const { payload, headers } = await request(app, `GET /orders/aggregate?${search}`, { fields: { 'x-user': 'ada' } })
      return [payload, headers.etag]
    }))
  }))
  t.strictSame(answers[0], answers[1])
})

test('soft deletion, nesting, timeouts, traces and hooks of lists apply', async (t) => {
  const Parent = Type.Object({ id: Type.Integer(), name: Type.String() })
  const shops = define({ name: 'shops', schema: Parent, id: { generate: 'client' }, storage: memory() })
  const Nested = Type.Object({ ...Order.properties, shopId: Type.Integer() })
  const calls: string[] = []
  const definition = define({
    name: 'orders',
    schema: Nested,
    storage: memory(),
    routes: { list: { onRequest: async () => { calls.push('list') } }, read: { onRequest: async () => { calls.push('read') } } }
  }).with(
    within(shops, 'shopId'),
    softDelete({ property: 'deletedAt', allow: ({ caller, request }) => caller === undefined && request?.headers['x-user'] === 'admin' }),
    timeout({ list: 5000 }),
    aggregates({ by: ['status'], of: { total: ['sum'] } })
  )
  const app = await open(t, shops, definition)
  for (const id of [1, 2]) await app.collection(shops).create({ id, name: 'Shop' })
  for (const [index, row] of rows.entries()) {
    await app.collection(definition).create({ ...row, shopId: 1 + index % 2 })
  }
  const traced: unknown[] = []
  const channel = tracingChannel('fastify-collections:action')
  const subscriber = { end: (event: unknown) => { traced.push((event as { action: string }).action) } }
  channel.subscribe(subscriber as never)
  t.after(async () => channel.unsubscribe(subscriber as never))
  const get = async (url: string, fields = {}) => (await request(app, `GET ${url}`, { fields })).json()
  t.strictSame((await get('/shops/1/orders/aggregate?sum=total')).groups, [{ by: {}, sum: { total: 45 } }])
  t.strictSame((await get('/shops/2/orders/aggregate?sum=total')).groups, [{ by: {}, sum: { total: 15 } }])
  t.equal((await get('/shops/3/orders/aggregate')).status, 404)
  t.strictSame(calls, ['list', 'list', 'list'])
  t.strictSame(traced, ['list', 'list', 'list'])
  await app.collection(definition).aggregate()
  t.equal(traced.length, 4)

  for await (const { id, item } of app.collection(definition).list({ filter: { total: 10 } })) {
    t.equal(item.shopId, 1)
    await app.collection(definition).remove(id)
  }
  t.strictSame((await get('/shops/1/orders/aggregate?sum=total')).groups, [{ by: {}, sum: { total: 35 } }])
  t.strictSame((await app.collection(definition).aggregate({ sum: ['total'] })).groups, [{ by: {}, sum: { total: 50 } }])
  t.equal((await get('/shops/1/orders/aggregate?deleted=true')).status, 403)
  const whole = await request(app, 'GET /shops/1/orders/aggregate?sum=total&deleted=true', { fields: { 'x-user': 'admin' } })
  t.strictSame(whole.json().groups, [{ by: {}, sum: { total: 45 } }])
  t.equal(whole.headers['cache-control'], 'no-store')
  t.match(describeLayers(definition), /^aggregate: authorize > timeout > soft-delete$/m)
})

test('a timeout of lists ends an aggregate, and failures of the storage are failures', async (t) => {
  const slow = orders({
    storage: modified(() => ({
      async aggregate (_query, { signal }) {
        await once(signal, 'abort')
        throw signal.reason
      }
    }))
  }).with(aggregates(options), timeout({ list: 1 }))
  const app = await open(t, slow)
  t.match((await request(app, 'GET /orders/aggregate')).json(), { status: 503 })
  const broken = orders({ storage: modified(() => ({ aggregate: async () => { throw new Error('broken') } })) })
  t.match((await request(await open(t, broken.with(aggregates(options))), 'GET /orders/aggregate')).json(), { status: 500 })
  const refusing = orders({ storage: modified(() => ({ aggregate: async () => { throw problem('service-unavailable') } })) })
  t.match((await request(await open(t, refusing.with(aggregates(options))), 'GET /orders/aggregate')).json(), { status: 503 })
})

test('filters by relations work, and what the caller cannot read of them does not exist', async (t) => {
  const Customer = Type.Object({ id: Type.Integer(), country: Type.String(), secret: Type.Optional(Type.String()) })
  const Sale = Type.Object({ id: Type.String({ format: 'uuid' }), customerId: Type.Integer(), total: Type.Integer() })
  const customersOf = (hidden: boolean) => define({
    name: 'customers',
    schema: Customer,
    id: { generate: 'client' },
    storage: memory(),
    access: {
      allow: 'public',
      visible: { secret: () => false },
      ...hidden && { scope: () => ({ filter: { 'country.ne': 'DE' } }) }
    }
  })
  const sales = define({ name: 'orders', schema: Sale, storage: memory(), cache: 'public, max-age=5' })
    .with(aggregates({ by: ['customerId'], of: { total: ['sum'] } }))
  const related = relate({ customers: customersOf(true), sales }, {
    sales: { customer: { to: 'customers', property: 'customerId' } }
  })
  const app = await open(t, related.customers, related.sales)
  for (const [id, country] of [[1, 'AT'], [2, 'DE']] as const) {
    await app.collection(related.customers).create({ id, country, secret: 'x' })
    await app.collection(related.sales).create({ customerId: id, total: id })
  }
  const get = (search: string) => request(app, `GET /orders/aggregate?${search}`)
  const answer = await get('by=customerId&customer.country=AT')
  t.strictSame(answer.json().groups, [{ by: { customerId: 1 }, count: 1 }])
  t.equal(answer.headers['cache-groups'], '"orders", "customers"')
  t.equal(answer.headers['cache-control'], 'no-store', 'what is readable of customers depends on the caller')
  t.strictSame(await getRows(app, 'customer.country=DE'), [[0]])
  t.match((await get('customer.secret=x')).json(), { status: 400 })
  for (const search of ['expand=customer', 'expand.customer.limit=1&customer.country=AT']) {
    t.match((await get(search)).json(), { status: 400, detail: /^The query parameter "expand[^"]*" is unknown/ })
  }
  t.strictSame(
    (await app.collection(related.sales).aggregate({ sum: ['total'], filter: { customer: { country: 'DE' } } })).groups,
    [{ by: {}, sum: { total: 2 } }]
  )
})

test('an aggregate is one statement, with the scope and the relation inside', async (t) => {
  const database = await databases.find(({ name }) => name === 'sqlite')!.open()
  const storage = database.adapter()
  const customers = define({
    name: 'customers',
    schema: Type.Object({ id: Type.Integer(), country: Type.String() }),
    id: { generate: 'client' },
    storage
  })
  const sales = define({
    name: 'orders',
    schema: Type.Object({
      id: Type.Integer(),
      customerId: Type.Integer(),
      tenant: Type.String(),
      total: Type.Integer()
    }),
    id: { generate: 'client' },
    storage,
    access: { allow: 'public', scope: () => ({ values: { tenant: 'a' } }) }
  }).with(aggregates({ by: ['customerId'], of: { total: ['sum', 'avg'] } }))
  const related = relate({ customers, sales }, { sales: { customer: { to: 'customers', property: 'customerId' } } })
  for (const definition of [related.customers, related.sales]) await storage.createTable(definition)
  const app = await open(t, related.customers, related.sales)
  t.after(() => database.end())
  await app.collection(related.customers).create({ id: 1, country: 'AT' })
  for (const [id, tenant] of [[1, 'a'], [2, 'a'], [3, 'b']] as const) {
    await app.collection(related.sales).create({ id, tenant, customerId: 1, total: id })
  }
  const statements: string[] = []
  const channel = tracingChannel<unknown, StatementEvent>('fastify-collections:statement')
  const subscriber = { start: (event: unknown) => { statements.push((event as StatementEvent).text) } }
  channel.subscribe(subscriber as never)
  t.after(async () => channel.unsubscribe(subscriber as never))
  t.strictSame(
    await getRows(app, 'by=customerId&sum=total&avg=total&customer.country=AT&sort=-sum.total'),
    [[1, 3, 1.5]]
  )
  t.equal(statements.length, 1, statements.join('\n'))
  t.match(statements[0], /^SELECT .*"tenant".*"customers".* GROUP BY .* LIMIT \?/)
})

test('path renames the last segment, and parameters of pages are not those of aggregates', async (t) => {
  const definition = define({
    name: 'orders',
    schema: Type.Object({ id: Type.String({ pattern: '^[a-z]+$' }), total: Type.Integer() }),
    id: { generate: 'client' },
    storage: memory()
  }).with(aggregates({ of: { total: ['sum'] }, path: 'figures-2' }))
  const app = await open(t, definition)
  await app.collection(definition).create({ id: 'aggregate', total: 3 })
  t.strictSame((await request(app, 'GET /orders/figures-2?sum=total')).json().groups, [{ by: {}, sum: { total: 3 } }])
  t.equal((await request(app, 'GET /orders/aggregate')).json().total, 3)
  t.equal((await request(app, 'GET /orders/figures-2?offset=1')).statusCode, 400)
  t.strictSame(await app.collection(definition).aggregate(), { groups: [{ by: {}, count: 1 }], more: false })
})

test('an aggregate of a storage that is too large to be exact is refused', async (t) => {
  const app = await open(t, orders({
    storage: modified(() => ({
      aggregate: async () => ({ groups: [{ by: [], figures: [Infinity] }], more: false })
    }))
  }).with(aggregates(options)))
  t.match((await request(app, 'GET /orders/aggregate?sum=weight')).json(), {
    status: 400, code: 'invalid-query', detail: /^A sum or a value is too large to be exact/
  })
})

type Mistake = readonly [title: string, add: () => unknown, message: RegExp]

const base = () => orders() as Definition
const add = (given: object, definition = base()) => definition.with(aggregates(given as never))

const mistakes: readonly Mistake[] = [
  ['an unknown option', () => add({ bi: [] }), /aggregates: there is no option "bi"\. Available options: by, of, maximum, path\./],
  ['by that is no array', () => add({ by: 'status' }), /by is "status"\. Make it an array/],
  ['an unknown property in by', () => add({ by: ['x'] }), /by contains "x", which is not .* Available properties: id, status, /],
  ['a writeOnly property in by', () => add({ by: ['code'] }), /by contains "code"/],
  ['an array in by', () => add({ by: ['tags'] }), /by contains "tags"/],
  ['an unknown part of a date', () => add({ by: ['at.week'] }), /by contains "at\.week"\. The parts of "at" are year, month, day, hour\./],
  ['the hour of a date', () => add({ by: ['day.hour'] }), /The parts of "day" are year, month, day\./],
  ['a part of text', () => add({ by: ['country.month'] }), /"country" has no parts: it is no date\. Use "country"\./],
  ['of that is no object', () => add({ of: ['total'] }), /of is \["total"\]\. Make it an object/],
  ['of without arrays', () => add({ of: { total: 'sum' } }), /Make it an object with an array of figures for each property/],
  ['an unknown figure', () => add({ of: { total: ['median'] } }), /of\.total contains "median"\. Available figures: distinct, sum, avg, min, max\./],
  ['an unknown property in of', () => add({ of: { x: ['sum'] } }), /of\.x contains "sum", but "x" is not a number .* Available properties: total, weight, margin\./],
  ['a sum of text', () => add({ of: { country: ['sum'] } }), /of\.country contains "sum", but "country" is not a number/],
  ['an average of a decimal as text', () => add({ of: { price: ['avg'] } }), /"price" is not a number/],
  ['the greatest decimal as text', () => add({ of: { price: ['max'] } }), /of\.price contains "max"/],
  ['the least boolean', () => add({ of: { isGift: ['min'] } }), /of\.isGift contains "min"/],
  ['distinct arrays', () => add({ of: { tags: ['distinct'] } }), /of\.tags contains "distinct"/],
  ['a writeOnly property in of', () => add({ of: { code: ['distinct'] } }), /of\.code contains "distinct"/],
  ['no maximum', () => add({ maximum: 0 }), /maximum is 0\. Make it a whole number from 1 to 10000\./],
  ['a maximum that is too large', () => add({ maximum: 10_001 }), /maximum is 10001/],
  ['a path with a slash', () => add({ path: 'a/b' }), /path is "a\/b"\. It is a path segment/],
  ['the same twice', () => add({}, add({})), /the feature "aggregates" is added twice/],
  ['no list', () => add({}, orders({ actions: ['read', 'create'] })), /actions does not contain "list"/],
  [
    'ids that clients choose',
    () => add({}, define({ name: 'notes', schema: Type.Object({ id: Type.String() }), id: { generate: 'client' }, storage: memory() })),
    /an item can have the id "aggregate", which could no longer be reached\. Set path/
  ],
  [
    'a property with the name of a parameter',
    () => add({}, define({ name: 'notes', schema: Type.Object({ id: Type.String({ format: 'uuid' }), sum: Type.Integer() }), storage: memory() })),
    /the property "sum" has the name of a query parameter\. Rename the property\./
  ],
  ['a storage without the method', () => add({}, orders({ storage: withoutAggregate() })), /aggregates\(\) needs the method aggregate, which the storage memory does not support/],
  [
    'a custom action of the same path',
    () => add({ path: 'stats' }, base().with(action('stats', { on: 'collection', safe: true, run () {} }))),
    /the action "stats" has the same path/
  ],
  ['a custom action of the name of the method', () => base().with(action('aggregate', { run: () => {} })), /Choose another name/]
]

function withoutAggregate () {
  return modified((storage) => {
    const { aggregate, ...others } = storage
    return { ...others, aggregate: undefined } as never
  })
}

for (const [title, make, message] of mistakes) {
  test(`refused at boot: ${title}`, async (t) => {
    t.throws(make, { message })
  })
}

test('integer ids and UUIDs need no other path', async (t) => {
  const definition = define({
    name: 'orders', schema: Type.Object({ id: Type.Integer(), total: Type.Integer() }), id: { generate: 'storage' }, storage: memory()
  }).with(aggregates({ of: { total: ['sum'] } }))
  const app = await open(t, definition)
  t.strictSame(await getRows(app, 'sum=total'), [[null]])
})

for (const { name, skip, open } of databases) {
  test(`${name}: a batch can have aggregates, which see what earlier parts have written`, { skip }, async (t) => {
    const database = await open()
    t.after(() => database.end())
    const storage = database.adapter()
    const definition = orders({
      storage,
      access: {
        authenticate: ({ request }) => request.headers.authorization,
        allow: { all: 'public' },
        scope: ({ caller }) => caller === undefined ? undefined : { values: { country: String(caller) } }
      }
    }).with(aggregates(options))
    await storage.createTable(definition)
    const app = Fastify()
    t.after(() => app.close())
    await app.register(registry)
    await app.register(collection, definition)
    await app.register(batch, { collections: [definition] })
    await app.ready()
    await fill(app, definition)
    const send = async (...parts: object[]) => {
      const response = await request(app, 'POST /batch', { content: parts, fields: { authorization: 'AT' } })
      return response.json()
    }
    const figures = { method: 'GET', path: '/orders/aggregate?by=status&sum=total&count=true&sort=status' }
    const created = { method: 'POST', path: '/orders', content: { status: 'open', total: 7, at: '2026-03-01T00:00:00Z' } }
    const results = await send(figures, created, figures)
    const paid = { by: { status: 'paid' }, count: 1, sum: { total: 5 } }
    t.match(results.map(({ status }: { status: number }) => status), [200, 201, 200])
    t.strictSame(results[0].content, { groups: [{ by: { status: 'open' }, count: 1, sum: { total: 10 } }, paid], more: false })
    t.strictSame(results[2].content, { groups: [{ by: { status: 'open' }, count: 2, sum: { total: 17 } }, paid], more: false })
    t.match(await send({ ...figures, path: '/orders/aggregate?sum=status' }), { problem: { status: 400, code: 'invalid-query' } })
    t.match(await send({ ...figures, method: 'POST', content: {} }), { problem: { status: 405 } })
  })
}
