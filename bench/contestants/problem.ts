// RFC 9457, as written for the contestant `features`.
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { Refusal } from '../../lib/storage/contract.ts'

export const problem = Type.Object({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.Optional(Type.String()),
  instance: Type.String(),
  code: Type.String(),
  errors: Type.Optional(Type.Array(Type.Object({ pointer: Type.String(), message: Type.String() })))
})

const problems = {
  'malformed-content': { status: 400, title: 'Bad Request' },
  'invalid-query': { status: 400, title: 'Bad Request' },
  'not-found': {
    status: 404,
    title: 'Not Found',
    detail: 'No resource has this path, or it is not visible to the caller.'
  },
  'not-acceptable': { status: 406, title: 'Not Acceptable' },
  conflict: { status: 409, title: 'Conflict' },
  'not-unique': { status: 409, title: 'Conflict' },
  'precondition-failed': {
    status: 412,
    title: 'Precondition Failed',
    detail: 'The resource has changed. Read it again, then decide.'
  },
  'validation-failed': { status: 422, title: 'Unprocessable Content' },
  'internal-error': { status: 500, title: 'Internal Server Error' }
}

export type Refusable = keyof typeof problems

export function refuse (reply: FastifyReply, code: Refusable, more?: { detail?: string; errors?: object[] }) {
  const { status } = problems[code]
  const instance = reply.request.url.split('?', 1)[0]
  return reply
    .code(status)
    .header('content-type', 'application/problem+json')
    .send({ type: 'about:blank', ...problems[code], instance, code, ...more })
}

const codes = {
  'not-found': 'not-found',
  stale: 'precondition-failed',
  conflict: 'conflict',
  referenced: 'conflict',
  'missing-target': 'validation-failed'
} as const

/** Without a precondition of the client, a concurrent write is a conflict. */
export function refuseBy (reply: FastifyReply, refusal: Refusal) {
  const raced = refusal.refused === 'stale' && reply.request.headers['if-match'] === undefined
  if (refusal.refused === 'unstorable') {
    return refuse(reply, 'validation-failed', {
      errors: refusal.properties.map((property) => ({ pointer: `/${property}`, message: 'cannot be stored' }))
    })
  }
  if (refusal.refused !== 'not-unique') return refuse(reply, raced ? 'conflict' : codes[refusal.refused])
  const [property = ''] = refusal.properties
  return refuse(reply, 'not-unique', {
    detail: `Another item has this ${property} already.`,
    errors: [{ pointer: `/${property}`, message: 'must be unique' }]
  })
}

export function isRefusal (result: object): result is Refusal {
  return 'refused' in result
}
