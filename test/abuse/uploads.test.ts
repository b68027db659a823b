import { once } from 'node:events'
import { connect, constants } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, ServerHttp2Stream } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection from '../../lib/index.ts'
import { service } from '../../lib/service/service.ts'
import type { ServiceOptions } from '../../lib/service/service.ts'
import { gate, notes } from '../app.ts'
import { recordRequest, resetFrame } from '../http2.ts'
import { listen } from '../wire.ts'

// Clients of HTTP/2 that begin requests and do not complete them.

interface TestServer {
  readonly app: FastifyInstance
  readonly client: ClientHttp2Session
  readonly slow: ReturnType<typeof gate>
}

async function serve (t: Test, options: ServiceOptions, appOptions: object = {}): Promise<TestServer> {
  // The types of HTTP/2 differ from those of the server that the plugin is written for.
  const app = Fastify({ http2: true, forceCloseConnections: true, ...appOptions } as unknown as FastifyServerOptions)
  t.teardown(() => app.close())
  const slow = gate()
  app.post('/slow', async () => {
    await slow.opened
    return 'slow'
  })
  app.post('/unread', { onRequest: () => {} }, async () => 'never')
  app.post('/early', {
    onRequest: (request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200)
      reply.raw.write('early')
      request.raw.resume()
    }
  }, async () => 'never')
  await app.register(service, { audit: false, ...options })
  await app.register(collection, notes())
  const client = connect(`http://127.0.0.1:${await listen(app)}`)
  t.teardown(() => client.destroy())
  return { app, client, slow }
}

const json = { 'content-type': 'application/json' }

/** Begins a POST with content that is valid but does not end. */
function beginPost (client: ClientHttp2Session, path = '/notes', content = '{"text":"a"}'): ClientHttp2Stream {
  const stream = client.request({ ':method': 'POST', ':path': path, ...json })
  stream.on('error', () => {}).write(content)
  return stream
}

async function getResponse (stream: ClientHttp2Stream): Promise<[status: unknown, content: string]> {
  const [[headers], content] = await Promise.all([once(stream, 'response'), text(stream)])
  return [(headers as Record<string, unknown>)[':status'], content]
}

test('with HTTP/2, a request that is not received within requestTimeout returns 408 and does nothing', async (t) => {
  const { client, slow } = await serve(t, { requestTimeout: 500 })
  const complete = client.request({ ':method': 'POST', ':path': '/slow', ...json })
  complete.end('{}')
  const stream = beginPost(client)
  const closed = once(stream, 'close')
  const [status, content] = await getResponse(stream)
  t.equal(status, 408)
  t.match(JSON.parse(content), { code: 'request-timeout', detail: /\.$/, instance: '/notes' })
  await closed
  t.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR)
  t.strictSame(await getResponse(client.request({ ':path': '/notes' })), [200, '[]'], 'no item is created')
  slow.open()
  t.strictSame(await getResponse(complete), [200, 'slow'], 'a request that is received may take longer')
})

test('with HTTP/2, a request whose content the app does not read ends after requestTimeout', async (t) => {
  const { client } = await serve(t, { requestTimeout: 500 })
  for (const path of ['/unread', '/early']) {
    const stream = beginPost(client, path)
    stream.resume()
    await once(stream, 'close')
    t.equal(stream.rstCode, constants.NGHTTP2_CANCEL, path)
  }
  t.equal((await getResponse(client.request({ ':path': '/notes' })))[0], 200)
})

test('with HTTP/2, the requestTimeout of the app takes precedence', async (t) => {
  const { client } = await serve(t, {}, { requestTimeout: 500 })
  t.equal((await getResponse(beginPost(client)))[0], 408)
})

test('a server of HTTP/2 that allows HTTP/1.1 has the requestTimeout for both', async (t) => {
  for (const [options, expected] of [[{}, 60_000], [{ requestTimeout: 5 }, 5]] as const) {
    const app = Fastify({ http2: true, https: { allowHTTP1: true }, ...options } as unknown as FastifyServerOptions)
    t.teardown(() => app.close())
    await app.register(service)
    t.equal(app.server.requestTimeout, expected)
  }
})

test('with HTTP/2, a request that the client aborts is not processed', async (t) => {
  const { app, client } = await serve(t, {})
  const post = { ':method': 'POST', ':path': '/notes', ...json }
  const bytes = Buffer.concat([await recordRequest(post, '{"text":"a"}'), resetFrame])
  const opened = once(app.server, 'stream') as Promise<[ServerHttp2Stream]>
  const socket = connectSocket((app.server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.resume().write(bytes)
  const [received] = await opened
  await once(received, 'close')
  t.strictSame(await getResponse(client.request({ ':path': '/notes' })), [200, '[]'])
})

test('with HTTP/2, a connection has at most maxConcurrentStreams requests at the same time', async (t) => {
  const { app, client } = await serve(t, { maxConcurrentStreams: 5 })
  let open = 0
  let most = 0
  app.server.on('stream', (stream: ServerHttp2Stream) => {
    open++
    most = Math.max(most, open)
    stream.on('close', () => open--)
  })
  // The client does not know the limit yet.
  const streams = Array.from({ length: 20 }, () => beginPost(client))
  await Promise.all(streams.slice(5).map((stream) => new Promise((resolve) => stream.on('close', resolve))))
  t.ok(streams.slice(5).every(({ rstCode }) => rstCode === constants.NGHTTP2_REFUSED_STREAM))
  t.equal(client.remoteSettings.maxConcurrentStreams, 5)
  for (const stream of streams.slice(0, 5)) {
    stream.end()
    t.equal((await getResponse(stream))[0], 201)
  }
  t.equal(most, 5)
})

test('the default of maxConcurrentStreams is 100, and false leaves it to the app', async (t) => {
  for (const [options, appOptions, expected] of [
    [{}, {}, 100],
    [{ maxConcurrentStreams: false }, {}, 2 ** 32 - 1],
    [{ maxConcurrentStreams: false }, { http: { settings: { maxConcurrentStreams: 7 } } }, 7]
  ] as const) {
    const { client } = await serve(t, options, appOptions)
    await once(client, 'remoteSettings')
    t.equal(client.remoteSettings.maxConcurrentStreams, expected)
  }
})
