import type { FastifyReply } from 'fastify'
import type { Answer, Fields } from './answer.ts'
import type { Collection } from '../collection.ts'
import { isProtected } from '../access/authorize.ts'
import { negotiate } from '../http/accept.ts'
import { cacheControl } from '../http/cache-control.ts'
import type { CachePolicy } from '../http/cache-control.ts'
import { knownTag } from '../http/entity-tag.ts'
import { problemContent, titleOf } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { vary } from '../http/vary.ts'
import { challengeTo } from '../http/www-authenticate.ts'

// An answer or a problem, as Fastify is told it.

export const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'QUERY'])

/** How an answer may be kept, and the request fields that it depends on. */
interface Kept {
  readonly policy: CachePolicy
  readonly varied: string
}

/** Everything of the answer but its content, which is given: to send that is left to Fastify. */
export function head ({ status, fields, content }: Answer, { policy, varied }: Kept, reply: FastifyReply): string | undefined {
  const { method, headers } = reply.request
  const credentials = policy.closed === true || headers.authorization !== undefined || headers.cookie !== undefined
  reply.code(status)
  reply.header('cache-control', cacheControl({ safe: safe.has(method), status, credentials }, policy))
  varyBy(varied, reply)
  reply.header('x-content-type-options', 'nosniff')
  write(fields, reply)
  if (status === 304 && fields.etag !== undefined) reply.header('etag', knownTag(fields.etag, headers['if-none-match']))
  if (content === undefined) return undefined
  // RFC 9110 section 9.3.2: HEAD tells the length of what GET would send.
  if (method === 'HEAD') {
    reply.header('content-length', String(Buffer.byteLength(content)))
    return undefined
  }
  // With a serialiser of its own, the reply leaves the Content-Type as it is: JSON has no charset parameter (RFC 8259 section 11).
  reply.serializer(asItIs)
  return content
}

/** What stands there already is the app's, such as the Origin of its CORS; several lines of it are an array. */
function varyBy (names: string, reply: FastifyReply): void {
  const present = reply.getHeader('vary')
  reply.header('vary', present === undefined ? names : vary(String(present), ...names.split(', ')))
}

export function write (fields: Fields, reply: FastifyReply): void {
  for (const name in fields) reply.header(name, fields[name])
}

function asItIs (content: unknown): string {
  return content as string
}

export const never: Kept = { policy: { open: 'no-store', credentialed: 'no-store' }, varied: 'Accept' }

/** Nor is what somebody was refused kept for anybody. */
const closed: Kept = { policy: { ...never.policy, closed: true }, varied: 'Accept' }

/** The problem with the properties that features add. */
function completeProblem ({ attached: { hooks: { onProblem } } }: Collection, problem: Problem): Problem {
  if (onProblem.length === 0) return problem
  return { ...problem, members: Object.assign({}, problem.members, ...onProblem.map((hook) => hook(problem))) as Record<string, unknown> }
}

/** Everything of a problem but its content. */
export function refuse (collection: Collection, problem: Problem, reply: FastifyReply): string | undefined {
  const { url, headers } = reply.request
  const instance = url.split('?', 1)[0]!
  const fields: Record<string, string> = { 'content-type': 'application/problem+json', ...problem.fields }
  // A plugin of the app may have put its own there.
  if (problem.status === 401 && !reply.hasHeader('www-authenticate')) fields['www-authenticate'] ??= challengeTo(headers.authorization, collection.challenge)
  const content = problemContent(completeProblem(collection, problem), collection.service.problems, instance)
  const page = renderProblemPage(collection, { problem, content, accept: headers.accept })
  return head({ status: problem.status, fields: { ...fields, ...page?.fields }, content: page?.content ?? content }, isProtected(collection) ? closed : never, reply)
}

/** The problem as a page, for clients that prefer one to JSON; undefined for all others. */
function renderProblemPage ({ formats }: Collection, { problem, content, accept }: { problem: Problem, content: string, accept: string | undefined }): { readonly fields: Readonly<Record<string, string>>, readonly content: string } | undefined {
  const format = formats.find(({ problem }) => problem !== undefined)
  if (format?.problem === undefined || negotiate(accept, ['application/problem+json', 'application/json', format.mediaType]) !== format.mediaType) return undefined
  return { fields: { ...format.fields, 'content-type': format.mediaType }, content: format.problem({ detail: `${titleOf(problem)}.`, ...JSON.parse(content) }) }
}
