import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { Answer, Fields } from './answer.ts'
import { RequestContext } from './context.ts'
import type { Collection } from './definition.ts'
import { Fault, problemOfError } from './fault.ts'
import type { Format } from './formats/format.ts'
import { cacheControl } from './http/cache-control.ts'
import type { CachePolicy } from './http/cache-control.ts'
import { knownTag } from './http/entity-tag.ts'
import { applied, preferences } from './http/prefer.ts'
import type { Preferences } from './http/prefer.ts'
import { Problem, problem, problemContent } from './http/problems.ts'
import { vary } from './http/vary.ts'
import { HookError } from './item.ts'
import { formatOf, notAcceptable } from './negotiation.ts'
import { checkParent, placeOf } from './nesting.ts'
import type { Place } from './nesting.ts'
import { worded } from './profiles/profiles.ts'
import { checkQuery } from './query.ts'
import { pathOf } from './request.ts'
import type { Request } from './request.ts'

export type Action = (collection: Collection, request: Request) => Promise<Answer>

export interface Served {
  readonly action: Action
  /** Whether it takes a query, and looks at it itself. */
  readonly queried: boolean
  /** Of its successful answers. */
  readonly cache: CachePolicy
  /** Whether its answers differ by what the client prefers, which is told also where it prefers nothing (RFC 7240 section 2). */
  readonly preferred: boolean
  /** Whether it is refused, and not done all the same, where the client accepts none of our formats. */
  readonly negotiated: boolean
}

type Exchange = [FastifyRequest, FastifyReply]

/** Asks the action, and sends what it decides. */
export function handler (collection: Collection, { action, queried, cache, preferred, negotiated }: Served): RouteHandlerMethod {
  return async function (incoming, reply) {
    try {
      const format = formatOf(collection, incoming.headers.accept)
      if (format === undefined && negotiated) throw notAcceptable(collection)
      const place = placeOf(collection, incoming.params)
      const request = requestOf(format ?? collection.formats[0]!, place, [incoming, reply])
      const lenient = !queried && checkQuery(request)
      if (place !== undefined) await checkParent(collection, place, request.context)
      const answer = await action(collection, request)
      if (collection.groups !== undefined) write(safe.has(incoming.method) ? collection.groups.read : collection.groups.write, reply)
      const followed: Preferences | undefined = lenient ? { ...answer.applied, handling: 'lenient' } : answer.applied
      if (followed !== undefined) reply.header('preference-applied', applied(followed))
      if (preferred || followed?.handling !== undefined) varyBy(reply, 'Accept', 'Prefer')
      return send(answer, cache, [incoming, reply])
    } catch (thrown) {
      if (thrown instanceof Problem) return refuse(collection, thrown, [incoming, reply])
      // Goes the way of every other error of the app, so that its onError hooks see it.
      throw thrown instanceof HookError ? thrown.cause : new Fault(thrown)
    }
  }
}

/** RFC 9110 section 9.3.7: what can be done here; preconditions are none of its business. */
export function options (fields: Fields): RouteHandlerMethod {
  return async (incoming, reply) => send({ status: 204, fields, content: undefined }, never, [incoming, reply])
}

/** For what no item can be called. */
export function absent (collection: Collection): RouteHandlerMethod {
  return async (incoming, reply) => refuse(collection, problem('absent'), [incoming, reply])
}

/** For whatever is thrown below the collection: by its hooks, by those of the app, or by Fastify itself. */
export function errorHandler (collection: Collection) {
  return function (error: unknown, incoming: FastifyRequest, reply: FastifyReply): FastifyReply {
    // Where an answer was decided already, and a hook could not let it go.
    for (const field of decided) reply.removeHeader(field)
    try {
      const known = problemOfError(error, reply.statusCode)
      if (known.status >= 500) incoming.log.error({ err: error instanceof Fault ? error.cause : error }, 'request failed')
      return refuse(collection, known, [incoming, reply])
    } catch (err) {
      // An error that cannot be looked at, or a problem that cannot be written.
      incoming.log.error({ err }, 'request failed')
      return refuse(collection, problem('fault'), [incoming, reply])
    }
  }
}

/** The fields that only an answer of ours has. */
const decided = ['etag', 'last-modified', 'location', 'content-location', 'preference-applied', 'cache-groups', 'cache-group-invalidation']

function requestOf (format: Format, place: Place | undefined, [incoming, reply]: Exchange): Request {
  const { url, headers } = incoming
  const { id, '*': rest } = incoming.params as { id?: string, '*'?: string }
  const mark = url.indexOf('?')
  return {
    path: pathOf(url),
    search: mark < 0 ? '' : url.slice(mark + 1),
    // A prefix may have a parameter of this name as well.
    segment: rest ?? id ?? '',
    query: incoming.query as Request['query'],
    fields: headers,
    content: incoming.body as Buffer | undefined,
    format,
    preferences: preferences(headers.prefer as string | undefined),
    fixed: place?.fixed,
    context: new RequestContext(reply.raw, place?.scope),
    original: incoming
  }
}

const safe = new Set(['GET', 'HEAD', 'QUERY'])

function send ({ status, fields, content }: Answer, policy: CachePolicy, [incoming, reply]: Exchange): FastifyReply {
  const { authorization, cookie } = incoming.headers
  const credentials = authorization !== undefined || cookie !== undefined
  reply.code(status)
  reply.header('cache-control', cacheControl({ safe: safe.has(incoming.method), status, credentials }, policy))
  varyBy(reply, 'Accept')
  reply.header('x-content-type-options', 'nosniff')
  write(fields, reply)
  const known = incoming.headers['if-none-match']
  if (status === 304 && known !== undefined && fields.etag !== undefined) reply.header('etag', knownTag(fields.etag, known))
  // With a serialiser of its own, the reply leaves the Content-Type as it is: JSON has no charset parameter (RFC 8259 section 11).
  if (content !== undefined && incoming.method !== 'HEAD') return reply.serializer(asItIs).send(content)
  // RFC 9110 section 9.3.2: HEAD tells the length of what GET would send.
  if (content !== undefined) reply.header('content-length', String(Buffer.byteLength(content)))
  return reply.send()
}

/** What stands there already is the app's, such as the Origin of its CORS; several lines of it are an array. */
function varyBy (reply: FastifyReply, ...names: readonly string[]): void {
  const present = reply.getHeader('vary')
  reply.header('vary', present === undefined ? names.join(', ') : vary(String(present), ...names))
}

function write (fields: Fields, reply: FastifyReply): void {
  for (const name in fields) reply.header(name, fields[name])
}

function asItIs (content: unknown): string {
  return content as string
}

const never: CachePolicy = { open: 'no-store', credentialed: 'no-store' }

function refuse (collection: Collection, problem: Problem, [incoming, reply]: Exchange): FastifyReply {
  const { url } = incoming
  const instance = url.split('?', 1)[0]!
  const fields = { 'content-type': 'application/problem+json', ...problem.fields }
  return send({ status: problem.status, fields, content: problemContent(worded(collection, problem), collection.problems, instance) }, never, [incoming, reply])
}
