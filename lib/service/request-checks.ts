import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { buildAllow } from '../http/allow.ts'
import { isSameHost, isValidHost } from '../http/host.ts'
import { isDecodable } from '../http/percent-encoding.ts'
import { problem, formatProblem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { hasUnknownTransferCoding } from '../http/transfer-encoding.ts'
import { handleExpectations } from './expectations.ts'
import { endInOrder, handleParserErrors } from './parser-errors.ts'
import type { PendingResponses } from './parser-errors.ts'

// Checks requests before Fastify looks for a route: no route can do that.

type Methods = readonly string[]

/** RFC 9112, section 3.2: exactly one Host, which is valid. Node.js uses the first of several. */
function checkHost ({ rawHeaders, httpVersionMinor, headers: { host } }: IncomingMessage): Problem | undefined {
  if (host === undefined) {
    return httpVersionMinor === 0 ? undefined : problem('bad-request', { detail: 'The header Host is missing.' })
  }
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  if (count > 1) return problem('bad-request', { detail: 'The header Host is repeated.' })
  if (!isValidHost(host)) {
    return problem('bad-request', { detail: 'The header Host must be a host name or an address, and may have a port.' })
  }
  return undefined
}

/** RFC 9113, section 8.3.1: Host must not name another host than `:authority`. Node.js refuses what is invalid. */
function checkAuthority ({ headers }: IncomingMessage): Problem | undefined {
  const { host, ':authority': authority, ':scheme': scheme } = headers as Record<string, string | undefined>
  if (host === undefined || authority === undefined || isSameHost(host, authority, scheme)) return undefined
  return problem('bad-request', { detail: 'The header Host differs from :authority.' })
}

/** RFC 9112, section 6.1: 501 for a coding that is not decoded, also if `chunked` follows. */
function checkTransferCoding ({ headers: { 'transfer-encoding': codings } }: IncomingMessage): Problem | undefined {
  if (codings === undefined || !hasUnknownTransferCoding(codings)) return undefined
  return problem('not-implemented', { detail: 'The only Transfer-Encoding of this server is chunked.' })
}

/** RFC 3986, section 2.1. */
function checkTarget ({ url = '', method }: IncomingMessage): Problem | undefined {
  if (url === '*' && method !== 'OPTIONS') {
    return problem('bad-request', { detail: 'Only OPTIONS can be sent to the whole server.' })
  }
  const [path = ''] = url.split('?', 1)
  if (!path.includes('%') || isDecodable(path)) return undefined
  return problem('bad-request', { detail: 'The path has a percent sign without two hexadecimal digits.' })
}

function checkRequest (request: IncomingMessage, methods: Methods): Problem | undefined {
  if (!isHttp2(request) && request.httpVersionMajor !== 1) return problem('http-version-not-supported')
  const refusal = isHttp2(request) ? checkAuthority(request) : checkHost(request) ?? checkTransferCoding(request)
  if (refusal !== undefined) return refusal
  if (!methods.includes(request.method!)) return methodNotImplemented(request)
  return checkTarget(request)
}

function methodNotImplemented ({ method }: IncomingMessage): Problem {
  return problem('not-implemented', { detail: `The method ${method} is not implemented by this server.` })
}

/** Only requests of HTTP/2 servers have a stream. */
function isHttp2 (request: IncomingMessage): boolean {
  return 'stream' in request
}

interface RequestChecks {
  /** The methods that the app supports. */
  readonly methods: Methods
  /** The URI that problem names are appended to. */
  readonly problems: string | undefined
  /** Whether the server is closing. */
  readonly isClosing: () => boolean
}

/** A closing server may refuse requests. Fastify writes this response itself, so no hook can add the header. */
function addRetryAfter (response: ServerResponse): void {
  const { writeHead } = response
  Reflect.set(response, 'writeHead', (status: number, ...rest: unknown[]) => {
    if (status === 503) response.setHeader('retry-after', '1')
    return Reflect.apply(writeHead, response, [status, ...rest])
  })
}

/** Replaces the listener of Fastify by one that checks requests first. */
export function installRequestChecks (server: Server, { methods, problems, isClosing }: RequestChecks): void {
  const listeners = server.listeners('request') as RequestListener[]
  const responses: PendingResponses = new WeakMap()
  const onRequest: RequestListener = (request, response) => {
    responses.set(request.socket, response)
    const refusal = checkRequest(request, methods)
    if (refusal !== undefined) {
      sendProblem(refusal, problems, request, response)
    } else if (request.url === '*') {
      // RFC 9110, section 9.3.7.
      response.writeHead(204, { allow: buildAllow(methods), 'cache-control': 'no-store' }).end()
    } else {
      if (isClosing()) addRetryAfter(response)
      for (const listener of listeners) listener.call(server, request, response)
    }
  }
  server.removeAllListeners('request')
  server.on('request', onRequest)
  // Otherwise Node.js rejects requests without Host itself, without a problem.
  if (Reflect.get(server, 'requireHostHeader') === true) Reflect.set(server, 'requireHostHeader', false)
  handleExpectations(server, (request, response) => {
    sendProblem(problem('expectation-failed'), problems, request, response)
  })
  handleSocketErrors(server)
  handleParserErrors(server, responses, problems)
  handleConnect(server, responses, problems)
}

/**
 * Node.js removes its own listener from the socket of a CONNECT or an upgrade. Without another one, a client that
 * resets the connection would end the process.
 */
function handleSocketErrors (server: Server): void {
  const addListener = (socket: Socket): void => {
    socket.on('error', ignoreError)
  }
  server.on('connection', addListener)
  // With TLS, this is another socket.
  server.on('secureConnection', addListener)
}

function ignoreError (): void {}

/** Without a listener, Node.js closes the connection of a CONNECT without a response. HTTP/2 passes one. */
function handleConnect (server: Server, responses: PendingResponses, base: string | undefined): void {
  if (server.listenerCount('connect') > 0) return
  server.on('connect', (request, socket: Duplex | ServerResponse) => {
    const refusal = methodNotImplemented(request)
    if (socket instanceof Duplex) endInOrder(socket, { problem: refusal, base, previous: responses.get(socket) })
    else sendProblem(refusal, base, request, socket)
  })
}

function sendProblem (
  problem: Problem,
  base: string | undefined,
  request: IncomingMessage,
  response: ServerResponse
): void {
  // CONNECT in HTTP/2 has no path.
  const content = formatProblem(problem, base, request.url?.split('?', 1)[0])
  response.writeHead(problem.status, {
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(content),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    // The content of the request is not read, so the connection cannot be used again.
    ...!isHttp2(request) && { connection: 'close' }
  })
  response.end(request.method === 'HEAD' ? undefined : content)
}
