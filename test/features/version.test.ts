import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { define, problem } from '../../lib/index.ts'
import { version } from '../../lib/features/version/version.ts'
import type { Definition, Shape, Storage } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { deprecation } from '../../lib/features/deprecation.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { timeout } from '../../lib/features/timeout.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { within } from '../../lib/features/within.ts'
import { build, created, modified, request } from '../app.ts'
import { storages } from '../storages.ts'

const User = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  email: Type.String({ format: 'email' }),
  name: Type.Object({ first: Type.String({ minLength: 1 }), last: Type.String({ minLength: 1 }) }),
  role: Type.Union([Type.Literal('admin'), Type.Literal('reader')], { default: 'reader' }),
  city: Type.Optional(Type.String()),
  tags: Type.Array(Type.String(), { default: [] }),
  password: Type.Optional(Type.String({ writeOnly: true })),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

/** One name, a flag instead of a role, another name for the address, and no tags. */
const UserV1 = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  mail: Type.String({ format: 'email' }),
  name: Type.String({ description: 'First and last' }),
  admin: Type.Boolean({ default: false }),
  city: Type.Optional(Type.String()),
  password: Type.Optional(Type.String({ writeOnly: true })),
  initials: Type.String({ readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

type Kept = <Item extends object>(shape: Shape) => Storage<Item>

interface BothOptions {
  storage?: Kept
  log?: string[]
  /** The values of Accept-Version that select one of the two. */
  select?: { current: string; old: string }
}

function both ({ storage = memory(), log = [], select }: BothOptions = {}) {
  const constrain = (version: string) => ({ routes: { all: { constraints: { version } } } })
  const users = define({
    name: 'users',
    schema: User,
    unique: ['email'],
    list: { search: ['city'] },
    storage,
    ...select && constrain(select.current),
    hooks: {
      beforeValidation: ({ item, before }) => {
        if (item.name.last === 'Banned') throw problem('forbidden', { detail: 'Not here.' })
        return item.password === undefined || item.password === before?.password
          ? item
          : { ...item, password: `hash of ${item.password}` }
      },
      afterCommit: ({ action, before, after }) => {
        log.push(`${action} ${before?.role} ${after?.role}`)
      }
    }
  }).with(bulk({ maximum: 5 }))
  const usersV1 = version(users, 'v1', {
    schema: UserV1,
    present: ({ id, email, name, role, city, password, updatedAt }) => ({
      id,
      mail: email,
      name: `${name.first} ${name.last}`,
      admin: role === 'admin',
      initials: `${name.first[0]}${name.last[0]}`,
      updatedAt,
      ...(city !== undefined && { city }),
      ...(password !== undefined && { password })
    }),
    accept: ({ mail, name, admin, city, password }, before) => {
      const [first, last, ...rest] = name.split(' ')
      if (first === undefined || last === undefined || rest.length > 0) {
        throw problem('validation-failed', {
          detail: 'A name is a first and a last one.',
          properties: { errors: [{ pointer: '/name', message: 'must have two words' }] }
        })
      }
      const role: 'admin' | 'reader' = admin ? 'admin' : 'reader'
      return {
        email: mail,
        name: { first, last },
        role,
        tags: before?.tags,
        city,
        ...(password !== undefined && { password })
      }
    },
    renamed: { mail: 'email' },
    list: { search: ['city'], order: ['-updatedAt'] },
    ...select && constrain(select.old)
  })
  return { users, usersV1 }
}

async function serve (
  t: Test,
  definitions: readonly Definition[],
  prefixes: readonly string[]
): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  for (const [index, definition] of definitions.entries()) {
    await app.register(collection, { ...definition, prefix: prefixes[index]! })
  }
  return app
}

const ada = { email: 'ada@example.com', name: { first: 'Ada', last: 'Lovelace' }, tags: ['math'], password: 'secret' }

for (const { name, skip, open } of storages) {
  test(`two versions of a collection share one storage, by prefix: ${name}`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const log: string[] = []
    const { users, usersV1 } = both({ storage, log })
    await prepare(users)
    const app = await serve(t, [usersV1, users], ['/v1', '/v2'])
    const { item } = await created(app, '/v2/users', ada)
    const at = `/users/${String(item.id)}`
    const old = await request(app, `GET /v1${at}`)
    t.strictSame(old.json(), {
      id: item.id,
      mail: 'ada@example.com',
      name: 'Ada Lovelace',
      admin: false,
      initials: 'AL',
      updatedAt: item.updatedAt
    })
    t.equal(old.headers['last-modified'], (await request(app, `GET /v2${at}`)).headers['last-modified'])
    t.not(old.headers.etag, (await request(app, `GET /v2${at}`)).headers.etag, 'each version has its own tags')
    t.equal((await request(app, `GET /v1${at}`, { fields: { 'if-none-match': String(old.headers.etag) } })).statusCode, 304)

    const patched = await request(app, `PATCH /v1${at}`, {
      content: { name: 'Ada King', admin: true },
      fields: { 'if-match': String(old.headers.etag) }
    })
    t.equal(patched.statusCode, 200)
    const king: Record<string, unknown> = patched.json()
    t.match(king, { name: 'Ada King', admin: true, initials: 'AK' })
    const now = (await request(app, `GET /v2${at}`)).json()
    t.strictSame(
      now,
      { ...item, name: { first: 'Ada', last: 'King' }, role: 'admin', updatedAt: now.updatedAt },
      'properties that the older version lacks are kept'
    )
    t.equal(
      (
        await request(app, `PATCH /v1${at}`, {
          content: { admin: false },
          fields: { 'if-match': String(old.headers.etag) }
        })
      ).statusCode,
      412
    )
    t.equal(
      (
        await request(app, `DELETE /v1${at}`, {
          fields: { 'if-match': String((await request(app, `GET /v2${at}`)).headers.etag) }
        })
      ).statusCode,
      412,
      'a tag of the other version does not match'
    )

    const put = await request(app, `PUT /v1${at}`, { content: { ...king, name: 'Augusta King', city: 'London' } })
    t.match(put.json(), { name: 'Augusta King', city: 'London', admin: true })
    t.equal(
      (
        await request(app, `PUT /v1${at}`, { content: { mail: 'ada@example.com', name: 'Augusta King', admin: true } })
      ).json().city,
      undefined,
      'undefined removes a property'
    )
    t.notOk('city' in (await request(app, `GET /v2${at}`)).json())

    const posted = await request(app, 'POST /v1/users', {
      content: { mail: 'bob@example.com', name: 'Bob Babbage', password: 'engine' }
    })
    t.equal(posted.statusCode, 201)
    t.match(posted.json(), { name: 'Bob Babbage', admin: false, initials: 'BB' })
    t.match(
      (await request(app, `GET /v2/users/${posted.json().id}`)).json(),
      { email: 'bob@example.com', role: 'reader', tags: [], createdAt: /Z$/ },
      'with the defaults and timestamps of the current version'
    )
    t.match(posted.headers.location, /^\/v1\/users\//)

    t.match((await request(app, 'POST /v1/users', { content: { mail: 'bob@example.com', name: 'Bob Bobson' } })).json(), {
      status: 409,
      errors: [{ pointer: '/mail' }]
    })
    t.match((await request(app, 'POST /v1/users', { content: { mail: 'c@example.com', name: 'Cher' } })).json(), {
      status: 422,
      errors: [{ pointer: '/name', message: 'must have two words' }]
    })
    t.match(
      (await request(app, 'POST /v1/users', { content: { mail: 'c', email: 'c@example.com', name: 'C D' } })).json(),
      { status: 422, errors: [{ pointer: '/email' }, { pointer: '/mail' }] },
      'its own schema is checked first'
    )
    t.match(
      (await request(app, 'POST /v1/users', { content: { mail: 'c@example.com', name: ' D' } })).json(),
      { status: 422, errors: [{ pointer: '/name/first' }] },
      'then the schema of the current version'
    )
    t.match(
      (await request(app, 'POST /v1/users', { content: { mail: 'c@example.com', name: 'C Banned' } })).json(),
      { status: 403, detail: 'Not here.' },
      'the hooks of the current version run'
    )
    t.match((await request(app, `PATCH /v1${at}`, { content: { initials: 'XX' } })).json(), {
      status: 422,
      errors: [{ pointer: '/initials', message: 'is read-only' }]
    })
    t.equal(
      (
        await request(app, 'POST /v1/users', {
          content: [
            { mail: 'd@example.com', name: 'D E' },
            { mail: 'e@example.com', name: 'E F' }
          ]
        })
      ).statusCode,
      201
    )
    t.equal((await request(app, 'GET /v2/users')).json().length, 4)
    t.equal((await request(app, `DELETE /v1${at}`)).statusCode, 204)
    t.equal((await request(app, `GET /v2${at}`)).statusCode, 404)
    t.equal((await request(app, `GET /v1${at}`)).statusCode, 404)
    t.same(log, [
      'create undefined reader',
      'update reader admin',
      'replace admin admin',
      'replace admin admin',
      'create undefined reader',
      'create undefined reader',
      'create undefined reader',
      'remove admin undefined'
    ])
  })

  test(`lists of an older version can be queried by properties with the same schema: ${name}`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const { users, usersV1 } = both({ storage })
    await prepare(users)
    const app = await serve(t, [usersV1, users], ['/v1', '/v2'])
    for (const [index, city] of ['Rome', 'Oslo', 'Rome'].entries()) {
      await request(app, 'POST /v2/users', {
        content: { email: `${index}@example.com`, name: { first: 'A', last: String(index) }, city }
      })
    }
    const mails = async (query: string) =>
      (await request(app, `GET /v1/users${query}`))
        .json()
        .map((item: { mail: string }) => item.mail[0])
        .join('')
    t.equal(await mails('?city=Rome&sort=mail'), '02')
    t.equal(await mails('?mail.like=1*'), '1')
    t.equal(await mails('?q=oslo'), '1')
    t.equal(await mails('?mail.ne=1@example.com&sort=-mail'), '20')
    t.same((await request(app, 'GET /v1/users?mail=1@example.com&fields=name')).json(), [{ name: 'A 1' }])
    t.equal(
      (
        await request(app, 'QUERY /v1/users', {
          content: { filter: { any: [{ mail: '0@example.com' }, { not: { city: 'Rome' } }] }, sort: ['mail'] }
        })
      ).json().length,
      2
    )
    const first = await request(app, 'GET /v1/users?sort=mail&limit=2')
    const next = /<([^>]+)>; rel="next"/.exec(String(first.headers.link))![1]!
    t.match((await request(app, `GET ${next}`)).json(), [{ mail: '2@example.com' }])
    for (const key of ['name', 'admin', 'initials', 'role', 'email', 'password']) {
      t.equal((await request(app, `GET /v1/users?${key}=x`)).statusCode, 400, key)
    }
  })
}

test('versions by Accept-Version share one path, with Vary', async (t) => {
  const { users, usersV1 } = both({ select: { current: '2.0.0', old: '1.2.0' } })
  const app = await build(t, [usersV1, users])
  const v1 = { 'accept-version': '1.x' }
  const v2 = { 'accept-version': '2.0.0' }
  const posted = await request(app, 'POST /users', { content: ada, fields: v2 })
  t.equal(posted.statusCode, 201)
  const at = String(posted.headers.location)
  t.equal((await request(app, `GET ${at}`, { fields: v1 })).json().name, 'Ada Lovelace')
  t.equal((await request(app, `GET ${at}`, { fields: v2 })).json().name.first, 'Ada')
  const tag = String((await request(app, `GET ${at}`, { fields: v1 })).headers.etag)
  t.equal((await request(app, `GET ${at}`, { fields: { ...v2, 'if-none-match': tag } })).statusCode, 200)
  const requests: Array<[string, number, object]> = [
    [`GET ${at}`, 304, { 'if-none-match': tag }],
    ['GET /users', 200, {}],
    ['HEAD /users', 200, {}],
    ['OPTIONS /users', 204, {}],
    ['DELETE /users', 405, {}],
    [`OPTIONS ${at}`, 204, {}],
    [`POST ${at}`, 405, {}],
    [`GET /users/${'x'.repeat(200)}`, 404, {}],
    ['GET /users?x=1', 400, {}],
    ['POST /users', 400, { 'content-type': 'application/json' }]
  ]
  for (const [target, status, fields] of requests) {
    const answer = await request(app, target, { fields: { ...v1, ...fields } })
    t.equal(answer.statusCode, status, target)
    t.match(answer.headers.vary, /\bAccept-Version\b/, target)
    t.match(answer.headers.vary, /\bAccept\b/, target)
  }
  t.equal(
    (await request(app, 'GET /users', { fields: { 'accept-version': '3.x' } })).statusCode,
    404,
    'for an unknown version, the app responds'
  )
  t.equal((await request(app, 'GET /users')).statusCode, 404, 'without the header, no version is selected')
})

test('an older version has the access rules, hooks and preconditions of the current version', async (t) => {
  const Note = Type.Object({ id: Type.String(), text: Type.String(), owner: Type.String() })
  const NoteV1 = Type.Object({ id: Type.String(), body: Type.String(), owner: Type.String() })
  const mapping = {
    schema: NoteV1,
    present: ({ id, text, owner }: { id: string; text: string; owner: string }) => ({ id, body: text, owner }),
    accept: ({ id, body, owner }: { id: string; body: string; owner: string }) => ({ id, text: body, owner })
  }
  const guarded = define({
    name: 'notes',
    schema: Note,
    id: { generate: 'client' },
    storage: memory(),
    access: { authenticate: ({ request }) => request.headers.authorization, allow: { remove: () => false } },
    etag: { required: true, acceptWeak: true },
    put: { create: true },
    actions: ['create', 'read', 'replace', 'remove']
  }).with(timeout({ read: 5000 }))
  t.strictSame(
    version(guarded, 'v1', mapping).features.map(({ name }) => name),
    ['timeout']
  )
  const app = await serve(t, [version(guarded, 'v1', mapping), guarded], ['/v1', '/v2'])
  const ann = { authorization: 'ann' }
  t.equal((await request(app, 'GET /v1/notes/a')).statusCode, 401)
  t.equal((await request(app, 'DELETE /v1/notes/a', { fields: ann })).statusCode, 403)
  t.equal(
    (await request(app, 'PUT /v1/notes/a', { content: { body: 'x', owner: 'ann' }, fields: ann })).json().code,
    'precondition-required'
  )
  t.equal(
    (
      await request(app, 'PUT /v1/notes/a', {
        content: { body: 'x', owner: 'ann' },
        fields: { ...ann, 'if-none-match': '*' }
      })
    ).statusCode,
    201
  )
  t.equal((await request(app, 'GET /v2/notes/a', { fields: ann })).json().text, 'x')
  t.equal((await request(app, 'GET /v1/notes', { fields: ann })).statusCode, 405)
  const scoped = define({
    name: 'notes',
    schema: Note,
    storage: memory(),
    id: { generate: 'client' },
    access: { scope: ({ request }) => ({ values: { owner: String(request?.headers.authorization) } }) }
  })
  t.throws(() => version(scoped, 'v1', mapping), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /Add access\.scope to this version/
  })
  const shy = define({
    name: 'notes',
    schema: Note,
    storage: memory(),
    id: { generate: 'client' },
    access: { visible: { owner: () => false } }
  })
  t.throws(() => version(shy, 'v1', mapping), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /Add access\.visible to this version/
  })
  const shown = await serve(
    t,
    [version(shy, 'v1', { ...mapping, access: { visible: { owner: () => false } } })],
    ['/v1']
  )
  t.strictSame((await request(shown, 'GET /v1/notes')).json(), [])
  const own = await serve(
    t,
    [
      version(scoped, 'v1', {
        ...mapping,
        access: { scope: ({ request }) => ({ values: { owner: String(request?.headers.authorization) } }) }
      }),
      scoped
    ],
    ['/v1', '/v2']
  )
  t.equal((await request(own, 'POST /v1/notes', { content: { id: 'a', body: 'x' }, fields: ann })).statusCode, 201)
  t.equal((await request(own, 'GET /v1/notes/a', { fields: ann })).statusCode, 200)
  t.equal((await request(own, 'GET /v1/notes/a', { fields: { authorization: 'bob' } })).statusCode, 404)
  t.equal(
    (await request(own, 'PATCH /v1/notes/a', { content: { body: 'y' }, fields: { authorization: 'bob' } })).statusCode,
    404
  )
})

test('an older version can be renamed, nested and deprecated, and needs no transactions', async (t) => {
  const Book = Type.Object({ id: Type.String(), title: Type.String() })
  const Page = Type.Object({
    id: Type.Integer(),
    bookId: Type.String(),
    text: Type.String(),
    size: Type.Optional(Type.Integer())
  })
  const PageV0 = Type.Object({ id: Type.Integer(), book: Type.String(), text: Type.String() })
  const books = define({ name: 'books', schema: Book, id: { generate: 'client' }, storage: memory() })
  const pages = define({
    name: 'pages',
    schema: Page,
    unique: ['text'],
    id: { generate: 'storage' },
    storage: modified(({ insert, supports }) => ({
      supports: { ...supports, transactions: false },
      transaction: undefined as never,
      insert: (draft, context) => {
        if (context.signal.aborted) throw new Error('gone')
        return insert(draft, context)
      }
    }))
  })
  const sheets = version(pages, '0', {
    name: 'sheets',
    schema: PageV0,
    present: ({ id, bookId, text }) => ({ id, book: bookId, text }),
    accept: ({ book, text }) => ({ bookId: book, text, size: text.length }),
    renamed: { book: 'bookId' }
  }).with(deprecation({ since: '2026-01-01' }))
  const app = await serve(t, [books, pages, sheets.with(within(books, 'book'))], ['/', '/', '/'])
  for (const id of ['a', 'b']) await request(app, 'POST /books', { content: { id, title: id } })
  const posted = await request(app, 'POST /books/a/sheets', { content: { text: 'abc' } })
  t.match(posted, { statusCode: 201, headers: { location: '/books/a/sheets/1', deprecation: '@1767225600' } })
  t.strictSame((await request(app, 'GET /pages/1')).json(), { id: 1, bookId: 'a', text: 'abc', size: 3 })
  t.equal((await request(app, 'GET /books/b/sheets/1')).statusCode, 404)
  t.match((await request(app, 'POST /books/b/sheets', { content: { text: 'abc' } })).json(), {
    status: 409,
    errors: [{ pointer: '/text' }]
  })
  t.same((await request(app, 'GET /books/a/sheets')).json(), [{ id: 1, book: 'a', text: 'abc' }])
  t.equal((await request(app, 'PATCH /books/a/sheets/1', { content: { text: 'abcd' } })).statusCode, 200)
  t.equal((await request(app, 'GET /pages/1')).json().size, 4)
  t.equal(sheets.storage.transaction, undefined)
})

test('a version of a nested collection is refused, because it would serve the items of all parents', async (t) => {
  const Team = Type.Object({ id: Type.String({ format: 'uuid' }), owner: Type.String() })
  const Task = Type.Object({ id: Type.String({ format: 'uuid' }), teamId: Type.String(), text: Type.String() })
  const teams = define({
    name: 'teams',
    schema: Team,
    storage: memory(),
    access: { scope: ({ request }) => ({ values: { owner: String(request?.headers['x-user']) } }) }
  })
  const tasks = define({ name: 'tasks', schema: Task, storage: memory() })
  const nested = tasks.with(within(teams, 'teamId'))
  const makeOlder = (current: typeof tasks) => {
    return version(current, 'v1', { schema: Task, present: (item) => item, accept: (item) => item })
  }
  t.throws(() => makeOlder(nested), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: 'Collection tasks: the current version is nested in teams, and a version does not inherit that. ' +
      'Pass the definition of tasks that has no within(), and nest the version itself, ' +
      'as in .with(within(teams, \'teamId\')).'
  })

  const older = makeOlder(tasks).with(within(teams, 'teamId'))
  const app = await serve(t, [teams, nested, older], ['/', '/', '/v1'])
  const fields = { 'x-user': 'ada' }
  const team = (await request(app, 'POST /teams', { content: {}, fields })).json().id
  t.equal((await request(app, `POST /teams/${team}/tasks`, { content: { text: 'a' }, fields })).statusCode, 201)
  const lists = ['ada', 'bob'].map((user) => request(app, `GET /v1/teams/${team}/tasks`, { fields: { 'x-user': user } }))
  t.match(await Promise.all(lists), [{ statusCode: 200 }, { statusCode: 404 }])
})

test('a request with an Idempotency-Key is applied once, also in an older version', async (t) => {
  const Note = Type.Object({ id: Type.String({ format: 'uuid' }), text: Type.String() })
  const notes = define({ name: 'notes', schema: Note, storage: memory() }).with(
    idempotency({ required: true, expiry: 60, lease: 5 })
  )
  const older = version(notes, 'v1', {
    schema: Type.Object({ id: Type.String({ format: 'uuid' }), body: Type.String() }),
    present: ({ id, text }) => ({ id, body: text }),
    accept: ({ body }) => ({ text: body })
  })
  t.strictSame(older.features, notes.features)
  const app = await serve(t, [older, notes], ['/v1', '/v2'])
  t.equal((await request(app, 'POST /v1/notes', { content: { body: 'x' } })).statusCode, 400)
  const fields = { 'idempotency-key': '"a"' }
  const [first, second] = [
    await request(app, 'POST /v1/notes', { content: { body: 'x' }, fields }),
    await request(app, 'POST /v1/notes', { content: { body: 'x' }, fields })
  ]
  t.equal(first!.payload, second!.payload)
  t.equal(second!.headers['idempotent-replayed'], 'true')
  t.equal((await request(app, 'GET /v2/notes')).json().length, 1)
})

test('parallel writes to both versions lose no updates', async (t) => {
  const { users, usersV1 } = both()
  const app = await serve(t, [usersV1, users], ['/v1', '/v2'])
  const { item } = await created(app, '/v2/users', ada)
  const at = `/users/${String(item.id)}`
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      index % 2 === 0
        ? request(app, `PATCH /v1${at}`, { content: { city: 'Rome', admin: true } })
        : request(app, `PATCH /v2${at}`, { content: { tags: [`${index}`] } })
    )
  )
  t.same(
    answers.map(({ statusCode }) => statusCode).filter((status) => status !== 200),
    []
  )
  t.match((await request(app, `GET /v2${at}`)).json(), { city: 'Rome', role: 'admin', tags: [/^\d$/] })
  t.strictSame(
    await usersV1.storage.replace('none', answers[0]!.json(), undefined, {
      signal: new AbortController().signal,
      scope: undefined
    }),
    { refused: 'not-found' }
  )
})

test('invalid version options fail at boot', async (t) => {
  const { users } = both()
  const loose = version as unknown as (...parts: unknown[]) => unknown
  const base = { schema: UserV1, present: () => ({}), accept: () => ({}), renamed: { mail: 'email' } }
  const wrong: Array<[string, object, RegExp]> = [
    ['v 1', {}, /the name "v 1" of the version cannot be part of an entity tag/],
    ['v1', { present: undefined }, /needs the functions present and accept/],
    ['v1', { accept: 'x' }, /needs the functions present and accept/],
    ['v1', { renamed: { mail: 'mail' } }, /renamed maps "mail" to "mail"/],
    [
      'v1',
      { renamed: { admin: 'role' } },
      /renamed maps "admin" to "role", but these are not properties with the same schema/
    ],
    [
      'v1',
      { list: { filter: ['name'] } },
      /list\.filter contains "name".*Available properties: id, mail, city, updatedAt\..*add it to renamed/
    ],
    ['v1', { list: { sort: ['initials'] } }, /list\.sort contains "initials"/],
    ['v1', { list: { search: ['name'] } }, /list\.search contains "name"/],
    ['v1', { list: { order: ['-name'] } }, /list\.order contains "name"/]
  ]
  for (const [label, part, message] of wrong) {
    t.throws(
      () => loose(users, label, { ...base, ...part }),
      { code: 'FST_COLLECTION_BAD_OPTION', message },
      JSON.stringify([label, part])
    )
  }
  const bare = define({
    name: 'users',
    schema: User,
    storage: modified(({ supports }) => ({ supports: { ...supports, filter: false, order: false } }))
  })
  t.doesNotThrow(
    () => loose(bare, 'v1', { ...base, renamed: {} }),
    'a storage that cannot filter or sort is not required to'
  )
})

for (const { name, skip, open } of storages) {
  test(`through an older version, a scope and a parent set read-only properties: ${name}`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const text = Type.String()
    const team = { id: Type.String({ format: 'uuid', readOnly: true }), name: text }
    const Task = Type.Object({
      id: Type.String({ format: 'uuid', readOnly: true }),
      tenant: Type.String({ readOnly: true }),
      team: Type.String({ readOnly: true, default: 'none' }),
      title: text,
      rank: Type.Integer({ default: 0 })
    })
    const Old = Type.Object({
      id: Type.String({ format: 'uuid', readOnly: true }),
      org: Type.String({ readOnly: true }),
      team: Type.String({ readOnly: true, default: 'none' }),
      subject: text
    })
    const teams = define({ name: 'teams', schema: Type.Object(team), storage })
    const getTenant = (request: { headers: Record<string, unknown> }): string => String(request.headers['x-tenant'])
    const tasks = define({
      name: 'tasks',
      schema: Task,
      storage,
      put: { create: true },
      access: { scope: ({ request }) => ({ values: { tenant: getTenant(request!) } }) }
    }).with(bulk(), idempotency())
    // Whether `accept` omits the tenant and the team, passes them on, or sets others.
    const accepts = [
      ({ subject }: { subject: string }) => ({ title: subject }),
      ({ subject, org, team }: { subject: string; org: string; team: string }) => ({
        title: subject,
        tenant: org,
        team
      }),
      ({ subject }: { subject: string }) => ({ title: subject, tenant: 'invented', team: 'invented' })
    ]
    await prepare(teams)
    await prepare(tasks)
    for (const [index, accept] of accepts.entries()) {
      const old = version(tasks, 'v1', {
        schema: Old,
        present: ({ id, tenant, team, title }) => ({ id, org: tenant, team, subject: title }),
        accept,
        renamed: { org: 'tenant', subject: 'title' },
        access: { scope: ({ request }) => ({ values: { org: getTenant(request!) } }) }
      })
      const app = await serve(t, [teams, tasks, old, old.with(within(teams, 'team'))], [
        '/v2',
        '/v2',
        '/v1',
        '/v1'
      ])
      const {
        at: parent,
        item: { id }
      } = await created(app, '/v2/teams', { name: 'red' })
      const fields = { 'x-tenant': `t${index}` }
      for (const [path, inTeam] of [
        ['/v1/tasks', 'none'],
        [`${parent.replace('/v2', '/v1')}/tasks`, id]
      ] as const) {
        const write = async (
          target: string,
          content: unknown,
          more: object = {}
        ): Promise<Array<Record<string, unknown>>> => {
          const answer = await request(app, target, { content, fields: { ...fields, ...more } })
          t.ok(answer.statusCode < 300, `${target}: ${answer.payload}`)
          return [answer.json()].flat()
        }
        const written = [
          ...(await write(`POST ${path}`, { subject: 'one' })),
          ...(await write(`POST ${path}`, { subject: 'two', org: `t${index}` }, { 'idempotency-key': String(inTeam) })),
          ...(await write(`POST ${path}`, [{ subject: 'three' }, { subject: 'four' }])),
          ...(await write(`PUT ${path}/01900000-0000-7000-8000-0000000000${index}${inTeam === 'none' ? 'a' : 'b'}`, {
            subject: 'five'
          }))
        ]
        const changed = [
          ...(await write(`PUT ${path}/${written[0]!.id}`, { subject: 'one' })),
          ...(await write(`PATCH ${path}/${written[1]!.id}`, { subject: 'two' }))
        ]
        for (const item of [...written, ...changed]) {
          t.match(item, { org: `t${index}`, team: inTeam })
          t.match((await request(app, `GET /v2/tasks/${item.id}`, { fields })).json(), {
            tenant: `t${index}`,
            team: inTeam,
            title: item.subject,
            rank: 0
          })
        }
        const refused = await request(app, `POST ${path}`, { content: { subject: 'no', org: 'other' }, fields })
        t.strictSame([refused.statusCode, refused.json().errors[0].pointer], [422, '/org'])
      }
    }
  })
}
