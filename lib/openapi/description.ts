import type { FastifyInstance, FastifySchema } from 'fastify'
import type { Collection } from '../collection.ts'
import { componentsOf } from './components.ts'
import type { OpenApi } from './components.ts'
import { operation } from './operation.ts'
import { pathOfParent } from '../collection.ts'
import type { ActionName } from '../action.ts'

// What OpenAPI generators such as @fastify/swagger read from a route. Nothing is validated or serialised by it.

const summaries: Readonly<Record<ActionName, string>> = {
  list: 'A page of the items',
  create: 'Make a new item',
  read: 'One item',
  replace: 'Put a complete representation in the place of the item',
  update: 'Change some members of the item',
  remove: 'Remove the item'
}

function operationId (collection: Collection, action: ActionName, prefix: string): string {
  return [...prefix.match(/\w+/g) ?? [], collection.name, action].join('.')
}

/** Under a prefix, which may have parameters of its own and tells apart collections of one name. The rest is told when a document is made. */
export function describe (collection: Collection, action: ActionName, prefix: string): FastifySchema & Record<string, unknown> {
  return { tags: [collection.name], operationId: operationId(collection, action, prefix), summary: summaries[action] }
}

/** For the routes that are no part of the documentation: HEAD, OPTIONS, 405. */
export const hidden: FastifySchema & Record<string, unknown> = { hide: true }

interface Documented {
  readonly action: ActionName
  readonly method: string
}

/** What @fastify/swagger calls for a route as it makes a document; absent where that is not OpenAPI 3. */
interface Transform { readonly schema: FastifySchema, readonly url: string, readonly openapiObject?: object }

/**
 * For a hidden route that comes after those of the actions: it completes what the document has of them by then. What a `transform` of the app has
 * hidden stays hidden, and an app that makes no document pays for none.
 */
export function completing (app: FastifyInstance, collection: Collection, documented: readonly Documented[]): { swaggerTransform (transform: Transform): { schema: FastifySchema, url: string } } {
  const prefix = app.prefix + pathOfParent(collection)
  return {
    swaggerTransform ({ schema, url, openapiObject }) {
      // Its types leave everything open; it is made with a version, components and paths.
      const document = openapiObject as OpenApi | undefined
      if (document !== undefined) complete(document, { app, collection, prefix, documented })
      return { schema, url }
    }
  }
}

interface Place {
  readonly app: FastifyInstance
  readonly collection: Collection
  readonly prefix: string
  readonly documented: readonly Documented[]
}

function complete (document: OpenApi, { app, collection, prefix, documented }: Place): void {
  const components = componentsOf(document)
  const known = { collection, secured: (document.security ?? []).length > 0, limited: app.hasDecorator('rateLimit') }
  for (const { action, method } of documented) {
    const id = operationId(collection, action, prefix)
    for (const item of Object.values(document.paths)) {
      const begun = item[method] as { operationId?: string } | undefined
      if (begun?.operationId !== id) continue
      const { responses, parameters, ...kept } = begun as Record<string, unknown>
      item[method] = { ...kept, ...operation(components, { ...known, action }, prefix) }
      tag(document, collection)
    }
  }
}

function tag (document: OpenApi, { name, schema: { description } }: Collection): void {
  const tags = document.tags ?? []
  if (!tags.some(tag => tag.name === name)) document.tags = [...tags, { name, description: typeof description === 'string' ? description : `The collection ${name}` }]
}
