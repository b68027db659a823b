import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { define } from '../../../lib/index.ts'
import type { AccessOptions, Definition, Options, ScopeFunction } from '../../../lib/index.ts'
import type { Adapter, Shape, Storage } from '../../../lib/storage/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { sqlite } from '../../../lib/storage/sqlite.ts'
import { bulk } from '../../../lib/features/bulk.ts'
import { relate } from '../../../lib/relations/relate.ts'
import { within } from '../../../lib/features/within.ts'
import { gate, logged, request as sendRequest } from '../../app.ts'

const Note = Type.Object({
  id: Type.Integer(),
  owner: Type.String(),
  title: Type.String(),
  slug: Type.Optional(Type.String()),
  place: Type.Optional(Type.Object({ city: Type.String() }))
})
type Item = Static<typeof Note>

const items: readonly Item[] = [
  { id: 1, owner: 'ada', title: 'Engines', slug: 'e' },
  { id: 2, owner: 'bob', title: 'Trees', slug: 't' },
  { id: 3, owner: 'ada', title: 'Looms', slug: 'l' }
]

const authentication: Pick<AccessOptions, 'authenticate' | 'challenge' | 'vary'> = {
  authenticate: ({ request }) => request.headers['x-user']?.toString()
}
const own: ScopeFunction<Item> = ({ caller }) =>
  caller === undefined || caller === 'root' ? undefined : { values: { owner: caller } }

type SendRequest = (
  target: string,
  user?: string,
  content?: unknown,
  fields?: Record<string, string>
) => Promise<LightMyRequestResponse>

const createAsk =
  (app: FastifyInstance): SendRequest =>
    async (target, user, content, fields) =>
      sendRequest(app, target, {
        ...(content !== undefined && { content }),
        fields: { ...(user !== undefined && { 'x-user': user }), ...fields }
      })

async function serve (t: Test, ...collections: readonly Definition[]): Promise<SendRequest> {
  const app = Fastify()
  t.after(() => app.close())
  for (const each of collections) await app.register(collection, each)
  return createAsk(app)
}

function notes (options: Partial<Options<typeof Note>> = {}): Definition {
  const given = {
    name: 'notes',
    schema: Note,
    id: { generate: 'storage' },
    storage: memory({ items: [...items] }),
    unique: ['slug'],
    ...options
  } as const
  return define({ ...given, access: { ...authentication, scope: own, ...options.access } })
}

/** Storages with the items; each database is separate. */
const storages: ReadonlyArray<{ name: string; skip: string | false; open: (t: Test) => Promise<Adapter<Item>> }> = [
  { name: 'memory', skip: false, open: async () => memory({ items: [...items] }) },
  {
    name: 'sqlite',
    skip: false,
    open: async (t) => {
      const database = new DatabaseSync(':memory:')
      t.after(() => database.close())
      const adapter = sqlite(database)
      await adapter.createTable({
        name: 'notes',
        schema: Note,
        id: { property: 'id', generate: 'storage' },
        unique: ['slug']
      })
      for (const { id, owner, title, slug } of items) {
        database.exec(
          `INSERT INTO notes (id, owner, title, slug, version) VALUES (${id}, '${owner}', '${title}', '${slug}', '${id}')`
        )
      }
      return adapter
    }
  }
]

const notFound = 404

for (const { name, skip, open } of storages) {
  test(`a row outside the scope returns 404 for every method, in ${name}`, { skip }, async (t) => {
    const request = await serve(t, notes({ storage: await open(t), list: { search: ['title'] } }))
    const ids = async (query: string, user: string): Promise<number[]> =>
      (await request(`GET /notes${query}`, user)).json().map(({ id }: Item) => id)
    t.strictSame(await ids('', 'ada'), [1, 3])
    t.strictSame(await ids('', 'bob'), [2])
    t.strictSame(await ids('', 'root'), [1, 2, 3])
    t.strictSame(await ids('?owner=bob', 'ada'), [], 'a filter does not widen the scope')
    t.strictSame(await ids('?q=trees', 'ada'), [])
    t.strictSame(await ids('?sort=-id', 'ada'), [3, 1])
    t.equal((await request('GET /notes?count=true', 'ada')).headers['x-total-count'], '2')
    t.strictSame(
      (await request('QUERY /notes', 'ada', { filter: { any: [{ owner: 'bob' }, { 'id.gte': 3 }] } }))
        .json()
        .map(({ id }: Item) => id),
      [3]
    )
    const first = await request('GET /notes?limit=1', 'ada')
    const next = /<([^>]+)>; rel="next"/.exec(String(first.headers.link))![1]
    t.strictSame(
      (await request(`GET ${next}`, 'ada')).json().map(({ id }: Item) => id),
      [3]
    )
    t.strictSame(
      (await request(`GET ${next}`, 'bob')).json().map(({ id }: Item) => id),
      [2],
      'a cursor of another caller does not widen the scope'
    )
    const { etag } = (await request('GET /notes/2', 'bob')).headers
    for (const fields of [{}, { 'if-match': String(etag) }, { 'if-match': '*' }, { 'if-none-match': String(etag) }]) {
      t.equal((await request('GET /notes/2', 'ada', undefined, fields)).statusCode, notFound)
      t.equal((await request('HEAD /notes/2', 'ada', undefined, fields)).statusCode, notFound)
      t.equal((await request('PUT /notes/2', 'ada', { title: 'x' }, fields)).statusCode, notFound)
      t.equal((await request('PATCH /notes/2', 'ada', { owner: 'ada' }, fields)).statusCode, notFound)
      t.equal((await request('DELETE /notes/2', 'ada', undefined, fields)).statusCode, notFound)
    }
    t.strictSame(
      (await request('GET /notes/2', 'ada')).json(),
      { ...(await request('GET /notes/9', 'ada')).json(), instance: '/notes/2' },
      'the response is that of a missing row'
    )
    t.match((await request('GET /notes/2', 'bob')).json(), items[1]!)
    t.equal((await request('PATCH /notes/1', 'ada', { title: 'Analytical engines' })).statusCode, 200)
    t.equal((await request('DELETE /notes/1', 'ada')).statusCode, 204)
  })

  test(
    `a row that leaves the scope between read and write returns 404, in ${name}`,
    { skip },
    async (t) => {
      const adapter = await open(t)
      let [found, released] = [gate(), gate()]
      let waiting = false
      let storage: Storage<Item>
      const slow = (shape: Shape): Storage<Item> => {
        storage = adapter(shape)
        return {
          ...storage,
          async find (id, context) {
            const entry = await storage.find(id, context)
            if (waiting && context.scope !== undefined) {
              found.open()
              await released.opened
            }
            return entry
          }
        }
      }
      for (const [target, content] of [
        ['PUT /notes/1', { title: 'mine' }],
        ['PATCH /notes/1', { title: 'mine' }],
        ['DELETE /notes/1', undefined]
      ] as const) {
        const request = await serve(t, notes({ storage: slow, hooks: { afterCommit: () => {} } }))
        // An app of its own: in the same one, the second write would wait for the first.
        const requestOther = await serve(t, notes({ storage: () => storage }))
        waiting = true
        const answer = request(target, 'ada', content)
        await found.opened
        waiting = false
        const change = { owner: 'bob', title: 'given away' }
        t.equal((await requestOther('PATCH /notes/1', 'root', change)).statusCode, 200)
        released.open()
        t.equal((await answer).statusCode, notFound, target)
        t.match((await request('GET /notes/1', 'bob')).json(), { owner: 'bob', title: 'given away' })
        if (name === 'sqlite') t.equal((await request('PATCH /notes/1', 'root', { owner: 'ada' })).statusCode, 200)
        ;[found, released] = [gate(), gate()]
      }
    }
  )

  test(`a caller cannot write outside its scope, in ${name}`, { skip }, async (t) => {
    const request = await serve(t, notes({ storage: await open(t) }).with(bulk()))
    const posted = await request('POST /notes', 'ada', { title: 'Cards' })
    t.equal(posted.statusCode, 201, 'a required property that the scope sets may be left out')
    t.equal(posted.json().owner, 'ada')
    t.equal((await request('POST /notes', 'ada', { title: 'Cards', owner: 'ada' })).statusCode, 201)
    const beyond = await request('POST /notes', 'ada', { title: 'Cards', owner: 'bob' })
    t.equal(beyond.statusCode, 422)
    t.strictSame(beyond.json().errors, [{ pointer: '/owner', message: 'must be "ada", or be left out' }])
    const several = await request('POST /notes', 'ada', [{ title: 'a' }, { title: 'b', owner: 'bob' }])
    t.equal(several.statusCode, 422)
    t.equal(several.json().errors[0].pointer, '/1/owner')
    t.strictSame(
      (await request('POST /notes', 'ada', [{ title: 'a' }, { title: 'b' }])).json().map(({ owner }: Item) => owner),
      ['ada', 'ada']
    )
    t.equal(
      (await request('POST /notes', 'root', { title: 'Cards' })).statusCode,
      422,
      'without a scope, the owner is required'
    )
    t.equal((await request('POST /notes', 'root', { title: 'Cards', owner: 'bob' })).statusCode, 201)
    const put = await request('PUT /notes/1', 'ada', { title: 'Put' })
    t.match(put.json(), { id: 1, owner: 'ada', title: 'Put' })
    for (const [target, content] of [
      ['PUT /notes/1', { title: 'x', owner: 'bob' }],
      ['PATCH /notes/1', { owner: 'bob' }]
    ] as const) {
      const answer = await request(target, 'ada', content)
      t.equal(answer.statusCode, 422, target)
      t.strictSame(answer.json().errors, [{ pointer: '/owner', message: 'is outside the scope of the caller' }])
    }
    t.equal((await request('GET /notes/1', 'ada')).json().title, 'Put')
    t.equal((await request('PATCH /notes/1', 'root', { owner: 'bob' })).statusCode, 200)
    t.equal((await request('GET /notes/1', 'ada')).statusCode, notFound)
  })
}

test('with two connections, a write succeeds only if the row is still in scope', async (t) => {
  const file = `${t.testdir()}/notes.db`
  const connections = [1, 2].map(() => new DatabaseSync(file))
  t.after(() => {
    for (const connection of connections) connection.close()
  })
  connections.forEach((connection) => connection.exec('PRAGMA busy_timeout = 5000'))
  const [first, second] = connections.map((connection) => sqlite(connection))
  await first!.createTable({ name: 'notes', schema: Note, id: { property: 'id', generate: 'storage' } })
  const [one, two] = [
    await serve(t, notes({ storage: first!, unique: [] })),
    await serve(t, notes({ storage: second!, unique: [] }))
  ]
  for (let round = 0; round < 30; round++) {
    const { id } = (await one('POST /notes', 'root', { title: 'new', owner: 'ada' })).json()
    const [write, given] = await Promise.all([
      one(`PATCH /notes/${id}`, 'ada', { title: 'by ada' }),
      two(`PATCH /notes/${id}`, 'root', { owner: 'bob' })
    ])
    t.equal(given.statusCode, 200)
    const { title, owner } = (await two(`GET /notes/${id}`, 'root')).json()
    t.equal(owner, 'bob')
    t.equal(title, write.statusCode === 200 ? 'by ada' : 'new', `${write.statusCode}`)
    t.ok([200, notFound].includes(write.statusCode))
  }
})

test('a scope filter of any shape limits writes, and each property that violates it is reported', async (t) => {
  const scope: ScopeFunction<Item> = ({ action }) => ({
    filter: {
      all: [
        { 'owner.in': ['ada', 'team'] },
        { not: { 'place.city': 'Paris' } },
        {
          any: [
            { 'title.like': 'E*' },
            { 'slug.null': false }
          ]
        }
      ]
    },
    ...(action === 'create' && { values: { owner: 'ada' } })
  })
  const request = await serve(t, notes({ access: { scope } }))
  const pointers = async (target: string, content: unknown): Promise<unknown> => {
    const answer = await request(target, 'ada', content)
    return answer.json().errors?.map(({ pointer }: { pointer: string }) => pointer) ?? answer.statusCode
  }
  t.strictSame(await pointers('PATCH /notes/1', { owner: 'team' }), 200, 'to another value within the scope')
  t.strictSame(await pointers('PATCH /notes/1', { owner: 'bob' }), ['/owner'])
  t.strictSame(await pointers('PATCH /notes/1', { place: { city: 'Paris' } }), ['/place/city'])
  t.strictSame(await pointers('PATCH /notes/1', { place: { city: 'Paris' }, owner: 'bob', title: 'x', slug: null }), [
    '/owner',
    '/place/city',
    '/title',
    '/slug'
  ])
  t.strictSame(await pointers('POST /notes', { title: 'x' }), ['/title', '/slug'])
  t.strictSame(await pointers('POST /notes', { title: 'E' }), 201)
  t.equal(
    (await request('PUT /notes/1', 'ada', { title: 'E' })).statusCode,
    422,
    'without values, PUT sets no properties'
  )
})

test('content that is not an object fails schema validation instead of the scope check', async (t) => {
  const request = await serve(t, notes())
  t.equal((await request('POST /notes', 'ada', '["ada"]')).statusCode, 422)
})

test('if a scope has alternatives, every property that could satisfy one is reported', async (t) => {
  const request = await serve(
    t,
    notes({
      access: {
        scope: () => ({
          filter: {
            any: [
              {
                all: [
                  { owner: 'ada' },
                  { 'title.like': 'E*' }
                ]
              },
              { slug: 'open' }
            ]
          }
        })
      }
    })
  )
  t.strictSame(
    (await request('PATCH /notes/1', 'ada', { title: 'x' }))
      .json()
      .errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/owner', '/title', '/slug']
  )
})

test('PUT keeps the current values of scope properties and fills in missing ones', async (t) => {
  const scope: ScopeFunction<Item> = () => ({
    filter: { 'owner.in': ['ada', 'team'] },
    values: { owner: 'ada', slug: 'filled' }
  })
  const request = await serve(
    t,
    notes({ access: { scope }, unique: [], storage: memory({ items: [{ id: 1, owner: 'team', title: 'x' }] }) })
  )
  t.strictSame((await request('PUT /notes/1', 'ada', { title: 'y' })).json(), {
    id: 1,
    owner: 'team',
    title: 'y',
    slug: 'filled'
  })
})

test('an item that beforeValidation returns must be within the scope', async (t) => {
  const request = await serve(
    t,
    notes({ hooks: { beforeValidation: ({ item }) => (item.title === 'gift' ? { ...item, owner: 'bob' } : item) } })
  )
  for (const target of ['POST /notes', 'PUT /notes/1', 'PATCH /notes/1']) {
    t.equal((await request(target, 'ada', { title: 'gift' })).statusCode, 422, target)
    t.ok((await request(target, 'ada', { title: 'mine' })).statusCode < 300, target)
  }
  t.equal((await request('PATCH /notes/1', 'root', { title: 'gift' })).json().owner, 'bob')
})

test('beforeValidation gets the values that the scope and the URI set in a new item', async (t) => {
  const seen: unknown[] = []
  const request = await serve(t, notes({
    hooks: {
      beforeValidation: ({ action, item, imposed }) => {
        seen.push([action, imposed])
        return item
      }
    }
  }))
  await request('POST /notes', 'ada', { title: 'mine' })
  await request('PATCH /notes/1', 'ada', { title: 'changed' })
  await request('POST /notes', 'root', { title: 'any', owner: 'bob' })
  t.strictSame(seen, [['create', { owner: 'ada' }], ['update', {}], ['create', {}]])

  const nested: unknown[] = []
  const Place = Type.Object({ id: Type.Integer(), name: Type.String() })
  const places = define({ name: 'places', schema: Place, id: { generate: 'client' }, storage: memory() })
  const Visit = Type.Object({ id: Type.String({ format: 'uuid' }), placeId: Type.Integer() })
  const visits = define({
    name: 'visits',
    schema: Visit,
    storage: memory(),
    hooks: {
      beforeValidation: ({ item, imposed }) => {
        nested.push(imposed)
        return item
      }
    }
  }).with(within(places, 'placeId'))
  const app = Fastify()
  await app.register(collection, places)
  await app.register(collection, visits)
  t.teardown(() => app.close())
  await app.inject({ method: 'POST', url: '/places', payload: { id: 7, name: 'x' } })
  t.equal((await app.inject({ method: 'POST', url: '/places/7/visits', payload: {} })).statusCode, 201)
  t.strictSame(nested, [{ placeId: 7 }])
})

test('the scope sets readOnly properties', async (t) => {
  const Kept = Type.Object({ id: Type.Integer(), owner: Type.String({ readOnly: true }), text: Type.String() })
  const kept = define({
    name: 'kept',
    schema: Kept,
    id: { generate: 'storage' },
    storage: memory(),
    access: {
      ...authentication,
      scope: ({ caller }) => (caller === 'root' || caller === undefined ? undefined : { values: { owner: caller } })
    }
  })
  const request = await serve(t, kept)
  t.strictSame((await request('POST /kept', 'ada', { text: 'x' })).json(), { id: 1, owner: 'ada', text: 'x' })
  t.equal((await request('POST /kept', 'ada', { text: 'x', owner: 'bob' })).statusCode, 422)
  t.strictSame(
    (await request('PUT /kept/1', 'ada', { text: 'y', owner: 'bob' })).json().owner,
    'ada',
    'ignored, as readOnly properties are'
  )
  t.equal((await request('PATCH /kept/1', 'ada', { owner: 'bob' })).statusCode, 422)
  t.strictSame(
    (await request('POST /kept', 'root', { text: 'x' })).json().errors,
    [{ pointer: '/owner', message: 'is required' }],
    'without a scope, the property is not set'
  )
})

test('a unique value of a row outside the scope returns 409 without revealing the row', async (t) => {
  const request = await serve(t, notes())
  const answer = await request('POST /notes', 'ada', { title: 'x', slug: 't' })
  t.equal(answer.statusCode, 409)
  t.strictSame(answer.json().errors, [{ pointer: '/slug', message: 'must be unique' }])
  t.notMatch(answer.payload, /bob|Trees/)
  const scoped = await serve(t, notes({ unique: [['owner', 'slug']] }))
  t.equal(
    (await scoped('POST /notes', 'ada', { title: 'x', slug: 't' })).statusCode,
    201,
    'a unique constraint with the property of the scope applies within each scope'
  )
})

test('PUT that creates returns 409 if the id belongs to a row outside the scope', async (t) => {
  const Page = Type.Object({ id: Type.String(), owner: Type.String(), text: Type.String() })
  const pages = define({
    name: 'pages',
    schema: Page,
    id: { generate: 'client' },
    storage: memory({ items: [{ id: 'a', owner: 'bob', text: 'secret' }] }),
    put: { create: true },
    access: { ...authentication, scope: ({ caller }) => ({ values: { owner: caller ?? '' } }) }
  })
  const request = await serve(t, pages)
  const answer = await request('PUT /pages/a', 'ada', { text: 'x' })
  t.equal(answer.statusCode, 409)
  t.equal(answer.json().code, 'not-unique')
  t.equal((await request('PUT /pages/b', 'ada', { text: 'x' })).json().owner, 'ada')
  t.equal((await request('PUT /pages/b', 'ada', { text: 'y' })).statusCode, 200)
  t.equal((await request('PUT /pages/c', 'ada', { text: 'x', owner: 'bob' })).statusCode, 422)
  t.equal((await request('GET /pages/a', 'bob')).json().text, 'secret')
  const both = await Promise.all([1, 2, 3, 4].map(() => request('PUT /pages/d', 'ada', { text: 'x' })))
  t.strictSame(
    both.map(({ statusCode }) => statusCode).sort(),
    [200, 200, 200, 201],
    'concurrent writes within the scope succeed'
  )
})

test('a nested collection is limited to the parents of the caller and has its own scope', async (t) => {
  const Comment = Type.Object({ id: Type.Integer(), noteId: Type.Integer(), author: Type.String() })
  const comments = define({
    name: 'comments',
    schema: Comment,
    id: { generate: 'storage' },
    storage: memory({
      items: [
        { id: 1, noteId: 1, author: 'ada' },
        { id: 2, noteId: 1, author: 'bob' },
        { id: 3, noteId: 2, author: 'ada' }
      ]
    }),
    access: {
      ...authentication,
      scope: ({ caller }) => (caller === 'root' ? undefined : { values: { author: caller ?? '' } })
    }
  })
  const parents = notes()
  const request = await serve(t, parents, comments.with(within(parents, 'noteId')))
  const ids = async (url: string, user: string): Promise<unknown> => {
    const answer = await request(`GET ${url}`, user)
    return answer.statusCode === 200 ? answer.json().map(({ id }: { id: number }) => id) : answer.statusCode
  }
  t.strictSame(await ids('/notes/1/comments', 'ada'), [1])
  t.strictSame(await ids('/notes/1/comments', 'root'), [1, 2])
  t.strictSame(await ids('/notes/2/comments', 'ada'), notFound, 'although it contains a comment of ada')
  t.equal((await request('GET /notes/1/comments/2', 'ada')).statusCode, notFound)
  t.equal((await request('GET /notes/1/comments/3', 'ada')).statusCode, notFound)
  t.strictSame((await request('POST /notes/1/comments', 'ada', {})).json(), { id: 4, noteId: 1, author: 'ada' })
  t.equal((await request('POST /notes/2/comments', 'ada', {})).statusCode, notFound)
  t.equal((await request('PATCH /notes/1/comments/4', 'ada', { noteId: 2 })).statusCode, 422)
})

test('expand returns only items that the caller may read, and null otherwise', async (t) => {
  const ownTeams = define({
    name: 'teams',
    schema: Type.Object({ id: Type.Integer(), owner: Type.String() }),
    id: { generate: 'storage' },
    storage: memory({
      items: [
        { id: 1, owner: 'ada' },
        { id: 2, owner: 'bob' }
      ]
    }),
    access: {
      ...authentication,
      allow: {
        all: 'authenticated',
        read: ({ caller }) => {
          if (caller === 'eve') throw Object.assign(new Error('Not you.'), { statusCode: 403 })
          return caller !== 'carl'
        }
      },
      scope: ({ caller }) => ({ values: { owner: caller ?? '' } })
    }
  })
  const Player = Type.Object({ id: Type.Integer(), teamId: Type.Integer() })
  const allPlayers = define({
    name: 'players',
    schema: Player,
    id: { generate: 'storage' },
    storage: memory({
      items: [
        { id: 1, teamId: 1 },
        { id: 2, teamId: 2 }
      ]
    })
  })
  const { teams, players } = relate(
    { teams: ownTeams, players: allPlayers },
    { players: { team: { to: 'teams', property: 'teamId' } } }
  )
  const request = await serve(t, players, teams)
  const listTeams = async (user?: string): Promise<unknown> =>
    (await request('GET /players?expand=team', user))
      .json()
      .map(({ team }: { team: { id: number } | null }) => team?.id ?? null)
  t.strictSame(await listTeams('ada'), [1, null])
  t.strictSame(await listTeams('bob'), [null, 2])
  for (const user of ['carl', 'eve', undefined]) t.strictSame(await listTeams(user), [null, null], String(user))
  t.equal((await request('GET /players/2?expand=team', 'ada')).json().team, null)
  const tags = new Set(
    await Promise.all(
      ['ada', 'bob', 'carl'].map(async (user) => (await request('GET /players?expand=team', user)).headers.etag)
    )
  )
  t.equal(tags.size, 3)
})

test('the scope function runs once per action and may return a promise', async (t) => {
  const actions: string[] = []
  const request = await serve(
    t,
    notes({
      access: {
        scope: async ({ request, action, caller }) => {
          actions.push(`${request?.method} ${action} ${caller}`)
          return { values: { owner: 'ada' } }
        }
      }
    })
  )
  await request('GET /notes', 'ada')
  await request('QUERY /notes', 'ada', {})
  await request('PATCH /notes/1', 'ada', {})
  await request('OPTIONS /notes', 'ada')
  t.strictSame(actions, ['GET list ada', 'QUERY list ada', 'PATCH update ada'])
})

test('an empty or invalid scope returns 500 and logs the error', async (t) => {
  for (const [given, message] of [
    [{}, /neither filter nor values/],
    [{ values: {} }, /neither filter nor values/],
    [{ filter: {} }, /filter has no conditions/],
    [{ filter: { all: [] } }, /filter\.all has no conditions/],
    [{ filter: { 'ownr.in': ['ada'] } }, /filter\.ownr\.in is no property, or has an unknown operator\. Properties: id, owner,/],
    [{ filter: { owner: null } }, /filter\.owner is null\. Write 'owner\.null': true/],
    [{ filter: { owner: ['ada'] } }, /filter\.owner must be a text, a number/],
    [{ filter: { 'owner.in': 'ada' } }, /filter\.owner\.in must be an array of values/],
    [{ filter: { 'owner.null': 'yes' } }, /filter\.owner\.null must be true or false/],
    [{ filter: { 'owner.like': 1 } }, /filter\.owner\.like must be a text/],
    [{ filter: { any: { owner: 'ada' } } }, /filter\.any must be an array of filters/],
    [{ filter: 'ada' }, /filter must be an object/],
    [{ filter: { any: [{ owner: 'ada' }, { all: [] }] } }, /filter\.any\[1\]\.all has no conditions/],
    [{ filter: { owner: undefined } }, /filter\.owner has no value/],
    [{ filter: { not: { 'owner.in': ['ada', undefined] } } }, /filter\.not\.owner\.in\[1\] has no value/],
    [{ values: { owner: undefined } }, /no value for "owner"/],
    [{ filter: { owner: 'ada' }, values: { owner: undefined } }, /no value for "owner"/],
    [{ values: { place: { city: 'x' } } }, /no filter can compare/],
    [null, /./]
  ] as const) {
    const { lines, logger } = logged()
    const app = Fastify({ logger })
    t.after(() => app.close())
    await app.register(collection, notes({ access: { scope: () => given as object } }))
    for (const target of ['GET /notes', 'GET /notes/1', 'DELETE /notes/1']) {
      t.equal((await createAsk(app)(target, 'ada')).statusCode, 500, JSON.stringify(given))
    }
    t.match((lines[0]!.err as { message: string }).message, message)
  }
  const request = await serve(
    t,
    notes({
      access: { scope: () => ({ values: { slug: null } }) as unknown as undefined },
      storage: memory({ items: [{ id: 1, owner: 'ada', title: 'x' }, ...items.slice(1)] })
    })
  )
  t.strictSame(
    (await request('GET /notes', 'ada')).json().map(({ id }: Item) => id),
    [1],
    'null is a value'
  )
})

test('a scope requires a storage that supports filters', async (t) => {
  const storage = (shape: Shape): Storage<Item> => {
    const whole = memory()<Item>(shape)
    return { ...whole, supports: { ...whole.supports, filter: false } }
  }
  t.throws(() => notes({ storage }), { code: 'FST_COLLECTION_UNSUPPORTED', message: /access\.scope need filters/ })
  t.throws(() => notes({ access: { scope: {} as never } }), { code: 'FST_COLLECTION_BAD_OPTION' })
})
