import { setTimeout as delay } from 'node:timers/promises'
import { setImmediate as yields, setTimeout as wait } from 'node:timers/promises'
import { test } from 'tap'
import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import collection, { define } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { ada, build, created, gate, modified, notes, request, users } from '../app.ts'
import { controlClock } from '../clock.ts'
import type { Clock } from '../clock.ts'
import { action } from '../../lib/features/action.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'

// Conditional requests (RFC 9110 13) and caching (RFC 9111).

const stale = '"stale"'
const past = 'Thu, 01 Jan 2015 00:00:00 GMT'
const future = 'Fri, 01 Jan 2055 00:00:00 GMT'
const nowhere = '/users/018f4e6a-0000-7000-8000-000000000000'

/** The status of a request without preconditions, by method. */
const success = { GET: 200, HEAD: 200, PUT: 200, PATCH: 200, DELETE: 204 } as const

test('an If-Match without quotation marks is 412, which says what is missing', async (t) => {
  const app = await build(t, users())
  const { at: url, tag } = await created(app, '/users', ada)
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    const headers = { 'if-match': tag.slice(1, -1), ...method === 'PATCH' && { 'content-type': 'application/json' } }
    const response = await app.inject({ method, url, headers, ...method === 'PATCH' && { payload: '{}' } })
    t.match(response.json(), { status: 412, detail: /no entity tag.* with its quotation marks/ }, method)
  }
  const other = await app.inject({ method: 'DELETE', url, headers: { 'if-match': stale } })
  t.match(other.json(), { status: 412, detail: /has changed/ })
})

test('preconditions on an item follow the truth table for every method (RFC 9110, section 13.2.2)', async (t) => {
  const app = await build(t, users())
  const rows: ReadonlyArray<
    readonly [what: string, fields: (tag: string) => Record<string, string>, read: number, write: number]
  > = [
    ['If-Match with the tag', (tag) => ({ 'if-match': tag }), 200, 0],
    ['If-Match with a stale tag', () => ({ 'if-match': stale }), 412, 412],
    ['If-Match with a star', () => ({ 'if-match': '*' }), 200, 0],
    ['If-Match with a list that has the tag', (tag) => ({ 'if-match': `"a,b" , ${tag}, W/"c"` }), 200, 0],
    ['If-Match with the weak form: strong comparison on a read', (tag) => ({ 'if-match': `W/${tag}` }), 412, 0],
    ['If-Match that is malformed never matches', (tag) => ({ 'if-match': tag.slice(1, -1) }), 412, 412],
    ['If-Match that is empty', () => ({ 'if-match': '' }), 412, 412],
    ['If-None-Match with the tag', (tag) => ({ 'if-none-match': tag }), 304, 412],
    ['If-None-Match with the weak form: weak comparison', (tag) => ({ 'if-none-match': `W/${tag}` }), 304, 412],
    ['If-None-Match with a star', () => ({ 'if-none-match': '*' }), 304, 412],
    ['If-None-Match with a list that has the tag', (tag) => ({ 'if-none-match': `"x", ${tag}` }), 304, 412],
    ['If-None-Match with another tag', () => ({ 'if-none-match': stale }), 200, 0],
    ['If-Modified-Since, not since', () => ({ 'if-modified-since': future }), 304, 0],
    ['If-Modified-Since, since', () => ({ 'if-modified-since': past }), 200, 0],
    ['If-Modified-Since with a bad date', () => ({ 'if-modified-since': 'yesterday' }), 200, 0],
    ['If-Unmodified-Since, not since', () => ({ 'if-unmodified-since': future }), 200, 0],
    ['If-Unmodified-Since, since', () => ({ 'if-unmodified-since': past }), 412, 412],
    ['If-Unmodified-Since with a bad date', () => ({ 'if-unmodified-since': '2015-01-01' }), 200, 0],
    ['If-Match counts, a date beside it does not', (tag) => ({ 'if-match': tag, 'if-unmodified-since': past }), 200, 0],
    [
      'If-None-Match counts, a date beside it does not',
      () => ({ 'if-none-match': stale, 'if-modified-since': future }),
      200,
      0
    ],
    [
      'If-Match fails before If-None-Match is evaluated',
      (tag) => ({ 'if-match': stale, 'if-none-match': tag }),
      412,
      412
    ],
    ['If-Match holds, then If-None-Match is evaluated', (tag) => ({ 'if-match': tag, 'if-none-match': tag }), 304, 412],
    [
      'If-Match holds, then If-Modified-Since is evaluated',
      (tag) => ({ 'if-match': tag, 'if-modified-since': future }),
      304,
      0
    ],
    [
      'If-Unmodified-Since fails before If-None-Match is evaluated',
      (tag) => ({ 'if-unmodified-since': past, 'if-none-match': tag }),
      412,
      412
    ]
  ]
  for (const [method, done] of Object.entries(success)) {
    for (const [what, fields, read, write] of rows) {
      const { at, tag } = await created(app, '/users', ada)
      const content = method === 'PUT' || method === 'PATCH' ? { ...ada, name: 'B' } : undefined
      const answer = await request(app, `${method} ${at}`, { content, fields: fields(tag) })
      const expected = method === 'GET' || method === 'HEAD' ? read : write
      t.equal(answer.statusCode, expected === 0 ? done : expected, `${method}: ${what}`)
      if (answer.statusCode === 412) {
        t.equal((await request(app, `GET ${at}`)).headers.etag, tag, 'the item is unchanged')
        if (method !== 'HEAD') {
          t.match(answer.json(), {
            status: 412,
            code: 'precondition-failed',
            type: 'about:blank',
            title: 'Precondition Failed'
          })
        }
      }
      await request(app, `DELETE ${at}`)
    }
  }
})

test('If-Match can have several header lines (RFC 9110, section 5.3)', async (t) => {
  const app = await build(t, users())
  const { at, tag } = await created(app, '/users', ada)
  t.equal((await request(app, `PATCH ${at}`, { content: {}, fields: { 'if-match': [stale, tag] } })).statusCode, 200)
  t.equal((await request(app, `DELETE ${at}`, { fields: { 'if-match': [stale, '"other"'] } })).statusCode, 412)
})

const minute = 60_000

/** Creates an item more than a second after the process started, by the clock. */
async function createLater (app: FastifyInstance, clock: Clock): Promise<{ at: string, modified: number }> {
  clock.advance(minute)
  const { at, item } = await created(app, '/users', ada)
  return { at, modified: Math.floor(Date.parse(String(item.updatedAt)) / 1000) * 1000 }
}

const toDate = (milliseconds: number) => new Date(milliseconds).toUTCString()

test('dates in preconditions are compared to the second, if that is safe (RFC 9110, section 8.8.2.2)', async (t) => {
  const clock = controlClock(t)
  const app = await build(t, users())
  const { at, modified } = await createLater(app, clock)
  const read = async (since: number) => request(app, `GET ${at}`, { fields: { 'if-modified-since': toDate(since) } })
  const write = async (since: number) => {
    return (await request(app, `PATCH ${at}`, { content: {}, fields: { 'if-unmodified-since': toDate(since) } })).statusCode
  }
  const rows: ReadonlyArray<readonly [since: number, isSafeAtOnce: boolean, isSafeLater: boolean]> = [
    [-1000, false, false],
    [0, false, true],
    [1000, false, false],
    [minute - 1000, false, false],
    [minute, true, true],
    [60 * minute, true, true]
  ]
  t.notOk('last-modified' in (await request(app, `GET ${at}`)).headers, 'a later change could have the same date')
  for (const [since, isSafe] of rows) {
    t.equal((await read(modified + since)).statusCode, isSafe ? 304 : 200, `at once, GET: ${since}`)
    t.equal(await write(modified + since), isSafe ? 200 : 412, `at once, PATCH: ${since}`)
  }
  clock.advance(minute)
  t.equal((await request(app, `GET ${at}`)).headers['last-modified'], toDate(modified))
  for (const [since, , isSafe] of rows) {
    const answer = await read(modified + since)
    t.equal(answer.statusCode, isSafe ? 304 : 200, `later, GET: ${since}`)
    t.equal(answer.headers['last-modified'], toDate(modified))
    t.equal(await write(modified + since), isSafe ? 200 : 412, `later, PATCH: ${since}`)
  }
})

test('a change by a process whose clock is behind does not return 304 or get lost', async (t) => {
  for (const behind of [1000, 30_000, 59_000, 60 * minute]) {
    await t.test(`${behind / 1000} s`, async (t) => {
      const clock = controlClock(t)
      const app = await build(t, users())
      const { at } = await createLater(app, clock)
      clock.advance(minute)
      const first = await request(app, `GET ${at}`)
      const since = String(first.headers['last-modified'])
      for (const name of ['B', 'C', 'D']) {
        clock.advance(-behind)
        const before = String((await request(app, `GET ${at}`)).json().updatedAt)
        const answer = await request(app, `PATCH ${at}`, { content: { name } })
        t.ok(answer.json().updatedAt > before, `${answer.json().updatedAt} is later than ${before}`)
        clock.advance(behind)
        for (const later of [0, minute]) {
          clock.advance(later)
          const read = await request(app, `GET ${at}`, { fields: { 'if-modified-since': since } })
          t.equal(read.statusCode, 200)
          const write = await request(app, `DELETE ${at}`, { fields: { 'if-unmodified-since': since } })
          t.equal(write.statusCode, 412)
          clock.advance(-later)
        }
      }
    })
  }
})

test('updatedAt is always later than before, for every way to change an item', async (t) => {
  const clock = controlClock(t)
  const Dated = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    text: Type.String(),
    deletedAt: Type.Optional(Type.String({ format: 'date-time', readOnly: true })),
    updatedAt: Type.String({ format: 'date-time', readOnly: true })
  })
  const dated = define({ name: 'dated', schema: Dated, storage: memory() }).with(
    softDelete({ property: 'deletedAt', allow: () => true }),
    action('turn', { run: ({ item }) => ({ ...item, text: 'turned' }) })
  )
  const app = await build(t, dated)
  const { at, item } = await created(app, '/dated', { text: 'a' })
  let last = String(item.updatedAt)
  clock.advance(-5000)
  for (const [target, content] of [
    [`PUT ${at}`, { text: 'b' }],
    [`PATCH ${at}`, { text: 'c' }],
    [`POST ${at}/turn`, undefined],
    [`DELETE ${at}`, undefined]
  ] as const) {
    await request(app, target, { content })
    const { updatedAt } = (await request(app, `GET ${at}?deleted=true`)).json()
    t.ok(updatedAt > last, `${target}: ${updatedAt} is later than ${last}`)
    last = updatedAt
  }
  const end = '9999-12-31T23:59:59.999Z'
  const id = nowhere.slice(-36)
  const items = [{ id, text: 'a', updatedAt: end }]
  const late = await build(t, define({ name: 'late', schema: Dated, storage: memory({ items }) }))
  t.match((await request(late, `PATCH /late/${id}`, { content: { text: 'b' } })).json(), { text: 'b', updatedAt: end })
})

test('Last-Modified comes from the storage or else from the item, and is omitted without either', async (t) => {
  const clock = controlClock(t)
  const Dated = Type.Object({
    id: Type.String({ format: 'uuid' }),
    at: Type.Optional(Type.String({ format: 'date-time', readOnly: true })),
    made: Type.Optional(Type.String({ format: 'date-time' }))
  })
  const modifiedAt = new Date(Math.floor(Date.now() / 1000) * 1000 + 10_000)
  const known = define({
    name: 'known',
    schema: Dated,
    storage: modified((storage) => ({
      find: async (id, context) => ({ ...(await storage.find(id, context))!, modified: modifiedAt })
    }))
  })
  const kept = define({ name: 'kept', schema: Dated, storage: memory(), timestamps: { updated: 'made' } })
  const made = define({ name: 'made', schema: Dated, storage: memory(), timestamps: { created: 'made' } })
  const lost = define({
    name: 'lost',
    schema: Dated,
    storage: modified((storage) => ({
      find: async (id, context) => {
        const { id: own, version } = (await storage.find(id, context))!
        return { id: own, version, item: { id: own } }
      }
    })),
    timestamps: { updated: 'at' }
  })
  const app = await build(t, [known, kept, made, lost, notes()])
  clock.advance(minute)
  const getLastModified = async (url: string, content: object = {}) => {
    const { at } = await created(app, url, content)
    clock.advance(2 * minute)
    return (await request(app, `GET ${at}`)).headers['last-modified']
  }
  t.equal(await getLastModified('/known'), modifiedAt.toUTCString())
  t.ok(Date.parse(String(await getLastModified('/kept'))) >= Date.now() - 3 * minute)
  t.equal(await getLastModified('/lost'), undefined)
  t.equal(await getLastModified('/made'), undefined, 'the time of creation is not the time of the last change')
  t.equal(await getLastModified('/notes', { text: 'a' }), undefined)
  const { at } = await created(app, '/notes', { text: 'a' })
  t.equal(
    (await request(app, `GET ${at}`, { fields: { 'if-modified-since': future } })).statusCode,
    200,
    'If-Modified-Since is ignored without Last-Modified'
  )
})

test('Last-Modified is never in the future (RFC 9110, section 8.8.2.1)', async (t) => {
  const clock = controlClock(t)
  const app = await build(t, users())
  const { at } = await createLater(app, clock)
  clock.advance(-10 * minute)
  const { statusCode, headers } = await request(app, `GET ${at}`)
  t.equal(statusCode, 200)
  t.notOk('last-modified' in headers)
})

test('a response from the cache of representations gets its Last-Modified as soon as that is safe', async (t) => {
  const clock = controlClock(t)
  const app = await build(t, users())
  const { at, modified } = await createLater(app, clock)
  for (const expected of [undefined, undefined, undefined, toDate(modified), toDate(modified)]) {
    if (expected !== undefined) clock.advance(minute)
    t.equal((await request(app, `GET ${at}`)).headers['last-modified'], expected)
  }
})

test('304 has ETag, Last-Modified, Cache-Control and Vary, and no content (RFC 9110, section 15.4.5)', async (t) => {
  const app = await build(t, users())
  const { at } = await created(app, '/users', ada)
  for (const url of [at, '/users?limit=1']) {
    const full = await request(app, `GET ${url}`)
    for (const method of ['GET', 'HEAD']) {
      const answer = await request(app, `${method} ${url}`, { fields: { 'if-none-match': String(full.headers.etag) } })
      t.equal(answer.statusCode, 304)
      t.equal(answer.payload, '')
      const { 'content-type': type, 'content-length': length, date, connection, ...expected } = full.headers
      t.match(answer.headers, expected)
      for (const field of ['content-type', 'content-length']) t.notOk(field in answer.headers)
    }
  }
})

test('412 takes precedence over malformed or invalid content (RFC 9110, section 13.2.1)', async (t) => {
  const app = await build(t, users())
  const { at } = await created(app, '/users', ada)
  for (const content of ['{', '', '{"name":""}', '[]', '{"a":1,"a":2}', Buffer.from([0xff])]) {
    for (const method of ['PUT', 'PATCH']) {
      t.equal(
        (await request(app, `${method} ${at}`, { content, fields: { 'if-match': stale } })).statusCode,
        412,
        `${method} ${content}`
      )
    }
  }
})

test('400 for the query, 401, 404, 405, 406 and 415 take precedence over 412 (RFC 9110, section 13.2.1)', async (t) => {
  const app = await build(
    t,
    users({
      routes: {
        remove: {
          onRequest: async (request) => {
            if (request.headers.authorization === undefined) {
              throw Object.assign(new Error('Who are you?'), { statusCode: 401 })
            }
          }
        }
      }
    })
  )
  const { at } = await created(app, '/users', ada)
  const fields = { 'if-match': stale }
  for (const method of ['GET', 'HEAD', 'PATCH', 'PUT']) {
    t.equal(
      (await request(app, `${method} ${nowhere}`, { content: method.startsWith('P') ? ada : undefined, fields }))
        .statusCode,
      404,
      method
    )
  }
  t.equal((await request(app, `POST ${at}`, { content: ada, fields })).statusCode, 405)
  t.equal((await request(app, `GET ${at}`, { fields: { ...fields, accept: 'image/png' } })).statusCode, 406)
  t.equal((await request(app, `PUT ${at}`, { content: ada, type: 'text/plain', fields })).statusCode, 415)
  t.equal((await request(app, `GET ${at}?x=1`, { fields })).statusCode, 400)
  t.equal((await request(app, `DELETE ${at}`, { fields })).statusCode, 401)
  t.equal((await request(app, `DELETE ${at}`, { fields: { ...fields, authorization: 'x' } })).statusCode, 412)
})

test('POST to a list with If-Match or If-None-Match is refused before its content is read', async (t) => {
  const app = await build(t, users().with(bulk(), idempotency()))
  const { etag } = (await request(app, 'GET /users')).headers
  for (const fields of [
    { 'if-match': String(etag) },
    { 'if-match': '*' },
    { 'if-none-match': '*' },
    { 'if-none-match': '' },
    { 'if-match': '"other"', 'idempotency-key': 'k' }
  ]) {
    for (const content of [ada, [ada], '{']) {
      const refused = await request(app, 'POST /users', { content, fields })
      const expected = fields['if-none-match'] === '*'
        ? { status: 412, code: 'precondition-failed', detail: /without it/ }
        : { status: 400, code: 'bad-request', detail: /without them/ }
      t.match(refused.json(), expected)
    }
  }
  t.equal((await request(app, 'GET /users')).headers.etag, etag, 'nothing was created')
  t.equal(
    (await request(app, 'POST /users', { content: ada, fields: { 'if-unmodified-since': past } })).statusCode,
    201,
    'a date is ignored, because a list has none'
  )
  t.equal((await request(app, 'GET /users', { fields: { 'if-match': stale } })).statusCode, 412, 'a read can have both')
})

test('PUT with If-None-Match: * creates, with If-Match replaces (RFC 9110, sections 13.1.1 and 13.1.2)', async (t) => {
  const app = await build(
    t,
    notes({
      put: { create: true },
      hooks: {
        beforeValidation: async ({ item }) => {
          await wait(1)
          return item
        }
      }
    })
  )
  const at = nowhere.replace('users', 'notes')
  t.equal((await request(app, `PUT ${at}`, { content: { text: 'a' }, fields: { 'if-match': '*' } })).statusCode, 412)
  t.equal((await request(app, `PUT ${at}`, { content: { text: 'a' }, fields: { 'if-none-match': '*' } })).statusCode, 201)
  t.equal((await request(app, `PUT ${at}`, { content: { text: 'b' }, fields: { 'if-none-match': '*' } })).statusCode, 412)
  t.equal((await request(app, `GET ${at}`)).json().text, 'a')
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      request(app, `PUT ${at.replace(/0$/, '1')}`, { content: { text: String(index) }, fields: { 'if-none-match': '*' } })
    )
  )
  t.equal(outcomes.filter(({ statusCode }) => statusCode === 201).length, 1)
  t.equal(outcomes.filter(({ statusCode }) => statusCode === 412).length, 49)
  const unconditional = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      request(app, `PUT ${at.replace(/0$/, '2')}`, { content: { text: String(index) } })
    )
  )
  t.equal(unconditional.filter(({ statusCode }) => statusCode === 201).length, 1, 'one creates, the others replace')
  t.equal(unconditional.filter(({ statusCode }) => statusCode === 200).length, 19)
})

test('with etag.required, an unconditional write of an item returns 428 (RFC 6585, section 3)', async (t) => {
  const app = await build(t, users({ etag: { required: true } }))
  const { at, tag } = await created(app, '/users', ada)
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const content = method === 'DELETE' ? undefined : ada
    for (const fields of [{}, { 'if-modified-since': future }, { 'if-unmodified-since': 'soon' }] as Array<
      Record<string, string>
    >) {
      const answer = await request(app, `${method} ${at}`, { content, fields })
      t.equal(answer.statusCode, 428, method)
      t.match(answer.json(), { code: 'precondition-required', detail: /If-Match/ })
      t.equal(answer.headers['cache-control'], 'no-store')
    }
    t.equal((await request(app, `${method} ${nowhere}`, { content })).statusCode, 404)
  }
  t.equal(
    (await request(app, `PATCH ${at}`, { content: '{', fields: {} })).statusCode,
    428,
    'checked before the content is processed'
  )
  t.equal((await request(app, `GET ${at}`)).statusCode, 200)
  t.equal((await request(app, `PATCH ${at}`, { content: {}, fields: { 'if-match': tag } })).statusCode, 200)
  t.equal((await request(app, `DELETE ${at}`, { fields: { 'if-unmodified-since': future } })).statusCode, 204)
})

test('with etag.required, a header that is ignored is no precondition (RFC 9110, section 13.1)', async (t) => {
  const dated = users({ etag: { required: true }, put: { create: true } })
  const app = await build(t, [dated, notes({ etag: { required: true }, put: { create: true } })])
  const user = await created(app, '/users', ada)
  const note = await created(app, '/notes', { text: 'a' })
  const ignored: ReadonlyArray<readonly [url: string, fields: Record<string, string>]> = [
    [note.at, { 'if-unmodified-since': future }],
    [nowhere, { 'if-unmodified-since': future }],
    ...[user.at, note.at, nowhere].flatMap((url) => ([
      [url, { 'if-match': '' }],
      [url, { 'if-none-match': '' }],
      [url, { 'if-none-match': ', ,' }],
      [url, { 'if-none-match': 'unquoted' }],
      [url, { 'if-match': '"open' }],
      [url, { 'if-match': 'unquoted', 'if-unmodified-since': future }],
      [url, { 'if-unmodified-since': 'Fri, 31 Feb 2100 00:00:00 GMT' }]
    ] as const))
  ]
  for (const [url, fields] of ignored) {
    const content = url === note.at ? { text: 'b' } : { ...ada, name: 'B' }
    for (const method of url === nowhere ? ['PUT'] : ['PUT', 'PATCH', 'DELETE']) {
      const answer = await request(app, `${method} ${url}`, { content: method === 'DELETE' ? undefined : content, fields })
      t.equal(answer.statusCode, 428, `${method} ${url} with ${JSON.stringify(fields)}`)
    }
  }
  t.equal((await request(app, `GET ${user.at}`)).headers.etag, user.tag)
  t.equal((await request(app, `GET ${note.at}`)).headers.etag, note.tag)
  const counted = { 'if-match': `unquoted, ${note.tag}` }
  t.equal((await request(app, `PATCH ${note.at}`, { content: { text: 'c' }, fields: counted })).statusCode, 200)
  const create = { content: { text: 'd' }, fields: { 'if-none-match': '*' } }
  t.equal((await request(app, `PUT ${nowhere.replace('users', 'notes')}`, create)).statusCode, 201)
})

test('a write accepts the current tag with a W/ prefix, as proxies that compress send it, and no other tag', async (t) => {
  const app = await build(t, users())
  const { at, tag } = await created(app, '/users', ada)
  t.equal((await request(app, `PATCH ${at}`, { content: {}, fields: { 'if-match': `W/${stale}` } })).statusCode, 412)
  t.equal((await request(app, `PATCH ${at}`, { content: {}, fields: { 'if-match': `W/${tag}` } })).statusCode, 200)
})

async function race (
  app: FastifyInstance,
  at: string,
  method: string,
  fields: Record<string, string>
): Promise<number[]> {
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      request(app, `${method} ${at}`, { content: method === 'DELETE' ? undefined : { ...ada, name: `N${index}` }, fields })
    )
  )
  return answers.map(({ statusCode }) => statusCode)
}

test('of 50 parallel writes with one tag exactly one succeeds (RFC 9110, section 13.1.1)', async (t) => {
  const plain = users()
  const waiting = users({
    name: 'waiting',
    hooks: {
      beforeValidation: async ({ item }) => {
        await yields()
        return item
      }
    }
  })
  const slow = users({
    name: 'slow',
    storage: modified((storage) => ({
      find: async (id, context) => {
        await wait(Math.random() * 5)
        return storage.find(id, context)
      }
    }))
  })
  const app = await build(t, [plain, waiting, slow])
  for (const name of ['users', 'waiting', 'slow']) {
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const { at, tag } = await created(app, `/${name}`, ada)
      const statuses = await race(app, at, method, { 'if-match': tag })
      t.equal(statuses.filter((status) => status < 300).length, 1, `${method} at ${name}`)
      t.ok(
        statuses.every((status) => status < 300 || status === 412 || (method === 'DELETE' && status === 404)),
        `${method}: ${[...new Set(statuses)]}`
      )
      await request(app, `DELETE ${at}`)
    }
    const { at, tag } = await created(app, `/${name}`, ada)
    const mixed = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        request(app, `${['PUT', 'PATCH', 'DELETE'][index % 3]} ${at}`, {
          content: index % 3 === 2 ? undefined : ada,
          fields: { 'if-match': tag }
        })
      )
    )
    t.equal(mixed.filter(({ statusCode }) => statusCode < 300).length, 1, `mixed at ${name}`)
    await request(app, `DELETE ${at}`)
  }
})

test('200 parallel unconditional merge patches of different properties lose no changes', async (t) => {
  const hooks = {
    none: undefined,
    microtasks: async <Item>({ item }: { item: Item }) => {
      await null
      return item
    },
    immediate: async <Item>({ item }: { item: Item }) => {
      await yields()
      return item
    },
    timer: async <Item>({ item }: { item: Item }) => {
      await wait(1)
      return item
    }
  }
  for (const [name, prepare] of Object.entries(hooks)) {
    const app = await build(t, notes(prepare === undefined ? {} : { hooks: { beforeValidation: prepare } }))
    const { at } = await created(app, '/notes', { text: 'a' })
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        request(app, `PATCH ${at}`, { content: { marks: { [`m${index}`]: index } } })
      )
    )
    t.strictSame([...new Set(answers.map(({ statusCode }) => statusCode))], [200], `with ${name}`)
    t.equal(Object.keys((await request(app, `GET ${at}`)).json().marks).length, 200, `with ${name}`)
  }
})

test('an unconditional write that repeatedly loses against other writes returns 409 concurrent-update', async (t) => {
  let attempts = 0
  const app = await build(
    t,
    notes({
      storage: modified(() => ({
        replace: async () => {
          attempts++
          return { refused: 'stale' }
        }
      }))
    })
  )
  const { at } = await created(app, '/notes', { text: 'a' })
  const patch = () => request(app, `PATCH ${at}`, { content: { text: 'b' } })
  const answer = await patch()
  t.equal(answer.statusCode, 409)
  t.match(answer.json(), { code: 'concurrent-update' })
  t.equal(attempts, 20)
  attempts = 0
  await Promise.all([patch(), patch(), delay(1).then(patch)])
  t.equal(attempts, 60, 'also if it waits for another one')
})

test('a unique value that already exists when the write is retried returns 409', async (t) => {
  let attempts = 0
  const app = await build(
    t,
    notes({
      storage: modified(() => ({
        replace: async () => (++attempts === 1 ? { refused: 'stale' } : { refused: 'not-unique', properties: ['text'] })
      }))
    })
  )
  const { at } = await created(app, '/notes', { text: 'a' })
  t.match((await request(app, `PATCH ${at}`, { content: { text: 'b' } })).json(), { status: 409, code: 'not-unique' })
  t.equal(attempts, 2)
})

test('a slow writer delays other writers of the item by at most one second', async (t) => {
  const [stuck, waiting] = [gate(), gate()]
  let tries = 0
  const app = await build(
    t,
    notes({
      hooks: {
        beforeValidation: async ({ item }) => {
          if (item.text !== 'slow' || ++tries === 1) return item
          waiting.open()
          await stuck.opened
          return item
        }
      },
      storage: modified((storage) => ({
        replace: async (id, item, expected, context) =>
          (item as { text: string }).text === 'slow'
            ? { refused: 'stale' }
            : storage.replace(id, item, expected, context)
      }))
    })
  )
  const { at } = await created(app, '/notes', { text: 'a' })
  const slow = request(app, `PATCH ${at}`, { content: { text: 'slow' } })
  await waiting.opened
  // Without a timeout in the queue, this would wait for the slow write, which waits for this test.
  t.equal((await request(app, `PATCH ${at}`, { content: { text: 'quick' } })).statusCode, 200)
  stuck.open()
  t.equal((await slow).statusCode, 409)
})

test('a write to an item that is deleted meanwhile returns 404', async (t) => {
  let finds = 0
  const app = await build(
    t,
    notes({
      storage: modified((storage) => ({
        find: async (id, context) => (++finds > 1 ? undefined : storage.find(id, context)),
        replace: async () => ({ refused: 'not-found' })
      }))
    })
  )
  const { at } = await created(app, '/notes', { text: 'a' })
  t.equal((await request(app, `PATCH ${at}`, { content: { text: 'b' } })).statusCode, 404)
})

test('formats of one version have different tags, and writes accept any (RFC 9110, section 8.8.3.3)', async (t) => {
  const app = await build(t, users())
  const { at } = await created(app, '/users', ada)
  const types = ['application/json', 'application/hal+json', 'application/xml']
  for (const url of [at, '/users']) {
    const tags = await Promise.all(
      types.map(async (accept) => String((await request(app, `GET ${url}`, { fields: { accept } })).headers.etag))
    )
    t.equal(new Set(tags).size, 3)
    t.ok(
      tags.every((tag) => /^"[^"]+"$/.test(tag)),
      'strong tags'
    )
    t.equal(
      (await request(app, `GET ${url}`, { fields: { accept: types[0]!, 'if-none-match': tags[1]! } })).statusCode,
      200,
      'the tag of another representation does not match'
    )
  }
  for (const accept of types) {
    const tag = String((await request(app, `GET ${at}`, { fields: { accept } })).headers.etag)
    t.equal(
      (await request(app, `PATCH ${at}`, { content: { name: accept }, fields: { 'if-match': tag } })).statusCode,
      200,
      accept
    )
  }
})

test('the ETag of a list changes with its items and its page links (RFC 9110, section 8.8.1)', async (t) => {
  const app = await build(t, notes())
  for (const accept of ['application/json', 'application/hal+json', 'application/xml']) {
    const get = async () => {
      const {
        headers: { etag },
        payload
      } = await request(app, 'GET /notes?limit=2', { fields: { accept } })
      return { etag, payload }
    }
    const seen = [await get()]
    const first = await created(app, '/notes', { text: 'a' })
    seen.push(await get())
    const second = await created(app, '/notes', { text: 'b' })
    seen.push(await get())
    await request(app, `PATCH ${first.at}`, { content: { text: 'c' } })
    seen.push(await get())
    const third = await created(app, '/notes', { text: 'd' })
    seen.push(await get())
    await request(app, `DELETE ${second.at}`)
    seen.push(await get())
    for (const [index, one] of seen.entries()) {
      for (const other of seen.slice(index + 1)) {
        if (one.payload !== other.payload) t.not(one.etag, other.etag, `${accept}: ${one.payload} / ${other.payload}`)
      }
    }
    t.equal((await get()).etag, seen.at(-1)?.etag, 'the tag stays the same until the item changes')
    for (const { at } of [first, third]) await request(app, `DELETE ${at}`)
  }
})

test('all responses have Cache-Control and Vary (RFC 9111, section 5.2; RFC 9110, section 12.5.5)', async (t) => {
  const app = await build(
    t,
    users({
      routes: {
        update: {
          preHandler: async () => {
            throw new Error('boom')
          }
        }
      }
    })
  )
  const { at, tag } = await created(app, '/users', ada)
  const rows: ReadonlyArray<
    readonly [target: string, status: number, control: string, fields?: Record<string, string>, content?: unknown]
  > = [
    ['GET /users', 200, 'no-cache'],
    [`HEAD ${at}`, 200, 'no-cache'],
    [`GET ${at}`, 304, 'no-cache', { 'if-none-match': tag }],
    [`GET ${nowhere}`, 404, 'no-cache'],
    ['GET /users/no-uuid', 404, 'no-cache'],
    [`GET /users/${'x'.repeat(200)}`, 404, 'no-cache'],
    [`GET ${at}`, 406, 'no-cache', { accept: 'image/png' }],
    [`GET ${at}`, 412, 'no-store', { 'if-match': stale }],
    ['GET /users?limit=0', 400, 'no-store'],
    [`POST ${at}`, 405, 'no-store'],
    ['TRACE /users', 405, 'no-store'],
    ['OPTIONS /users', 204, 'no-store'],
    ['POST /users', 400, 'no-store', {}, '{'],
    ['POST /users', 415, 'no-store', { 'content-type': 'text/csv' }, 'a'],
    ['POST /users', 422, 'no-store', {}, {}],
    ['POST /users', 409, 'no-store', {}, ada],
    [`PUT ${at}`, 200, 'no-store', {}, ada],
    [`PATCH ${at}`, 500, 'no-store', {}, {}],
    [`DELETE ${at}`, 204, 'no-store']
  ]
  for (const [target, status, control, fields = {}, content] of rows) {
    const answer = await request(app, target, { content, fields })
    t.equal(answer.statusCode, status, target)
    t.equal(answer.headers['cache-control'], control, `${status} of ${target}`)
    t.equal(answer.headers.vary, 'Accept', `${status} of ${target}`)
  }
})

test('requests with credentials get no-store unless a policy is set (RFC 9111, section 3.5)', async (t) => {
  const app = await build(t, [
    users(),
    notes({ cache: { read: 'public, max-age=60' } }),
    define({
      name: 'all',
      schema: Type.Object({ id: Type.String({ format: 'uuid' }) }),
      storage: memory(),
      cache: 'max-age=5'
    })
  ])
  const { at } = await created(app, '/users', ada)
  const note = await created(app, '/notes', { text: 'a' })
  const control = async (target: string, fields: Record<string, string> = {}) =>
    (await request(app, target, { fields })).headers['cache-control']
  for (const fields of [{ authorization: 'Bearer x' }, { cookie: 'a=b' }] as Array<Record<string, string>>) {
    t.equal(await control(`GET ${at}`, fields), 'no-store')
    t.equal(await control('GET /users', fields), 'no-store')
    t.equal(await control(`GET ${nowhere}`, fields), 'no-store')
    t.equal(await control(`GET ${note.at}`, fields), 'public, max-age=60')
    t.equal(await control('GET /notes', fields), 'no-store')
    t.equal(await control('GET /all', fields), 'max-age=5')
  }
  t.equal(await control(`GET ${note.at}`), 'public, max-age=60')
  t.equal(await control(`HEAD ${note.at}`), 'public, max-age=60')
  t.equal(await control(`GET ${note.at}`, { 'if-none-match': note.tag }), 'public, max-age=60')
  t.equal(await control('GET /notes'), 'no-cache')
  t.equal(await control('GET /all/x'), 'no-cache', 'the policy applies to successful responses only')
  t.equal(await control(`DELETE ${note.at}`), 'no-store')
})

test('Vary keeps the values that the app has set (RFC 9110, section 12.5.5)', async (t) => {
  for (const [given, expected] of [
    ['Origin', 'Origin, Accept'],
    ['Origin, accept', 'Origin, accept'],
    [['Origin', 'X'], 'Origin, X, Accept'],
    ['*', '*']
  ] as const) {
    const app = await build(t, [])
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('vary', given)
    })
    await app.register(collection, notes())
    t.equal((await request(app, 'GET /notes')).headers.vary, expected)
    t.equal((await request(app, 'GET /notes/x')).headers.vary, expected)
  }
})

test('formats are negotiated by q-values, and 406 lists them (RFC 9110, sections 12.5.1 and 15.5.7)', async (t) => {
  const app = await build(t, users())
  const { at } = await created(app, '/users', ada)
  for (const [accept, type] of [
    ['*/*', 'application/json'],
    ['application/*', 'application/json'],
    ['application/xml', 'application/xml'],
    ['application/hal+json;q=0.5, application/xml;q=0.4', 'application/hal+json'],
    ['application/json;q=0, */*', 'application/hal+json'],
    ['application/json;q=0, application/hal+json;q=0, */*;q=0.1', 'application/xml'],
    ['text/html, application/xml;q=0.9, */*;q=0.8', 'application/xml']
  ] as const) {
    for (const url of [at, '/users']) {
      t.equal((await request(app, `GET ${url}`, { fields: { accept } })).headers['content-type'], type, accept)
    }
  }
  for (const accept of [
    'image/png',
    'application/json;q=0, application/xml;q=0, application/hal+json;q=0',
    '*/*;q=0'
  ]) {
    for (const target of [`GET ${at}`, 'GET /users', 'POST /users', `PUT ${at}`, `PATCH ${at}`]) {
      const answer = await request(app, target, { content: target.startsWith('G') ? undefined : {}, fields: { accept } })
      t.equal(answer.statusCode, 406, target)
      t.equal(answer.headers['content-type'], 'application/problem+json')
      t.strictSame(answer.json().available, [
        'application/json',
        'application/hal+json',
        'application/xml',
        'application/vnd.fastify-collections.entries+json'
      ])
    }
  }
  t.equal((await request(app, `DELETE ${at}`, { fields: { accept: 'image/png' } })).statusCode, 204)
})

test('XML can be sent and received', async (t) => {
  const app = await build(t, users())
  const posted = await request(app, 'POST /users', {
    content: '<item><email>ada@example.com</email><name>A &amp; B</name><age>36</age></item>',
    type: 'application/xml',
    fields: { accept: 'application/xml' }
  })
  t.equal(posted.statusCode, 201)
  t.match(posted.payload, '<name>A &amp; B</name>')
  const at = String(posted.headers.location)
  t.match((await request(app, `GET ${at}`)).json(), { name: 'A & B', age: 36 })
  const put = await request(app, `PUT ${at}`, { content: posted.payload, type: 'application/xml' })
  t.equal(put.statusCode, 200, 'the item of a GET can be sent with PUT')
  t.match(
    (await request(app, 'GET /users', { fields: { accept: 'application/xml' } })).payload,
    /^<\?xml.*\n<items><item>.*<\/item><\/items>$/
  )
  t.equal(
    (
      await request(app, 'POST /users', {
        content: '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><item>&e;</item>',
        type: 'application/xml'
      })
    ).statusCode,
    400
  )
})
