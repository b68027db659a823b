import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { BadOption } from './errors.ts'
import type { Collection, Definition, Neighbors, Related, ServiceInfo } from './collection.ts'
import { TagSuffixes } from './response/tag-suffix.ts'
import { pathOfCollection } from './collection.ts'
import { createCaches } from './formats/representation-cache.ts'

/** A collection of the app. */
export interface Registered {
  /** Where it is served, with the prefix. */
  readonly path: string
  readonly collection: Definition
}

/** The same, with what the service needs. */
export interface ServedCollection extends Registered {
  readonly collection: Collection
  /** Which plugins were registered before it: these two know only of routes that come later. */
  readonly after: { readonly rateLimit: boolean, readonly swagger: boolean }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Every collection of the app, wherever it is registered. Available after `app.register(registry)`. */
    collections: readonly Registered[]
  }
}

// By server, which all contexts of an app share: a collection decorates nothing, and the order of registration does not matter.
const enrolled = new WeakMap<object, ServedCollection[]>()

/** The collections that an app serves, by now. */
export function registered (app: FastifyInstance): ServedCollection[] {
  let collections = enrolled.get(app.server)
  if (collections === undefined) enrolled.set(app.server, collections = [])
  return collections
}

const services = new WeakMap<object, { problems?: string | undefined, description?: string | undefined }>()

/** What the service plugin sets for all collections of the app. Collections read it when a request comes, so the order of registration does not matter. */
function getServiceInfo (app: FastifyInstance): ServiceInfo {
  let info = services.get(app.server)
  if (info === undefined) services.set(app.server, info = {})
  return info
}

export function setServiceInfo (app: FastifyInstance, { problems, description }: ServiceInfo): void {
  Object.assign(getServiceInfo(app), { problems, description })
}

/** What an app serves at the path of a collection, and within its items. */
interface Place {
  isRead: boolean
  readonly children: Set<string>
}

const places = new WeakMap<object, Map<string, Place>>()

/** Of collections at the same path, those with the same constraints are reached by the same requests. */
function placeAt (app: FastifyInstance, path: string, { routes: { all } }: Collection): Place {
  let known = places.get(app.server)
  if (known === undefined) places.set(app.server, known = new Map())
  const key = JSON.stringify([app.prefix + path, all?.constraints ?? {}])
  let place = known.get(key)
  if (place === undefined) known.set(key, place = { isRead: false, children: new Set() })
  return place
}

/** Whatever the order of registration: a parent may come before or after what is nested in it. */
function settle (app: FastifyInstance, collection: Collection): Neighbors {
  const { name, actions, parent } = collection
  const place = placeAt(app, pathOfCollection(collection), collection)
  if (actions.has('read')) place.isRead = true
  const above = parent && placeAt(app, pathOfCollection(parent.collection), collection)
  if (actions.has('list')) above?.children.add(name)
  return { children: place.children, get hasParent () { return above?.isRead === true } }
}

/**
 * Adds a collection to those of the app, and returns it as this app serves it. The same definition may be served by another
 * app with other neighbors, so that nothing that was rendered is shared.
 */
export function enrol (app: FastifyInstance, definition: Collection): Collection {
  checkRowLayers(app, definition)
  const neighbors = settle(app, definition)
  const collection = Object.freeze({
    ...definition,
    neighbors,
    service: getServiceInfo(app),
    tagSuffixes: new TagSuffixes({ ...definition, neighbors }),
    written: createCaches(definition.formats)
  })
  registered(app).push({ path: app.prefix + pathOfCollection(collection), collection, after: { rateLimit: app.hasDecorator('rateLimit'), swagger: app.hasDecorator('swagger') } })
  return collection
}

/** Two definitions over one storage must agree on which rows exist: one would show what the other has deleted. */
function checkRowLayers (app: FastifyInstance, collection: Collection): void {
  const withRelated = (one: Collection): readonly Related[] => [one, ...one.attached.relations.values()]
  const known = [...registered(app).flatMap(({ collection }) => withRelated(collection)), ...withRelated(collection)]
  for (const one of withRelated(collection)) {
    const other = known.find(({ baseStorage, attached }) => baseStorage === one.baseStorage && String(attached.rowLayers) !== String(one.attached.rowLayers))
    if (other === undefined) continue
    const [having, without] = one.attached.rowLayers.length > other.attached.rowLayers.length ? [one, other] : [other, one]
    throw new BadOption(collection.name, `"${having.name}" and "${without.name}" use the same storage, but only "${having.name}" has the feature ${having.attached.rowLayers.join()}. Add it to both, with the same options, or give them different storages.`)
  }
}

/**
 * Decorates the app with `app.collections`, the list of its collections.
 *
 * @example
 * await app.register(registry)
 * await app.register(collection, users)
 * console.log(app.collections.map(({ path }) => path)) // [ '/users' ]
 */
export const registry = fastifyPlugin(async (app: FastifyInstance) => {
  if (!app.hasDecorator('collections')) app.decorate('collections', registered(app))
}, { name: 'fastify-collections-registry', fastify: '5.x' })
