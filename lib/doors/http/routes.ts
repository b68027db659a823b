import type {
  FastifyInstance,
  FastifyRequest,
  FastifySchema,
  HTTPMethods,
  onRequestAsyncHookHandler,
  onRequestHookHandler,
  RouteOptions as FastifyRouteOptions
} from 'fastify'
import { requireAccess } from '../../engine/access/authorize.ts'
import { canIdentify, getCachePolicy, isProtected } from '../../engine/access/caller-dependence.ts'
import { canHide, findAllowedActions, fromRequest, isHidden } from '../../engine/access/evaluate.ts'
import { getState } from './request-state.ts'
import type { AnyActionName } from '../../engine/action.ts'
import { createAction } from './http-operation.ts'
import { buildCollectionRoute, buildParentRoute } from '../../engine/collection.ts'
import type { Collection } from '../../engine/collection.ts'
import type { Format } from '../../formats/format.ts'
import { getTable, groupByPath } from '../../engine/table.ts'
import { DuplicatePath } from '../../errors/errors.ts'
import { createErrorHandler, createHandler, createNotFoundHandler, createOptionsHandlers } from './handler.ts'
import type { GetOptionsHeaders } from './handler.ts'
import { buildAllow } from '../../http/allow.ts'
import { acceptsForms } from '../../http/cross-origin.ts'
import { problem } from '../../http/problems.ts'
import { bulkPatchTypes, patchTypes } from '../../http/patch-types.ts'
import type { createSwaggerConfig } from '../../openapi/description.ts'
import { describeRoute, hiddenSchema } from '../../openapi/summary.ts'
import type { ActionInfo } from '../../engine/action-info.ts'
import type { RouteOptions } from '../../engine/definition.ts'
import { getRepresentationTypes } from './content.ts'
import {
  checkHeaders,
  refuseBulkPreconditions,
  refuseCrossOrigin,
  refuseListPreconditions,
  refuseMethod,
  skipDeeperPaths,
  toError
} from './headers.ts'
import type { AcceptedContent } from './headers.ts'
import { getRouteOptions, mergeRouteOptions, omitHooks } from '../../engine/route-options.ts'

/**
 * Adds the routes of a collection: two URLs, six actions, OPTIONS, and 405 for every other method of the server.
 * `createConfig` describes the routes in OpenAPI; it is undefined if the app has no generator.
 */
export function addRoutes (
  app: FastifyInstance,
  collection: Collection,
  createConfig: typeof createSwaggerConfig | undefined
): void {
  const path = buildCollectionRoute(collection)
  const addRoute = createRouteAdder(app, collection)
  const served = getTable(collection).filter(({ methods }) => methods.length > 0)
  const places = groupByPath(served)
  for (const { at, path: name, actions } of places) {
    const place = at === 'item' ? `${path}/:id` : path
    const url = name === undefined ? place : `${place}/${name}`
    addRoutesAt(app, collection, { actions, url, createConfig, addRoute })
  }
  // Fastify sends parameters of over 100 characters to the 404 handler of the app, but not what a wildcard matches.
  const url = `${path}/*`
  if (collection.id.generate === 'client' || collection.attached.matchesAnySegment) {
    const { actions } = places.find(({ at, path }) => at === 'item' && path === undefined)!
    addRoutesAt(app, collection, { actions, url, createConfig, addRoute })
  } else {
    addRoute({
      ...getResourceOptions(collection),
      url,
      method: getSupportedMethods(app),
      onRequest: skipDeeperPaths(app.prefix + url),
      handler: createNotFoundHandler(collection)
    })
  }
}

interface RouteTarget {
  readonly actions: readonly ActionInfo[]
  readonly url: string
  readonly createConfig: typeof createSwaggerConfig | undefined
  readonly addRoute: AddRoute
}

function addRoutesAt (app: FastifyInstance, collection: Collection, target: RouteTarget): void {
  const { actions, url, createConfig, addRoute } = target
  const wildcardOptions: RouteOptions = url.endsWith('*') ? { onRequest: skipDeeperPaths(app.prefix + url) } : {}

  for (const action of actions) {
    const options = mergeRouteOptions(
      wildcardOptions,
      collection.http.routes.all ?? {},
      getRouteOptions(collection, action)
    )
    const checks = [
      ...getOriginChecks(collection, action),
      ...getAccessChecks(collection, action),
      ...getContentChecks(collection, action),
      ...action.key === 'create' ? [refuseListPreconditions] : [],
      ...action.bulk === undefined ? [] : [refuseBulkPreconditions]
    ]
    const run = createAction(collection, action)
    const cache = getCachePolicy(collection, action.name)
    const errorHandler = createErrorHandler(collection, action.name)
    for (const [index, method] of action.methods.entries()) {
      const schema: FastifySchema = index === 0 && isDocumented(action, url)
        ? describeRoute(collection.name, action, app.prefix + buildParentRoute(collection))
        : hiddenSchema
      const handler = createHandler(collection, action, { run, cache })
      addRoute({ ...options, url, method, schema, exposeHeadRoute: false, handler, errorHandler }, checks)
    }
  }

  const names = actions.map(({ name }) => name)
  const canBeHidden = canIdentify(collection) && canHide(collection, names)
  const hiding = canBeHidden ? [hideResource(collection, names)] : []
  const resourceOptions = mergeRouteOptions(wildcardOptions, getResourceOptions(collection))
  const operations = actions
    .filter((action) => isDocumented(action, url))
    .map((action) => ({ action, method: action.methods[0]!.toLowerCase() }))
  addRoute({
    ...resourceOptions,
    config: { ...resourceOptions.config, ...createConfig?.(app, collection, operations) },
    url,
    method: 'OPTIONS',
    ...createOptionsHandlers(collection, createOptionsHeaders(collection, actions))
  }, hiding)
  const methods = getMethods(actions)
  addRoute({
    ...resourceOptions,
    url,
    method: getSupportedMethods(app).filter((method) => !methods.includes(method)),
    handler: createNotFoundHandler(collection)
  }, [...hiding, refuseMethod(buildAllow(methods))])
}

function getMethods (actions: readonly ActionInfo[]): HTTPMethods[] {
  return [...actions.flatMap(({ methods }) => methods), 'OPTIONS']
}

/** The headers of OPTIONS name the methods that the caller may use, if the caller can be identified. */
function createOptionsHeaders (
  collection: Collection,
  actions: readonly ActionInfo[]
): GetOptionsHeaders {
  const buildHeaders = (actions: readonly ActionInfo[]): Record<string, string> => {
    return { allow: buildAllow(getMethods(actions)), ...buildAcceptHeaders(collection, actions) }
  }
  const headers = buildHeaders(actions)
  if (!canIdentify(collection)) return () => headers
  return async (incoming) => {
    const allowed = await findAllowedActions(collection, fromRequest(incoming))
    return buildHeaders(actions.filter(({ rules }) => rules.every((name) => allowed.has(name))))
  }
}

/** OpenAPI 3.1 does not support QUERY, and a wildcard has no URI of its own. */
function isDocumented ({ takes }: ActionInfo, url: string): boolean {
  return takes !== 'query' && !url.endsWith('*')
}

function getSupportedMethods (app: FastifyInstance): HTTPMethods[] {
  return app.supportedMethods as HTTPMethods[]
}

/** For routes that belong to the resource and to no action: OPTIONS and 405 need no credentials. */
function getResourceOptions ({ http: { routes: { all = {} } } }: Collection): RouteOptions & { schema: object } {
  return { ...omitHooks(all), schema: hiddenSchema }
}

/** OPTIONS and 405 must not reveal a resource that `access.allow` hides from the caller. */
function hideResource (collection: Collection, actions: readonly AnyActionName[]): RequestCheck {
  return async (request: FastifyRequest) => {
    if (await isHidden(collection, actions, fromRequest(request))) throw toError(problem('not-found'))
  }
}

/**
 * Only a POST without content, or with the content of a form, can come from a page of another origin without a CORS
 * preflight. The six actions need content.
 */
function getOriginChecks (collection: Collection, { methods: [method], custom }: ActionInfo): RequestCheck[] {
  const { http: { trustedOrigins } } = collection
  const isForgeable = method === 'POST' &&
    (custom === undefined ? acceptsForms(getRepresentationTypes(collection.http.formats)) : !custom.safe)
  return isForgeable && trustedOrigins !== '*' ? [refuseCrossOrigin(trustedOrigins)] : []
}

function getAccessChecks (collection: Collection, action: ActionInfo): RequestCheck[] {
  if (!isProtected(collection)) return []
  return [async (request: FastifyRequest) => {
    getState(request).access = await requireAccess(collection, action, fromRequest(request))
  }]
}

/** Refuses a request by its headers before its content is read. */
function getContentChecks (collection: Collection, { takes }: ActionInfo): RequestCheck[] {
  if (takes === undefined || takes === 'parameters') return []
  return [checkHeaders(collection.http, acceptedContents[takes](collection.http.formats))]
}

/** RFC 9651, section 3.3.4: the header Accept-Query is a list of tokens, and this media type is a token. */
const queryTypes: readonly string[] = ['application/json']

function acceptRepresentation (formats: readonly Format[]): AcceptedContent {
  return { types: getRepresentationTypes(formats), field: 'accept' }
}

/** By kind of content: its media types, and the header that lists them. */
const acceptedContents = {
  representation: acceptRepresentation,
  input: acceptRepresentation,
  patch: (): AcceptedContent => ({ types: patchTypes, field: 'accept-patch' }),
  bulkPatch: (): AcceptedContent => ({ types: bulkPatchTypes, field: 'accept-patch' }),
  query: (): AcceptedContent => ({ types: queryTypes, field: 'accept-query' })
}

/** RFC 5789, section 3.1; RFC 10008, section 3; and Accept-Post of the Linked Data Platform. */
function buildAcceptHeaders (collection: Collection, actions: readonly ActionInfo[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { methods: [method], takes } of actions) {
    if (method === 'POST') headers['accept-post'] = getRepresentationTypes(collection.http.formats).join(', ')
    if (method === 'PATCH') headers['accept-patch'] = (takes === 'bulkPatch' ? bulkPatchTypes : patchTypes).join(', ')
    if (method === 'QUERY') headers['accept-query'] = queryTypes.join(', ')
  }
  return headers
}

/** A hook `onRequest` of the library, which can refuse a request. */
type RequestCheck = onRequestHookHandler | onRequestAsyncHookHandler

type AddRoute = (route: FastifyRouteOptions, checks?: readonly RequestCheck[]) => void

/**
 * Returns a function that adds a route. The checks of the library run after the hooks that plugins add to routes, so
 * that @fastify/rate-limit also counts requests that are refused, such as those with wrong credentials.
 */
function createRouteAdder (app: FastifyInstance, collection: Collection): AddRoute {
  let pending: readonly RequestCheck[] = []
  app.addHook('onRoute', (route) => {
    if (pending.length > 0) route.onRequest = [route.onRequest ?? [], ...pending].flat() as onRequestHookHandler[]
  })
  return (route, checks = []) => {
    pending = checks
    try {
      app.route(route)
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error
      throw new DuplicatePath(collection.name, `${[route.method].flat().join(', ')} ${app.prefix}${route.url}`)
    }
  }
}
