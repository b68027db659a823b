import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { Action } from './action.ts'
import type { Response, HeaderFields } from './response/response.ts'
import { RequestContext } from './request/request.ts'
import type { Collection } from './collection.ts'
import { Fault, HookError, logFailure, problemOfError } from './failure.ts'
import type { Format, Formatted } from './formats/format.ts'
import { getAuthorization, isProtected, varyHeaders } from './access/authorize.ts'
import type { Authorization } from './access/authorize.ts'
import type { CachePolicy } from './http/cache-control.ts'
import { formatPreferenceApplied, parsePreferences } from './http/prefer.ts'
import type { Preferences } from './http/prefer.ts'
import { Problem, problem } from './http/problems.ts'
import { mergeVary } from './http/vary.ts'
import { joinFilters } from './storage/filter.ts'
import { negotiateFormat, notAcceptable } from './request/headers.ts'
import { findPlace } from './access/parent.ts'
import type { Place } from './access/parent.ts'
import { checkQuery } from './request/query.ts'
import { prepareReply, noStore, prepareProblem, safeMethods, setHeaders } from './response/reply.ts'
import { normalizePath } from './request/request.ts'
import type { Request } from './request/request.ts'
import { collectionSeen } from './visible-collection.ts'

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

/** Turns the request into one of our own, runs the action, and sends its result. */
export function handler (collection: Collection, { action, queried, cache, preferred, negotiated }: Served): RouteHandlerMethod {
  const guarded = isProtected(collection)
  const isNested = collection.parent !== undefined
  const varied = mergeVary(undefined, 'Accept', ...varyHeaders(collection, cache))
  const variedByPreference = `${varied}, Prefer`

  function send (answer: Response, lenient: boolean, reply: FastifyReply): Formatted | undefined {
    const isSafe = safeMethods.has(reply.request.method)
    if (collection.groups !== undefined && (answer.status < 300 || isSafe)) setHeaders(isSafe ? collection.groups.read : collection.groups.write, reply)
    const followed: Preferences | undefined = lenient ? { ...answer.applied, handling: 'lenient' } : answer.applied
    if (followed !== undefined) reply.header('preference-applied', formatPreferenceApplied(followed))
    const policy = answer.personal === true && cache.closed !== true ? noStore.policy : cache
    return prepareReply(answer, { policy, varied: preferred || followed?.handling !== undefined ? variedByPreference : varied }, reply)
  }

  return async function (incoming, reply) {
    try {
      const format = negotiateFormat(collection, incoming.headers.accept)
      if (format === undefined && negotiated) return prepareProblem(collection, notAcceptable(collection), reply)
      const place = isNested ? findPlace(collection, incoming.params) : undefined
      if (place instanceof Problem) return prepareProblem(collection, place, reply)
      const authorization = guarded ? getAuthorization(incoming) : undefined
      const request = requestOf(format ?? collection.formats[0]!, { place, authorization }, reply)
      const lenient = queried ? false : checkQuery(request)
      if (lenient instanceof Problem) return prepareProblem(collection, lenient, reply)
      const seen = authorization?.hidden === undefined ? collection : collectionSeen(collection, authorization.hidden)
      const result = await action(seen, request)
      request.context.end()
      return result instanceof Problem ? prepareProblem(collection, result, reply) : send(result, lenient, reply)
    } catch (thrown) {
      // A storage or a function of the definition can throw a problem on purpose.
      if (thrown instanceof Problem) return prepareProblem(collection, thrown, reply)
      // Everything else goes the way of every other error of the app, so that its onError hooks see it.
      throw thrown instanceof HookError ? thrown.cause : new Fault(thrown)
    }
  }
}

/** RFC 9110 section 9.3.7: what can be done here; preconditions are none of its business. */
export function options (fields: (incoming: FastifyRequest) => HeaderFields | Promise<HeaderFields>): RouteHandlerMethod {
  return async (incoming, reply) => prepareReply({ status: 204, fields: await fields(incoming), content: undefined }, noStore, reply)
}

/** For what no item can be called. */
export function absent (collection: Collection): RouteHandlerMethod {
  return async (_incoming, reply) => prepareProblem(collection, problem('not-found'), reply)
}

/** For whatever is thrown below the collection: by its hooks, by those of the app, or by Fastify itself. */
export function errorHandler (collection: Collection) {
  return function (error: unknown, incoming: FastifyRequest, reply: FastifyReply): FastifyReply {
    // Where an answer was decided already, and a hook could not let it go.
    for (const field of decided) reply.removeHeader(field)
    try {
      const known = problemOfError(error, reply.statusCode, reply.hasHeader('retry-after'))
      logFailure(incoming.log, error, known)
      return reply.send(prepareProblem(collection, known, reply))
    } catch (err) {
      // An error that cannot be looked at, or a problem that cannot be written.
      incoming.log.error({ err }, 'request failed')
      return reply.send(prepareProblem(collection, problem('internal-error'), reply))
    }
  }
}

/** The fields that only an answer of ours has. */
const decided = ['etag', 'last-modified', 'location', 'content-location', 'preference-applied', 'idempotent-replayed', 'cache-groups', 'cache-group-invalidation']

function requestOf (format: Format, { place, authorization }: { place: Place | undefined, authorization: Authorization | undefined }, reply: FastifyReply): Request {
  const incoming = reply.request
  const { url, headers } = incoming
  const preferred = parsePreferences(headers.prefer as string | undefined)
  const { id, '*': rest } = incoming.params as { id?: string, '*'?: string }
  const mark = url.indexOf('?')
  return {
    path: normalizePath(url),
    search: mark < 0 ? '' : url.slice(mark + 1),
    // A prefix may have a parameter of this name as well.
    segment: rest ?? id ?? '',
    query: incoming.query as Request['query'],
    fields: headers,
    content: incoming.body as Buffer | undefined,
    format,
    // Who may write, but not read, gets nothing to read.
    preferences: authorization?.canRead === false ? { ...preferred, return: 'minimal' } : preferred,
    fixed: place?.fixed,
    context: new RequestContext(reply.raw, place === undefined ? authorization?.scope?.filter : joinFilters(place.scope, authorization?.scope?.filter)),
    caller: authorization?.caller,
    scope: authorization?.scope,
    original: incoming
  }
}
