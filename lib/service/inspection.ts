import { createServer, request } from 'node:http'
import type { IncomingMessage, RequestListener } from 'node:http'
import { duplexPair } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { ServedCollection } from '../registry.ts'

/** What a collection looks like from outside, in the app that it lives in. */
export interface Inspection extends ServedCollection {
  /** To a method that no collection takes: no storage is asked, and no hook of an action. */
  readonly refusal: IncomingMessage
  /** To the preflight of a browser, at an item. */
  readonly preflight: IncomingMessage
  /** To an OPTIONS that is no preflight. */
  readonly options: IncomingMessage
  /** To the method that none takes, where the name is written in letters of the other case. */
  readonly cased: IncomingMessage
  /** Whether @fastify/swagger is there now. */
  readonly described: boolean
}

const parameter = /:(\w+)(?:\([^/]*\))?/g

/** Undefined where the app does not serve it by its path alone. */
export async function inspect (app: FastifyInstance, registered: ServedCollection, origin: string): Promise<Inspection | undefined> {
  const { path, collection: { name } } = registered
  const at = path.replace(parameter, 'audit')
  const ask = asking(app.routing)
  const refusal = await ask('DELETE', at, { origin })
  if (!isOurs(refusal)) return undefined
  return {
    ...registered,
    refusal,
    preflight: await ask('OPTIONS', `${at}/audit`, { origin, 'access-control-request-method': 'PUT' }),
    options: await ask('OPTIONS', at),
    cased: await ask('DELETE', at.slice(0, -name.length) + otherCase(name)),
    described: app.hasDecorator('swagger')
  }
}

export function otherCase (name: string): string {
  return name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase()
}

/** The app may send such problems as well, but hardly at the path of a collection. */
export function isOurs ({ headers }: IncomingMessage): boolean {
  return headers['content-type'] === 'application/problem+json'
}

type Ask = (method: string, path: string, fields?: Record<string, string>) => Promise<IncomingMessage>

/** `inject` would wait for the app to be ready, which waits for us: it is a server without a port, and connections within the process. */
function asking (listener: RequestListener): Ask {
  const server = createServer(listener)
  return (method, path, fields = {}) => new Promise((resolve, reject) => {
    const [ours, theirs] = duplexPair()
    server.emit('connection', Object.assign(theirs, { remoteAddress: '127.0.0.1' }))
    const headers = { host: 'localhost', 'user-agent': 'fastify-collections audit', connection: 'close', ...fields }
    request({ method, path, headers, createConnection: () => ours }, answer => {
      answer.resume()
      answer.on('end', () => resolve(answer))
    }).on('error', reject).end()
  })
}
