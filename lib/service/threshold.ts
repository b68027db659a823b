import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { allow } from '../http/allow.ts'
import { problem, problemContent } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { expect } from './expectation.ts'
import { tellParserErrors } from './parser-error.ts'
import type { Answers } from './parser-error.ts'

// What is answered by the server before Fastify looks for a route: it could be told by none.

type Methods = readonly string[]

/** RFC 9112 section 3.2: exactly one; Node.js keeps the first of several. */
function refusalOfHost ({ rawHeaders, httpVersionMinor, headers: { host } }: IncomingMessage): Problem | undefined {
  if (host === undefined) return httpVersionMinor === 0 ? undefined : problem('bad-request', { detail: 'The header Host is missing.' })
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count > 1 ? problem('bad-request', { detail: 'The header Host is repeated.' }) : undefined
}

/** RFC 3986 section 2.1 */
function refusalOfTarget ({ url = '', method }: IncomingMessage): Problem | undefined {
  if (url === '*' && method !== 'OPTIONS') return problem('bad-request', { detail: 'Only OPTIONS can be sent to the whole server.' })
  const [path = ''] = url.split('?', 1)
  if (!path.includes('%')) return undefined
  try {
    decodeURIComponent(path)
    return undefined
  } catch {
    return problem('bad-request', { detail: 'The path has a percent sign without two hexadecimal digits.' })
  }
}

function refusalOf (request: IncomingMessage, methods: Methods): Problem | undefined {
  if (!streamed(request)) {
    if (request.httpVersionMajor !== 1) return problem('http-version-not-supported')
    const refusal = refusalOfHost(request)
    if (refusal !== undefined) return refusal
  }
  if (!methods.includes(request.method!)) return problem('not-implemented', { detail: `The method ${request.method} is not implemented by this server.` })
  return refusalOfTarget(request)
}

/** HTTP/2 has a server of its own, whose requests bring their stream. */
function streamed (request: IncomingMessage): boolean {
  return 'stream' in request
}

interface Given {
  /** Those that the app knows. */
  readonly methods: Methods
  /** What stands in front of the names of problems. */
  readonly problems: string | undefined
}

export function guard (server: Server, { methods, problems }: Given): void {
  // Listeners of this event take a request and its response.
  const listeners = server.listeners('request') as RequestListener[]
  const answers: Answers = new WeakMap()
  const listen: RequestListener = (request, response) => {
    answers.set(request.socket, response)
    const refusal = refusalOf(request, methods)
    if (refusal !== undefined) refuse(refusal, problems, [request, response])
    // RFC 9110 section 9.3.7
    else if (request.url === '*') response.writeHead(204, { allow: allow(methods), 'cache-control': 'no-store' }).end()
    else for (const listener of listeners) listener.call(server, request, response)
  }
  server.removeAllListeners('request')
  server.on('request', listen)
  // What Node.js would refuse without a word.
  if (Reflect.get(server, 'requireHostHeader') === true) Reflect.set(server, 'requireHostHeader', false)
  expect(server, exchange => refuse(problem('expectation-failed'), problems, exchange))
  tellParserErrors(server, answers, problems)
}

function refuse (refusal: Problem, base: string | undefined, [request, response]: [IncomingMessage, ServerResponse]): void {
  const content = problemContent(refusal, base, request.url!.split('?', 1)[0]!)
  response.writeHead(refusal.status, {
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(content),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    // Its content is not read, and who could tell what is behind it.
    ...!streamed(request) && { connection: 'close' }
  }).end(request.method === 'HEAD' ? undefined : content)
}
