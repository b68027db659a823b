import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { getServiceInfo } from '../../engine/registry.ts'
import { errorToProblem, logFailure } from '../../errors/failure.ts'
import { Malformed } from '../../formats/format.ts'
import { parseIJson } from '../../formats/i-json.ts'
import { formatProblem, problem } from '../../http/problems.ts'
import { buildChallenge } from '../../http/www-authenticate.ts'
import type { AgentRequest } from './call.ts'

// Requests of Fastify, as the handler of the protocol gets them: requests of the web. What is refused before is a
// problem, as everywhere.

/** Returns what calls of tools need of a request. Their work is aborted when the client disconnects. */
export function createSource (request: FastifyRequest, { raw }: FastifyReply, limit: number): AgentRequest {
  const controller = new AbortController()
  raw.once('close', () => { if (!raw.writableFinished) controller.abort() })
  return { request, limit, signal: controller.signal }
}

/** Only the method and the headers count: the handler gets the content parsed. */
export function toWebRequest ({ method, headers }: FastifyRequest, signal: AbortSignal): Request {
  const web = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    // HTTP/2 has the method and the path as headers.
    if (value !== undefined && !name.startsWith(':')) web.set(name, String(value))
  }
  return new Request('http://localhost/', { method, headers: web, signal })
}

/** Parses the content, with the checks for all content: no name occurs twice, and no number loses digits. */
export function parseBody (body: unknown): unknown {
  try {
    return Buffer.isBuffer(body) ? parseIJson(body) : undefined
  } catch (thrown) {
    if (thrown instanceof Malformed) throw problem('malformed-content', { detail: thrown.detail })
    throw thrown
  }
}

interface ContextOptions {
  readonly path: string
  /** Returns the header WWW-Authenticate of a 401. */
  readonly getChallenge: (request: FastifyRequest) => string
}

/** Reads JSON as bytes, refuses any other content with 415, and sends errors as problems. */
export function prepareContext (app: FastifyInstance, { path, getChallenge }: ContextOptions): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error, request, reply) => {
    const known = errorToProblem(error, reply.statusCode, reply.hasHeader('retry-after'))
    logFailure(request.log, error, known)
    if (known.status === 401) {
      reply.header('www-authenticate', buildChallenge(request.headers.authorization, getChallenge(request)))
    }
    return reply
      .code(known.status)
      .headers({ ...known.headers, 'cache-control': 'no-store', 'content-type': 'application/problem+json' })
      .serializer(String)
      .send(formatProblem(known, getServiceInfo(app).problems, app.prefix + path))
  })
}
