import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { buildAllow } from '../http/allow.ts'
import { problem, formatProblem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { handleExpectations } from './expectations.ts'
import { handleParserErrors } from './parser-errors.ts'
import type { PendingResponses } from './parser-errors.ts'

// Checks requests before Fastify looks for a route: no route can do that.

type Methods = readonly string[]

/** RFC 9112, section 3.2: exactly one Host. Node.js uses the first of several. */
function checkHost ({ rawHeaders, httpVersionMinor, headers: { host } }: IncomingMessage): Problem | undefined {
  if (host === undefined) {
    return httpVersionMinor === 0 ? undefined : problem('bad-request', { detail: 'The header Host is missing.' })
  }
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count > 1 ? problem('bad-request', { detail: 'The header Host is repeated.' }) : undefined
}

/** RFC 3986, section 2.1. */
function checkTarget ({ url = '', method }: IncomingMessage): Problem | undefined {
  if (url === '*' && method !== 'OPTIONS') {
    return problem('bad-request', { detail: 'Only OPTIONS can be sent to the whole server.' })
  }
  const [path = ''] = url.split('?', 1)
  if (!path.includes('%')) return undefined
  try {
    decodeURIComponent(path)
    return undefined
  } catch {
    return problem('bad-request', { detail: 'The path has a percent sign without two hexadecimal digits.' })
  }
}

function checkRequest (request: IncomingMessage, methods: Methods): Problem | undefined {
  if (!isHttp2(request)) {
    if (request.httpVersionMajor !== 1) return problem('http-version-not-supported')
    const refusal = checkHost(request)
    if (refusal !== undefined) return refusal
  }
  if (!methods.includes(request.method!)) {
    return problem('not-implemented', { detail: `The method ${request.method} is not implemented by this server.` })
  }
  return checkTarget(request)
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
}

/** Replaces the listener of Fastify by one that checks requests first. */
export function installRequestChecks (server: Server, { methods, problems }: RequestChecks): void {
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
  handleParserErrors(server, responses, problems)
}

function sendProblem (
  problem: Problem,
  base: string | undefined,
  request: IncomingMessage,
  response: ServerResponse
): void {
  const content = formatProblem(problem, base, request.url!.split('?', 1)[0]!)
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
