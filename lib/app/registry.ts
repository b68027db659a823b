import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Definition } from '../engine/collection.ts'
import type { CollectionCalls } from '../engine/call-types.ts'
import { openCollection } from '../doors/code/open-collection.ts'
import { getRegistered } from '../engine/registry.ts'
import type { Registered } from '../engine/registry.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Every collection of the app, wherever it is registered. Available after `app.register(registry)`. */
    collections: readonly Registered[]
    /**
     * Calls a collection from code, by the same rules as over HTTP. Available after `app.register(registry)`.
     *
     * @example
     * const { id } = await app.collection(users).create({ email: 'ada@example.com' })
     */
    collection<Item extends object, Adds> (definition: Definition<Item, Adds>): CollectionCalls<Item, Adds>
  }
}

/**
 * Decorates the app with `app.collections`, the list of its collections, and `app.collection()`, which calls one of
 * them from code.
 *
 * @example
 * await app.register(registry)
 * await app.register(collection, users)
 * console.log(app.collections.map(({ path }) => path)) // [ '/users' ]
 * await app.collection(users).create({ email: 'ada@example.com' })
 */
export const registry = fastifyPlugin(async (app: FastifyInstance) => {
  if (app.hasDecorator('collections')) return
  app.decorate('collections', getRegistered(app))
  app.decorate('collection', (definition) => openCollection(app, definition))
}, { name: 'fastify-collections-registry', fastify: '5.x' })

export type { Registered } from '../engine/registry.ts'
