import type { FastifyInstance } from 'fastify'
import type { CollectionCalls } from './call-types.ts'
import { BadOption } from '../errors/errors.ts'
import { buildCollectionRoute } from './collection.ts'
import type { Collection, Definition, Served, ServedCollections, ServiceInfo } from './collection.ts'
import type { Transaction } from './definition.ts'
import { LinkFailures } from './link-failures.ts'
import type { Neighbors } from './links.ts'

/** Returns the methods to call a collection of the app from code. */
export type OpenCollection = <Item extends object, Adds>(
  app: FastifyInstance,
  definition: Definition<Item, Adds>,
  transaction?: Transaction
) => CollectionCalls<Item, Adds>

/** A collection of the app. */
export interface Registered {
  /** Where it is served, with the prefix. */
  readonly path: string
  /** Its definition. */
  readonly collection: Definition
}

/** The same, with what the service needs. */
export interface ServedCollection extends Registered {
  readonly collection: Collection
  /** Which plugins were registered before it: they only see routes that are added later. */
  readonly after: { readonly compress: boolean, readonly rateLimit: boolean, readonly swagger: boolean }
}

/** What an app serves at the path of a collection, and within its items. */
interface Place {
  /** Whether items can be read there. */
  isRead: boolean
  /** The names of the collections within its items. */
  readonly children: Set<string>
}

/** What the collections of an app share. */
interface AppState {
  /** Those that were registered so far. */
  readonly collections: ServedCollection[]
  /** Collections read it when a request comes, so the service plugin can be registered before or after them. */
  readonly service: ServiceInfo
  /** By path and constraints. */
  readonly places: Map<string, Place>
}

// By server, which all contexts of an app share: without decorators, the order of registration does not matter.
const states = new WeakMap<object, AppState>()

function getAppState (app: FastifyInstance): AppState {
  let state = states.get(app.server)
  if (state === undefined) states.set(app.server, state = { collections: [], service: {}, places: new Map() })
  return state
}

/** Returns the collections that were registered so far. */
export function getRegistered (app: FastifyInstance): ServedCollection[] {
  return getAppState(app).collections
}

/** Checks the collections of an app, when all of them are registered. */
export type AppCheck = (registered: readonly ServedCollection[]) => void

// By storage: a check is about every definition of it that an app serves, whatever its features are.
const appChecks = new WeakMap<object, AppCheck[]>()

/** Adds a check to each app that serves a definition with this storage. */
export function addAppCheck (baseStorage: object, check: AppCheck): void {
  appChecks.set(baseStorage, [...appChecks.get(baseStorage) ?? [], check])
}

export function runAppChecks (app: FastifyInstance): void {
  const registered = getRegistered(app)
  const checks = new Set(registered.flatMap(({ collection }) => appChecks.get(collection.baseStorage) ?? []))
  for (const check of checks) check(registered)
}

export function getServiceInfo (app: FastifyInstance): ServiceInfo {
  return getAppState(app).service
}

export function setServiceInfo (
  app: FastifyInstance,
  { problems, description, home }: ServiceInfo
): void {
  Object.assign(getServiceInfo(app), { problems, description, home })
}

/** Collections at the same path with the same constraints are reached by the same requests. */
function getPlace (app: FastifyInstance, path: string, { http: { routes: { all } } }: Collection): Place {
  const { places } = getAppState(app)
  const key = JSON.stringify([app.prefix + path, all?.constraints ?? {}])
  let place = places.get(key)
  if (place === undefined) places.set(key, place = { isRead: false, children: new Set() })
  return place
}

/** A parent may be registered before or after the collections that are nested in it, so this is complete at the end. */
function addNeighbor (app: FastifyInstance, collection: Collection): Neighbors {
  const { name, actions, attached: { parent } } = collection
  const place = getPlace(app, buildCollectionRoute(collection), collection)
  if (actions.has('read')) place.isRead = true
  const parentPlace = parent && getPlace(app, buildCollectionRoute(parent.collection), collection)
  if (actions.has('list')) parentPlace?.children.add(name)
  return {
    children: place.children,
    get hasParent () {
      return parentPlace?.isRead === true
    }
  }
}

/**
 * Adds a collection to those of the app, and returns it as this app serves it. Another app may serve the same
 * definition with other neighbors, so the two share no views and no actions.
 */
export function registerCollection (
  app: FastifyInstance,
  definition: Collection,
  openCollection: OpenCollection
): Collection {
  checkRowLayers(app, definition)
  const served: ServedCollections = { findServed: (baseStorage) => findServed(app, baseStorage) }
  const collection = Object.freeze({
    ...definition,
    app: {
      ...served,
      neighbors: addNeighbor(app, definition),
      service: getServiceInfo(app),
      itemLinks: definition.attached.itemLinks.map((create) => create(served)),
      linkFailures: new LinkFailures(definition.name, app.log),
      openCollection: <Item extends object, Adds>(other: Definition<Item, Adds>, transaction?: Transaction) => {
        return openCollection(app, other, transaction)
      }
    },
    views: new Map(),
    bound: new Map()
  })
  getRegistered(app).push({
    path: app.prefix + buildCollectionRoute(collection),
    collection,
    after: {
      compress: app.hasReplyDecorator('compress'),
      rateLimit: app.hasDecorator('rateLimit'),
      swagger: app.hasDecorator('swagger')
    }
  })
  return collection
}

/** Definitions with the same storage must agree on which rows exist: one would show what the other has deleted. */
function checkRowLayers (app: FastifyInstance, collection: Collection): void {
  const { name, baseStorage, attached: { rowLayers } } = collection
  const other = getRegistered(app)
    .map(({ collection }) => collection)
    .find((one) => one.baseStorage === baseStorage && String(one.attached.rowLayers) !== String(rowLayers))
  if (other === undefined) return
  const hasMore = rowLayers.length > other.attached.rowLayers.length
  const [having, without] = hasMore ? [collection, other] : [other, collection]
  throw new BadOption(name, `"${having.name}" and "${without.name}" use the same storage, ` +
    `but only "${having.name}" has the feature ${having.attached.rowLayers.join()}. ` +
    'Add it to both, with the same options, or give them different storages.')
}

/** Finds a collection by its storage. One that is not nested is preferred: its path has no id of a parent. */
function findServed (app: FastifyInstance, baseStorage: object): Served | undefined {
  const served = getRegistered(app).filter(({ collection }) => collection.baseStorage === baseStorage)
  return served.find(({ collection }) => collection.attached.parent === undefined) ?? served[0]
}
