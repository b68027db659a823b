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
import type { ActionName, AnyActionName } from '../../engine/action.ts'
import { createAction } from './http-operation.ts'
import { buildCollectionRoute, buildParentRoute } from '../../engine/collection.ts'
import type { Collection } from '../../engine/collection.ts'
import type { Format } from '../../formats/format.ts'
import { actionInfos, toActionInfo, toAggregateInfo, toBulkInfo } from '../../engine/engine.ts'
import { DuplicatePath } from '../../errors/errors.ts'
import { createErrorHandler, createHandler, createNotFoundHandler, createOptionsHandlers } from './handler.ts'
import type { GetOptionsHeaders, HandlerOptions } from './handler.ts'
import { buildAllow } from '../../http/allow.ts'
import { acceptsForms } from '../../http/cross-origin.ts'
import { problem } from '../../http/problems.ts'
import { bulkPatchTypes, patchTypes } from './patch.ts'
import type { createSwaggerConfig } from '../../openapi/description.ts'
import { describeRoute, hiddenSchema } from '../../openapi/summary.ts'
import type { ActionInfo, AggregateAction, BulkAction, CustomAction } from '../../engine/action-info.ts'
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
import { mergeRouteOptions, omitHooks } from './route-options.ts'

interface ActionRoute {
  readonly name: AnyActionName
  readonly at: 'collection' | 'item'
  readonly methods: readonly [HTTPMethods, ...HTTPMethods[]]
  readonly content?: 'representation' | 'patch' | 'bulkPatch' | 'query' | 'input'
  /** Whether it accepts a query string, as all actions that only read do. */
  readonly takesQuery?: true
  readonly custom?: CustomAction
  /** Whether the input of a safe custom action is the query string. */
  readonly isGet?: true
  readonly bulk?: BulkAction
  readonly aggregate?: AggregateAction
}

const actionRoutes: readonly ActionRoute[] = [
  { name: 'list', at: 'collection', methods: ['GET', 'HEAD'], takesQuery: true },
  { name: 'list', at: 'collection', methods: ['QUERY'], content: 'query', takesQuery: true },
  { name: 'create', at: 'collection', methods: ['POST'], content: 'representation' },
  { name: 'read', at: 'item', methods: ['GET', 'HEAD'], takesQuery: true },
  { name: 'replace', at: 'item', methods: ['PUT'], content: 'representation' },
  { name: 'update', at: 'item', methods: ['PATCH'], content: 'patch' },
  { name: 'remove', at: 'item', methods: ['DELETE'] }
]

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
  const served = actionRoutes.filter(({ name }) => (collection.actions as ReadonlySet<string>).has(name))
  const itemRoutes = served.filter(({ at }) => at === 'item')
  const collectionRoutes = [...served.filter(({ at }) => at === 'collection'), ...getBulkRoutes(collection)]
  addRoutesAt(app, collection, { routes: collectionRoutes, url: path, createConfig, addRoute })
  addRoutesAt(app, collection, { routes: itemRoutes, url: `${path}/:id`, createConfig, addRoute })
  const { aggregate } = collection.attached
  if (aggregate !== undefined) {
    const route = { name: 'list', at: 'collection', methods: ['GET', 'HEAD'], takesQuery: true, aggregate } as const
    addRoutesAt(app, collection, { routes: [route], url: `${path}/${aggregate.path}`, createConfig, addRoute })
  }
  for (const custom of collection.attached.actions.values()) {
    const { name, at } = custom
    const routes: ActionRoute[] = [{ name, at, methods: ['POST'], content: 'input', custom }]
    if (custom.readQuery !== undefined) {
      routes.unshift({ name, at, methods: ['GET', 'HEAD'], takesQuery: true, custom, isGet: true })
    }
    const url = at === 'item' ? `${path}/:id/${name}` : `${path}/${name}`
    addRoutesAt(app, collection, { routes, url, createConfig, addRoute })
  }
  // Fastify sends parameters of over 100 characters to the 404 handler of the app, but not what a wildcard matches.
  const url = `${path}/*`
  if (collection.id.generate === 'client' || collection.attached.matchesAnySegment) {
    addRoutesAt(app, collection, { routes: itemRoutes, url, createConfig, addRoute })
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

/** PATCH and DELETE of the collection write to all items that match the query string. */
function getBulkRoutes ({ attached }: Collection): ActionRoute[] {
  const actions = [...attached.bulk.values()].filter(({ run }) => run !== undefined)
  return actions.map((bulk) => ({
    name: bulk.name,
    at: 'collection',
    methods: [bulk.name === 'update' ? 'PATCH' : 'DELETE'],
    ...bulk.name === 'update' && { content: 'bulkPatch' },
    takesQuery: true,
    bulk
  }))
}

interface RouteTarget {
  readonly routes: readonly ActionRoute[]
  readonly url: string
  readonly createConfig: typeof createSwaggerConfig | undefined
  readonly addRoute: AddRoute
}

function addRoutesAt (app: FastifyInstance, collection: Collection, target: RouteTarget): void {
  const { routes, url, createConfig, addRoute } = target
  const wildcardOptions: RouteOptions = url.endsWith('*') ? { onRequest: skipDeeperPaths(app.prefix + url) } : {}

  for (const route of routes) {
    const options = mergeRouteOptions(
      wildcardOptions,
      collection.http.routes.all ?? {},
      getOwnOptions(collection, route)
    )
    const checks = [
      ...getOriginChecks(collection, route),
      ...getAccessChecks(collection, route),
      ...getContentChecks(collection, route),
      ...route.name === 'create' ? [refuseListPreconditions] : [],
      ...route.bulk === undefined ? [] : [refuseBulkPreconditions]
    ]
    const handlerOptions = getHandlerOptions(collection, route)
    const errorHandler = createErrorHandler(collection, route.name)
    for (const [index, method] of route.methods.entries()) {
      const schema: FastifySchema = index === 0 && isDocumented(route, url)
        ? describeRoute(collection.name, getInfo(route), app.prefix + buildParentRoute(collection))
        : hiddenSchema
      const handler = createHandler(collection, handlerOptions)
      addRoute({ ...options, url, method, schema, exposeHeadRoute: false, handler, errorHandler }, checks)
    }
  }

  const names = routes.map(({ name }) => name)
  const canBeHidden = canIdentify(collection) && canHide(collection, names)
  const hiding = canBeHidden ? [hideResource(collection, names)] : []
  const resourceOptions = mergeRouteOptions(wildcardOptions, getResourceOptions(collection))
  const operations = routes
    .filter((route) => isDocumented(route, url))
    .map((route) => ({ action: getInfo(route), method: route.methods[0].toLowerCase() }))
  addRoute({
    ...resourceOptions,
    config: { ...resourceOptions.config, ...createConfig?.(app, collection, operations) },
    url,
    method: 'OPTIONS',
    ...createOptionsHandlers(collection, createOptionsHeaders(collection, routes))
  }, hiding)
  const methods = getMethods(routes)
  addRoute({
    ...resourceOptions,
    url,
    method: getSupportedMethods(app).filter((method) => !methods.includes(method)),
    handler: createNotFoundHandler(collection)
  }, [...hiding, refuseMethod(buildAllow(methods))])
}

function getHandlerOptions (collection: Collection, route: ActionRoute): HandlerOptions {
  const { name, content, takesQuery = false, custom, bulk, aggregate } = route
  const requiresMatch = bulk === undefined && collection.http.etag.required
  return {
    action: createAction(collection, { ...getInfo(route), isQuery: content === 'query' }),
    takesQuery,
    cache: getCachePolicy(collection, name),
    needsFormat: name !== 'remove' || bulk !== undefined,
    customAction: custom?.name ?? aggregate?.path,
    requiresMatch: custom?.requiresMatch(collection.http.etag.required) ?? requiresMatch
  }
}

function getInfo ({ name, custom, isGet, bulk, aggregate }: ActionRoute): ActionInfo {
  if (aggregate !== undefined) return toAggregateInfo(aggregate)
  if (bulk !== undefined) return toBulkInfo(bulk)
  if (custom === undefined) return actionInfos[name as ActionName]
  return isGet === true ? { ...toActionInfo(custom), isGet } : toActionInfo(custom)
}

function getMethods (routes: readonly ActionRoute[]): HTTPMethods[] {
  return [...routes.flatMap(({ methods }) => methods), 'OPTIONS']
}

/** The headers of OPTIONS name the methods that the caller may use, if the caller can be identified. */
function createOptionsHeaders (
  collection: Collection,
  routes: readonly ActionRoute[]
): GetOptionsHeaders {
  const buildHeaders = (routes: readonly ActionRoute[]): Record<string, string> => {
    return { allow: buildAllow(getMethods(routes)), ...buildAcceptHeaders(collection, routes) }
  }
  const headers = buildHeaders(routes)
  if (!canIdentify(collection)) return () => headers
  return async (incoming) => {
    const actions = await findAllowedActions(collection, fromRequest(incoming))
    return buildHeaders(routes.filter(({ name, bulk }) => {
      return actions.has(name) && (bulk === undefined || actions.has('list'))
    }))
  }
}

/** OpenAPI 3.1 does not support QUERY, and a wildcard has no URI of its own. */
function isDocumented ({ content }: ActionRoute, url: string): boolean {
  return content !== 'query' && !url.endsWith('*')
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

/** The options of the route itself, in addition to those of all routes. */
function getOwnOptions ({ http: { routes } }: Collection, { name, custom }: ActionRoute): RouteOptions {
  return (custom === undefined ? routes[name as ActionName] : custom.route) ?? {}
}

/**
 * Only a POST without content, or with the content of a form, can come from a page of another origin without a CORS
 * preflight. The six actions need content.
 */
function getOriginChecks (collection: Collection, { methods: [method], custom }: ActionRoute): RequestCheck[] {
  const { http: { trustedOrigins } } = collection
  const isForgeable = method === 'POST' &&
    (custom === undefined ? acceptsForms(getRepresentationTypes(collection.http.formats)) : !custom.safe)
  return isForgeable && trustedOrigins !== '*' ? [refuseCrossOrigin(trustedOrigins)] : []
}

/** A filter reads: a caller of a bulk action needs the right to list as well. */
function getAccessChecks (collection: Collection, { name, bulk }: ActionRoute): RequestCheck[] {
  if (!isProtected(collection)) return []
  const wanted = { action: name, other: bulk && 'list' } as const
  return [async (request: FastifyRequest) => {
    getState(request).access = await requireAccess(collection, wanted, fromRequest(request))
  }]
}

/** Refuses a request by its headers before its content is read. */
function getContentChecks (collection: Collection, { content }: ActionRoute): RequestCheck[] {
  if (content === undefined) return []
  return [checkHeaders(collection.http, acceptedContents[content](collection.http.formats))]
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
function buildAcceptHeaders (collection: Collection, routes: readonly ActionRoute[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { methods: [method], bulk } of routes) {
    if (method === 'POST') headers['accept-post'] = getRepresentationTypes(collection.http.formats).join(', ')
    if (method === 'PATCH') headers['accept-patch'] = (bulk === undefined ? patchTypes : bulkPatchTypes).join(', ')
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
