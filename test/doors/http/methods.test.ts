import { test } from 'tap'
import Fastify from 'fastify'
import type { LightMyRequestResponse } from 'fastify'
import { Type } from '@sinclair/typebox'
import collection, { define } from '../../../lib/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { ada, build, created, notes, request, users } from '../../app.ts'
import { controlClock } from '../../clock.ts'
import { listen, Wire } from '../../wire.ts'

const nowhere = '/users/018f4e6a-0000-7000-8000-000000000000'
const itemMethods = 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'
const listMethods = 'GET, HEAD, POST, QUERY, OPTIONS'

function getFields ({ headers }: LightMyRequestResponse): Record<string, unknown> {
  const { date, connection, ...fields } = headers
  return fields
}

test('POST returns 201 with Location, Content-Location and ETag (RFC 9110, sections 9.3.3 and 15.3.2)', async (t) => {
  const app = await build(t, users())
  const answer = await request(app, 'POST /users', { content: { ...ada, password: 'secret' } })
  const item = answer.json()
  t.equal(answer.statusCode, 201)
  t.match(item, { id: /^[0-9a-f-]{36}$/, ...ada, role: 'reader', createdAt: /Z$/, updatedAt: item.createdAt })
  t.notOk('password' in item)
  t.strictSame(getFields(answer), {
    location: `/users/${item.id}`,
    'content-location': `/users/${item.id}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(answer.payload)),
    etag: answer.headers.etag,
    link: '</users>; rel="collection"',
    'cache-control': 'no-store',
    vary: 'Accept',
    'x-content-type-options': 'nosniff'
  })
  const read = await request(app, `GET ${answer.headers.location}`)
  t.equal(read.statusCode, 200)
  t.equal(read.payload, answer.payload)
  t.equal(read.headers.etag, answer.headers.etag)
})

test('GET of an item returns exactly the headers of its representation (RFC 9110, section 9.3.1)', async (t) => {
  const clock = controlClock(t)
  const app = await build(t, users())
  clock.advance(60_000)
  const { at, tag, item } = await created(app, '/users', ada)
  clock.advance(60_000)
  const answer = await request(app, `GET ${at}`)
  t.equal(answer.statusCode, 200)
  t.strictSame(answer.json(), item)
  t.strictSame(getFields(answer), {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(answer.payload)),
    etag: tag,
    'last-modified': new Date(String(item.updatedAt)).toUTCString(),
    link: '</users>; rel="collection"',
    'cache-control': 'no-cache',
    vary: 'Accept',
    'x-content-type-options': 'nosniff'
  })
})

test('GET of a list returns a bare array and its ETag', async (t) => {
  const app = await build(t, users())
  t.equal((await request(app, 'GET /users')).payload, '[]')
  const { item } = await created(app, '/users', ada)
  const answer = await request(app, 'GET /users')
  t.strictSame(answer.json(), [item])
  t.strictSame(getFields(answer), {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(answer.payload)),
    etag: answer.headers.etag,
    'cache-control': 'no-cache',
    vary: 'Accept',
    'x-content-type-options': 'nosniff'
  })
})

test('HEAD returns the headers of GET, with Content-Length and no content (RFC 9110, section 9.3.2)', async (t) => {
  const app = await build(t, users())
  const { at } = await created(app, '/users', { ...ada, name: 'Adæ' })
  const wire = new Wire(await listen(app))
  t.teardown(() => wire.close())
  for (const url of [at, '/users', '/users?limit=1', nowhere, '/users?limit=0']) {
    const get = await wire.ask(`GET ${url}`)
    const head = await wire.ask(`HEAD ${url}`)
    t.equal(head.status, get.status, url)
    t.strictSame({ ...head.fields, date: '' }, { ...get.fields, date: '' }, url)
    t.equal(head.fields['content-length'], String(get.content.length), url)
    t.equal(wire.rest.length, 0, 'nothing follows the header section')
  }
})

test('PUT returns 200, or 204 for return=minimal (RFC 9110, section 9.3.4; RFC 7240, section 4.2)', async (t) => {
  const app = await build(t, users())
  const { at, item, tag } = await created(app, '/users', { ...ada, age: 36, password: 'secret' })
  const answer = await request(app, `PUT ${at}`, { content: { ...ada, name: 'Countess' } })
  t.equal(answer.statusCode, 200)
  t.match(answer.json(), { id: item.id, name: 'Countess', role: 'reader', createdAt: item.createdAt })
  t.notOk('age' in answer.json(), 'omitted properties are removed')
  t.strictSame(getFields(answer), {
    'content-location': at,
    link: '</users>; rel="collection"',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(answer.payload)),
    'cache-control': 'no-store',
    vary: 'Accept',
    'x-content-type-options': 'nosniff'
  })
  t.not((await request(app, `GET ${at}`)).headers.etag, tag)
  const minimal = await request(app, `PUT ${at}`, { content: ada, fields: { prefer: 'return=minimal' } })
  t.equal(minimal.statusCode, 204)
  t.equal(minimal.payload, '')
  t.strictSame(getFields(minimal), {
    link: '</users>; rel="collection"',
    'cache-control': 'no-store',
    vary: 'Accept',
    'x-content-type-options': 'nosniff',
    'preference-applied': 'return=minimal'
  })
  const whole = await request(app, `PUT ${at}`, { content: ada, fields: { prefer: 'return=representation' } })
  t.equal(whole.statusCode, 200)
  t.equal(whole.headers['preference-applied'], 'return=representation')
})

test('PUT returns an ETag only if the item is stored as sent (RFC 9110, section 9.3.4)', async (t) => {
  const app = await build(t, notes())
  const { at, item } = await created(app, '/notes', { text: 'a' })
  const equal = await request(app, `PUT ${at}`, { content: { id: item.id, text: 'b' } })
  t.equal(equal.statusCode, 200)
  t.equal(equal.headers.etag, (await request(app, `GET ${at}`)).headers.etag)
  const spaced = await request(app, `PUT ${at}`, { content: `{ "id": "${item.id}", "text": "c" }` })
  t.equal(spaced.statusCode, 200)
  t.notOk('etag' in spaced.headers)
  t.notOk('last-modified' in spaced.headers)
  const xml = await request(app, `PUT ${at}`, {
    content: { id: item.id, text: 'd' },
    fields: { accept: 'application/xml' }
  })
  t.equal(xml.headers['content-type'], 'application/xml')
  t.notOk('etag' in xml.headers)
})

test('PUT to a missing id returns 404, or 201 if put.create is set (RFC 9110, section 9.3.4)', async (t) => {
  const app = await build(t, [users(), notes({ put: { create: true } })])
  t.equal((await request(app, `PUT ${nowhere}`, { content: ada })).statusCode, 404)
  const at = nowhere.replace('users', 'notes')
  const answer = await request(app, `PUT ${at}`, { content: { text: 'new' } })
  t.equal(answer.statusCode, 201)
  t.equal(answer.headers.location, at)
  t.equal(answer.headers['content-location'], at)
  t.strictSame((await request(app, `GET ${at}`)).json(), answer.json())
  t.equal((await request(app, `PUT ${at}`, { content: { text: 'again' } })).statusCode, 200)
  const minimal = await request(app, `PUT ${at.replace(/0$/, '1')}`, {
    content: { text: 'new' },
    fields: { prefer: 'return=minimal' }
  })
  t.equal(minimal.statusCode, 201)
  t.equal(minimal.payload, '')
  t.equal(minimal.headers['content-length'], '0')
  const contradiction = await request(app, `PUT ${at.replace(/0$/, '2')}`, { content: { id: at.slice(7), text: 'other' } })
  t.equal(contradiction.statusCode, 422)
  t.match(contradiction.json().errors, [{ pointer: '/id', message: /differs from the URI/ }])
  t.equal(
    (await request(app, 'PUT /notes/no-uuid', { content: { text: 'x' } })).statusCode,
    404,
    'an invalid id is not created'
  )
})

test('PATCH returns the ETag with 200, or with 204 for Prefer: return=minimal (RFC 5789, section 2.1)', async (t) => {
  const app = await build(t, users())
  const { at, item } = await created(app, '/users', { ...ada, age: 36, address: { city: 'London', zip: 'W1' } })
  const answer = await request(app, `PATCH ${at}`, {
    content: { age: null, address: { zip: null } },
    type: 'application/merge-patch+json'
  })
  t.equal(answer.statusCode, 200)
  t.strictSame(answer.json(), {
    id: item.id,
    email: ada.email,
    name: ada.name,
    role: 'reader',
    createdAt: item.createdAt,
    updatedAt: answer.json().updatedAt,
    address: { city: 'London' }
  })
  t.equal(answer.headers['content-location'], at)
  t.equal(answer.headers.etag, (await request(app, `GET ${at}`)).headers.etag)
  const minimal = await request(app, `PATCH ${at}`, { content: { age: 37 }, fields: { prefer: 'return=minimal' } })
  t.equal(minimal.statusCode, 204)
  t.equal(minimal.headers.etag, (await request(app, `GET ${at}`)).headers.etag)
  t.equal(minimal.headers['preference-applied'], 'return=minimal')
  t.equal((await request(app, `GET ${at}`)).json().age, 37)
  t.equal((await request(app, `PATCH ${nowhere}`, { content: {} })).statusCode, 404)
})

test('PATCH applies a JSON Patch as a whole or not at all (RFC 6902; RFC 5789, section 2.2)', async (t) => {
  const app = await build(t, users())
  const { at, tag } = await created(app, '/users', { ...ada, password: 'secret' })
  const patch = (content: unknown) => request(app, `PATCH ${at}`, { content, type: 'application/json-patch+json' })
  const failed = await patch([
    { op: 'replace', path: '/name', value: 'B' },
    { op: 'test', path: '/role', value: 'admin' }
  ])
  t.equal(failed.statusCode, 409)
  t.match(failed.json(), { code: 'patch-test-failed', operation: 1, pointer: '/role' })
  const lost = await patch([
    { op: 'replace', path: '/name', value: 'B' },
    { op: 'remove', path: '/nothing' }
  ])
  t.equal(lost.statusCode, 422)
  t.match(lost.json(), { code: 'patch-not-applicable', operation: 1, pointer: '/nothing' })
  const malformed = await patch([{ op: 'jump', path: '/name' }])
  t.equal(malformed.statusCode, 400)
  t.match(malformed.json(), { code: 'malformed-content', operation: 0 })
  const invalid = await patch([{ op: 'replace', path: '/name', value: '' }])
  t.equal(invalid.statusCode, 422)
  t.match(invalid.json(), { code: 'validation-failed', errors: [{ pointer: '/name' }] })
  t.match((await patch([{ op: 'replace', path: '/id', value: 'x' }])).json(), {
    status: 422,
    errors: [{ pointer: '/id', message: 'is read-only' }]
  })
  t.equal(
    (await patch([{ op: 'test', path: '/password', value: 'secret' }])).statusCode,
    422,
    'a test reveals nothing about writeOnly properties'
  )
  t.equal((await patch([{ op: 'copy', from: '/password', path: '/name' }])).statusCode, 422)
  t.equal((await request(app, `GET ${at}`)).headers.etag, tag, 'nothing was written')
  const done = await patch([
    { op: 'test', path: '/name', value: 'Ada' },
    { op: 'replace', path: '/name', value: 'B' },
    { op: 'add', path: '/age', value: 3 }
  ])
  t.match(done.json(), { name: 'B', age: 3 })
})

test('DELETE returns 204, or 200 with the item if preferred, then 404 (RFC 9110, section 9.3.5)', async (t) => {
  const seen: unknown[] = []
  const app = await build(
    t,
    users({
      hooks: {
        afterCommit: ({ action, before, after }) => {
          seen.push([action, before?.name, after?.name])
        }
      }
    })
  )
  const first = await created(app, '/users', ada)
  const bare = await request(app, `DELETE ${first.at}`, { fields: { 'content-type': 'application/json' } })
  t.equal(bare.statusCode, 204)
  t.strictSame(getFields(bare), { 'cache-control': 'no-store', vary: 'Accept', 'x-content-type-options': 'nosniff' })
  for (const method of ['DELETE', 'GET', 'HEAD', 'PATCH']) {
    t.equal((await request(app, `${method} ${first.at}`)).statusCode, 404, method)
  }
  const second = await created(app, '/users', ada)
  const shown = await request(app, `DELETE ${second.at}`, { fields: { prefer: 'return=representation' } })
  t.equal(shown.statusCode, 200)
  t.strictSame(shown.json(), second.item)
  t.equal(shown.headers['preference-applied'], 'return=representation')
  t.notOk('etag' in shown.headers, 'a removed item has no tag')
  t.notOk('content-location' in shown.headers)
  const third = await created(app, '/users', ada)
  t.equal(
    (
      await request(app, `DELETE ${third.at}`, {
        content: 'anything',
        type: 'text/plain',
        fields: { prefer: 'return=minimal', accept: 'image/png' }
      })
    ).statusCode,
    204
  )
  t.strictSame(
    seen.filter((change) => (change as string[])[0] === 'remove'),
    Array(3).fill(['remove', 'Ada', undefined])
  )
})

test('DELETE without hooks returns 204, and 404 if it is repeated', async (t) => {
  const app = await build(t, notes())
  const { at } = await created(app, '/notes', { text: 'a' })
  t.equal((await request(app, `DELETE ${at}`)).statusCode, 204)
  t.equal((await request(app, `DELETE ${at}`)).statusCode, 404)
  t.equal((await request(app, `DELETE ${at}`, { fields: { prefer: 'return=representation' } })).statusCode, 404)
})

test('OPTIONS returns Allow (RFC 9110, section 9.3.7; RFC 5789, section 3.1; RFC 10008, section 3)', async (t) => {
  const app = await build(t, users())
  const list = await request(app, 'OPTIONS /users', { fields: { 'if-match': '"x"' } })
  t.equal(list.statusCode, 204)
  t.strictSame(getFields(list), {
    allow: listMethods,
    'accept-post': 'application/json, application/xml',
    'accept-query': 'application/json',
    'cache-control': 'no-store',
    vary: 'Accept',
    'x-content-type-options': 'nosniff'
  })
  const item = await request(app, `OPTIONS ${nowhere}`, { fields: { 'if-none-match': '*' } })
  t.equal(item.statusCode, 204)
  t.strictSame(getFields(item), {
    allow: itemMethods,
    'accept-patch': 'application/merge-patch+json, application/json-patch+json, application/json',
    'cache-control': 'no-store',
    vary: 'Accept',
    'x-content-type-options': 'nosniff'
  })
})

test('every other known method returns 405 with the right Allow header (RFC 9110, section 15.5.6)', async (t) => {
  const app = await build(t, users())
  for (const [url, allow] of [
    ['/users', listMethods],
    [nowhere, itemMethods],
    ['/users/no-uuid', itemMethods]
  ] as const) {
    const refused = app.supportedMethods.filter((method) => !allow.split(', ').includes(method))
    t.ok(refused.includes('TRACE'))
    t.equal(refused.includes('QUERY'), url !== '/users')
    for (const method of refused) {
      const answer = await request(app, `${method} ${url}`)
      t.equal(answer.statusCode, 405, `${method} ${url}`)
      t.equal(answer.headers.allow, allow)
      t.equal(answer.headers['content-type'], 'application/problem+json')
      t.match(answer.json(), {
        status: 405,
        title: 'Method Not Allowed',
        type: 'about:blank',
        instance: url,
        code: 'method-not-allowed'
      })
    }
  }
})

test('`actions` that are left out return 405 and are missing from Allow, HEAD with GET', async (t) => {
  const app = await build(t, [users({ actions: ['read', 'update'] }), notes({ actions: [] })])
  for (const [target, allow] of [
    ['GET /users', 'OPTIONS'],
    ['HEAD /users', 'OPTIONS'],
    ['POST /users', 'OPTIONS'],
    [`PUT ${nowhere}`, 'GET, HEAD, PATCH, OPTIONS'],
    [`DELETE ${nowhere}`, 'GET, HEAD, PATCH, OPTIONS'],
    ['GET /notes/1', 'OPTIONS']
  ] as const) {
    const answer = await request(app, target)
    t.equal(answer.statusCode, 405, target)
    t.equal(answer.headers.allow, allow)
  }
  t.equal((await request(app, `GET ${nowhere}`)).statusCode, 404)
  const options = await request(app, 'OPTIONS /users')
  t.equal(options.headers.allow, 'OPTIONS')
  t.notOk('accept-post' in options.headers)
  t.notOk('accept-patch' in (await request(app, 'OPTIONS /notes/1')).headers)
})

test('405, 406 and 415 are sent before content is read (RFC 9110, sections 9.3 and 15.5.6)', async (t) => {
  const app = await build(t, users())
  const wire = new Wire(await listen(app))
  t.teardown(() => wire.close())
  for (const [head, status] of [
    [['PATCH /users', 'Content-Type: application/json'], 405],
    [['POST /users', 'Content-Type: application/json', 'Accept: image/png'], 406],
    [['POST /users', 'Content-Type: text/csv'], 415],
    [['POST /users', 'Content-Type: application/json', 'Content-Encoding: zstd'], 415],
    [['PUT /users/1', 'Content-Type: application/json', 'Content-Range: bytes 0-1/2'], 400]
  ] as const) {
    wire.write([...head, 'Content-Length: 5'], '{')
    const answer = await wire.answer()
    t.equal(answer.status, status, 'the response does not wait for the content')
    wire.socket.write('xxxx')
    t.equal((await wire.ask('GET /users')).status, 200)
  }
})

test('headers that override the method are ignored', async (t) => {
  const app = await build(t, users())
  const { at } = await created(app, '/users', ada)
  t.equal(
    (
      await request(app, `GET ${at}`, {
        fields: { 'x-http-method-override': 'DELETE', 'x-method-override': 'DELETE', 'x-http-method': 'DELETE' }
      })
    ).statusCode,
    200
  )
  t.equal((await request(app, `POST ${at}`, { fields: { 'x-http-method-override': 'DELETE' } })).statusCode, 405)
  t.equal((await request(app, `GET ${at}?_method=DELETE`)).statusCode, 400)
  t.equal((await request(app, `GET ${at}`)).statusCode, 200)
})

test('204 and 304 have neither Content-Length nor Content-Type (RFC 9110, sections 8.6 and 15.4.5)', async (t) => {
  const app = await build(t, users())
  const { at, tag } = await created(app, '/users', ada)
  const wire = new Wire(await listen(app))
  t.teardown(() => wire.close())
  for (const [head, content, status] of [
    [[`GET ${at}`, `If-None-Match: ${tag}`], '', 304],
    [[`HEAD ${at}`, `If-None-Match: ${tag}`], '', 304],
    [['GET /users', 'If-None-Match: *'], '', 304],
    [['OPTIONS /users'], '', 204],
    [[`PATCH ${at}`, 'Content-Type: application/json', 'Prefer: return=minimal'], '{}', 204],
    [[`DELETE ${at}`], '', 204]
  ] as const) {
    const answer = await wire.ask(head, content)
    t.equal(answer.status, status)
    for (const field of ['content-length', 'content-type', 'transfer-encoding']) {
      t.notOk(field in answer.fields, `${head[0]} has no ${field}`)
    }
    t.ok(answer.fields.date)
    t.equal(wire.rest.length, 0)
  }
})

test('content can be chunked or follow 100-continue (RFC 9112, section 7.1; RFC 9110, section 10.1.1)', async (t) => {
  const app = await build(t, users())
  const wire = new Wire(await listen(app))
  t.teardown(() => wire.close())
  wire.write(['POST /users', 'Content-Type: application/json', 'Transfer-Encoding: chunked'])
  const content = JSON.stringify(ada)
  for (const part of [content.slice(0, 7), content.slice(7), '']) {
    wire.socket.write(`${part.length.toString(16)}\r\n${part}\r\n`)
  }
  t.equal((await wire.answer()).status, 201)
  wire.write(['POST /users', 'Content-Type: application/json', 'Content-Length: 11', 'Expect: 100-continue'])
  t.equal((await wire.answer()).status, 100)
  wire.socket.write('{"name":""}')
  t.equal((await wire.answer()).status, 422)
  t.equal((await wire.ask('GET /users')).status, 200)
})

test('Range is ignored and never returns 206 (RFC 9110, section 14.2)', async (t) => {
  const app = await build(t, users())
  const { at, item } = await created(app, '/users', ada)
  for (const range of ['bytes=0-3', 'users=0-24', 'nonsense']) {
    const answer = await request(app, `GET ${at}`, { fields: { range } })
    t.equal(answer.statusCode, 200)
    t.strictSame(answer.json(), item)
  }
})

test('409 names the property that must be unique', async (t) => {
  const app = await build(t, users())
  await created(app, '/users', ada)
  const { at } = await created(app, '/users', { ...ada, email: 'b@example.com' })
  for (const target of ['POST /users', `PUT ${at}`, `PATCH ${at}`]) {
    const answer = await request(app, target, { content: ada })
    t.equal(answer.statusCode, 409, target)
    t.match(answer.json(), {
      code: 'not-unique',
      status: 409,
      detail: 'Another item has this email already.',
      errors: [{ pointer: '/email', message: 'must be unique' }]
    })
  }
})

test('PUT that creates returns 409 if a unique value already exists', async (t) => {
  const app = await build(t, users({ put: { create: true } }))
  await created(app, '/users', ada)
  t.match((await request(app, `PUT ${nowhere}`, { content: ada })).json(), {
    status: 409,
    code: 'not-unique',
    errors: [{ pointer: '/email' }]
  })
  t.equal((await request(app, `GET ${nowhere}`)).statusCode, 404)
})

test('problems have an absolute type if the service sets a base (RFC 9457, section 3.1.1)', async (t) => {
  const app = await build(t, users(), { service: { problems: 'https://example.com/problems/' } })
  t.strictSame((await request(app, `DELETE ${nowhere}?x=1`)).json(), {
    type: 'https://example.com/problems/invalid-query',
    title: 'A query parameter is invalid',
    status: 400,
    detail: 'The query parameter "x" is unknown. This request takes no query parameters.',
    instance: nowhere,
    code: 'invalid-query',
    parameter: 'x'
  })
})

test('422 reports all invalid properties together, each with its JSON Pointer (RFC 6901)', async (t) => {
  const app = await build(t, users())
  const answer = await request(app, 'POST /users', { content: { email: 'no', age: -1, extra: 1, address: { zip: 5 } } })
  t.equal(answer.statusCode, 422)
  t.strictSame(
    answer
      .json()
      .errors.map(({ pointer }: { pointer: string }) => pointer)
      .sort(),
    ['/address/city', '/address/zip', '/age', '/email', '/extra', '/name']
  )
  t.equal(answer.json().detail, '6 properties are invalid.')
})

test('slugs and integer ids are decoded from the URI (RFC 3986, section 2.1)', async (t) => {
  const Page = Type.Object({ slug: Type.String({ minLength: 1 }), title: Type.String() })
  const Counter = Type.Object({ id: Type.Integer({ minimum: 1 }), label: Type.String() })
  const app = Fastify({ routerOptions: { maxParamLength: 100 } })
  t.teardown(() => app.close())
  await app.register(
    collection,
    define({
      name: 'pages',
      schema: Page,
      storage: memory(),
      id: { property: 'slug', generate: 'client' },
      put: { create: true }
    })
  )
  await app.register(
    collection,
    define({ name: 'counters', schema: Counter, storage: memory(), id: { generate: 'storage' } })
  )
  for (const slug of ['a/b', 'ä ö', '100%', 'x'.repeat(300), 'a?b#c', '..%2f', 'ключ']) {
    const answer = await request(app, 'POST /pages', { content: { slug, title: 't' } })
    t.equal(answer.statusCode, 201, slug)
    const at = String(answer.headers.location)
    t.equal(at, `/pages/${encodeURIComponent(slug)}`)
    const read = await request(app, `GET ${at}`)
    t.equal(read.statusCode, 200, at)
    t.equal(read.json().slug, slug)
    t.equal((await request(app, `HEAD ${at}`)).statusCode, 200)
    t.equal((await request(app, `PUT ${at}`, { content: { slug, title: 'u' } })).statusCode, 200)
    t.equal((await request(app, `PATCH ${at}`, { content: { title: 'v' } })).json().title, 'v')
    t.equal((await request(app, `OPTIONS ${at}`)).headers.allow, itemMethods)
    t.equal((await request(app, `POST ${at}`)).statusCode, 405)
    t.equal((await request(app, 'POST /pages', { content: { slug, title: 't' } })).statusCode, 409, 'never overwritten')
    t.equal((await request(app, `DELETE ${at}`)).statusCode, 204)
  }
  for (const slug of ['.', '..', '']) {
    t.equal(
      (await request(app, 'POST /pages', { content: { slug, title: 't' } })).statusCode,
      422,
      `"${slug}" cannot be part of a URI`
    )
  }
  const long = await request(app, `PUT /pages/${'y'.repeat(200)}`, { content: { slug: 'y'.repeat(200), title: 't' } })
  t.equal(long.statusCode, 201)
  t.equal(long.headers.location, `/pages/${'y'.repeat(200)}`)
  const first = await request(app, 'POST /counters', { content: { label: 'a' } })
  t.equal(first.headers.location, '/counters/1')
  t.equal((await request(app, 'GET /counters/1')).statusCode, 200)
  for (const odd of ['01', '1.0', '+1', '1e0', '0x1', '9007199254740993', '-1', '%20', 'NaN']) {
    t.equal((await request(app, `GET /counters/${odd}`)).statusCode, 404, odd)
  }
})

test('a UUID is accepted in any letter case (RFC 9562, section 4)', async (t) => {
  const app = await build(t, users())
  const { at, item } = await created(app, '/users', ada)
  t.equal((await request(app, `GET /users/${String(item.id).toUpperCase()}`)).statusCode, 200)
  const target = `/users/${String(item.id).toUpperCase()}`
  for (const method of ['PUT', 'PATCH']) {
    t.equal(
      (await request(app, `${method} ${target}`, { content: { email: 'a@example.com', name: 'Ada', password: 'secret' } }))
        .headers['content-location'],
      target,
      'Content-Location is the URL of the request (RFC 9110, section 8.7)'
    )
  }
  t.equal((await request(app, `DELETE /users/${String(item.id).toUpperCase()}`)).statusCode, 204)
  t.equal((await request(app, `GET ${at}`)).statusCode, 404)
})

test('POST to a list with If-None-Match: * returns 412, because the list exists (RFC 9110, section 13.1.2)', async (t) => {
  const app = await build(t, users({ access: { authenticate: ({ request }) => request.headers['x-user']?.toString(), allow: 'authenticated' } }))
  const post = (fields: Record<string, string>) => request(app, 'POST /users', { content: ada, fields })
  const failed = await post({ 'x-user': 'ada', 'if-none-match': '*' })
  t.match([failed.statusCode, failed.json()], [412, { code: 'precondition-failed', detail: /^The list exists/ }])
  t.equal((await post({ 'if-none-match': '*' })).statusCode, 401, 'preconditions come after the rules')
  t.equal((await post({ 'x-user': 'ada', 'if-none-match': '*', 'if-match': '*' })).statusCode, 400)
  t.equal((await post({ 'x-user': 'ada', 'if-none-match': '"x"' })).statusCode, 400)
  t.strictSame((await request(app, 'GET /users', { fields: { 'x-user': 'ada' } })).json(), [], 'nothing was created')
})
