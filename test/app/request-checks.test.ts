import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import cors from '@fastify/cors'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { serverOptions, service } from '../../lib/app/service.ts'
import type { ServiceOptions } from '../../lib/app/service.ts'
import collection from '../../lib/index.ts'
import { build, gate, modified, notes } from '../app.ts'
import { listen, Wire } from '../wire.ts'

// Responses to requests that reach no route, over real connections.

async function serve (
  t: Test,
  { options = {}, ...server }: FastifyServerOptions & { options?: ServiceOptions } = {}
): Promise<[FastifyInstance, number]> {
  const app = await build(t, notes(), { ...server, service: options })
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
    ['percent signs with a byte that is no UTF-8', `GET /notes/%ff HTTP/1.1\r\n${host}\r\n`, 400, 'bad-request'],
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
    ]
  ]

test('requests that reach no route return problems (RFC 9110, sections 6.6.1, 9.1, 15.5 and 15.6; RFC 9112, sections 3.2 and 6.1)', async (t) => {
  const [, port] = await serve(t)
  for (const [what, text, status, code] of refused) {
    const answer = await exchange(port, ...[text].flat())
    t.equal(answer.status, status, what)
    t.match(answer.fields, {
      'content-type': 'application/problem+json',
      connection: what.includes('percent') ? 'keep-alive' : 'close',
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
  const head = await exchange(port, `HEAD /notes/%zz HTTP/1.1\r\n${host}\r\n`)
  t.strictSame([head.status, head.content], [400, ''])
  const percent = await exchange(port, `GET /notes?limit=%zz HTTP/1.1\r\n${host}Connection: close\r\n\r\n`)
  t.match(
    JSON.parse(percent.content),
    { status: 400, code: 'invalid-query' },
    'the collection checks the query'
  )
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
    const app = Fastify(serverOptions({ forceCloseConnections: true }))
    t.teardown(() => app.close())
    await app.register(service)
    if (withCors) await app.register(cors, { origin: true })
    await app.register(collection, notes())
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
    }),
    { service: {} }
  )
  const port = await listen(app)
  const answer = exchange(port, `GET /notes HTTP/1.1\r\n${host}\r\ngarbage\r\n\r\n`)
  setTimeout(slow.open, 100)
  const { whole } = await answer
  t.match(whole, /^HTTP\/1\.1 200 [^]*\r\n\r\n\[\]HTTP\/1\.1 400 /)
})

test('a client error neither writes into a started response nor to a client that has disconnected', async (t) => {
  const app = await build(t, notes(), { service: {} })
  app.post('/stream', async (request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'text/plain' })
    reply.raw.write('begun')
    request.raw.on('data', () => {})
  })
  app.addContentTypeParser('text/plain', (_request, _payload, done) => done(null))
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
  t.ok(socket.destroyed)
  listener.call(app.server, new Error('no code'), socket)
  const half = connect(port, '127.0.0.1')
  half.end()
  await once(half, 'finish')
  listener.call(app.server, new Error('no code'), half)
  t.ok(half.destroyed, 'a socket that cannot be written to is closed')
})

test('what the app sets itself stays as it is', async (t) => {
  const teapot = 'HTTP/1.1 418 Own\r\nContent-Length: 0\r\n\r\n'
  const [, port] = await serve(t, {
    clientErrorHandler: (_error, socket) => socket.end(teapot),
    frameworkErrors: (_error, _request, reply) => {
      reply.raw.writeHead(418).end()
    }
  })
  t.equal((await exchange(port, 'garbage\r\n\r\n')).whole, teapot)
  t.equal((await exchange(port, `GET /%zz HTTP/1.1\r\n${host}Connection: close\r\n\r\n`)).status, 418)
})

test('serverOptions() merges the limits of each kind of server', async (t) => {
  t.match(serverOptions(), {
    requestTimeout: 60_000,
    http: { requireHostHeader: false, headersTimeout: 60_000, connectionsCheckingInterval: 6000 }
  })
  t.match(serverOptions({ requestTimeout: 5000, bodyLimit: 7, http: { headersTimeout: 9 } }), {
    requestTimeout: 5000,
    bodyLimit: 7,
    http: { headersTimeout: 9, connectionsCheckingInterval: 500 }
  })
  const missing = { requestTimeout: undefined, clientErrorHandler: undefined, frameworkErrors: undefined }
  t.strictSame(serverOptions(missing as object), serverOptions(), 'an option that is undefined counts as missing')
  t.match(serverOptions({ requestTimeout: 0 }), { requestTimeout: 0, http: { headersTimeout: undefined } })
  const secure = serverOptions({ https: { cert: 'c', headersTimeout: 9 } })
  t.match(secure.https, { cert: 'c', headersTimeout: 9, connectionsCheckingInterval: 6000 })
  t.notOk('http' in secure, 'Fastify ignores it')
  t.match(serverOptions({ https: null } as object), { https: null, http: { requireHostHeader: false } })
  t.strictSame(serverOptions({ http2: true }), {
    ...serverOptions({ http2: true }),
    http: { settings: { maxConcurrentStreams: 100 } }
  })
  const settings = { maxConcurrentStreams: 7, enablePush: false }
  t.strictSame(serverOptions({ http2: true, https: { settings } }).https, { settings })
  t.throws(() => serverOptions({ serverFactory: () => { throw new Error('never') } }), {
    code: 'FST_COLLECTION_BAD_SERVICE',
    message: /serverFactory creates\. Set them in serverFactory/
  })
})

test('an error of the router is a problem that scripts of other origins can read', async (t) => {
  const app = await build(t, notes(), { service: {}, routerOptions: { maxParamLength: 10 } })
  app.get('/files/:name', async () => 'file')
  for (const [url, status, code] of [['/notes/%zz', 400, 'bad-request'], [`/files/${'x'.repeat(20)}`, 414, 'uri-too-long']] as const) {
    const { statusCode, headers, json } = await app.inject(url)
    t.equal(statusCode, status)
    t.match(json(), { code, status, instance: url })
    t.match(headers, {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*'
    })
  }
})

test('a request that is received too slowly is 408', async (t) => {
  const [app, port] = await serve(t, { requestTimeout: 200 })
  const wire = new Wire(port)
  wire.write(['POST /notes', 'Content-Type: application/json', 'Content-Length: 100'], '{"text":')
  const { status, fields } = await wire.answer()
  t.strictSame([status, fields['content-type']], [408, 'application/problem+json'])
  await wire.closed()
  t.strictSame((await app.inject('/notes')).json(), [], 'nothing is created')
})

test('HTTP/2 works, with OPTIONS * and problems', async (t) => {
  const app = Fastify(serverOptions({ http2: true, forceCloseConnections: true }))
  t.teardown(() => app.close())
  await app.register(service)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const client = connectHttp2(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
  t.teardown(() => client.close())
  const request = async (fields: Record<string, string>): Promise<[number, string]> => {
    const stream = client.request(fields, { endStream: true })
    let text = ''
    stream.on('data', (chunk) => {
      text += String(chunk)
    })
    const [head] = (await once(stream, 'response')) as [Record<string, unknown>]
    if (!stream.readableEnded) await once(stream, 'end')
    return [Number(head[':status']), text]
  }
  t.equal((await request({ ':method': 'OPTIONS', ':path': '*' }))[0], 204)
  const [refusal, content] = await request({ ':method': 'PURGE', ':path': '/' })
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
})
