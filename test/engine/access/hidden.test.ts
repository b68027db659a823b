import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { batch } from '../../../lib/doors/batch/batch.ts'
import { action } from '../../../lib/features/action.ts'
import { bulk } from '../../../lib/features/bulk.ts'
import { hal } from '../../../lib/formats/hal.ts'
import { define, json } from '../../../lib/index.ts'
import type { AccessOptions, Definition } from '../../../lib/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { build, notes, request } from '../../app.ts'
import { allStorages } from '../../storages.ts'

test('OPTIONS and 405 do not reveal a resource that is hidden from the caller', async (t) => {
  const app = await build(t, notes({
    access: {
      authenticate: ({ request }) => request.headers.authorization,
      allow: ({ caller }) => caller === 'ada' || 'hidden'
    }
  }))
  const id = '01900000-0000-7000-8000-000000000001'
  for (const target of ['OPTIONS /notes', 'PUT /notes', 'TRACE /notes', `OPTIONS /notes/${id}`, `POST /notes/${id}`]) {
    const { statusCode, headers, payload } = await request(app, target)
    t.equal(statusCode, 404, target)
    t.equal(headers.allow, undefined)
    t.match(JSON.parse(payload), { code: 'not-found' })
    const seen = await request(app, target, { fields: { authorization: 'ada' } })
    t.equal(seen.statusCode, target.startsWith('OPTIONS') ? 204 : 405, target)
    t.ok(seen.headers.allow)
  }
})

test('a rule that fails without the hooks in routes hides nothing', async (t) => {
  const app = await build(t, notes({
    routes: { all: { onRequest: async (request) => { Object.assign(request, { user: { role: 'admin' } }) } } },
    access: {
      authenticate: () => 'ada',
      allow: ({ request }) => (request as unknown as { user: { role: string } }).user.role === 'admin'
    }
  }))
  t.equal((await request(app, 'GET /notes')).statusCode, 200)
  t.equal((await request(app, 'DELETE /notes')).statusCode, 405)
})

const Person = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  code: Type.Optional(Type.String())
})

/** People with a code that only root sees. */
const rules: AccessOptions<typeof Person.static> = {
  authenticate: ({ request }) => request.headers.authorization,
  allow: { all: 'public' },
  visible: { code: ({ caller }) => caller === 'root' }
}

for (const { name, skip, open } of allStorages) {
  test(`${name}: a 409 does not name a unique property that is hidden from the caller`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const people = define({
      name: 'people',
      schema: Person,
      id: { generate: 'storage' },
      unique: ['code', ['name', 'code']],
      storage,
      access: rules,
      hooks: { beforeValidation: ({ item }) => { item.code = item.name === 'Eve' ? 'other' : 'same' } }
    }).with(bulk({ update: true }))
    await prepare(people)
    const app = await build(t, people as Definition, { service: {} })
    await app.register(batch, { collections: [people] })
    await app.inject({ method: 'POST', url: '/people', payload: [{ name: 'Ada' }, { name: 'Eve' }] })
    const refused: Array<[string, unknown]> = [
      ['POST /people', { name: 'Bob' }],
      ['POST /people', [{ name: 'Bob' }]],
      ['PUT /people/2', { name: 'Bob' }],
      ['PATCH /people/2', { name: 'Bob' }],
      ['PATCH /people?name=Eve', { name: 'Bob' }],
      ['POST /batch', [{ method: 'POST', path: '/people', content: { name: 'Bob' } }]]
    ]
    for (const [target, content] of refused) {
      const { statusCode, payload } = await request(app, target, { content })
      t.equal(statusCode, 409, target)
      t.notMatch(payload, /\bcode of|this code|\/code|and code/, `${target} ${payload}`)
      t.match((await request(app, target, { content, fields: { authorization: 'root' } })).payload, '/code')
    }
    const calls = app.collection(people)
    await t.rejects(calls.create({ name: 'Bob' }, { caller: 'ada' }), { code: 'not-unique', errors: [] })
    await t.rejects(calls.create({ name: 'Bob' }), { code: 'not-unique', errors: [{ pointer: '/code' }] })
  })
}

for (const hook of ['beforeValidation', 'beforeWrite'] as const) {
  test(`a 422 because of ${hook} does not name a property that is hidden from the caller`, async (t) => {
    const Coded = Type.Object({ ...Person.properties, code: Type.String({ maxLength: 5, default: 'same' }) })
    const people = define({
      name: 'people',
      schema: Coded,
      id: { generate: 'storage' },
      storage: memory(),
      access: {
        ...rules as AccessOptions<typeof Coded.static>,
        scope: ({ caller }) => caller === 'root' ? undefined : { values: { code: 'same' } }
      },
      hooks: {
        [hook]: ({ item }: { item?: { name: string, code: string } }) => {
          if (item !== undefined && item.name !== 'Ada') item.code = item.name
        }
      }
    }).with(action('rename', { run: ({ item }) => ({ ...item, code: 'too long' }) }))
    const app = await build(t, people as Definition, { service: {} })
    await app.register(batch, { collections: [people as Definition] })
    await app.inject({ method: 'POST', url: '/people', payload: { name: 'Ada' } })
    for (const name of ['too long', 'else']) {
      for (const [target, content] of [
        ['POST /people', { name }],
        ['PUT /people/1', { name }],
        ['PATCH /people/1', { name }],
        ['POST /people/1/rename', {}],
        ['POST /batch', [{ method: 'POST', path: '/people', content: { name } }]]
      ] as const) {
        const { statusCode, payload } = await request(app, target, { content })
        t.equal(statusCode, target === 'POST /batch' ? 409 : 422, target)
        t.notMatch(payload, /\/code|at most 5/, `${target} ${payload}`)
      }
    }
    const content = { name: 'too long' }
    t.match((await request(app, 'POST /people', { content, fields: { authorization: 'root' } })).payload, '/code')
  })
}

test('links and actions in links do not depend on a property that is hidden from the caller', async (t) => {
  const people = define({
    name: 'people',
    schema: Person,
    id: { generate: 'storage' },
    storage: memory({ items: [{ id: 1, name: 'Ada', code: 'secret' }] }),
    formats: [json, hal],
    links: ({ item }) => ({ badge: { href: `/badges/${item.code}` } }),
    access: rules
  }).with(action('revoke', { when: ({ item }) => item.code !== undefined, run: () => {} }))
  const app = await build(t, people as Definition)
  const read = (user: string) => request(app, 'GET /people/1', {
    fields: { authorization: user, accept: 'application/hal+json' }
  })
  const before = await read('ada')
  t.equal(before.json()._links.badge.href, '/badges/undefined')
  t.notOk('revoke' in before.json()._links)
  t.match((await read('root')).json()._links, { badge: { href: '/badges/secret' }, revoke: {} })
  await request(app, 'PATCH /people/1', { content: { code: null }, fields: { authorization: 'root' } })
  const after = await read('ada')
  t.strictSame([after.headers.etag, after.payload], [before.headers.etag, before.payload])
})
