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
import { serverOptions, service } from '../../lib/app/service.ts'
import { notes } from '../app.ts'
import { recordRequest, resetFrame } from '../http2.ts'
import { listen } from '../wire.ts'

// Clients of HTTP/2 that begin requests and do not complete them.

interface TestServer {
  readonly app: FastifyInstance
  readonly client: ClientHttp2Session
}

async function serve (t: Test, options: object = {}): Promise<TestServer> {
  const own = { http2: true, forceCloseConnections: true, ...options }
  // The types of HTTP/2 differ from those of the server that the plugin is written for.
  const app = Fastify(serverOptions(own as unknown as FastifyServerOptions))
  t.teardown(() => app.close())
  await app.register(service, { audit: false })
  await app.register(collection, notes())
  const client = connect(`http://127.0.0.1:${await listen(app)}`)
  t.teardown(() => client.destroy())
  return { app, client }
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

test('with HTTP/2, a request that the client aborts is not processed', async (t) => {
  const { app, client } = await serve(t)
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

test('with HTTP/2, a connection has at most 100 requests at the same time, or as many as the app sets', async (t) => {
  const { app, client } = await serve(t, { http: { settings: { maxConcurrentStreams: 5 } } })
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

test('the limit of requests at the same time is 100', async (t) => {
  const { client } = await serve(t)
  await once(client, 'remoteSettings')
  t.equal(client.remoteSettings.maxConcurrentStreams, 100)
})
