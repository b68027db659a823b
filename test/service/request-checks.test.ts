import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import cors from '@fastify/cors'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { service } from '../../lib/service/service.ts'
import type { ServiceOptions } from '../../lib/service/service.ts'
import { action } from '../../lib/features/action.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { within } from '../../lib/features/within.ts'
import collection, { define } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, gate, modified, Note, notes } from '../app.ts'
import { listen, Wire } from '../wire.ts'

// Responses of the server before Fastify has a route, over real connections.

async function serve (
  t: Test,
  { options = {}, ...server }: FastifyServerOptions & { options?: ServiceOptions } = {}
): Promise<[FastifyInstance, number]> {
  const app = await build(t, notes(), server as FastifyServerOptions)
  await app.register(service, options)
  return [app, await listen(app)]
}

interface RawAnswer {
  readonly status: number
  readonly fields: Record<string, string>
  readonly content: string
  readonly whole: string
}

/** Sends the parts, and reads until the server closes the connection or sends nothing more. */
async function exchange (port: number, ...parts: readonly string[]): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1')
  let whole = ''
  socket
    .on('data', (chunk) => {
      whole += chunk.toString('latin1')
    })
    .on('error', () => {})
  const closed = once(socket, 'close')
  for (const part of parts) {
    if (!socket.destroyed) socket.write(part)
    await wait(10)
  }
  await Promise.race([closed, wait(3000)])
  socket.destroy()
  const [head = '', content = ''] = whole.split('\r\n\r\n')
  const [start = '', ...lines] = head.split('\r\n')
  return {
    status: Number(start.split(' ')[1]),
    fields: Object.fromEntries(
      lines.map((line) => [line.split(': ')[0]!.toLowerCase(), line.slice(line.indexOf(': ') + 2)])
    ),
    content,
    whole
  }
}

const host = 'Host: localhost\r\n'

const refused: ReadonlyArray<readonly [what: string, text: string | readonly string[], status: number, code: string]> =
  [
    ['two Host fields', `GET /notes HTTP/1.1\r\n${host}host: other\r\n\r\n`, 400, 'bad-request'],
    ['two equal Host fields', `GET /notes HTTP/1.1\r\n${host}${host}\r\n`, 400, 'bad-request'],
    ['no Host', 'GET /notes HTTP/1.1\r\n\r\n', 400, 'bad-request'],
    ['a percent sign that begins nothing', `GET /notes/%zz HTTP/1.1\r\n${host}\r\n`, 400, 'bad-request'],
    ['a byte that is no UTF-8', `GET /notes/%ff HTTP/1.1\r\n${host}\r\n`, 400, 'bad-request'],
    ['a star with another method', `GET * HTTP/1.1\r\n${host}\r\n`, 400, 'bad-request'],
    ['a method that Fastify does not know', `PURGE /notes HTTP/1.1\r\n${host}\r\n`, 501, 'not-implemented'],
    ['an unknown method', `FOO /notes HTTP/1.1\r\n${host}\r\n`, 501, 'not-implemented'],
    ['a method that begins like another', `GETX /notes HTTP/1.1\r\n${host}\r\n`, 501, 'not-implemented'],
    ['a method in lower case', `get /notes HTTP/1.1\r\n${host}\r\n`, 501, 'not-implemented'],
    ['HTTP/2.0 in a request line', `GET /notes HTTP/2.0\r\n${host}\r\n`, 505, 'version-not-supported'],
    ['HTTP/3.7', `GET /notes HTTP/3.7\r\n${host}\r\n`, 505, 'version-not-supported'],
    ['HTTP/0.9 in a request line', `GET /notes HTTP/0.9\r\n${host}\r\n`, 505, 'http-version-not-supported'],
    ['HTTP/0.9', 'GET /notes\r\n\r\n', 505, 'http-version-not-supported'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505, 'http-version-not-supported'],
    ['HTTP/3.7 in parts', ['GET /notes HTTP/', `3.7\r\n${host}\r\n`], 505, 'http-version-not-supported'],
    // RFC 9110, section 2.5, would rather have it processed as HTTP/1.1.
    ['HTTP/1.2', `GET /notes HTTP/1.2\r\n${host}\r\n`, 400, 'bad-request'],
    ['HTTP/1.2 in parts', ['GET /notes HTTP/1.', `2\r\n${host}\r\n`], 400, 'bad-request'],
    ['a version that is none', `GET /notes HTTP/11\r\n${host}\r\n`, 400, 'bad-request'],
    ['a bare LF after the version', 'GET /notes HTTP/1.1\nHost: localhost\n\n', 400, 'bad-request'],
    ['a bare LF, in parts', ['GET /notes HTTP/1.1', '\nHost: localhost\n\n'], 400, 'bad-request'],
    ['a bare LF after another version', 'GET /notes HTTP/3.7\nHost: localhost\n\n', 400, 'bad-request'],
    ['a bare LF in the headers', 'GET /notes HTTP/1.1\r\nHost: localhost\n\r\n', 400, 'bad-request'],
    ['a bare CR after the version', 'GET /notes HTTP/1.1\rHost: localhost\r\n\r\n', 400, 'bad-request'],
    ['a space after the version', `GET /notes HTTP/1.1 \r\n${host}\r\n`, 400, 'bad-request'],
    ['no HTTP at all', 'garbage\r\n\r\n', 400, 'bad-request'],
    ['another protocol', `GET / HTTQ/1.1\r\n${host}\r\n`, 400, 'bad-request'],
    ['a field name with a space', 'GET /notes HTTP/1.1\r\nHo st: a\r\n\r\n', 400, 'bad-request'],
    [
      'two lengths of content',
      `POST /notes HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
      400,
      'bad-request'
    ],
    [
      'a transfer coding that is not known',
      `POST /notes HTTP/1.1\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: foo\r\n\r\n`,
      501,
      'not-implemented'
    ],
    ...['zzz, chunked', 'gzip, chunked', 'zzz\r\nTransfer-Encoding: chunked', 'chunked, zzz'].map((codings) => [
      `Transfer-Encoding: ${codings}`,
      `POST /notes HTTP/1.1\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: ${codings}\r\n\r\n0\r\n\r\n`,
      501,
      'not-implemented'
    ] as const),
    ...['a b', 'a/b', '[::1', '[::1]x', '[zz]', '<x>', 'user@a', 'a:b', 'a?b', 'a%2', '\xfc'].map((value) => [
      `Host: ${value}`,
      `GET /notes HTTP/1.1\r\nHost: ${value}\r\n\r\n`,
      400,
      'bad-request'
    ] as const),
    ['CONNECT', 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n', 501, 'not-implemented'],
    [
      'a chunk that is none',
      `POST /notes HTTP/1.1\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
      'bad-request'
    ],
    [
      'extensions of chunks without an end',
      `POST /notes HTTP/1.1\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
      413,
      'too-large'
    ],
    ['a URI that is too long', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${host}\r\n`, 414, 'uri-too-long'],
    [
      'fields that are too long',
      `GET /notes HTTP/1.1\r\n${host}X: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers-too-large'
    ],
    [
      'fields that are too long, in pieces',
      [`GET /notes HTTP/1.1\r\n${host}X: ${'x'.repeat(9000)}`, 'x'.repeat(9000)],
      431,
      'headers-too-large'
    ],
    ['an expectation that is not known', `GET /notes HTTP/1.1\r\n${host}Expect: tea\r\n\r\n`, 417, 'expectation-failed']
  ]

test('requests that reach no route return problems (RFC 9110, sections 6.6.1, 9.1, 15.5 and 15.6; RFC 9112, sections 3.2 and 6.1)', async (t) => {
  const [, port] = await serve(t)
  for (const [what, text, status, code] of refused) {
    const answer = await exchange(port, ...[text].flat())
    t.equal(answer.status, status, what)
    t.match(answer.fields, {
      'content-type': 'application/problem+json',
      connection: 'close',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      date: /GMT$/
    })
    t.equal(answer.fields['content-length'], String(answer.content.length), 'nothing follows the content')
    t.match(JSON.parse(answer.content), { type: 'about:blank', status, code, detail: /^[A-Z].*\.$/ })
  }
  t.equal(
    (await exchange(port, `GET /notes HTTP/1.1\r\n${host}Connection: close\r\n\r\n`)).status,
    200,
    'the server still responds'
  )
  t.equal((await exchange(port, 'GET /notes HTTP/1.0\r\n\r\n')).status, 200, 'HTTP/1.0 needs no Host')
  for (const valid of ['', 'a:', 'a_b.example:80', 'a%20b', '127.0.0.1', '[::1]:80', '[v1.a:b]']) {
    const { status } = await exchange(port, `GET /notes HTTP/1.1\r\nHost: ${valid}\r\nConnection: close\r\n\r\n`)
    t.equal(status, 200, `Host: ${valid}`)
  }
  for (const codings of ['chunked', 'Chunked', ', chunked']) {
    const { status } = await exchange(
      port,
      `POST /notes HTTP/1.1\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: ${codings}\r\n` +
        'Connection: close\r\n\r\nc\r\n{"text":"a"}\r\n0\r\n\r\n'
    )
    t.equal(status, 201, `Transfer-Encoding: ${codings}`)
  }
  const pipelined = await exchange(
    port,
    `GET /notes/x HTTP/1.1\r\n${host}\r\nCONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n`
  )
  t.match(pipelined.whole, /^HTTP\/1\.1 404 [^]*HTTP\/1\.1 501 /, 'CONNECT waits for the response before it')
  const head = await exchange(port, `HEAD /notes/%zz HTTP/1.1\r\n${host}\r\n`)
  t.strictSame([head.status, head.content], [400, ''])
  const percent = await exchange(port, `GET /notes?limit=%zz HTTP/1.1\r\n${host}Connection: close\r\n\r\n`)
  t.match(
    JSON.parse(percent.content),
    { status: 400, code: 'invalid-query' },
    'the collection checks the query'
  )
})

test('a server that is closing responds with 503 and Retry-After, unless Fastify does not refuse requests', async (t) => {
  for (const [options, status] of [[{}, 503], [{ return503OnClosing: false }, 200]] as const) {
    const app = Fastify(options)
    t.teardown(() => app.close())
    await app.register(service)
    app.get('/quick', async () => 'quick')
    const [begun, proceed] = [gate(), gate()]
    app.get('/slow', async () => {
      begun.open()
      await proceed.opened
      return 'slow'
    })
    const port = await listen(app)
    const socket = connect(port, '127.0.0.1')
    const ended = once(socket, 'close')
    let received = ''
    socket.on('data', (chunk) => { received += String(chunk) })
    socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
    await begun.opened
    const closing = app.close()
    await wait(50)
    socket.write('GET /quick HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    await wait(50)
    proceed.open()
    await ended
    await closing
    const second = received.slice(received.lastIndexOf('HTTP/1.1'))
    t.equal(Number(second.slice(9, 12)), status)
    t.equal(/^retry-after: 1\r$/mi.test(second), status === 503)
  }
})

test('the option sets the types of these problems', async (t) => {
  const [, port] = await serve(t, { options: { problems: 'https://example.com/problems/' } })
  t.equal(
    JSON.parse((await exchange(port, 'garbage\r\n\r\n')).content).type,
    'https://example.com/problems/bad-request'
  )
  t.equal(JSON.parse((await exchange(port, `PURGE /x?y HTTP/1.1\r\n${host}\r\n`)).content).instance, '/x')
})

test('OPTIONS * returns 204 with Allow, also with @fastify/cors (RFC 9110, section 9.3.7)', async (t) => {
  for (const withCors of [false, true]) {
    const app = await build(t, notes())
    if (withCors) await app.register(cors, { origin: true })
    await app.register(service)
    const wire = new Wire(await listen(app))
    const { status, fields } = await wire.ask('OPTIONS *')
    t.equal(status, 204)
    t.match(fields.allow, /^GET, HEAD, POST, PUT, PATCH, DELETE, (?:QUERY, )?OPTIONS$/)
    t.match(fields, { 'cache-control': 'no-store', date: /GMT$/ })
    t.equal((await wire.ask('GET /notes')).status, 200, 'the connection stays usable')
    wire.close()
  }
})

test('a malformed request after a pending one gets its 400 after the pending response', async (t) => {
  const slow = gate()
  const app = await build(
    t,
    notes({
      storage: modified((storage) => ({
        async list (...args) {
          await slow.opened
          return storage.list(...args)
        }
      }))
    })
  )
  await app.register(service)
  const port = await listen(app)
  const answer = exchange(port, `GET /notes HTTP/1.1\r\n${host}\r\ngarbage\r\n\r\n`)
  setTimeout(slow.open, 100)
  const { whole } = await answer
  t.match(whole, /^HTTP\/1\.1 200 [^]*\r\n\r\n\[\]HTTP\/1\.1 400 /)
})

test('a client error neither writes into a started response nor to a client that has disconnected', async (t) => {
  const app = await build(t, notes())
  app.post('/stream', async (request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'text/plain' })
    reply.raw.write('begun')
    request.raw.on('data', () => {})
  })
  app.addContentTypeParser('text/plain', (_request, _payload, done) => done(null))
  await app.register(service)
  const port = await listen(app)
  const begun = connect(port, '127.0.0.1')
  begun.write(`POST /stream HTTP/1.1\r\n${host}Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n`)
  const [first] = (await once(begun, 'data')) as [Buffer]
  t.match(first.toString(), /^HTTP\/1\.1 200 /)
  let rest = ''
  begun
    .on('data', (chunk) => {
      rest += chunk.toString()
    })
    .on('error', () => {})
  begun.write('zz\r\n')
  await once(begun, 'close')
  t.notMatch(rest, /400/)
  const listener = app.server.listeners('clientError')[0]!
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  listener.call(app.server, Object.assign(new Error(), { code: 'ECONNRESET' }), socket)
  t.notOk(socket.destroyed)
  socket.end()
  await once(socket, 'close')
  listener.call(app.server, new Error('no code'), socket)
  const half = connect(port, '127.0.0.1')
  half.end()
  await once(half, 'finish')
  listener.call(app.server, new Error('no code'), half)
  t.ok(half.destroyed, 'a socket that cannot be written to is closed')
})

test('listeners and options that the app sets itself are kept', async (t) => {
  const own = {
    http: { requireHostHeader: false },
    clientErrorHandler: (_error: Error, socket: Socket) => {
      socket.end('HTTP/1.1 418 Own\r\n\r\n')
    }
  }
  const app = await build(t, notes(), own)
  app.server.on('checkContinue', (_request, response) => {
    response.writeHead(418).end()
  })
  app.server.on('checkExpectation', (_request, response) => {
    response.writeHead(418).end()
  })
  app.server.on('connect', (_request, socket) => {
    socket.end('HTTP/1.1 418 Own\r\n\r\n')
  })
  await app.register(service)
  const port = await listen(app)
  for (const text of [
    'garbage\r\n\r\n',
    'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n',
    `POST /notes HTTP/1.1\r\n${host}Expect: 100-continue\r\nConnection: close\r\n\r\n`,
    `POST /notes HTTP/1.1\r\n${host}Expect: tea\r\nConnection: close\r\n\r\n`
  ]) {
    t.equal((await exchange(port, text)).status, 418)
  }
})

type ClientErrorHandler = NonNullable<FastifyServerOptions['clientErrorHandler']>

/** The default of `clientErrorHandler` as the docs of Fastify show it. */
function documentedDefault (error: Parameters<ClientErrorHandler>[0], socket: Socket): void {
  if (error.code === 'ECONNRESET') return
  const body = JSON.stringify({ error: 'Bad Request', message: 'Client Error', statusCode: 400 })
  const head = ['HTTP/1.1 400 Bad Request', `Content-Length: ${body.length}`, 'Content-Type: application/json']
  if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

test('a response to a parser error that has the form of those of Fastify becomes a problem', async (t) => {
  const [, port] = await serve(t, { clientErrorHandler: documentedDefault })
  const { status, content } = await exchange(port, 'FOO / HTTP/1.1\r\n\r\n')
  t.equal(status, 501)
  t.equal(JSON.parse(content).code, 'not-implemented')
})

test('what a clientErrorHandler of the app does with the connection is done', async (t) => {
  const teapot = 'HTTP/1.1 418 Own\r\nContent-Length: 0\r\n\r\n'
  const ownJson = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 79\r\nContent-Type: application/json\r\n\r\n' +
    '{"error":"Bad Request","message":"Client Error","statusCode":400,"hint":"none"}'
  const handlers: Record<string, [handler: ClientErrorHandler, expected: string]> = {
    end: [(_error, socket) => socket.end(teapot), teapot],
    'a Buffer': [(_error, socket) => socket.end(Buffer.from(teapot)), teapot],
    'a callback': [(_error, socket) => socket.write(teapot, () => socket.destroy()), teapot],
    'after an await': [
      async (_error, socket) => {
        await wait(10)
        socket.end(teapot)
      },
      teapot
    ],
    destroy: [(error, socket) => socket.destroy(error), ''],
    'its own JSON': [(_error, socket) => socket.end(ownJson), ownJson]
  }
  for (const [name, [clientErrorHandler, expected]] of Object.entries(handlers)) {
    const [, port] = await serve(t, { clientErrorHandler })
    t.equal((await exchange(port, 'garbage\r\n\r\n')).whole, expected, name)
  }
})

test('a listener for parser errors that sends nothing runs beside the service', async (t) => {
  const app = await build(t, notes())
  const codes: unknown[] = []
  app.server.on('clientError', (error: NodeJS.ErrnoException) => codes.push(error.code))
  await app.register(service)
  const port = await listen(app)
  const { status, fields } = await exchange(port, 'FOO / HTTP/1.1\r\n\r\n')
  t.equal(status, 501)
  t.equal(fields['content-type'], 'application/problem+json')
  t.strictSame(codes, ['HPE_INVALID_METHOD'])
})

const json = 'Content-Type: application/json'

const Reply = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), of: Type.String({ format: 'uuid' }) })

test('Expect: 100-continue on a rejected request returns the final status (RFC 9110, section 10.1.1)', async (t) => {
  const app = await build(
    t,
    [
      notes({
        routes: {
          create: {
            onRequest: async (request) => {
              if (request.headers.authorization === 'bad') throw Object.assign(new Error('who?'), { statusCode: 401 })
            }
          }
        }
      })
    ],
    { bodyLimit: 1000 }
  )
  await app.register(service, { appErrors: true })
  const keyed = idempotency({ required: true, actions: ['create', 'update'] })
  const strict = define({ name: 'strict', schema: Note, storage: memory(), etag: { required: true } })
    .with(action('check', { run: ({ item }) => item }), keyed)
  await app.register(collection, strict)
  await app.register(collection, define({ name: 'replies', schema: Reply, storage: memory() }).with(within(strict, 'of')))
  const port = await listen(app)
  const id = '01900000-0000-7000-8000-000000000001'
  const key = 'Idempotency-Key: "k"'
  const length = 'Content-Length: 10'
  for (const [target, fields, status] of [
    ['PUT /notes/none', [json, length], 404],
    ['PATCH /notes/none', [json, length], 404],
    [`PUT /notes/${'x'.repeat(200)}`, [json, length], 404],
    ['POST /strict/none/check', [json, length, key], 404],
    ['POST /strict/none/replies', [json, length], 404],
    ['POST /nowhere', [json, length], 404],
    [`PUT /notes/${id}/deeper`, [json, length], 404],
    ['POST /notes?a=1', [json, length], 400],
    [`PUT /notes/${id}?a=1`, [json, length], 400],
    ['POST /strict', [json, length], 400],
    ['POST /strict', [json, length, 'Idempotency-Key: "'], 400],
    [`PATCH /strict/${id}`, [json, length, 'Idempotency-Key: a b'], 400],
    [`PATCH /strict/${id}`, [json, length, key], 428],
    [`PUT /strict/${id}`, [json, length], 428],
    [`POST /strict/${id}/check`, [json, length, key], 428],
    ['PATCH /notes', [json, 'Content-Length: 10'], 405],
    ['POST /notes', ['Content-Type: text/csv', 'Content-Length: 10'], 415],
    ['POST /notes', [json, 'Content-Encoding: zstd', 'Content-Length: 10'], 415],
    ['POST /notes', [json, 'Content-Length: 1001'], 413],
    ['POST /notes', [json, 'Accept: image/png', 'Content-Length: 10'], 406],
    ['POST /notes', [json, 'Authorization: bad', 'Content-Length: 10'], 401],
    ['PURGE /notes', [json, 'Content-Length: 10'], 501]
  ] as const) {
    const wire = new Wire(port)
    wire.write([target, ...fields, 'Expect: 100-continue'])
    const answer = await wire.answer()
    t.equal(answer.status, status, target)
    t.equal(answer.fields['content-type'], 'application/problem+json')
    t.equal(answer.fields.connection, 'close', 'the connection closes, so that content is not read as a request')
    await wire.closed()
    t.equal(wire.rest.length, 0, 'no 100 is sent')
  }
})

test('Expect: 100-continue returns 100 if the status depends on the storage or on the content', async (t) => {
  const app = await build(t, notes({ etag: { required: true } }))
  app.setNotFoundHandler(async (request, reply) => reply.code(404).send({ received: request.body }))
  await app.register(service)
  const wire = new Wire(await listen(app))
  t.teardown(() => wire.close())
  const id = '01900000-0000-7000-8000-000000000001'
  for (const [target, fields, content, status] of [
    [`PUT /notes/${id}`, ['If-Match: "a"'], '{"text":"a"}', 404],
    ['POST /notes', [], '{"text":1}', 422],
    ['POST /notes', [], '{"text":"a"}', 201],
    // The 404 handler of an app may use the content.
    ['POST /nowhere', [], '{}', 404]
  ] as const) {
    wire.write([target, json, ...fields, `Content-Length: ${content.length}`, 'Expect: 100-continue'])
    t.equal((await wire.answer()).status, 100, target)
    wire.socket.write(content)
    t.equal((await wire.answer()).status, status, target)
  }
})

test('Expect: 100-continue on an accepted request returns 100 once, then the response', async (t) => {
  const [, port] = await serve(t)
  const wire = new Wire(port)
  t.teardown(() => wire.close())
  const content = '{"text":"expected"}'
  for (const [body, fields] of [
    [content, []],
    [gzipSync(content), ['Content-Encoding: gzip']]
  ] as const) {
    wire.write(['POST /notes', json, `Content-Length: ${body.length}`, 'Expect: 100-continue', ...fields])
    t.equal((await wire.answer()).status, 100)
    wire.socket.write(body)
    const done = await wire.answer()
    t.equal(done.status, 201)
    t.not(done.fields.connection, 'close')
  }
  wire.write(['GET /notes', 'Expect: 100-continue'])
  t.equal((await wire.answer()).status, 200, 'a request without content needs no 100')
})

test('reading content after the response has started sends no 100', async (t) => {
  const app = await build(t, notes())
  app.post(
    '/early',
    {
      onRequest: (request, reply) => {
        reply.hijack()
        reply.raw.writeHead(200, { 'content-length': '5' })
        request.raw.on('data', () => {})
        reply.raw.end('early')
      }
    },
    async () => ''
  )
  await app.register(service)
  const { whole } = await exchange(
    await listen(app),
    `POST /early HTTP/1.1\r\n${host}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n`,
    '{}'
  )
  t.match(whole, /^HTTP\/1\.1 200 [^]*early$/)
})

test('HTTP/2 works, with OPTIONS * and problems', async (t) => {
  // The types of HTTP/2 differ from those of the server that the plugin is written for.
  const app = Fastify({ http2: true, forceCloseConnections: true } as unknown as FastifyServerOptions)
  t.teardown(() => app.close())
  app.post('/echo', async (request) => request.body)
  await app.register(service)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const client = connectHttp2(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
  t.teardown(() => client.close())
  const request = async (fields: Record<string, string>, content = ''): Promise<[number, string, number]> => {
    const stream = client.request(fields, { endStream: content === '' })
    let continued = 0
    stream.on('continue', () => {
      continued++
      stream.end(content)
    })
    let text = ''
    stream.on('data', (chunk) => {
      text += String(chunk)
    })
    const [head] = (await once(stream, 'response')) as [Record<string, unknown>]
    if (!stream.readableEnded) await once(stream, 'end')
    return [Number(head[':status']), text, continued]
  }
  t.equal((await request({ ':method': 'OPTIONS', ':path': '*' }))[0], 204)
  const [refusal, content] = await request({ ':method': 'CONNECT', ':authority': 'a:80' })
  t.equal(refusal, 501)
  t.match(JSON.parse(content), { code: 'not-implemented' })
  t.equal((await request({ ':path': '/' }))[0], 200)
  for (const [host, authority, status] of [
    ['a.example', 'a.example', 200],
    ['A.Example:80', 'a.example', 200],
    ['b.example', 'a.example', 400],
    ['a.example:81', 'a.example', 400]
  ] as const) {
    const [found, content] = await request({ ':path': '/', ':authority': authority, host })
    t.equal(found, status, `Host: ${host}, :authority: ${authority}`)
    if (status === 400) t.match(JSON.parse(content), { code: 'bad-request', detail: /Host.*:authority/ })
  }
  const [status, text] = await request({ ':path': '/%zz' })
  t.equal(status, 400)
  t.match(JSON.parse(text), { code: 'bad-request' })
  t.strictSame(
    await request(
      { ':method': 'POST', ':path': '/echo', 'content-type': 'application/json', expect: '100-continue' },
      '{"a":1}'
    ),
    [200, '{"a":1}', 1]
  )
})
