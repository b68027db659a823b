import type {
  FastifyReply,
  FastifyRequest,
  onSendAsyncHookHandler,
  preSerializationHookHandler,
  RouteHandlerMethod
} from 'fastify'
import type { AnyActionName } from '../../engine/action.ts'
import type { Headers, Response } from './response.ts'
import type { Action } from './trace-action.ts'
import { RequestContext } from './request-context.ts'
import type { ActionInfo } from '../../engine/action-info.ts'
import type { Collection } from '../../engine/collection.ts'
import { ActionError, errorToProblem, HookError, logFailure } from '../../errors/failure.ts'
import type { Formatted } from '../../formats/format.ts'
import { getOpenAccess } from '../../engine/access/authorize.ts'
import type { Access } from '../../engine/access/access.ts'
import { getScope } from '../../engine/operation.ts'
import { getDependentActions, getVaryHeaders } from '../../engine/access/caller-dependence.ts'
import { findAllowed, fromRequest } from '../../engine/access/evaluate.ts'
import { mergePolicies } from '../../http/cache-control.ts'
import type { CachePolicy } from '../../http/cache-control.ts'
import { formatPreferenceApplied, parsePreferences } from '../../http/prefer.ts'
import { Problem, problem } from '../../http/problems.ts'
import { mergeVary } from '../../http/vary.ts'
import { findState } from './request-state.ts'
import { negotiateFormat, notAcceptable } from './headers.ts'
import { findPlace } from '../../engine/access/parent.ts'
import { checkEncoding, checkQuery } from '../../query/check-query.ts'
import { checkOutsideCall } from '../../engine/transaction.ts'
import { prepareReply, noStore, prepareProblem, safeMethods, setHeaders } from './reply.ts'
import type { ProblemSource } from './reply.ts'
import { addDescriptionLink } from './links.ts'
import { present } from './presentation.ts'
import { HttpRequest } from './request.ts'

interface HandlerOptions {
  readonly run: Action
  /** The policy of successful responses. */
  readonly cache: CachePolicy
}

/** Creates the handler of an action: converts the Fastify request, runs the action, and sends its result. */
export function createHandler (
  collection: Collection,
  action: ActionInfo,
  { run, cache: ownCache }: HandlerOptions
): RouteHandlerMethod {
  const takesQuery = action.query !== undefined || action.takes === 'parameters'
  const requiresMatch = action.requiresMatch(collection.http.etag.required)
  const dependentActions = getDependentActions(collection)
  const { parent } = collection.attached
  let open: Access | undefined
  // A response within an item also says that the item exists.
  const cache = parent === undefined
    ? ownCache
    : mergePolicies(ownCache, [parent.collection.http.cache.read])
  const varied = mergeVary(undefined, 'Accept', ...getVaryHeaders(collection, cache))

  function send (response: Response, reply: FastifyReply): Formatted | undefined {
    const isSafe = safeMethods.has(reply.request.method)
    if (collection.http.groups !== undefined && (response.status < 300 || isSafe)) {
      setHeaders(isSafe ? collection.http.groups.read : collection.http.groups.write, reply)
    }
    const { applied, vary, policies = [] } = response
    if (applied !== undefined) reply.header('preference-applied', formatPreferenceApplied(applied))
    const mustNotBeStored = response.dependsOnCaller === true && cache.dependsOnCaller !== true
    const policy = mustNotBeStored ? noStore.policy : mergePolicies(cache, policies)
    const headers = addDescriptionLink(collection, response.headers)
    const caching = { policy, varied: vary === undefined ? varied : mergeVary(varied, ...vary) }
    return prepareReply(headers === response.headers ? response : { ...response, headers }, caching, reply)
  }

  return async function (incoming, reply) {
    try {
      checkOutsideCall(collection)
      const state = findState(incoming)
      const format = state?.format ?? negotiateFormat(collection.http, incoming.headers.accept)
      if (format === undefined && action.returnsContent) {
        return prepareProblem(collection, notAcceptable(collection.http), reply)
      }
      const place = findPlace(parent, incoming.params)
      if (place instanceof Problem) return prepareProblem(collection, place, reply)
      const access = state?.access ?? (open ??= getOpenAccess(collection))
      const context = new RequestContext(reply.raw, getScope(access, place))
      const { view } = access
      const presentation = dependentActions === undefined
        ? present(collection, view)
        : present(collection, view, await findAllowed(collection.access!, dependentActions, fromRequest(incoming)))
      const request = new HttpRequest({
        collection,
        action,
        place,
        access,
        context,
        presentation,
        format: format ?? collection.http.formats[0]!,
        mediaType: state?.mediaType,
        requiresMatch,
        preferences: parsePreferences(incoming.headers.prefer as string | undefined),
        original: incoming
      })
      const invalid = checkEncoding(request.search) ?? (takesQuery ? undefined : checkQuery(request))
      if (invalid !== undefined) return prepareProblem(collection, invalid, reply)
      const result = await run(request)
      context.end()
      return result instanceof Problem ? prepareProblem(collection, result, reply) : send(result, reply)
    } catch (thrown) {
      // A storage or a function of the definition can throw a problem on purpose.
      if (thrown instanceof Problem) return prepareProblem(collection, thrown, reply)
      // Everything else is handled like any other error of the app, so that its onError hooks see it.
      throw thrown instanceof HookError ? thrown.cause : new ActionError(thrown)
    }
  }
}

/** RFC 9110, section 9.3.7: returns the headers that describe the resource. */
export type GetOptionsHeaders = (incoming: FastifyRequest) => Headers | Promise<Headers>

interface OptionsHandlers {
  readonly handler: RouteHandlerMethod
  readonly onSend: onSendAsyncHookHandler
}

/**
 * Creates the handler of OPTIONS, which ignores preconditions, and a hook for requests that do not reach it:
 * @fastify/cors responds to every OPTIONS itself. A preflight is left to it.
 */
export function createOptionsHandlers (collection: ProblemSource, getHeaders: GetOptionsHeaders): OptionsHandlers {
  async function prepare (incoming: FastifyRequest, reply: FastifyReply): Promise<undefined> {
    const headers = addDescriptionLink(collection, await getHeaders(incoming))
    prepareReply({ status: 204, headers, content: undefined }, noStore, reply)
  }
  return {
    handler: prepare,
    async onSend (incoming, reply, payload) {
      const isPreflight = incoming.headers['access-control-request-method'] !== undefined
      if (isPreflight || reply.statusCode >= 300 || reply.hasHeader('allow')) return payload
      // RFC 9110, section 8.6: a 204 has none.
      reply.removeHeader('content-length')
      return prepare(incoming, reply)
    }
  }
}

/** Creates the handler of paths that no item can have. */
export function createNotFoundHandler (collection: Collection): RouteHandlerMethod {
  return async (_incoming, reply) => prepareProblem(collection, problem('not-found'), reply)
}

/**
 * Creates the handler of all errors below the collection: of its hooks, of those of the app, and of Fastify itself.
 * `action` is undefined for routes that belong to none.
 */
export function createErrorHandler (collection: Collection, action?: AnyActionName) {
  const target = { collection: collection.name, ...action !== undefined && { action } }
  return function (error: unknown, incoming: FastifyRequest, reply: FastifyReply): FastifyReply {
    // If a hook fails after the action, the reply has headers of a response that is not sent.
    for (const header of responseHeaders) reply.removeHeader(header)
    try {
      const known = errorToProblem(error, reply.statusCode, reply.hasHeader('retry-after'))
      logFailure(incoming.log, error, known, target)
      return reply.send(prepareProblem(collection, known, reply))
    } catch (err) {
      // Reading the error or rendering the problem has failed.
      incoming.log.error({ ...target, err }, 'request failed')
      return reply.send(prepareProblem(collection, problem('internal-error'), reply))
    }
  }
}

/**
 * Creates a hook for errors that plugins and hooks of the app send as objects, as @fastify/bearer-auth does: they
 * become problems. Fastify skips the hook for texts, so it costs the responses of actions nothing.
 */
export function createErrorConverter (collection: ProblemSource): preSerializationHookHandler<unknown> {
  return function (_incoming, reply, payload, done) {
    const isProblem = String(reply.getHeader('content-type')).startsWith('application/problem+json')
    if (reply.statusCode < 400 || isProblem) return done(null, payload)
    const { message, error } = Object(payload) as { message?: unknown, error?: unknown }
    const known = errorToProblem({ message: message ?? error }, reply.statusCode, reply.hasHeader('retry-after'))
    done(null, prepareProblem(collection, known, reply))
  }
}

/** The headers that only the response of an action has. */
const responseHeaders = [
  'etag',
  'last-modified',
  'location',
  'content-location',
  'preference-applied',
  'idempotent-replayed',
  'cache-groups',
  'cache-group-invalidation'
]
