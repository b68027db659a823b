import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Answer } from '../response/answer.ts'
import { logFailure, problemOfError } from '../failure.ts'
import { problemContent } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { head, never } from '../response/reply.ts'

/** Not to be kept, unless the answer says so itself. */
export function send (answer: Answer, reply: FastifyReply): FastifyReply {
  return reply.send(head(answer, never, reply))
}

/** `problems` is what stands in front of their names. */
export function refuse (problem: Problem, problems: string | undefined, reply: FastifyReply): FastifyReply {
  const content = problemContent(problem, problems, reply.request.url.split('?', 1)[0]!)
  return send({ status: problem.status, fields: { 'content-type': 'application/problem+json', ...problem.fields }, content }, reply)
}

/** For whatever is thrown on the routes of the service, by hooks of the app as well. */
export function errorHandler (problems: string | undefined) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const known = problemOfError(error, reply.statusCode, reply.hasHeader('retry-after'))
    logFailure(request.log, error, known)
    return refuse(known, problems, reply)
  }
}
