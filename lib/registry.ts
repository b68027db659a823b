import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Collection } from './definition.ts'
import { pathOfCollection } from './nesting.ts'

/** A collection, and the path at which an app serves it. */
export interface Registered {
  readonly path: string
  readonly collection: Collection
  /** Which plugins were there before it: these two know only of routes that come later. */
  readonly after: { readonly rateLimit: boolean, readonly swagger: boolean }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Every collection of the app, wherever it is registered; there once `registry` is. */
    collections: readonly Registered[]
  }
}

// By server, which all contexts of an app share: a collection decorates nothing, and the order of registration does not matter.
const enrolled = new WeakMap<object, Registered[]>()

/** The collections that an app serves, by now. */
export function registered (app: FastifyInstance): Registered[] {
  let collections = enrolled.get(app.server)
  if (collections === undefined) enrolled.set(app.server, collections = [])
  return collections
}

export function enrol (app: FastifyInstance, collection: Collection): void {
  registered(app).push({ path: app.prefix + pathOfCollection(collection), collection, after: { rateLimit: app.hasDecorator('rateLimit'), swagger: app.hasDecorator('swagger') } })
}

/** Tells the app of its collections, for what belongs to the whole service. Wrapped, so that it reaches the parent. */
export const registry = fastifyPlugin(async (app: FastifyInstance) => {
  if (!app.hasDecorator('collections')) app.decorate('collections', registered(app))
}, { name: 'fastify-collections-registry', fastify: '5.x' })
