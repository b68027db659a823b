import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Response } from '../doors/http/response.ts'
import { logFailure, errorToProblem } from '../errors/failure.ts'
import { formatProblem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { noStore, prepareReply } from '../doors/http/reply.ts'

/** Sends a response. Caches do not store it unless it has its own Cache-Control. */
export function send (response: Response, reply: FastifyReply): FastifyReply {
  return reply.send(prepareReply(response, noStore, reply))
}

/** Sends a problem. `base` is the URI that problem names are appended to. */
export function sendProblem (problem: Problem, base: string | undefined, reply: FastifyReply): FastifyReply {
  const instance = reply.request.url.split('?', 1)[0]!
  return send({
    status: problem.status,
    headers: { 'content-type': 'application/problem+json', ...problem.headers },
    content: formatProblem(problem, base, instance)
  }, reply)
}

/** Handles errors of the routes of the service, and of hooks of the app that run for them. */
export function createErrorHandler (base: string | undefined) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const problem = errorToProblem(error, reply.statusCode, reply.hasHeader('retry-after'))
    logFailure(request.log, error, problem)
    return sendProblem(problem, base, reply)
  }
}
