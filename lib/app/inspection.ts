import { createServer, request } from 'node:http'
import type { IncomingMessage, RequestListener } from 'node:http'
import { duplexPair } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { ServedCollection } from '../engine/registry.ts'

/** The responses of a collection to the requests of the audit. */
export interface Inspection extends ServedCollection {
  /** To a method that no collection supports, so that no storage and no action is called. */
  readonly refusal: IncomingMessage
  /** To the preflight of a browser, for an item. */
  readonly preflight: IncomingMessage
  /** To an OPTIONS request that is not a preflight. */
  readonly options: IncomingMessage
  /** To the unsupported method, with the name of the collection in the other case. */
  readonly caseSwapped: IncomingMessage
  /** Whether @fastify/compress is registered now. */
  readonly hasCompress: boolean
  /** Whether @fastify/rate-limit is registered now. */
  readonly hasRateLimiter: boolean
  /** Whether @fastify/swagger is registered now. */
  readonly hasSwagger: boolean
}

const pathParameter = /:(\w+)(?:\([^/]*\))?/g

/** Of the simulated browser. */
const origin = 'https://audit.example'

/** Inspects a collection from outside. Returns undefined if its routes need more than a path, such as a host. */
export async function inspectCollection (
  app: FastifyInstance,
  served: ServedCollection
): Promise<Inspection | undefined> {
  const { path, collection: { name } } = served
  const url = path.replace(pathParameter, 'audit')
  const send = createClient(app.routing)
  const refusal = await send('DELETE', url, { origin })
  if (!isProblem(refusal)) return undefined
  return {
    ...served,
    refusal,
    preflight: await send('OPTIONS', `${url}/audit`, { origin, 'access-control-request-method': 'PUT' }),
    options: await send('OPTIONS', url),
    caseSwapped: await send('DELETE', url.slice(0, -name.length) + swapCase(name)),
    hasCompress: app.hasReplyDecorator('compress'),
    hasRateLimiter: app.hasDecorator('rateLimit'),
    hasSwagger: app.hasDecorator('swagger')
  }
}

export function swapCase (name: string): string {
  return name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase()
}

/** A problem comes from a collection: the app hardly sends one for such a path. */
export function isProblem ({ headers }: IncomingMessage): boolean {
  return headers['content-type'] === 'application/problem+json'
}

type Send = (method: string, path: string, headers?: Record<string, string>) => Promise<IncomingMessage>

/** Connects within the process. `inject()` would wait until the app is ready, which waits for the audit. */
function createClient (listener: RequestListener): Send {
  const server = createServer(listener)
  return (method, path, further = {}) => new Promise((resolve, reject) => {
    const [clientSide, serverSide] = duplexPair()
    // An address for documentation (RFC 5737), so that a rate limit counts no request of a client.
    server.emit('connection', Object.assign(serverSide, { remoteAddress: '192.0.2.1' }))
    const headers = {
      host: 'localhost',
      'user-agent': 'fastify-collections audit',
      connection: 'close',
      ...further
    }
    const outgoing = request({ method, path, headers, createConnection: () => clientSide }, (response) => {
      response.resume()
      response.on('end', () => resolve(response))
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}
