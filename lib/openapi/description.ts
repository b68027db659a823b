import type { FastifyInstance, FastifySchema } from 'fastify'
import type { Collection } from '../collection.ts'
import { componentsOf } from './components.ts'
import type { OpenApi } from './components.ts'
import { operation } from './operation.ts'
import { getOperationId } from './summary.ts'
import { pathOfParent } from '../collection.ts'
import type { ActionName } from '../action.ts'

// Completes what @fastify/swagger makes of the routes. Loaded only if the app has it.

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
    const id = getOperationId(collection, action, prefix)
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
