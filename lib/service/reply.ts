import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Answer } from '../answer.ts'
import { problemOfError } from '../fault.ts'
import { problemContent } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { vary } from '../http/vary.ts'

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

interface ProblemExchange extends Exchange {
  /** What stands in front of the names of problems. */
  readonly problems: string | undefined
}

export function send ({ status, fields, content }: Answer, { request, reply }: Exchange): FastifyReply {
  const present = reply.getHeader('vary')
  reply.code(status).headers({ ...fields, vary: vary(present === undefined ? present : String(present), 'Accept'), 'x-content-type-options': 'nosniff' })
  if (content === undefined) return reply.send()
  // With a serialiser of its own, the reply leaves the Content-Type as it is.
  if (request.method !== 'HEAD') return reply.serializer(String).send(content)
  return reply.header('content-length', String(Buffer.byteLength(content))).send()
}

export function refuse (problem: Problem, { request, reply, problems }: ProblemExchange): FastifyReply {
  const content = problemContent(problem, problems, request.url.split('?', 1)[0]!)
  return send({ status: problem.status, fields: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...problem.fields }, content }, { request, reply })
}

/** For whatever is thrown on the routes of the service, by hooks of the app as well. */
export function errorHandler (problems: string | undefined) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const known = problemOfError(error, reply.statusCode, reply.hasHeader('retry-after'))
    if (known.status >= 500) request.log.error({ err: error }, 'request failed')
    return refuse(known, { request, reply, problems })
  }
}
