import type { FastifyInstance, FastifySchema, HTTPMethods, RouteOptions as FastifyRouteOptions } from 'fastify'
import { create } from './actions/create.ts'
import { list } from './actions/list.ts'
import { query } from './actions/query.ts'
import { read } from './actions/read.ts'
import { remove } from './actions/remove.ts'
import { replace } from './actions/replace.ts'
import { update } from './actions/update.ts'
import { allowedActions } from './access/authorize.ts'
import type { Action } from './action.ts'
import { checkHeaders, skipDeeperPaths, refuseMethod } from './request/headers.ts'
import type { AcceptedContent } from './request/headers.ts'
import { getRepresentationTypes } from './request/content.ts'
import { composeAction } from './actions/compose.ts'
import type { Collection } from './collection.ts'
import type { createSwaggerConfig } from './openapi/description.ts'
import { describeRoute, hiddenSchema } from './openapi/summary.ts'
import { DuplicatePath } from './errors.ts'
import { authorize, isProtected, canIdentify, cachePolicyOf } from './access/authorize.ts'
import { absent, handler, options } from './handler.ts'
import { buildAllow } from './http/allow.ts'
import { merged, withoutHooks } from './route-options.ts'
import { pathOfCollection, pathOfParent } from './collection.ts'
import type { ActionName, RouteOptions } from './options.ts'
import { patchTypes } from './items/patch.ts'

interface Row {
  readonly name: ActionName
  readonly action: Action
  readonly at: 'collection' | 'item'
  readonly methods: readonly [HTTPMethods, ...HTTPMethods[]]
  readonly content?: 'representation' | 'patch' | 'query'
  /** Whether it takes a query. */
  readonly queried?: true
}

const table: readonly Row[] = [
  { name: 'list', action: list, at: 'collection', methods: ['GET', 'HEAD'], queried: true },
  { name: 'list', action: query, at: 'collection', methods: ['QUERY'], content: 'query', queried: true },
  { name: 'create', action: create, at: 'collection', methods: ['POST'], content: 'representation' },
  { name: 'read', action: read, at: 'item', methods: ['GET', 'HEAD'], queried: true },
  { name: 'replace', action: replace, at: 'item', methods: ['PUT'], content: 'representation' },
  { name: 'update', action: update, at: 'item', methods: ['PATCH'], content: 'patch' },
  { name: 'remove', action: remove, at: 'item', methods: ['DELETE'] }
]

/** Two URLs, six actions, OPTIONS, and 405 for every other method that the server knows. */
export function routes (app: FastifyInstance, collection: Collection, complete: typeof createSwaggerConfig | undefined): void {
  const path = pathOfCollection(collection)
  serve(app, collection, { at: 'collection', url: path, complete })
  serve(app, collection, { at: 'item', url: `${path}/:id`, complete })
  // A parameter of over 100 characters goes to the app's 404 handler, but what a wildcard matches does not.
  if (collection.id.generate === 'client' || collection.attached.matchesAnySegment) serve(app, collection, { at: 'item', url: `${path}/*`, complete })
  else add(app, collection, { ...about(collection), url: `${path}/*`, method: known(app), onRequest: skipDeeperPaths(`${app.prefix}${path}/*`), handler: absent(collection) })
}

interface Place {
  readonly at: Row['at']
  readonly url: string
  /** Describes the routes in OpenAPI; undefined if the app has no generator. */
  readonly complete: typeof createSwaggerConfig | undefined
}

function serve (app: FastifyInstance, collection: Collection, { at, url, complete }: Place): void {
  const rows = table.filter(row => row.at === at && collection.actions.has(row.name))
  const methods = methodsOf(rows)
  const deeper: RouteOptions = url.endsWith('*') ? { onRequest: skipDeeperPaths(app.prefix + url) } : {}
  for (const row of rows) {
    const route = merged(deeper, collection.routes.all ?? {}, collection.routes[row.name] ?? {}, guarding(collection, row), admission(collection, row))
    const queried = row.queried === true
    const served = { action: composeAction(collection, row.action, { name: row.name, at: row.at, safe: queried }), queried, cache: cachePolicyOf(collection, row.name), preferred: row.name === 'list', negotiated: row.name !== 'remove' }
    for (const [index, method] of row.methods.entries()) {
      const schema: FastifySchema = index === 0 && documented(row, url) ? describeRoute(collection, row.name, app.prefix + pathOfParent(collection)) : hiddenSchema
      add(app, collection, { ...route, url, method, schema, exposeHeadRoute: false, handler: handler(collection, served) })
    }
  }
  const allowed = buildAllow(methods)
  const rest = merged(deeper, about(collection))
  const config = { ...rest.config, ...complete?.(app, collection, rows.filter(row => documented(row, url)).map(({ name, methods: [method] }) => ({ action: name, method: method.toLowerCase() }))) }
  add(app, collection, { ...rest, config, url, method: 'OPTIONS', handler: options(optionsOf(collection, rows)) })
  add(app, collection, { ...merged(rest, { onRequest: refuseMethod(allowed) }), url, method: known(app).filter(method => !methods.includes(method)), handler: absent(collection) })
}

function methodsOf (rows: readonly Row[]): HTTPMethods[] {
  return [...rows.flatMap(row => row.methods), 'OPTIONS']
}

/** What can be done here, by the caller where that can be known. */
function optionsOf (collection: Collection, rows: readonly Row[]): Parameters<typeof options>[0] {
  const of = (rows: readonly Row[]): Record<string, string> => ({ allow: buildAllow(methodsOf(rows)), ...accepted(collection, rows) })
  const every = of(rows)
  if (!canIdentify(collection)) return () => every
  return async incoming => {
    const actions = await allowedActions(collection, incoming)
    return of(rows.filter(({ name }) => actions.has(name)))
  }
}

/** OpenAPI 3.1 knows no QUERY, and a wildcard stands for no URI of its own. */
function documented ({ content }: Row, url: string): boolean {
  return content !== 'query' && !url.endsWith('*')
}

function known (app: FastifyInstance): HTTPMethods[] {
  return app.supportedMethods as HTTPMethods[]
}

/** What is not about an action but about the URI: OPTIONS and 405 ask for no credentials. */
function about ({ routes: { all = {} } }: Collection): RouteOptions & { schema: object } {
  return { ...withoutHooks(all), schema: hiddenSchema }
}

/** A structured-field list of tokens (RFC 9651 section 3.3.4), which a media type happens to be. */
const queryTypes: readonly string[] = ['application/json']

function guarding (collection: Collection, { name }: Row): RouteOptions {
  return isProtected(collection) ? { onRequest: authorize(collection, name) } : {}
}

/** Where content comes in, what can be refused is refused before it is read. */
function admission (collection: Collection, { content }: Row): RouteOptions {
  return content === undefined ? {} : { onRequest: checkHeaders(collection, contents[content](collection)) }
}

/** By kind of content: the media types that are taken, and the field that names them. */
const contents: Readonly<Record<NonNullable<Row['content']>, (collection: Collection) => AcceptedContent>> = {
  representation: collection => ({ types: getRepresentationTypes(collection), field: 'accept' }),
  patch: () => ({ types: patchTypes, field: 'accept-patch' }),
  query: () => ({ types: queryTypes, field: 'accept-query' })
}

/** RFC 5789 section 3.1, RFC 10008 section 3, and Accept-Post of the Linked Data Platform: what content may be sent. */
function accepted (collection: Collection, rows: readonly Row[]): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const { methods: [method] } of rows) {
    if (method === 'POST') fields['accept-post'] = getRepresentationTypes(collection).join(', ')
    if (method === 'PATCH') fields['accept-patch'] = patchTypes.join(', ')
    if (method === 'QUERY') fields['accept-query'] = queryTypes.join(', ')
  }
  return fields
}

function add (app: FastifyInstance, collection: Collection, route: FastifyRouteOptions): void {
  try {
    app.route(route)
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error
    throw new DuplicatePath(collection.name, `${[route.method].flat().join(', ')} ${app.prefix}${route.url}`)
  }
}
