import type { Formatted } from '../../formats/format.ts'
import type { FastifyReply } from 'fastify'
import type { Headers, Response } from './response.ts'
import { addDescriptionLink } from './links.ts'
import type { Collection } from '../../engine/collection.ts'
import { isProtected } from '../../engine/access/caller-dependence.ts'
import { negotiate } from '../../http/accept.ts'
import { buildCacheControl } from '../../http/cache-control.ts'
import type { CachePolicy } from '../../http/cache-control.ts'
import { getKnownTag } from '../../http/entity-tag.ts'
import { formatProblem } from '../../http/problems.ts'
import type { Problem } from '../../http/problems.ts'
import { mergeVary } from '../../http/vary.ts'
import { buildChallenge } from '../../http/www-authenticate.ts'

// Writes a response or a problem to the reply of Fastify.

export const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'QUERY'])

/** How caches may store a response. */
interface Caching {
  readonly policy: CachePolicy
  /** The request headers that the response depends on. */
  readonly varied: string
}

/**
 * Sets the status and the headers, and returns the content, which Fastify sends. HEAD gets the content as well: see
 * handleContentCoding().
 */
export function prepareReply (response: Response, caching: Caching, reply: FastifyReply): Formatted | undefined {
  const { policy, varied } = caching
  const { status, headers, content } = response
  const { method, headers: received } = reply.request
  const credentials = policy.dependsOnCaller === true ||
    received.authorization !== undefined || received.cookie !== undefined
  reply.code(status)
  reply.header('cache-control', buildCacheControl({ safe: safeMethods.has(method), status, credentials }, policy))
  addVary(varied, reply)
  reply.header('x-content-type-options', 'nosniff')
  setHeaders(headers, reply)
  if (status === 304 && headers.etag !== undefined) {
    reply.header('etag', getKnownTag(headers.etag, received))
  }
  if (content === undefined) return undefined
  // With its own serializer, a reply keeps its Content-Type: JSON has no charset parameter (RFC 8259, section 11).
  reply.serializer(toContent)
  return content
}

/** Keeps what plugins of the app have set, such as Origin by CORS. A repeated header is an array. */
function addVary (names: string, reply: FastifyReply): void {
  const present = reply.getHeader('vary')
  reply.header('vary', present === undefined ? names : mergeVary(String(present), ...names.split(', ')))
}

export function setHeaders (headers: Headers, reply: FastifyReply): void {
  for (const name in headers) reply.header(name, headers[name])
}

function toContent (content: unknown): string {
  return content as string
}

/** A 404 or 410 without credentials is `no-cache` nevertheless: see buildCacheControl(). */
export const noStore: Caching = { policy: { anonymous: 'no-store', withCredentials: 'no-store' }, varied: 'Accept' }

/** For problems of collections that require credentials. */
const noStoreForCallers: Caching = { policy: { ...noStore.policy, dependsOnCaller: true }, varied: 'Accept' }

/** The parts of a collection that the problems of its responses depend on. */
export interface ProblemSource extends Pick<Collection, 'access'> {
  readonly http: Pick<Collection['http'], 'challenge' | 'formats'>
  readonly app: Pick<Collection['app'], 'service'>
  readonly attached: Pick<Collection['attached'], 'parent'>
}

/** Sets the status and the headers of a problem, and returns the content, which Fastify sends. */
export function prepareProblem (
  collection: ProblemSource,
  problem: Problem,
  reply: FastifyReply
): Formatted | undefined {
  const { url, headers: received } = reply.request
  const instance = url.split('?', 1)[0]!
  const headers: Record<string, string> = { 'content-type': 'application/problem+json', ...problem.headers }
  // A plugin of the app may have set its own challenge.
  if (problem.status === 401 && !reply.hasHeader('www-authenticate')) {
    headers['www-authenticate'] ??= buildChallenge(received.authorization, collection.http.challenge)
  }
  const content = formatProblem(problem, collection.app.service.problems, instance)
  const page = renderProblemPage(collection, { content, accept: received.accept })
  const response = {
    status: problem.status,
    headers: addDescriptionLink(collection, { ...headers, ...page?.headers }),
    content: page?.content ?? content
  }
  return prepareReply(response, isProtected(collection) ? noStoreForCallers : noStore, reply)
}

interface FormattedProblem {
  /** The problem as JSON. */
  readonly content: string
  readonly accept: string | undefined
}

interface ProblemPage {
  readonly headers: Headers
  readonly content: string
}

/** Renders the problem as a page, for clients that prefer one to JSON; undefined for all others. */
function renderProblemPage ({ http: { formats } }: ProblemSource, source: FormattedProblem): ProblemPage | undefined {
  const { content, accept } = source
  const format = formats.find(({ problem }) => problem !== undefined)
  if (format?.problem === undefined) return undefined
  const mediaType = negotiate(accept, ['application/problem+json', 'application/json', format.mediaType])
  if (mediaType !== format.mediaType) return undefined
  return {
    headers: { ...format.headers, 'content-type': format.mediaType },
    content: format.problem(JSON.parse(content))
  }
}
