import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import Fastify from 'fastify'
import type { FastifyRequest, LightMyRequestResponse } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { parseIdempotencyKey } from '../../lib/http/idempotency-key.ts'
import collection, { problem, ProblemError } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import type { Receipts } from '../../lib/storage/index.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { registry } from '../../lib/app/registry.ts'
import { memory } from '../../lib/storage/memory.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { action } from '../../lib/features/action.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { within } from '../../lib/features/within.ts'
import { ada, build, gate, logged, modified, notes, request, User, users } from '../app.ts'
import { controlClock } from '../clock.ts'
import { isProportional } from '../growth.ts'
import { databases, mysqlPool, noMysql, noServers } from '../storage/databases.ts'
import type { SqlAdapter } from '../storage/databases.ts'
import { startPostgres } from '../storage/servers.ts'
import { define } from '../define.ts'

// draft-ietf-httpapi-idempotency-key-header-07

const key = '"8e03978e-40d5-43dd-bc93-6894a57f9324"'
const withKey = (fields: Record<string, string> = {}) => ({ 'idempotency-key': key, ...fields })

/** A response without what differs each time, such as the date. */
function normalize ({ statusCode, headers, payload }: LightMyRequestResponse) {
  const { date, connection, 'idempotent-replayed': replayed, ...fields } = headers
  return { statusCode, fields, payload }
}

const count = async (app: Parameters<typeof request>[0], path = '/users') =>
  (await request(app, `GET ${path}?count=true`)).headers['x-total-count']

test('a key is a String of RFC 9651 or a bare identifier (Idempotency-Key draft, section 2.1)', async (t) => {
  for (const [field, expected] of [
    ['"a"', 'a'],
    ['a', 'a'],
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['"a b, c; d"', 'a b, c; d'],
    ['"\\"\\\\"', '"\\'],
    ['q1ZK+/z=', 'q1ZK+/z='],
    ['"a";v=1', 'a'],
    ['"a"; v; w="x;y";x=?1;y=:AQ==:;z=@1;t=tok/en;d=-1.5;e=%"f"', 'a'],
    ['a'.repeat(255), 'a'.repeat(255)]
  ] as const) {
    t.equal(parseIdempotencyKey(field), expected, field)
  }
  for (const field of [
    '',
    '""',
    '"a',
    'a"',
    '"a" b',
    'a b',
    'a, b',
    '"a", "b"',
    'a;v=1',
    '"ä"',
    'ä',
    '"\\a"',
    '"\t"',
    '"a";',
    '"a";A=1',
    '"a";v=',
    '(a b)',
    '"'.repeat(3),
    'a'.repeat(256),
    `"${'a'.repeat(256)}"`
  ]) {
    t.equal(parseIdempotencyKey(field), undefined, field)
  }
  t.ok(await isProportional((size) => parseIdempotencyKey(`"a${'\\"'.repeat(size)}`), 50_000))
  t.ok(await isProportional((size) => parseIdempotencyKey(`"a"${';a="b"'.repeat(size)}!`), 20_000))
})

test('a repeated POST returns the first response again (Idempotency-Key draft, section 2.6)', async (t) => {
  const actions: unknown[] = []
  const app = await build(
    t,
    users({
      hooks: {
        afterCommit: ({ action }) => {
          actions.push(action)
        }
      }
    }).with(idempotency())
  )
  const first = await request(app, 'POST /users', { content: ada, fields: withKey() })
  t.equal(first.statusCode, 201)
  t.notOk('idempotent-replayed' in first.headers)
  const { location } = first.headers
  for (const fields of [
    withKey(),
    { 'idempotency-key': key.slice(1, -1) },
    withKey({ prefer: 'return=representation' })
  ]) {
    const again = await request(app, 'POST /users', { content: ada, fields })
    t.strictSame(normalize(again), normalize(first))
    t.equal(again.headers['idempotent-replayed'], 'true')
  }
  const inXml = await request(app, 'POST /users', { content: ada, fields: withKey({ accept: 'application/xml' }) })
  t.match(
    [inXml.statusCode, inXml.headers['content-type'], inXml.headers.location, inXml.headers['idempotent-replayed']],
    [201, 'application/xml', location, 'true']
  )
  t.match(inXml.payload, `<email>${ada.email}</email>`, 'in the format that it asks for')
  t.match(inXml.headers.etag, String(first.headers.etag).split('.')[0], 'the version is the same')
  const minimal = await request(app, 'POST /users', { content: ada, fields: withKey({ prefer: 'return=minimal' }) })
  t.strictSame(
    [minimal.statusCode, minimal.payload, minimal.headers.location, minimal.headers['preference-applied']],
    [201, '', location, 'return=minimal']
  )
  await request(app, `DELETE ${location}`)
  t.strictSame(
    normalize(await request(app, 'POST /users', { content: ada, fields: withKey() })),
    normalize(first),
    'even if the item has changed since'
  )
  t.strictSame(actions, ['create', 'remove'])
  t.equal((await request(app, 'POST /users', { content: ada, fields: { 'idempotency-key': '"other"' } })).statusCode, 201)
  t.equal(
    (await request(app, 'POST /users', { content: ada })).statusCode,
    409,
    'without a key, it is a new request'
  )
})

test('a repeated PATCH is applied once, and its precondition is checked once', async (t) => {
  const app = await build(t, notes().with(idempotency()))
  const {
    headers: { location, etag }
  } = await request(app, 'POST /notes', { content: { text: 'a', marks: { x: 1 } } })
  const patch = {
    content: [
      { op: 'test', path: '/text', value: 'a' },
      { op: 'replace', path: '/text', value: 'b' }
    ],
    type: 'application/json-patch+json',
    fields: withKey({ 'if-match': String(etag) })
  }
  const first = await request(app, `PATCH ${location}`, patch)
  t.equal(first.statusCode, 200)
  const again = await request(app, `PATCH ${location}`, patch)
  t.strictSame(normalize(again), normalize(first), 'preconditions and the patch are not evaluated again')
  t.equal(again.headers['idempotent-replayed'], 'true')
  const minimal = { content: { text: 'c' }, fields: { 'idempotency-key': 'minimal', prefer: 'return=minimal' } }
  const [one, two] = [await request(app, `PATCH ${location}`, minimal), await request(app, `PATCH ${location}`, minimal)]
  t.strictSame([one.statusCode, one.headers['preference-applied']], [204, 'return=minimal'])
  t.strictSame(normalize(two), normalize(one))
})

test('callers that only the parent of a nested collection identifies do not share their keys', async (t) => {
  const authenticate = ({ request }: { request: FastifyRequest }) => request.headers['x-user']?.toString()
  const people = users({ access: { authenticate, vary: ['X-User'] } })
  const nested = notes().with(idempotency(), within(people, 'text'))
  const app = await build(t, [people, nested])
  const { id } = (await request(app, 'POST /users', { content: ada, fields: { 'x-user': 'ada' } })).json()
  const send = (user: string) => {
    return request(app, `POST /users/${id}/notes`, { content: { text: id }, fields: withKey({ 'x-user': user }) })
  }
  const responses = [await send('ada'), await send('bob'), await send('ada')]
  t.strictSame(responses.map(({ statusCode }) => statusCode), [201, 201, 201])
  t.strictSame(responses.map(({ headers }) => headers['idempotent-replayed']), [undefined, undefined, 'true'])
})

test('requests with arrays, nested collections and every format can be repeated', async (t) => {
  const Article = Type.Object({
    id: Type.String({ format: 'uuid' }),
    author: Type.String({ format: 'uuid' }),
    title: Type.String()
  })
  const people = users()
  const articles = define({ name: 'articles', schema: Article, storage: modified(() => ({})) }).with(
    idempotency(),
    bulk()
  )
  const app = await build(t, [
    people,
    (articles as Definition<{ author: string }>).with(within(people, 'author'))
  ])
  const {
    headers: { location }
  } = await request(app, 'POST /users', { content: ada })
  for (const [index, accept] of ['application/json', 'application/hal+json', 'application/xml'].entries()) {
    for (const content of [{ title: 'a' }, [{ title: 'b' }, { title: 'c' }]]) {
      const options = { content, fields: { 'idempotency-key': `${index}-${Array.isArray(content)}`, accept } }
      const [first, again] = [
        await request(app, `POST ${location}/articles`, options),
        await request(app, `POST ${location}/articles`, options)
      ]
      t.strictSame([first.statusCode, first.headers['content-type']], [201, accept])
      t.strictSame(normalize(again), normalize(first))
    }
  }
  t.equal(await count(app, `${location}/articles`), '9')
  const minimal = { content: [{ title: 'd' }], fields: { 'idempotency-key': 'minimal', prefer: 'return=minimal' } }
  t.strictSame(
    normalize(await request(app, `POST ${location}/articles`, minimal)),
    normalize(await request(app, `POST ${location}/articles`, minimal))
  )
  const invalid = { content: [{ title: 'e' }, { title: 3 }], fields: { 'idempotency-key': 'corrected' } }
  t.equal((await request(app, `POST ${location}/articles`, invalid)).statusCode, 422)
  t.equal((await request(app, `POST ${location}/articles`, { ...invalid, content: [{ title: 'e' }] })).statusCode, 201)
})

test('a key belongs to one method, target and content (Idempotency-Key draft, section 2.7)', async (t) => {
  const app = await build(t, users().with(idempotency()))
  const {
    headers: { location }
  } = await request(app, 'POST /users', { content: ada, fields: withKey() })
  for (const [target, content] of [
    ['POST /users', { ...ada, age: 3 }],
    ['POST /users', `${JSON.stringify(ada)} `],
    [`PATCH ${location}`, ada]
  ] as const) {
    const answer = await request(app, target, { content, type: 'application/json', fields: withKey() })
    t.match([answer.statusCode, answer.json().code], [422, 'idempotency-key-reused'])
  }
  const { age } = (await request(app, `GET ${location}`)).json()
  t.equal(age, undefined)
})

test('a malformed or missing key returns 400 with the reason (Idempotency-Key draft, section 2.7)', async (t) => {
  const app = await build(t, users().with(idempotency({ required: true, actions: ['create'] })))
  for (const value of ['""', 'a b', ['a', 'b'], '"ä"']) {
    const answer = await request(app, 'POST /users', { content: ada, fields: { 'idempotency-key': value } })
    t.match(
      [answer.statusCode, answer.json().code, answer.json().detail],
      [400, 'idempotency-key-malformed', /one string/]
    )
  }
  const answer = await request(app, 'POST /users', { content: ada })
  t.match(
    [answer.statusCode, answer.json().code, answer.json().detail],
    [400, 'idempotency-key-missing', /Repeat the request with the header Idempotency-Key/]
  )
  t.equal(
    (await request(app, 'POST /users', { content: 'x', type: 'text/plain' })).statusCode,
    415,
    'checked after the other headers'
  )
  t.equal((await request(app, 'DELETE /users', {})).statusCode, 405)
  const {
    headers: { location }
  } = await request(app, 'POST /users', { content: ada, fields: withKey() })
  for (const age of [1, 2]) {
    t.match(
      (await request(app, `PATCH ${location}`, { content: { age }, fields: withKey() })).json(),
      { age },
      'other actions ignore the key'
    )
  }
  const off = await build(t, users())
  t.equal(
    (await request(off, 'POST /users', { content: ada, fields: { 'idempotency-key': '""' } })).statusCode,
    201,
    'without the feature, the header is ignored'
  )
})

test('a repeat during the first request returns 409 or 422 (Idempotency-Key draft, section 2.7)', async (t) => {
  const { open, opened } = gate()
  const begun = gate()
  const app = await build(
    t,
    users({
      hooks: {
        async beforeValidation ({ item }) {
          begun.open()
          await opened
          return item
        }
      }
    }).with(idempotency())
  )
  const first = request(app, 'POST /users', { content: ada, fields: withKey() })
  await begun.opened
  const meanwhile = await request(app, 'POST /users', { content: ada, fields: withKey() })
  t.match(
    [meanwhile.statusCode, meanwhile.headers['retry-after'], meanwhile.json().code],
    [409, '1', 'idempotency-key-in-use']
  )
  t.equal((await request(app, 'POST /users', { content: { ...ada, age: 1 }, fields: withKey() })).statusCode, 422)
  open()
  t.equal((await first).statusCode, 201)
  t.equal((await request(app, 'POST /users', { content: ada, fields: withKey() })).headers['idempotent-replayed'], 'true')
})

test('a failed request releases its key, which can be used again with other content', async (t) => {
  let fail: (() => void) | undefined
  const storage = modified((memory) => ({
    transaction: (work, context) =>
      memory.transaction!(async (inner) => {
        const result = await work(inner)
        fail?.()
        return result
      }, context)
  }))
  let refuse = false
  const { lines, logger } = logged()
  const app = await build(
    t,
    users({
      storage,
      hooks: {
        beforeValidation ({ item }) {
          if (refuse) throw problem('forbidden', { detail: 'not now' })
          return item
        }
      }
    }).with(idempotency()),
    { logger }
  )
  const post = async (content: unknown) => (await request(app, 'POST /users', { content, fields: withKey() })).statusCode
  t.equal(await post(undefined), 400)
  t.equal(await post('{'), 400)
  t.equal(await post({ ...ada, name: '' }), 422)
  refuse = true
  t.equal(await post(ada), 403)
  refuse = false
  fail = () => {
    throw new Error('the disk is gone')
  }
  t.equal(await post(ada), 500)
  fail = () => {
    throw Object.assign(new Error('busy'), { unreachable: true })
  }
  t.equal(await post(ada), 503)
  fail = undefined
  await request(app, 'POST /users', { content: ada })
  t.equal(await post(ada), 409, 'the address must be unique')
  t.equal(await post({ ...ada, email: 'other@example.com' }), 201)
  t.equal(await post({ ...ada, email: 'other@example.com' }), 201)
  t.equal(await count(app), '2')
  t.equal(lines.length, 2)
  const patch = async (id: string) =>
    (await request(app, `PATCH /users/${id}`, { content: { age: 1 }, fields: { 'idempotency-key': 'absent' } })).statusCode
  t.equal(await patch('01900000-0000-7000-8000-000000000009'), 404)
  t.equal(await patch('01900000-0000-7000-8000-000000000009'), 404)
})

test('keys are separate for each caller', async (t) => {
  const app = await build(t, notes().with(idempotency()))
  const made = new Set<unknown>()
  for (const fields of [
    {},
    { authorization: 'Bearer a' },
    { authorization: 'Bearer b', cookie: 'a' },
    { cookie: 'Bearer a' },
    { cookie: 'b' }
  ]) {
    const [first, again] = [
      await request(app, 'POST /notes', { content: { text: 'a' }, fields: withKey(fields) }),
      await request(app, 'POST /notes', { content: { text: 'a' }, fields: withKey(fields) })
    ]
    t.equal(again.headers.location, first.headers.location)
    made.add(first.headers.location)
  }
  t.equal(made.size, 5)
})

test('an authenticated caller keeps its keys with new credentials as long as its scope is the same', async (t) => {
  const app = await build(
    t,
    notes({
      access: {
        authenticate: ({
          request: {
            headers: { authorization }
          }
        }) => authorization?.split(' ')[1],
        scope: ({ request }) => ({ values: { text: request?.headers.host ?? '' } })
      }
    }).with(idempotency())
  )
  const post = async (authorization: string, host: string) => {
    const { statusCode, headers } = await request(app, 'POST /notes', {
      content: {},
      fields: withKey({ authorization, host })
    })
    return statusCode === 201 ? headers.location : statusCode
  }
  const first = await post('Bearer ada 1', 'a')
  t.equal(await post('Bearer ada 2', 'a'), first)
  t.not(await post('Bearer bob 1', 'a'), first)
  t.not(await post('Bearer ada 1', 'b'), first)
  t.equal((await request(app, 'POST /notes', { content: {}, fields: withKey() })).statusCode, 401, 'checked before the key')
})

test('a stored response expires', async (t) => {
  const clock = controlClock(t)
  const app = await build(t, notes().with(idempotency({ expiry: 20_000, lease: 10_000 })))
  const post = async (text = 'a') =>
    (await request(app, 'POST /notes', { content: { text }, fields: withKey() })).headers.location
  const first = await post()
  t.equal(await post(), first)
  clock.advance(21_000)
  const second = await post('b')
  t.not(second, first)
  t.equal(await post('b'), second)
})

test('a repeat takes over from a request that exceeds its lease, which then returns 409', async (t) => {
  const clock = controlClock(t)
  const [begun, { open, opened }] = [gate(), gate()]
  let slow = true
  const app = await build(
    t,
    notes({
      hooks: {
        async beforeValidation ({ item }) {
          if (slow) {
            slow = false
            begun.open()
            await opened
          }
          return item
        }
      }
    }).with(idempotency({ lease: 10_000 }))
  )
  const post = () => request(app, 'POST /notes', { content: { text: 'a' }, fields: withKey() })
  const first = post()
  await begun.opened
  t.equal((await post()).statusCode, 409, 'before the end of the lease')
  clock.advance(11_000)
  const second = await post()
  t.equal(second.statusCode, 201)
  t.notOk('idempotent-replayed' in second.headers)
  open()
  const late = await first
  t.match([late.statusCode, late.json().code], [409, 'idempotency-key-in-use'])
  t.equal((await post()).headers.location, second.headers.location)
  t.equal(await count(app, '/notes'), '1')
})

test('content over 1 MiB is not stored, and is replayed without content', async (t) => {
  const app = await build(t, notes().with(idempotency(), bulk()), { bodyLimit: 4_000_000 })
  const text = 'a'.repeat(999_000)
  const marks = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`mark ${index}`, index]))
  const post = { content: { text, marks }, fields: withKey({ prefer: 'return=representation' }) }
  const [first, again] = [await request(app, 'POST /notes', post), await request(app, 'POST /notes', post)]
  t.ok(first.payload.length > 1_048_576)
  t.strictSame(
    [
      again.statusCode,
      again.payload,
      again.headers['content-type'],
      again.headers['content-location'],
      again.headers['preference-applied']
    ],
    [201, '', undefined, undefined, undefined]
  )
  t.strictSame([again.headers.location, again.headers.etag], [first.headers.location, first.headers.etag])
  const patch = { content: { marks: { one: 1 } }, fields: { 'idempotency-key': 'patch' } }
  const [one, two] = [
    await request(app, `PATCH ${first.headers.location}`, patch),
    await request(app, `PATCH ${first.headers.location}`, patch)
  ]
  t.strictSame([one.statusCode, two.statusCode, two.headers.etag], [200, 204, one.headers.etag])
})

/** A memory storage some of whose calls on receipts are replaced. */
const withReceipts = (change: Partial<Receipts>) =>
  modified(({ receipts }) => ({
    receipts: {
      claim: (...args) => receipts!.claim(...args),
      keep: (...args) => receipts!.keep(...args),
      release: (...args) => receipts!.release(...args),
      sweep: (...args) => receipts!.sweep(...args),
      ...change
    }
  }))

test('receipts that expired an hour ago are removed at most once a minute, in the background', async (t) => {
  const swept: number[] = []
  const start = Date.now()
  const { lines, logger } = logged()
  const app = await build(
    t,
    notes({
      storage: withReceipts({
        async sweep (expired) {
          swept.push(expired)
          throw new Error('too busy')
        }
      })
    }).with(idempotency()),
    { logger }
  )
  for (const name of ['a', 'b', 'c']) {
    t.equal(
      (await request(app, 'POST /notes', { content: { text: 'a' }, fields: { 'idempotency-key': name } })).statusCode,
      201
    )
  }
  t.equal(swept.length, 1)
  const sweptAt = swept[0]! + 3_600_000
  t.ok(start <= sweptAt && sweptAt <= Date.now())
  t.match(lines, [{ err: { message: 'too busy' }, msg: /could not be removed/ }])
})

for (const { name, skip, open } of databases) {
  // SQLite has the clock of the process, which all processes of the machine share.
  if (name === 'sqlite') continue
  test(`${name}: a process whose clock is wrong neither removes nor ignores receipts of others`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const clock = controlClock(t)
    const adapter = database.adapter()
    const sweeps: Array<Promise<void>> = []
    const serve = async () => build(t, notes({
      storage: (shape) => {
        const storage = adapter<never>(shape)
        const receipts = storage.receipts!
        const { sweep } = receipts
        receipts.sweep = (...args) => {
          const sweeping = sweep.apply(receipts, args)
          sweeps.push(sweeping)
          return sweeping
        }
        return storage
      }
    }).with(idempotency()))
    await adapter.createTable(notes().with(idempotency()))
    const post = async (app: Parameters<typeof request>[0], name: string) => {
      return request(app, 'POST /notes', { content: { text: name }, fields: { 'idempotency-key': name } })
    }
    const first = await post(await serve(), 'a')
    for (const [index, hours] of [26, -52].entries()) {
      clock.advance(hours * 3_600_000)
      const other = await serve()
      const added = await post(other, `other-${index}`)
      t.equal(added.statusCode, 201)
      await Promise.all(sweeps)
      for (const app of [other, await serve()]) {
        const again = await post(app, 'a')
        t.equal(again.headers.location, first.headers.location, `${hours} h`)
        t.equal(again.headers['idempotent-replayed'], 'true')
        t.equal((await post(app, `other-${index}`)).headers.location, added.headers.location)
      }
    }
    t.equal(sweeps.length, 3, 'one of each process')
    t.equal((await database.rows('SELECT id FROM notes')).length, 3)
  })
}

test('a claim with an unknown result is released, so that the next attempt can run', async (t) => {
  let lost = true
  const app = await build(
    t,
    notes({
      storage: modified(({ receipts }) => ({
        receipts: {
          async claim (...args) {
            const claim = await receipts!.claim(...args)
            if (lost) throw Object.assign(new Error('the connection ended'), { unreachable: true })
            return claim
          },
          keep: (...args) => receipts!.keep(...args),
          release: (...args) => receipts!.release(...args),
          sweep: (...args) => receipts!.sweep(...args)
        }
      }))
    }).with(idempotency())
  )
  const post = async () => (await request(app, 'POST /notes', { content: { text: 'a' }, fields: withKey() })).statusCode
  t.equal(await post(), 503)
  lost = false
  t.equal(await post(), 201)
})

test('a key that cannot be released is logged, and the response stays the same', async (t) => {
  const clock = controlClock(t)
  const { lines, logger } = logged()
  const app = await build(
    t,
    notes({
      storage: withReceipts({
        release: async () => {
          throw new Error('too busy')
        }
      })
    }).with(idempotency({ lease: 20_000 })),
    { logger }
  )
  t.equal((await request(app, 'POST /notes', { content: { text: 3 }, fields: withKey() })).statusCode, 422)
  t.match(lines, [{ err: { message: 'too busy' }, msg: /could not be released/ }])
  t.equal((await request(app, 'POST /notes', { content: { text: 3 }, fields: withKey() })).statusCode, 409)
  clock.advance(21_000)
  t.equal(
    (await request(app, 'POST /notes', { content: { text: 'a' }, fields: withKey() })).statusCode,
    201,
    'after the end of the lease'
  )
})

test('in any number and order of repeats, each key creates one item and has one response', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.nat(4), { minLength: 1, maxLength: 8 }), { maxLength: 6 }),
      async (bursts) => {
        const app = await build(
          t,
          notes({
            hooks: {
              async beforeValidation ({ item }) {
                await delay(Math.random())
                return item
              }
            }
          }).with(idempotency())
        )
        const answers = new Map<number, unknown>()
        for (const burst of bursts) {
          const results = await Promise.all(
            burst.map(
              async (name) =>
                [
                  name,
                  await request(app, 'POST /notes', {
                    content: { text: String(name) },
                    fields: { 'idempotency-key': `"${name}"` }
                  })
                ] as const
            )
          )
          for (const [name, answer] of results.filter(([, { statusCode }]) => statusCode !== 409)) {
            if (!answers.has(name)) answers.set(name, normalize(answer))
            if (answers.get(name) !== undefined) t.strictSame(normalize(answer), answers.get(name))
          }
        }
        const texts = (await request(app, 'GET /notes'))
          .json()
          .map(({ text }: { text: string }) => text)
          .sort()
        t.strictSame(texts, [...new Set(bursts.flat())].sort().map(String))
        t.equal(answers.size, texts.length)
      }
    ),
    { numRuns: 30 }
  )
})

test('of 20 identical parallel requests one creates an item, and the others are replayed or return 409', async (t) => {
  for (const [method, url] of [
    ['POST', '/notes'],
    ['PATCH', undefined]
  ] as const) {
    let writes = 0
    const app = await build(
      t,
      notes({
        hooks: {
          afterCommit: () => {
            writes++
          }
        }
      }).with(idempotency())
    )
    const target = url ?? String((await request(app, 'POST /notes', { content: { text: 'a' } })).headers.location)
    writes = 0
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => request(app, `${method} ${target}`, { content: { text: 'b' }, fields: withKey() }))
    )
    t.equal(writes, 1)
    t.equal(
      answers.filter(({ statusCode, headers }) => statusCode < 300 && headers['idempotent-replayed'] === undefined)
        .length,
      1
    )
    t.ok(answers.every(({ statusCode }) => statusCode < 300 || statusCode === 409))
  }
})

test('invalid idempotency options fail at boot', async (t) => {
  const checkRefused = (options: object, message: RegExp) =>
    t.throws(() => users().with(idempotency(options)), { code: 'FST_COLLECTION_BAD_OPTION', message })
  checkRefused({ lease: 0 }, /expiry is 86400000 and lease is 0.*100 <= lease/)
  checkRefused({ expiry: 3600 }, /expiry is 3600 and lease is 30000\. Both must be whole numbers of milliseconds/)
  checkRefused({ expiry: Infinity }, /Infinity/)
  checkRefused({ expiry: 'soon' }, /soon/)
  checkRefused({ actions: ['remove'] }, /"remove".*"create" and "update"/)
  checkRefused({ methods: ['POST'] }, /idempotency: there is no option "methods"/)
  t.throws(
    () =>
      define({
        name: 'users',
        schema: User,
        storage: modified(({ supports }) => ({ supports: { ...supports, receipts: false } }))
      }).with(idempotency()),
    { code: 'FST_COLLECTION_UNSUPPORTED', message: /idempotency stores responses/ }
  )
})

interface LockableDatabase {
  /** Over a pool with one connection. */
  readonly adapter: SqlAdapter
  /** Locks all receipts until the test ends. */
  lock(): Promise<void>
}

const lockable: ReadonlyArray<{ name: string; skip: string | false; open(t: Test): Promise<LockableDatabase> }> = [
  {
    name: 'PostgreSQL',
    skip: noServers,
    async open (t) {
      const server = await startPostgres()
      t.teardown(() => server.end())
      return {
        adapter: postgres(server.pool({ max: 1 })),
        async lock () {
          const client = await server.pool({ max: 1 }).connect()
          t.teardown(() => client.release(true))
          await client.query('BEGIN')
          await client.query('SELECT * FROM notes_receipts FOR UPDATE')
        }
      }
    }
  },
  {
    name: 'MySQL',
    skip: noMysql,
    async open (t) {
      const { pool, name, end } = await mysqlPool({ connectionLimit: 1 })
      t.teardown(end)
      const { pool: other, end: endOther } = await mysqlPool({ connectionLimit: 1 })
      t.teardown(endOther)
      return {
        adapter: mysql(pool),
        async lock () {
          const client = await other.getConnection()
          t.teardown(() => client.destroy())
          await client.query('BEGIN')
          await client.query(`SELECT * FROM ${name}.notes_receipts FOR UPDATE`)
        }
      }
    }
  }
]

for (const { name, skip, open } of lockable) {
  test(`${name}: a key whose row is locked does not hold a connection when it is released`, { skip }, async (t) => {
    const { adapter, lock } = await open(t)
    const { lines, logger } = logged()
    const definition = notes({
      storage: adapter,
      hooks: {
        async beforeValidation () {
          await lock()
          throw problem('conflict', { detail: 'on purpose' })
        }
      }
    }).with(idempotency())
    await adapter.createTable(definition)
    const app = await build(t, definition, { logger })
    // The lock is held until the end, so a response shows that the release has ended without it.
    const refused = await request(app, 'POST /notes', { content: { text: 'a' }, fields: withKey() })
    t.match(refused.json(), { code: 'conflict', detail: 'on purpose' })
    t.match(lines, [{ msg: 'an idempotency key could not be released' }])
    t.equal((await request(app, 'GET /notes')).statusCode, 200, 'the only connection is free')
  })
}

test('a call from code with the key of an earlier one is done once', async (t) => {
  const id = Type.String({ format: 'uuid' })
  const Order = Type.Object({ id, amount: Type.Integer(), secret: Type.Optional(Type.String({ writeOnly: true })) })
  let shows = true
  const orders = define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    access: { authenticate: () => 'ada', allow: 'public', visible: { amount: () => shows } }
  })
    .with(idempotency())
    .with(bulk({ update: true, remove: true }))
    .with(action('double', { run: ({ item }) => ({ ...item, amount: item.amount * 2 }) }))
    .with(action('figure', {
      output: Type.Object({ amount: Type.Integer() }),
      run: ({ item: { amount } }) => ({ output: { amount } })
    }))
  const plain = define({ name: 'plain', schema: Order, storage: memory() })
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registry)
  await app.register(collection, orders)
  await app.register(collection, plain)
  await app.ready()
  const calls = app.collection(orders)
  const with1 = { idempotencyKey: '1' }
  const codeOf = async (call: Promise<unknown>) => {
    return call.then(() => 'done', (error: unknown) => error instanceof ProblemError ? error.code : String(error))
  }

  const first = await calls.create({ amount: 1, secret: 'a' }, with1)
  const again = await calls.create({ amount: 1, secret: 'a' }, with1)
  t.strictSame([again.id, again.item, again.tag], [first.id, first.item, first.tag])
  t.equal(again.item.secret, 'a', 'the app sees what it has written')
  t.equal(await codeOf(calls.create({ amount: 2 }, with1)), 'idempotency-key-reused')
  t.equal(await codeOf(calls.update(first.id, { amount: 1 }, with1)), 'idempotency-key-reused')
  const many = await Promise.allSettled(Array.from({ length: 5 }, () => calls.create({ amount: 3 }, { idempotencyKey: '2' })))
  t.ok(many.every((result) => result.status === 'fulfilled' || result.reason.code === 'idempotency-key-in-use'))

  const own = await calls.create({ amount: 1, secret: 'a' }, { ...with1, caller: 'ada' })
  t.not(own.id, first.id, 'the keys of callers and of the app are kept apart')
  t.notOk('secret' in (await calls.create({ amount: 1, secret: 'a' }, { ...with1, caller: 'ada' })).item)
  const response = await app.inject({
    method: 'POST',
    url: '/orders',
    payload: { amount: 1, secret: 'a' },
    headers: { 'idempotency-key': '1' }
  })
  t.equal(response.headers['idempotent-replayed'], undefined, 'and so are those of requests')
  shows = false
  t.equal(await codeOf(calls.create({ amount: 1, secret: 'a' }, { ...with1, caller: 'ada' })), 'forbidden')
  shows = true

  const asAda = { idempotencyKey: 'hidden output', caller: 'ada' }
  const figure = await calls.figure(own.id, {}, asAda)
  t.strictSame(figure, { amount: 1 })
  shows = false
  t.equal(await codeOf(calls.figure(own.id, {}, asAda)), 'forbidden', 'an output')
  shows = true

  const twice = async <Result> (call: () => Promise<Result>) => [await call(), await call()] as const
  const amountOf = async () => (await calls.read(first.id)).item.amount
  const text = 'a'.repeat(2_000_000)
  const [long, longAgain] = await twice(() => calls.update(first.id, { secret: text }, { idempotencyKey: 'long' }))
  t.ok(long.item.secret === text && longAgain.item.secret === text, 'what code gets is kept whole')
  await twice(() => calls.double(first.id, {}, { idempotencyKey: 'double' }))
  t.equal(await amountOf(), 2)
  t.strictSame(await twice(() => calls.figure(first.id, {}, { idempotencyKey: 'figure' })), [{ amount: 2 }, { amount: 2 }])
  const [created, repeated] = await twice(() => calls.createMany([{ amount: 7 }, { amount: 7 }], { idempotencyKey: 'many' }))
  t.strictSame(created.map(({ id, tag }) => [id, tag]), repeated.map(({ id, tag }) => [id, tag]))
  const counts = await twice(() => calls.updateMany({ filter: { amount: 7 } }, { amount: 8 }, { idempotencyKey: 'update' }))
  t.strictSame(counts.map(({ count, ids }) => [count, ids.length]), [[2, 2], [2, 2]])
  const removed = await twice(() => calls.removeMany({ filter: { amount: 8 } }, { idempotencyKey: 'remove' }))
  t.strictSame(removed.map(({ count }) => count), [2, 2])

  for (const key of ['', 'a'.repeat(256), 1]) {
    t.match(await codeOf(calls.create({ amount: 1 }, { idempotencyKey: key as string })), /TypeError: idempotencyKey is/)
  }
  const refused = /TypeError: The action \w+ of \w+ takes no idempotencyKey/
  t.match(await codeOf(calls.read(first.id, with1)), refused)
  t.match(await codeOf(calls.replace(first.id, { amount: 1 }, with1)), refused)
  t.match(await codeOf(app.collection(plain).create({ amount: 1 }, with1)), refused)
  const inTransaction = calls.transaction(async (transaction) => calls.create({ amount: 1 }, { ...with1, transaction }))
  t.match(await codeOf(inTransaction), refused)
})

test('keys of calls belong to one collection, also if two share a table', async (t) => {
  const Note = Type.Object({ id: Type.String({ format: 'uuid' }), text: Type.String() })
  const database = new DatabaseSync(':memory:')
  const storage = sqlite(database, { table: 'notes' })
  const options = { schema: Note, storage } as const
  const [notes, drafts] = [
    define({ ...options, name: 'notes' }).with(idempotency()),
    define({ ...options, name: 'drafts' }).with(idempotency())
  ]
  await storage.createTable(notes)
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registry)
  await app.register(collection, notes)
  await app.register(collection, drafts)
  await app.ready()
  const first = await app.collection(notes).create({ text: 'a' }, { idempotencyKey: '1' })
  const other = await app.collection(drafts).create({ text: 'a' }, { idempotencyKey: '1' })
  t.not(other.id, first.id)
})
