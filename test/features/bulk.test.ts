import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { memory } from '../../lib/storage/memory.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { json } from '../../lib/index.ts'
import { xml } from '../../lib/formats/xml.ts'
import { build, modified, request } from '../app.ts'
import { define } from '../define.ts'

const User = Type.Object({
  id: Type.String({ format: 'uuid' }),
  email: Type.String({ format: 'email' }),
  age: Type.Optional(Type.Integer())
})

const definition = { name: 'users', schema: User, unique: ['email'], storage: memory() } as const

const people = (count: number) => Array.from({ length: count }, (_, index) => ({ email: `u${index}@example.com` }))

test('a refused array of one item names the item as longer ones do', async (t) => {
  const app = await build(t, define({ ...definition, storage: memory() }).with(bulk()))
  t.equal((await request(app, 'POST /users', { content: people(1) })).statusCode, 201)
  t.match((await request(app, 'POST /users', { content: people(1) })).json(), {
    status: 409,
    detail: /^The item with the index 0: .* No item was created\.$/,
    errors: [{ pointer: '/0/email', message: 'must be unique' }]
  })
})

test('POST of an array creates all items in order', async (t) => {
  const changes: unknown[] = []
  const app = await build(
    t,
    define({
      ...definition,
      storage: memory(),
      hooks: {
        afterCommit: ({ action, after }) => {
          changes.push([action, after?.email])
        }
      }
    }).with(bulk())
  )
  const answer = await request(app, 'POST /users', { content: people(3) })
  t.equal(answer.statusCode, 201)
  t.equal(answer.headers['content-type'], 'application/json')
  t.notOk('location' in answer.headers)
  const created: Array<{ id: string; email: string }> = answer.json()
  t.strictSame(
    created.map(({ email }) => email),
    people(3).map(({ email }) => email)
  )
  t.strictSame(
    changes,
    people(3).map(({ email }) => ['create', email])
  )
  t.strictSame((await request(app, 'GET /users')).json(), created)
  t.equal(
    (await request(app, 'POST /users', { content: { email: 'one@example.com' } })).statusCode,
    201,
    'a single item is created as without the feature'
  )
  const minimal = await request(app, 'POST /users', {
    content: [{ email: 'm@example.com' }],
    fields: { prefer: 'return=minimal' }
  })
  t.strictSame(
    [minimal.statusCode, minimal.payload, minimal.headers['preference-applied']],
    [201, '', 'return=minimal']
  )
  const whole = await request(app, 'POST /users', {
    content: [{ email: 'w@example.com' }],
    fields: { prefer: 'return=representation', accept: 'application/hal+json' }
  })
  t.strictSame([whole.statusCode, whole.headers['preference-applied']], [201, 'return=representation'])
  t.equal(whole.json()._embedded.items.length, 1)
})

test('one invalid item rejects the whole array, and every error has the index of its item', async (t) => {
  const app = await build(t, define({ ...definition, storage: memory() }).with(bulk({ maximum: 4 })))
  const invalid = await request(app, 'POST /users', {
    content: [{ email: 'a@example.com' }, { email: 'no' }, 3, { email: 'b@example.com', age: 'x' }]
  })
  t.equal(invalid.statusCode, 422)
  t.strictSame(
    invalid.json().errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/1/email', '/2', '/3/age']
  )
  const duplicate = await request(app, 'POST /users', {
    content: [{ email: 'a@example.com' }, { email: 'b@example.com' }, { email: 'a@example.com' }]
  })
  t.equal(duplicate.statusCode, 409)
  t.match(duplicate.json(), {
    code: 'not-unique',
    detail: /^The item with the index 2: /,
    errors: [{ pointer: '/2/email', message: 'must be unique' }]
  })
  for (const content of [[], people(5)]) {
    t.strictSame((await request(app, 'POST /users', { content })).json().errors, [
      { pointer: '', message: 'must have from 1 to 4 items' }
    ])
  }
  t.strictSame((await request(app, 'GET /users')).json(), [])
})

test('an error thrown by a hook rejects the whole array with its own status and message', async (t) => {
  const app = await build(
    t,
    define({
      ...definition,
      storage: memory(),
      hooks: {
        beforeValidation: ({ item, request }) => {
          if (item.email.startsWith('u1')) throw request?.server.httpErrors.forbidden('not you')
          return item
        }
      }
    }).with(bulk())
  )
  t.match((await request(app, 'POST /users', { content: people(3) })).json(), { status: 403, detail: 'not you' })
  t.strictSame((await request(app, 'GET /users')).json(), [])
})

test('a conflict of one item rejects the whole array', async (t) => {
  const storage = modified(() => ({
    transaction: async (work) =>
      work({
        ...memory()({ name: 'users', schema: User, unique: [], id: { property: 'id', generate: 'uuid' } }),
        insert: async () => ({ refused: 'conflict' }),
        insertMany: async () => ({ refused: 'conflict' })
      })
  }))
  const app = await build(t, define({ ...definition, storage }).with(bulk()))
  t.match((await request(app, 'POST /users', { content: people(2) })).json(), {
    status: 409,
    code: 'conflict',
    detail: /^The item with the index 0: /,
    errors: []
  })
})

test('without bulk() an array is invalid, and bulk() requires a storage with transactions', async (t) => {
  const app = await build(t, define({ ...definition, storage: memory() }))
  t.equal((await request(app, 'POST /users', { content: people(2) })).statusCode, 422)
  const storage = modified(({ supports }) => ({ supports: { ...supports, transactions: false } }))
  t.throws(() => define({ ...definition, storage }).with(bulk()), { code: 'FST_COLLECTION_UNSUPPORTED' })
})

test('POST accepts several items in XML as well, with references within the schema', async (t) => {
  const schema = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    age: Type.Integer(),
    older: Type.Optional(Type.Unsafe<number>({ $ref: '#/properties/age' }))
  })
  const definition = { name: 'users', schema, storage: memory(), formats: [json, xml] } as const
  const app = await build(t, define(definition).with(bulk({ maximum: 2 })))
  const post = (content: string) => request(app, 'POST /users', { content, type: 'application/xml' })
  const item = '<item><age>36</age><older>37</older></item>'
  const answer = await post(`<items>${item}${item}</items>`)
  t.equal(answer.statusCode, 201, answer.payload)
  t.match(answer.json(), [{ age: 36, older: 37 }, { age: 36, older: 37 }])
  t.match(
    (await post('<items><item><age>36</age></item><item><age>old</age></item></items>')).json(),
    { status: 422, errors: [{ pointer: '/1/age' }] }
  )
  for (const content of ['<items/>', `<items>${item.repeat(3)}</items>`]) {
    t.match((await post(content)).json(), { status: 422, detail: 'The array must have from 1 to 2 items.' })
  }
  const single = await build(t, define({ ...definition, storage: memory() }))
  t.match(
    (await request(single, 'POST /users', { content: `<items>${item}</items>`, type: 'application/xml' })).json(),
    { status: 422, errors: [{ pointer: '', message: 'must be object' }] }
  )
})
