import { once } from 'node:events'
import { connect } from 'node:http2'
import type { IncomingHttpHeaders } from 'node:http2'
import { gunzipSync, gzipSync } from 'node:zlib'
import bearerAuth from '@fastify/bearer-auth'
import compress from '@fastify/compress'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import sensible from '@fastify/sensible'
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { corsOptions } from '../lib/index.ts'
import type { Definition } from '../lib/index.ts'
import { service } from '../lib/app/service.ts'
import { ada, created, notes, request, users } from './app.ts'
import { listen, Wire } from './wire.ts'

// An app with its own plugins, parsers and handlers, with and without collections.

declare module 'fastify' {
  interface FastifyInstance {
    answer: number
  }
  interface FastifyRequest {
    caller: string
  }
  interface FastifyReply {
    shout(text: string): FastifyReply
  }
}

const origin = 'https://app.example'

async function plugins (app: FastifyInstance): Promise<void> {
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'own', version: '1' } } })
  await app.register(sensible)
  await app.register(helmet)
  await app.register(cors, {
    origin: [origin],
    credentials: true,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: ['ETag', 'Location']
  })
  await app.register(compress, { threshold: 100 })
}

async function own (app: FastifyInstance): Promise<void> {
  app.decorate('answer', 42)
  app.decorateRequest('caller', 'anonymous')
  app.decorateReply('shout', function (text) {
    return this.send(text.toUpperCase())
  })
  app.addHook('onSend', async (_request, reply) => {
    reply.header('x-own', 'yes')
  })
  app.setErrorHandler((error, _request, reply) => {
    const {
      message,
      statusCode = 500,
      validation
    } = error as { message: string; statusCode?: number; validation?: unknown }
    return reply.code(statusCode).send({ oops: message, validated: validation !== undefined })
  })
  app.setNotFoundHandler((request, reply) => reply.code(404).send({ lost: request.url }))
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, content, done) => {
    try {
      done(null, { ...JSON.parse(String(content)), parser: 'own' })
    } catch (error) {
      done(Object.assign(error as Error, { statusCode: 400 }))
    }
  })
  app.get('/own', async (request) => ({ answer: request.server.answer, caller: request.caller }))
  app.get('/shout', async (_request, reply) => reply.shout('loud'))
  app.get('/big', async () => ({ text: 'x'.repeat(5000) }))
  app.get('/fail', async () => {
    throw new Error('own failure')
  })
  app.get('/tea', async (request) => {
    throw request.server.httpErrors.imateapot('short')
  })
  app.get('/users/:id/posts', async (request) => ({ posts: (request.params as { id: string }).id }))
  app.post(
    '/own',
    {
      schema: {
        body: {
          type: 'object',
          additionalProperties: false,
          required: ['age'],
          properties: { age: { type: 'integer' }, parser: { type: 'string' }, role: { type: 'string', default: 'x' } }
        },
        response: {
          200: {
            type: 'object',
            properties: { age: { type: 'integer' }, parser: { type: 'string' }, role: { type: 'string' } }
          }
        }
      }
    },
    async (request) => request.body
  )
}

const orders = {
  'plugins first': [plugins, 'collections', own],
  'plugins last': ['collections', own, plugins],
  'everything before': [plugins, own, 'collections'],
  'everything after': ['collections', plugins, own]
} as const

async function app (t: Test, order: keyof typeof orders, collections: readonly Definition[]): Promise<FastifyInstance> {
  const app = Fastify({
    forceCloseConnections: true,
    ajv: { customOptions: { coerceTypes: 'array', removeAdditional: 'all' } }
  })
  t.after(() => app.close())
  for (const step of orders[order]) {
    if (step === 'collections') for (const definition of collections) await app.register(collection, definition)
    else await step(app)
  }
  return app
}

const json = 'Content-Type: application/json'
const preflight = (method: string): string[] => [`Origin: ${origin}`, `Access-Control-Request-Method: ${method}`]

const exchanges: ReadonlyArray<readonly [head: readonly string[], content?: string]> = [
  [['GET /own']],
  [['HEAD /own']],
  [['GET /own', `Origin: ${origin}`]],
  [['GET /shout']],
  [['GET /big', 'Accept-Encoding: gzip']],
  [['HEAD /big', 'Accept-Encoding: gzip']],
  [['GET /fail']],
  [['GET /tea', `Origin: ${origin}`]],
  [['POST /own', json], '{"age":"41","typo":true}'],
  [['POST /own', json], '{"age":"old"}'],
  [['POST /own', json], '{'],
  [['POST /own', 'Content-Type: text/csv'], 'a'],
  [['POST /own', 'Content-Type: text/plain'], 'a'],
  [['PUT /own', json], '{}'],
  [['DELETE /own', json]],
  [['OPTIONS /own']],
  [['OPTIONS /own', ...preflight('POST')]],
  [['GET /nowhere']],
  [['POST /nowhere', json], '{"a":1}'],
  [['GET /users/1/posts']],
  [['HEAD /users/1/posts']],
  [['POST /users/1/posts', json], '{}']
]

async function collectAnswers (app: FastifyInstance, rows: typeof exchanges): Promise<string[]> {
  const port = await listen(app)
  let wire = new Wire(port)
  const answers: string[] = []
  for (const [head, content] of rows) {
    const {
      status,
      fields: { date, ...fields },
      content: received
    } = await wire.ask(head, content)
    if (fields.connection === 'close') wire = new Wire(port)
    answers.push(JSON.stringify([head, status, Object.entries(fields), received.toString('base64')]))
  }
  wire.close()
  return answers
}

for (const order of Object.keys(orders) as Array<keyof typeof orders>) {
  test(`routes of the app send identical bytes with and without collections: ${order}`, async (t) => {
    const alone = await collectAnswers(await app(t, order, []), exchanges)
    const beside = await collectAnswers(await app(t, order, [users(), notes()]), exchanges)
    t.equal(alone.length, exchanges.length)
    for (const [index, answer] of alone.entries()) t.equal(beside[index], answer)
  })
}

test('paths below an item belong to the app, including its 404 handler', async (t) => {
  const rows: typeof exchanges = [
    [['GET /users/1/avatar', `Origin: ${origin}`]],
    [['GET /users/1/avatar/large?x=1']],
    [['HEAD /users/1/avatar']],
    [['DELETE /users/1/avatar']],
    [['GET /users-and-more']],
    [['GET /Users']]
  ]
  for (const order of Object.keys(orders) as Array<keyof typeof orders>) {
    const alone = await collectAnswers(await app(t, order, []), rows)
    const beside = await collectAnswers(await app(t, order, [users(), notes()]), rows)
    for (const [index, answer] of alone.entries()) t.equal(beside[index], answer)
  }
  for (const order of Object.keys(orders) as Array<keyof typeof orders>) {
    const instance = await app(t, order, [users()])
    for (const method of instance.supportedMethods.filter(
      (method) => method !== 'OPTIONS' && method !== 'HEAD' && method !== 'QUERY'
    )) {
      const answer = await request(instance, `${method} /users/1/avatar`)
      t.equal(answer.statusCode, 404, `${method}: ${order}`)
      t.strictSame(answer.json(), { lost: '/users/1/avatar' })
    }
    t.strictSame((await request(instance, 'GET /users/1/posts')).json(), { posts: '1' })
    t.equal((await request(instance, `GET /users/${'x'.repeat(200)}`)).headers['content-type'], 'application/problem+json')
  }
})

test('collections keep their own validation, parsers and error handling in any app', async (t) => {
  for (const order of Object.keys(orders) as Array<keyof typeof orders>) {
    const instance = await app(t, order, [users()])
    const { at, item } = await created(instance, '/users', ada)
    t.notOk('parser' in item, 'the parser of the app is not used')
    t.equal(
      (await request(instance, 'POST /users', { content: { ...ada, age: '41' } })).statusCode,
      422,
      'nothing is coerced'
    )
    t.equal(
      (await request(instance, 'POST /users', { content: { ...ada, typo: true } })).statusCode,
      422,
      'nothing is dropped'
    )
    for (const target of ['GET /users/none', 'GET /users?x=1', 'TRACE /users', `POST ${at}`]) {
      const answer = await request(instance, target)
      t.equal(answer.headers['content-type'], 'application/problem+json', `${target}: ${order}`)
      t.equal(answer.json().status, answer.statusCode)
    }
    t.equal((await request(instance, `GET ${at}`)).statusCode, 200)
    t.equal((await request(instance, `HEAD ${at}`)).statusCode, 200)
  }
})

test('CORS of the app applies to collections, with preflights and Vary (Fetch Standard, section 3.2)', async (t) => {
  for (const order of Object.keys(orders) as Array<keyof typeof orders>) {
    const instance = await app(t, order, [users()])
    const { at } = await created(instance, '/users', ada)
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const answer = await request(instance, `OPTIONS ${at}`, {
        fields: { origin, 'access-control-request-method': method }
      })
      t.equal(answer.statusCode, 204, order)
      t.equal(answer.headers['access-control-allow-origin'], origin)
      t.match(answer.headers['access-control-allow-methods'], method)
    }
    for (const url of [at, '/users', '/users/none']) {
      const answer = await request(instance, `GET ${url}`, { fields: { origin } })
      t.equal(answer.headers['access-control-allow-origin'], origin, order)
      t.match(answer.headers['access-control-expose-headers'], 'ETag')
      t.match(answer.headers.vary, /Origin/)
      t.match(answer.headers.vary, /Accept\b(?!-)/)
    }
  }
})

test('OPTIONS returns the methods of the collection if @fastify/cors passes it on', async (t) => {
  const instance = Fastify()
  t.after(() => instance.close())
  await instance.register(cors, { origin, strictPreflight: false, preflightContinue: true })
  await instance.register(collection, users())
  const answer = await request(instance, 'OPTIONS /users', { fields: { origin } })
  t.equal(answer.statusCode, 204)
  t.equal(answer.headers.allow, 'GET, HEAD, POST, QUERY, OPTIONS')
})

test('OPTIONS beside @fastify/cors with corsOptions() is that of the collection, except for preflights', async (t) => {
  for (const order of ['before', 'after'] as const) {
    const instance = Fastify()
    t.after(() => instance.close())
    if (order === 'before') await instance.register(cors, { origin, ...corsOptions() })
    await instance.register(collection, users())
    if (order === 'after') await instance.register(cors, { origin, ...corsOptions() })
    const alone = Fastify()
    t.after(() => alone.close())
    await alone.register(collection, users())
    for (const path of ['/users', '/users/1']) {
      const expected = await request(alone, `OPTIONS ${path}`)
      const { statusCode, headers } = await request(instance, `OPTIONS ${path}`, { fields: { origin } })
      t.equal(statusCode, expected.statusCode)
      t.match(headers, { ...expected.headers, date: String, vary: /^Access-Control-Request-Headers, Accept$/ }, `${path}, ${order}`)
      t.equal(headers['access-control-allow-origin'], origin)
      t.notOk('content-length' in headers)
    }
    const preflight = await request(instance, 'OPTIONS /users/1', { fields: { origin, 'access-control-request-method': 'PUT' } })
    t.strictSame([preflight.statusCode, preflight.headers.allow], [204, undefined])
    t.match(preflight.headers['access-control-allow-methods'], 'PUT')
  }
})

test('OPTIONS beside @fastify/cors names the methods that the caller may use', async (t) => {
  const instance = Fastify()
  t.after(() => instance.close())
  await instance.register(cors, { origin, ...corsOptions() })
  await instance.register(collection, users({
    access: {
      authenticate: ({ request: { headers } }) => headers.authorization,
      allow: { all: 'authenticated', list: 'public' }
    }
  }))
  const getAllow = async (fields: Record<string, string>): Promise<unknown> => (
    (await request(instance, 'OPTIONS /users', { fields: { origin, ...fields } })).headers.allow
  )
  t.equal(await getAllow({}), 'GET, HEAD, QUERY, OPTIONS')
  t.equal(await getAllow({ authorization: 'Bearer ada' }), 'GET, HEAD, POST, QUERY, OPTIONS')
})

test('an error that a plugin or a hook of the app sends as an object becomes a problem', async (t) => {
  for (const order of ['before', 'after'] as const) {
    const instance = Fastify({ forceCloseConnections: true })
    t.after(() => instance.close())
    if (order === 'before') await instance.register(bearerAuth, { keys: ['key'] })
    await instance.register(collection, users())
    if (order === 'after') await instance.register(bearerAuth, { keys: ['key'] })
    for (const [target, detail] of [
      ['GET /users', 'missing authorization header'],
      ['POST /users', 'missing authorization header'],
      ['OPTIONS /users', 'missing authorization header'],
      ['GET /users/none', 'missing authorization header']
    ] as const) {
      const answer = await request(instance, target, { fields: { prefer: 'return=minimal' } })
      t.equal(answer.statusCode, 401, `${target}, ${order}`)
      t.equal(answer.headers['content-type'], 'application/problem+json')
      t.equal(answer.headers['www-authenticate'], 'Bearer')
      t.match(answer.json(), { status: 401, code: 'unauthenticated', detail, instance: target.split(' ')[1] })
    }
    const head = await request(instance, 'HEAD /users')
    t.strictSame([head.statusCode, head.payload], [401, ''])
    t.equal((await request(instance, 'GET /users', { fields: { authorization: 'Bearer key' } })).statusCode, 200)
    t.strictSame((await request(instance, 'GET /nowhere')).json(), { error: 'missing authorization header' })
  }
})

test('responses of collections run no hook preSerialization, so that the one for errors of plugins costs nothing', async (t) => {
  const instance = Fastify()
  t.after(() => instance.close())
  let count = 0
  instance.addHook('preSerialization', async (_request, _reply, payload) => {
    count++
    return payload
  })
  await instance.register(collection, users())
  const { at } = await created(instance, '/users', ada)
  for (const target of ['GET /users', `GET ${at}`, `HEAD ${at}`, 'OPTIONS /users', 'GET /users/none', 'TRACE /users']) {
    await request(instance, target)
    await request(instance, target, { fields: { accept: 'application/xml' } })
  }
  await request(instance, `PATCH ${at}`, { content: { age: 'old' } })
  await request(instance, `PUT ${at}`, { content: { ...ada, age: 36 } })
  t.equal((await request(instance, `DELETE ${at}`)).statusCode, 204)
  t.equal(count, 0)
})

test('a hook can send its own problem, and other objects', async (t) => {
  const instance = Fastify()
  t.after(() => instance.close())
  await instance.register(collection, users({
    routes: {
      list: { onRequest: async (_request, reply) => reply.code(202).send({ queued: true }) },
      read: {
        onRequest: async (_request, reply) => reply.code(402).type('application/problem+json').send({ status: 402, bill: 1 })
      },
      create: { preHandler: async (_request, reply) => reply.code(500).send({ message: 'the password of the database' }) }
    }
  }))
  t.strictSame((await request(instance, 'GET /users')).json(), { queued: true })
  t.strictSame((await request(instance, 'GET /users/1')).json(), { status: 402, bill: 1 })
  const failed = await request(instance, 'POST /users', { content: ada })
  t.equal(failed.json().code, 'internal-error')
  t.notMatch(failed.payload, /password/)
})

test('@fastify/compress encodes responses, and request content is decoded once', async (t) => {
  for (const order of Object.keys(orders) as Array<keyof typeof orders>) {
    const instance = await app(t, order, [notes()])
    const text = 'long '.repeat(200)
    const posted = await request(instance, 'POST /notes', {
      content: gzipSync(JSON.stringify({ text })),
      fields: { 'content-encoding': 'gzip' }
    })
    t.equal(posted.statusCode, 201, order)
    const at = String(posted.headers.location)
    const plain = await request(instance, `GET ${at}`)
    t.equal(plain.json().text, text)
    const bad = await request(instance, 'POST /notes', { content: 'no gzip', fields: { 'content-encoding': 'gzip' } })
    t.ok(bad.statusCode >= 400 && bad.statusCode < 500, order)
    t.equal(bad.headers['content-type'], 'application/problem+json')
    for (const coding of ['zstd', 'unheard-of']) {
      const unknown = await request(instance, 'POST /notes', { content: '{}', fields: { 'content-encoding': coding } })
      t.equal(unknown.statusCode, 415)
      t.equal(unknown.headers['content-type'], 'application/problem+json')
      t.strictSame(
        [unknown.json().code, unknown.headers['accept-encoding']],
        ['unsupported-content-coding', 'gzip, deflate, br'],
        `${order}, ${coding}: RFC 9110, section 15.5.16`
      )
    }
    // The plugin sees only the routes that are declared after it, also those of the app.
    if (order === 'plugins last' || order === 'everything after') continue
    const encoded = await request(instance, `GET ${at}`, { fields: { 'accept-encoding': 'gzip' } })
    t.equal(encoded.headers['content-encoding'], 'gzip')
    t.equal(gunzipSync(encoded.rawPayload).toString(), plain.payload)
    t.match(encoded.headers.vary, /accept-encoding/i)
    t.match(encoded.headers.vary, /Accept\b(?!-)/)
    const revalidated = await request(instance, `GET ${at}`, {
      fields: { 'accept-encoding': 'gzip', 'if-none-match': String(encoded.headers.etag) }
    })
    t.equal(revalidated.statusCode, 304)
    // RFC 9110, sections 12.5.5 and 15.4.5: also if nothing was compressed.
    for (const uncompressed of [plain, revalidated, bad]) t.match(uncompressed.headers.vary, /\bAccept-Encoding\b/, order)
    for (const [accepted, status] of [
      ['gzip;q=0.5, br', 304],
      ['*', 304],
      ['identity', 200],
      ['br', 200],
      ['*, gzip;q=0', 200],
      ['gzip;q=0.0, *', 200],
      [undefined, 200]
    ] as const) {
      const { statusCode, headers } = await request(instance, `GET ${at}`, {
        fields: { 'if-none-match': String(encoded.headers.etag), ...accepted && { 'accept-encoding': accepted } }
      })
      t.equal(statusCode, status, `${order}: Accept-Encoding: ${accepted} (RFC 9110, section 13.1.2)`)
      if (status === 304) t.equal(headers.etag, encoded.headers.etag)
      t.match(headers.vary, /\bAccept-Encoding\b/i)
    }
    const tags = { 'if-none-match': `${plain.headers.etag}, ${encoded.headers.etag}` }
    const selected = await request(instance, `GET ${at}`, { fields: { ...tags, 'accept-encoding': 'gzip' } })
    t.strictSame([selected.statusCode, selected.headers.etag], [304, encoded.headers.etag])
    t.notOk('content-encoding' in revalidated.headers)
    // RFC 9110, section 8.8.3.3: each coding has its own tag, a 304 has the tag of the client, and each is valid for
    // a write.
    t.equal(encoded.headers.etag, String(plain.headers.etag).replace(/"$/, '-gzip"'))
    t.equal(revalidated.headers.etag, encoded.headers.etag)
    const listed = await request(instance, `GET ${at}`, {
      fields: { 'accept-encoding': 'gzip', 'if-none-match': `"other", W/${String(encoded.headers.etag)}` }
    })
    t.strictSame([listed.statusCode, listed.headers.etag], [304, encoded.headers.etag])
    const both = await request(instance, `GET ${at}`, {
      fields: { 'if-none-match': `${String(encoded.headers.etag)}, ${String(plain.headers.etag)}` }
    })
    t.strictSame([both.statusCode, both.headers.etag], [304, plain.headers.etag])
    const any = await request(instance, `GET ${at}`, { fields: { 'if-none-match': '*' } })
    t.strictSame([any.statusCode, any.headers.etag], [304, plain.headers.etag])
    const patched = await request(instance, `PATCH ${at}`, {
      content: { text: `${text}!` },
      fields: { 'if-match': String(encoded.headers.etag) }
    })
    t.equal(patched.statusCode, 200)
    const stale = await request(instance, `PATCH ${at}`, {
      content: { text },
      fields: { 'if-match': String(encoded.headers.etag) }
    })
    t.equal(stale.statusCode, 412)
    const head = await request(instance, `HEAD ${at}`, { fields: { 'accept-encoding': 'gzip' } })
    t.equal(head.statusCode, 200)
    t.equal(head.payload, '')
    const invalid = await request(instance, 'POST /notes', {
      content: Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`m${index}`, 1])),
      fields: { 'accept-encoding': 'gzip' }
    })
    t.equal(invalid.statusCode, 422)
    t.equal(JSON.parse(gunzipSync(invalid.rawPayload).toString()).status, 422)
  }
})

test('HEAD beside @fastify/compress has the headers of GET (RFC 9110, sections 8.6 and 9.3.2)', async (t) => {
  // At once, and as a stream, whose length is not known.
  for (const syncThreshold of [1_000_000, 0]) {
    const instance = Fastify({ forceCloseConnections: true })
    t.after(() => instance.close())
    await instance.register(compress, { threshold: 100, syncThreshold })
    await instance.register(service, { audit: false })
    await instance.register(collection, notes())
    const { at } = await created(instance, '/notes', { text: 'long '.repeat(20_000) })
    const { at: small } = await created(instance, '/notes', { text: 'short' })
    const wire = new Wire(await listen(instance))
    for (const path of [at, small, '/notes', '/notes?limit=1', '/notes/none', '/']) {
      for (const accepted of ['gzip', 'br;q=0.5, zstd;q=0', 'identity', undefined]) {
        const head = accepted === undefined ? [] : [`Accept-Encoding: ${accepted}`]
        const getFields = async (method: string): Promise<object> => {
          const { status, fields: { date, 'transfer-encoding': chunked, ...fields } } = await wire.ask([`${method} ${path}`, ...head])
          return { status, fields }
        }
        const expected = await getFields('GET')
        t.strictSame(await getFields('HEAD'), expected, `${path}, Accept-Encoding: ${accepted}, ${syncThreshold}`)
      }
    }
    const { fields } = await wire.ask([`HEAD ${at}`, 'Accept-Encoding: gzip'])
    t.equal(fields['content-encoding'], 'gzip')
    t.match(fields.etag, /-gzip"$/)
    t.equal('content-length' in fields, syncThreshold > 0)
    t.equal((await wire.ask([`HEAD ${at}`, 'Accept-Encoding: gzip', `If-None-Match: ${fields.etag}`])).status, 304)
    wire.close()
  }
})

test('HEAD over HTTP/2 ends for large content', async (t) => {
  const instance = Fastify({ http2: true, forceCloseConnections: true })
  t.after(() => instance.close())
  await instance.register(collection, notes())
  const { at } = await created(instance as unknown as FastifyInstance, '/notes', { text: 'long '.repeat(100_000) })
  const session = connect(`http://127.0.0.1:${await listen(instance as unknown as FastifyInstance)}`)
  t.after(() => session.close())
  const stream = session.request({ ':method': 'HEAD', ':path': at })
  const [headers] = await once(stream, 'response') as [IncomingHttpHeaders]
  t.equal(headers['content-length'], String((await request(instance as unknown as FastifyInstance, `GET ${at}`)).rawPayload.length))
  stream.resume()
  await once(stream, 'end')
})

interface Operation {
  operationId: string
  parameters?: Array<{ name: string; in: string }>
  requestBody?: unknown
  responses: Record<string, unknown>
}

test('@fastify/swagger documents the six operations of each collection with unique operationIds', async (t) => {
  const instance = await app(t, 'everything before', [users(), notes()])
  await instance.register(collection, { ...notes(), prefix: '/v2' })
  await instance.register(
    async (scope) => {
      await scope.register(collection, notes())
    },
    { prefix: '/teams/:team' }
  )
  await instance.ready()
  const { paths = {} } = instance.swagger() as unknown as { paths?: Record<string, Record<string, Operation>> }
  t.strictSame(Object.keys(paths['/users'] ?? {}).sort(), ['get', 'post'])
  t.strictSame(Object.keys(paths['/users/{id}'] ?? {}).sort(), ['delete', 'get', 'patch', 'put'])
  t.ok(paths['/own'], 'next to those of the app')
  t.notOk(Object.keys(paths).some((path) => path.includes('*')))
  const operations = Object.entries(paths)
    .filter(([path]) => path !== '/own' && /notes|users(\/\{id\})?$/.test(path))
    .flatMap(([path, item]) => Object.values(item).map((operation) => ({ path, ...operation })))
  const ids = operations.map(({ operationId }) => operationId)
  t.equal(ids.length, 24)
  t.equal(new Set(ids).size, 24, ids.join())
  for (const { path, parameters = [] } of operations) {
    t.strictSame(
      parameters
        .filter((parameter) => parameter.in === 'path')
        .map(({ name }) => name)
        .sort(),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!).sort(),
      `${path} declares its parameters`
    )
  }
})

test('a collection adds no decorators to the app and keeps its parser and 404 handler', async (t) => {
  const instance = Fastify()
  t.after(() => instance.close())
  await instance.register(collection, notes())
  t.notOk(instance.hasDecorator('httpErrors'))
  t.notOk(instance.hasDecorator('collections'))
  t.notOk(instance.hasReplyDecorator('notFound'))
  t.ok(instance.hasContentTypeParser('application/json'))
  const { statusCode, headers } = await request(instance, 'GET /nowhere')
  t.equal(statusCode, 404)
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
})

test('hooks onError of the app see what hooks and storages throw, and no 404 or 422', async (t) => {
  const instance = Fastify()
  t.after(() => instance.close())
  const seen: string[] = []
  instance.addHook('onError', async (_request, _reply, error) => {
    seen.push(error.cause instanceof Error ? error.cause.message : error.message)
  })
  const definition = notes({
    hooks: {
      beforeValidation: () => {
        throw new Error('of a hook')
      }
    }
  })
  definition.storage.list = async () => {
    throw new Error('of the storage')
  }
  await instance.register(collection, definition)
  t.equal((await request(instance, 'GET /notes/none')).statusCode, 404)
  t.equal((await request(instance, 'POST /notes', { content: { text: 1 } })).statusCode, 422)
  t.same(seen, [])
  t.equal((await request(instance, 'GET /notes')).statusCode, 500)
  t.equal((await request(instance, 'POST /notes', { content: { text: 'a' } })).statusCode, 500)
  t.same(seen, ['of the storage', 'of a hook'])
})

test('an app with collections closes', async (t) => {
  const instance = await app(t, 'plugins first', [users(), notes()])
  const wire = new Wire(await listen(instance))
  t.equal((await wire.ask('GET /users')).status, 200)
  await instance.close()
  await wire.closed()
  t.equal(instance.server.listening, false)
})
