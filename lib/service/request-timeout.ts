import type { Server } from 'node:http'
import type { Http2Server, Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import type { FastifyInstance } from 'fastify'

/** Sets a timeout for receiving requests, unless the app has set one. */
export function setRequestTimeout (app: FastifyInstance, milliseconds: number | false): void {
  if (milliseconds === false) return
  const server: Server | Http2Server = app.server
  if (isHttp2Server(server)) {
    const timeout = getOwnTimeout(app) ?? milliseconds
    setStreamTimeout(app, server, timeout)
    setConnectionTimeout(server, { timeout, unset: nodeDefault })
  } else {
    setConnectionTimeout(server, { timeout: milliseconds, unset: fastifyDefault })
  }
}

/** Fastify sets no timeout for HTTP/1.1, and leaves connections of HTTP/1.1 to a server of HTTP/2 to Node.js. */
const fastifyDefault = 0
const nodeDefault = 300_000

/** The option of Fastify, which has no effect on HTTP/2 by itself, and no type in `initialConfig`. */
function getOwnTimeout ({ initialConfig }: FastifyInstance): number | undefined {
  const milliseconds: unknown = Reflect.get(initialConfig, 'requestTimeout')
  return typeof milliseconds === 'number' && milliseconds > 0 ? milliseconds : undefined
}

function isHttp2Server (server: Server | Http2Server): server is Http2Server {
  return 'updateSettings' in server
}

interface ConnectionTimeout {
  readonly timeout: number
  /** The value of a server for which the app has set none. */
  readonly unset: number
}

/** A server of HTTP/2 has these properties if it accepts HTTP/1.1 as well: `allowHTTP1`. */
function setConnectionTimeout (server: Partial<Server>, { timeout, unset }: ConnectionTimeout): void {
  if (server.requestTimeout !== unset) return
  server.requestTimeout = timeout
  server.headersTimeout = Math.min(server.headersTimeout!, timeout)
  // Node.js checks every 30 seconds. The interval can be changed until the server listens, but has no types.
  const interval: unknown = Reflect.get(server, 'connectionsCheckingInterval')
  Reflect.set(server, 'connectionsCheckingInterval', Math.min(Number(interval), Math.ceil(timeout / 10)))
}

/** How many requests a client may send at the same time on a connection of HTTP/2 (RFC 9113, section 5.1.2). */
export function limitStreams (app: FastifyInstance, maxConcurrentStreams: number | false): void {
  const server: Server | Http2Server = app.server
  if (maxConcurrentStreams !== false && isHttp2Server(server)) server.updateSettings({ maxConcurrentStreams })
}

/** A request of HTTP/2 that has content. */
interface Upload {
  readonly request: Http2ServerRequest
  readonly response: Http2ServerResponse
  readonly stream: ServerHttp2Stream
  readonly since: number
  /** Whether the timeout has passed, and the request is to be answered with 408. */
  isRefused: boolean
}

/** Node.js has this timeout for HTTP/1.1 only. */
function setStreamTimeout (app: FastifyInstance, server: Http2Server, milliseconds: number): void {
  const uploads = new Set<Upload>()
  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    // With `allowHTTP1`, the server accepts connections of HTTP/1.1 as well.
    if (request.httpVersionMajor < 2 || request.stream.endAfterHeaders) return
    const upload = { request, response, stream: request.stream, since: performance.now(), isRefused: false }
    uploads.add(upload)
    upload.stream.once('close', () => uploads.delete(upload))
  })
  const interval = setInterval(() => {
    const now = performance.now()
    for (const upload of uploads) {
      if (upload.stream.closed || isReceived(upload)) uploads.delete(upload)
      else if (now - upload.since >= milliseconds) endUpload(upload)
    }
  }, Math.ceil(milliseconds / 10))
  interval.unref()
  app.addHook('onClose', async () => clearInterval(interval))
}

/** RFC 9113, section 5.1. */
function isReceived ({ stream }: Upload): boolean {
  return stream.state.state === constants.NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE
}

class RequestTimeout extends Error {
  readonly statusCode = 408

  constructor () {
    super('The server did not receive the whole request in time. Repeat it.')
    this.name = 'RequestTimeout'
  }
}

/** What reads the content gets an error, which becomes a 408. The next check resets the stream, whatever was sent. */
function endUpload (upload: Upload): void {
  const { request, response, stream } = upload
  if (response.writableEnded) {
    // RFC 9113, section 8.1: the response does not need the rest of the request. Node.js sends the response first.
    stream.close(constants.NGHTTP2_NO_ERROR)
  } else if (upload.isRefused || response.headersSent) {
    stream.close(constants.NGHTTP2_CANCEL)
  } else {
    upload.isRefused = true
    // Without a listener, the error would end the process.
    request.on('error', () => {})
    request.destroy(new RequestTimeout())
  }
}
