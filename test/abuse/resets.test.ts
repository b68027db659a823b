import { connect as connectHttp2, constants } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection from '../../lib/index.ts'
import { serverOptions, service } from '../../lib/app/service.ts'
import { gate, notes } from '../app.ts'
import { recordRequest, resetFrame } from '../http2.ts'
import { listen, Wire } from '../wire.ts'

// Clients that reset the connection at any time. An error without a listener would end the process, and fails the test.

interface TestServer {
  readonly app: FastifyInstance
  readonly port: number
  /** Lets `GET /slow` respond. */
  readonly respondSlowly: () => void
}

async function serve (t: Test, options: object = {}): Promise<TestServer> {
  // The types of HTTP/2 differ from those of the server that the plugin is written for.
  const app = Fastify(serverOptions({ forceCloseConnections: true, ...options } as FastifyServerOptions))
  t.teardown(() => app.close())
  app.addHook('onRequest', async () => {
    // Clients can reset the connection between the headers and the content.
    await new Promise(setImmediate)
  })
  const slow = gate()
  app.get('/slow', async () => {
    await slow.opened
    return 'slow'
  })
  await app.register(service, { audit: false })
  await app.register(collection, notes())
  return { app, port: await listen(app), respondSlowly: slow.open }
}

/** `events.once` would add a listener for errors, which the test looks for. */
function waitFor (emitter: NodeJS.EventEmitter, event: string): Promise<unknown> {
  return new Promise((resolve) => emitter.once(event, resolve))
}

const ending = {
  reset: (socket: Socket) => socket.resetAndDestroy(),
  'half-close, then reset': (socket: Socket) => socket.end(() => socket.resetAndDestroy())
}

/** Sends the bytes on a connection of its own, and then ends it. */
async function sendAndEnd (port: number, bytes: Buffer, end: (socket: Socket) => void): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {}).resume()
  const closed = waitFor(socket, 'close')
  socket.write(bytes, () => end(socket))
  await closed
}

/** Ends connections after the first byte, after the second, and so on. */
async function resetAtEveryByte (port: number, bytes: Buffer, end: (socket: Socket) => void): Promise<void> {
  const lengths = Array.from(bytes, (_byte, index) => index + 1)
  // Several at once, so that responses are still to be sent when the reset arrives.
  for (let start = 0; start < lengths.length; start += 20) {
    const group = lengths.slice(start, start + 20)
    await Promise.all(group.map((length) => sendAndEnd(port, bytes.subarray(0, length), end)))
  }
}

const host = 'Host: localhost\r\n'
const post = `POST /notes HTTP/1.1\r\n${host}Content-Type: application/json\r\n`
const requests = {
  CONNECT: `CONNECT x:443 HTTP/1.1\r\n${host}\r\n`,
  'CONNECT with more bytes': `CONNECT x:443 HTTP/1.1\r\n${host}\r\nhello`,
  'CONNECT after a request': `GET /notes HTTP/1.1\r\n${host}\r\nCONNECT x:443 HTTP/1.1\r\n${host}\r\n`,
  'an upgrade': `GET /notes HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  'an upgrade to HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'no HTTP': 'garbage\r\n\r\n',
  'another version': `GET /notes HTTP/2.0\r\n${host}\r\n`,
  'an unknown method': `FOO /notes HTTP/1.1\r\n${host}\r\n`,
  'two Host headers': `GET /notes HTTP/1.1\r\n${host}${host}\r\n`,
  'an error after a request': `GET /notes HTTP/1.1\r\n${host}\r\ngarbage\r\n\r\n`,
  'an error in the content': `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
  content: `${post}Content-Length: 12\r\n\r\n{"text":"a"}`,
  'an expectation': `${post}Content-Length: 12\r\nExpect: 100-continue\r\n\r\n{"text":"a"}`,
  'an unknown expectation': `${post}Content-Length: 12\r\nExpect: tea\r\n\r\n{"text":"a"}`,
  'OPTIONS *': `OPTIONS * HTTP/1.1\r\n${host}\r\n`
}

test('a server survives clients that reset the connection after any byte', async (t) => {
  const { port } = await serve(t)
  for (const [name, text] of Object.entries(requests)) {
    for (const [how, end] of Object.entries(ending)) {
      await resetAtEveryByte(port, Buffer.from(text), end)
      t.pass(`${name}: ${how}`)
    }
  }
  // Only a response that is written after the reset shows the error, which takes a few attempts.
  for (let count = 0; count < 100; count++) await sendAndEnd(port, Buffer.from(requests.CONNECT), ending.reset)
  const wire = new Wire(port)
  t.equal((await wire.ask('GET /notes')).status, 200, 'the server still responds')
  wire.close()
})

test('a server survives a reset between an error of the parser and the response before it', async (t) => {
  const { app, port, respondSlowly } = await serve(t)
  const connected = waitFor(app.server, 'connection') as Promise<Socket>
  const waiting = waitFor(app.server, 'clientError')
  const client = connect(port, '127.0.0.1')
  client.on('error', () => {}).write(`GET /slow HTTP/1.1\r\n${host}\r\n${requests['no HTTP']}`)
  const closed = waitFor(await connected, 'close')
  await waiting
  client.resetAndDestroy()
  await waitFor(client, 'close')
  respondSlowly()
  await closed
  const wire = new Wire(port)
  t.equal((await wire.ask('GET /notes')).status, 200, 'the server still responds')
  wire.close()
})

const http2Requests: Record<string, OutgoingHttpHeaders> = {
  GET: { ':path': '/notes' },
  CONNECT: { ':method': 'CONNECT', ':authority': 'x:443' },
  'a refused path': { ':path': '/%zz' },
  content: { ':method': 'POST', ':path': '/notes', 'content-type': 'application/json' },
  'an expectation': { ':method': 'POST', ':path': '/notes', 'content-type': 'application/json', expect: '100-continue' },
  'an unknown expectation': { ':method': 'POST', ':path': '/notes', expect: 'tea' },
  'OPTIONS *': { ':method': 'OPTIONS', ':path': '*' }
}

function send (session: ClientHttp2Session, headers: OutgoingHttpHeaders): ClientHttp2Stream {
  const stream = session.request(headers, { endStream: false })
  stream.on('error', () => {}).resume()
  return stream
}

test('an HTTP/2 server survives clients that reset the connection after any byte', async (t) => {
  const { port } = await serve(t, { http2: true })
  for (const [name, headers] of Object.entries(http2Requests)) {
    const bytes = await recordRequest(headers, '{"text":"a"}')
    for (const [how, end] of Object.entries(ending)) {
      await resetAtEveryByte(port, bytes, end)
      t.pass(`${name}: ${how}`)
    }
  }
  await checkHttp2(t, port)
})

test('an HTTP/2 server survives RST_STREAM in the same packet as the request', async (t) => {
  const { port } = await serve(t, { http2: true })
  for (const [name, headers] of Object.entries(http2Requests)) {
    const bytes = Buffer.concat([await recordRequest(headers, '{'), resetFrame])
    for (const end of Object.values(ending)) await sendAndEnd(port, bytes, end)
    t.pass(name)
  }
  await checkHttp2(t, port)
})

async function checkHttp2 (t: Test, port: number): Promise<void> {
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  const stream = session.request({ ':path': '/notes' })
  const headers = await waitFor(stream, 'response') as Record<string, unknown>
  t.equal(headers[':status'], 200, 'the server still responds')
  stream.resume()
  session.close()
}

interface Http2Client {
  readonly session: ClientHttp2Session
  readonly stream: ClientHttp2Stream
  readonly socket: Socket
}

const http2Endings: Record<string, (client: Http2Client) => void> = {
  RST_STREAM: ({ session, stream }) => {
    stream.close(constants.NGHTTP2_CANCEL)
    setImmediate(() => session.destroy())
  },
  'RST_STREAM, and the session goes on': ({ session, stream }) => {
    stream.close(constants.NGHTTP2_CANCEL)
    const next = session.request({ ':path': '/notes' })
    next.on('error', () => {}).on('close', () => session.destroy()).resume()
  },
  GOAWAY: ({ session }) => {
    session.goaway(constants.NGHTTP2_PROTOCOL_ERROR)
    session.destroy()
  },
  'the end of the session': ({ session }) => session.destroy(),
  'a reset connection': ({ socket }) => { socket.resetAndDestroy() }
}

test('an HTTP/2 server survives RST_STREAM, GOAWAY and sessions that end', async (t) => {
  const { port } = await serve(t, { http2: true })
  for (const [name, headers] of Object.entries(http2Requests)) {
    for (const [how, end] of Object.entries(http2Endings)) {
      for (const moment of ['at once', 'after the headers', 'after some content', 'after the response']) {
        const socket = connect(port, '127.0.0.1')
        const session = connectHttp2(`http://127.0.0.1:${port}`, { createConnection: () => socket })
        session.on('error', () => {})
        const closed = waitFor(session, 'close')
        const stream = send(session, headers)
        if (moment !== 'at once') await waitFor(session, 'connect')
        if (moment === 'after some content' && stream.writable) await new Promise((resolve) => stream.write('{', resolve))
        if (moment === 'after the response') {
          stream.end('{"text":"a"}')
          await waitFor(stream, 'response')
        }
        end({ session, stream, socket })
        await closed
      }
      t.pass(`${name}: ${how}`)
    }
  }
  await checkHttp2(t, port)
})
