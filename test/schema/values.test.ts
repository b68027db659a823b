import { Type } from '@sinclair/typebox'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { test } from 'tap'
import { define } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import { isDateTime } from '../../lib/schema/validation.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, created, request } from '../app.ts'

// How the library handles date-times and decimals in every storage. How storages store them:
// test/storage/values.test.ts.

const instant = (options: object = {}) => Type.String({ format: 'date-time', ...options })

const Task = Type.Object({
  id: Type.Integer(),
  due: Type.Optional(instant()),
  begun: Type.Optional(instant({ immutable: true })),
  seen: Type.Optional(instant({ readOnly: true })),
  from: instant({ default: '2026-01-01T01:00:00+01:00' }),
  free: Type.Optional(Type.Union([instant(), Type.Literal('someday'), Type.String({ format: 'date' })])),
  orNull: Type.Optional(Type.Union([instant(), Type.Null()])),
  orNumber: Type.Optional(Type.Union([instant(), Type.Integer()])),
  byName: Type.Optional(Type.Record(Type.String(), Type.Object({ at: instant() }))),
  shapes: Type.Optional(
    Type.Union([Type.Object({ at: instant() }), Type.Object({ at: Type.String(), word: Type.Literal('x') })])
  ),
  open: Type.Optional(Type.Union([Type.Object({ at: instant() }), Type.Record(Type.String(), Type.String())])),
  wide: Type.Optional(Type.Union([Type.Object({ at: instant() }), Type.Unsafe<object>({ $ref: '#/$defs/Any' })])),
  tree: Type.Optional(
    Type.Recursive((self) => Type.Object({ at: Type.Optional(instant()), inner: Type.Optional(Type.Array(self)) }), {
      $id: 'Tree'
    })
  )
}, { $defs: { Any: { type: 'object', additionalProperties: true } } })

const tasks = (options: object = {}): Definition =>
  define({
    name: 'tasks',
    schema: Task,
    id: { generate: 'client' },
    storage: memory(),
    ...options
  } as never)

const local = '2026-01-01T05:00:00+01:00'
const utc = '2026-01-01T04:00:00.000Z'

test('date-times are normalized to one form wherever the schema is unambiguous', async (t) => {
  const app = await build(t, tasks())
  const { item } = await created(app, '/tasks', {
    id: 1,
    due: local,
    begun: '2026-01-01T04:00:00Z',
    free: local,
    orNull: local,
    orNumber: local,
    byName: { a: { at: local } },
    shapes: { at: local },
    open: { at: local },
    wide: { at: local },
    tree: { at: local, inner: [{ at: '2026-01-01t04:00:00.0009z' }, { inner: [{ at: local }] }] }
  })
  t.same(item, {
    id: 1,
    due: utc,
    begun: utc,
    from: '2026-01-01T00:00:00.000Z',
    free: local,
    orNull: utc,
    orNumber: utc,
    byName: { a: { at: utc } },
    shapes: { at: local },
    open: { at: local },
    wide: { at: local },
    tree: { at: utc, inner: [{ at: utc }, { inner: [{ at: utc }] }] }
  })
  t.match(
    (await created(app, '/tasks', { id: 2, due: '2016-12-31T23:59:60Z', orNull: null, orNumber: 5, free: 'someday' }))
      .item,
    { due: '2017-01-01T00:00:00.000Z', orNull: null, orNumber: 5, free: 'someday' }
  )
  for (const due of ['2026-02-30T00:00:00+01:00', '2026-01-01', '2026-01-01T00:00:00', 'now', 5]) {
    t.equal((await request(app, 'POST /tasks', { content: { id: 3, due } })).statusCode, 422, String(due))
  }
})

test('another spelling of the same instant is not a change of an immutable or readOnly property', async (t) => {
  const app = await build(t, tasks({ storage: memory({ items: [{ id: 1, begun: utc, seen: local, from: local }] }) }))
  t.same(
    (await request(app, 'GET /tasks/1')).json(),
    { id: 1, begun: utc, seen: utc, from: utc },
    'seed items have the same form'
  )
  for (const content of [{ begun: local }, { seen: local }]) {
    t.equal((await request(app, 'PATCH /tasks/1', { content })).statusCode, 200, JSON.stringify(content))
  }
  t.equal(
    (
      await request(app, 'PATCH /tasks/1', {
        content: [{ op: 'replace', path: '/begun', value: local }],
        type: 'application/json-patch+json'
      })
    ).statusCode,
    200
  )
  t.equal((await request(app, 'PUT /tasks/1', { content: { begun: local, from: local } })).statusCode, 200)
  t.match((await request(app, 'PATCH /tasks/1', { content: { begun: '2026-01-01T05:00:01+01:00' } })).json(), {
    errors: [{ pointer: '/begun', message: 'cannot be changed once it is set' }]
  })
  t.match((await request(app, 'PATCH /tasks/1', { content: { seen: '2026-01-01T05:00:01+01:00' } })).json(), {
    errors: [{ pointer: '/seen', message: 'is read-only' }]
  })
})

test('dates in canonical form are valid if ajv-formats accepts them', (t) => {
  const { validate } = fullFormats['date-time'] as { validate: (text: string) => boolean }
  const days = ['00-01', '01-00', '01-01', '01-28', '01-31', '02-28', '02-29', '02-30', '04-30', '04-31', '12-31', '12-32', '13-01']
  const times = ['00:00:00', '23:59:59', '24:00:00', '23:60:00', '12:00:60', '23:59:60', '99:99:99']
  for (const year of ['0000', '2023', '2024', '9999']) {
    for (const day of days) {
      for (const time of times) {
        const text = `${year}-${day}T${time}.000Z`
        t.equal(isDateTime(text), validate(text), text)
      }
    }
  }
  t.notOk(isDateTime('2024-01-01T00:00:00.00Z0'))
  t.ok(isDateTime('2024-01-01t00:00:00+01:00'))
  t.end()
})

test('PATCH works on an item that was stored with another spelling of a date-time', async (t) => {
  const collection = tasks()
  await collection.storage.insert(
    { id: 1, begun: local, from: utc },
    { signal: new AbortController().signal, scope: undefined }
  )
  const app = await build(t, collection)
  t.match((await request(app, 'PATCH /tasks/1', { content: { due: local } })).json(), { begun: utc, due: utc })
})

test('beforeValidation may return any spelling of a date-time, and unique compares instants', async (t) => {
  const app = await build(
    t,
    tasks({ unique: ['due'], hooks: { beforeValidation: ({ item }: { item: object }) => ({ ...item, seen: local }) } })
  )
  t.match((await created(app, '/tasks', { id: 1, due: local })).item, { due: utc, seen: utc })
  const duplicate = await request(app, 'POST /tasks', { content: { id: 2, due: '2025-12-31T23:00:00-05:00' } })
  t.match([duplicate.statusCode, duplicate.json()], [409, { code: 'not-unique', errors: [{ pointer: '/due' }] }])
})

test('PUT returns an ETag if the item is stored as sent, and none if a date-time was normalized', async (t) => {
  const app = await build(t, tasks())
  await created(app, '/tasks', { id: 1 })
  t.ok((await request(app, 'PUT /tasks/1', { content: { id: 1, due: utc, from: utc } })).headers.etag)
  t.equal((await request(app, 'PUT /tasks/1', { content: { id: 1, due: local, from: utc } })).headers.etag, undefined)
})

test('an id with a date-time format is not normalized', async (t) => {
  const app = await build(
    t,
    define({
      name: 'slots',
      schema: Type.Object({ id: instant() }),
      id: { generate: 'client' },
      storage: memory()
    })
  )
  t.match((await created(app, '/slots', { id: local })).item, { id: local })
})

test('beside properties that are all date-times, the named ones and the id keep their texts', async (t) => {
  const schema = Type.Object(
    {
      id: instant(),
      title: Type.String(),
      log: Type.Object({ note: Type.String(), at: instant() }, { additionalProperties: instant() })
    },
    { additionalProperties: instant() }
  )
  const app = await build(t, define({ name: 'logs', schema, id: { generate: 'client' }, storage: memory() }))
  const { item } = await created(app, '/logs', {
    id: local,
    title: local,
    log: { note: local, at: local, seen: local },
    seen: local
  })
  t.same(item, { id: local, title: local, log: { note: local, at: utc, seen: utc }, seen: utc })
})

test('a schema whose date-times cannot be normalized fails at boot', async (t) => {
  for (const due of [
    instant({ maxLength: 20 }),
    instant({ pattern: '^.{19}Z$' }),
    instant({ const: local }),
    instant({ enum: [local] })
  ]) {
    t.throws(
      () =>
        define({
          name: 'tasks',
          schema: Type.Object({ id: Type.Integer(), due }),
          id: { generate: 'client' },
          storage: memory()
        }),
      { code: 'FST_COLLECTION_BAD_SCHEMA', message: /stored in UTC with milliseconds.*Remove pattern/ }
    )
  }
  for (const due of [instant({ maxLength: 40 }), instant({ pattern: '^20' }), instant({ const: utc })]) {
    t.doesNotThrow(() =>
      define({
        name: 'tasks',
        schema: Type.Object({ id: Type.Integer(), due }),
        id: { generate: 'client' },
        storage: memory()
      })
    )
  }
})

const Product = Type.Object({
  id: Type.Integer(),
  price: Type.String({ pattern: '^[0-9]{1,9}\\.[0-9]{2}$' }),
  discount: Type.Optional(Type.Union([Type.String({ pattern: '^-?\\d+$' }), Type.Null()])),
  postcode: Type.Optional(Type.String({ pattern: '^\\d{5}$' })),
  serial: Type.Optional(Type.String({ pattern: '^[a-z0-9]+$' })),
  more: Type.Optional(Type.Object({ net: Type.String({ pattern: '^\\d+(,\\d\\d)?$' }) }))
})

const products = (options: object = {}): Definition =>
  define({
    name: 'products',
    schema: Product,
    id: { generate: 'client' },
    storage: memory(),
    ...options
  } as never)

test('decimal strings can be compared only for equality', async (t) => {
  const app = await build(t, products())
  for (const [id, price] of [
    [1, '9.50'],
    [2, '10.00']
  ] as const) {
    await created(app, '/products', { id, price, discount: '5', more: { net: '8' } })
  }
  t.same(
    (await request(app, 'GET /products?price=9.50')).json().map(({ id }: { id: number }) => id),
    [1]
  )
  t.same(
    (await request(app, 'GET /products?price.in=10.00,11.00&price.like=1*&more.net.ne=7'))
      .json()
      .map(({ id }: { id: number }) => id),
    [2]
  )
  const answer = await request(app, 'GET /products?price.lt=10.00')
  t.match(
    [answer.statusCode, answer.json()],
    [400, { parameter: 'price.lt', detail: /price can be followed by: \.eq, \.ne, \.in, \.nin, \.like, \.ilike, \.null\.$/ }]
  )
  for (const query of ['discount.gte=1', 'more.net.gt=1', 'sort=price', 'sort=-discount', 'sort=more.net']) {
    t.equal((await request(app, `GET /products?${query}`)).statusCode, 400, query)
  }
  t.equal((await request(app, 'QUERY /products', { content: { filter: { 'price.gt': '1.00' } } })).statusCode, 422)
  for (const query of ['postcode.lt=20000', 'serial.gte=a', 'sort=postcode,-serial']) {
    t.equal((await request(app, `GET /products?${query}`)).statusCode, 200, query)
  }
})

test('sorting by decimal strings fails at boot with a message that states the alternatives', async (t) => {
  const wrong = {
    code: 'FST_COLLECTION_BAD_OPTION',
    message:
      /names "\S+", whose values are numbers written as text: "10\.00" would come before "9\.50"\. Store the smallest unit as an integer/
  }
  for (const options of [
    { list: { sort: ['price'] } },
    { list: { sort: ['more.net'] } },
    { list: { order: ['-price'] } },
    { list: { order: ['discount'] } }
  ]) {
    t.throws(() => products(options), wrong, JSON.stringify(options))
  }
  t.doesNotThrow(() => products({ list: { sort: ['postcode', 'serial'], order: ['postcode'], filter: ['price'] } }))
})
