import type { FastifyInstance, FastifySchema } from 'fastify'
import type { Collection } from '../collection.ts'
import { getComponents } from './components.ts'
import type { OpenApi } from './components.ts'
import { buildOperation } from './operation.ts'
import { describeRoute, getOperationId } from './summary.ts'
import { buildParentRoute } from '../collection.ts'
import type { ActionInfo } from '../engine/action-info.ts'

// Completes the operations that @fastify/swagger derives from routes. Loaded only if the app has that plugin.

interface DocumentedAction {
  readonly action: ActionInfo
  readonly method: string
}

/** What @fastify/swagger passes to a transform. There is no `openapiObject` if the document is not OpenAPI 3. */
interface TransformInput {
  readonly schema: FastifySchema
  readonly url: string
  readonly openapiObject?: object
}

/** The route config that @fastify/swagger reads. */
interface SwaggerConfig {
  swaggerTransform (input: TransformInput): { schema: FastifySchema, url: string }
}

/**
 * Creates the config of a hidden route that comes after those of the actions. Its transform completes their operations
 * in the document. So operations that the app hides stay hidden, and nothing is built until a document is.
 */
export function createSwaggerConfig (
  app: FastifyInstance,
  collection: Collection,
  actions: readonly DocumentedAction[]
): SwaggerConfig {
  const prefix = app.prefix + buildParentRoute(collection)
  return {
    swaggerTransform ({ schema, url, openapiObject }) {
      // @fastify/swagger always sets the version, the components and the paths, but has no types for them.
      const document = openapiObject as OpenApi | undefined
      if (document !== undefined) completeOperations(document, { app, collection, prefix, actions })
      return { schema, url }
    }
  }
}

interface DocumentedCollection {
  readonly app: FastifyInstance
  readonly collection: Collection
  readonly prefix: string
  readonly actions: readonly DocumentedAction[]
}

function completeOperations (document: OpenApi, { app, collection, prefix, actions }: DocumentedCollection): void {
  const components = getComponents(document)
  const secured = (document.security ?? []).length > 0
  const limited = app.hasDecorator('rateLimit')
  for (const { action, method } of actions) {
    const id = getOperationId(collection.name, action, prefix)
    for (const item of Object.values(document.paths)) {
      const operation = item[method] as { operationId?: string } | undefined
      if (operation?.operationId !== id) continue
      const { responses, parameters, ...kept } = operation as Record<string, unknown>
      const context = { collection, secured, limited }
      item[method] = { ...kept, ...buildOperation(components, { ...context, operation: action }, prefix) }
      if (action.name === 'list' && action.aggregate === undefined && components.supportsQuery) {
        const query = { ...action, isQuery: true } as const
        item.query = {
          ...kept,
          ...describeRoute(collection.name, query, prefix),
          ...buildOperation(components, { ...context, operation: query }, prefix)
        }
      }
      addTag(document, collection, prefix)
    }
  }
}

function addTag (document: OpenApi, collection: Collection, prefix: string): void {
  const { name, schema: { description } } = collection
  const tags = document.tags ?? []
  if (tags.some((tag) => tag.name === name)) return
  const text = typeof description === 'string' ? description : `The collection ${name}`
  document.tags = [...tags, { name, description: text + describePage(collection, prefix) }]
}

/** A reader of the reference in a browser can go on to the page of the list. */
function describePage ({ name, actions, http: { formats } }: Collection, prefix: string): string {
  const hasPage = formats.some(({ page, mediaType }) => page !== undefined && mediaType.startsWith('text/html'))
  return hasPage && actions.has('list') && !prefix.includes(':') ? ` ([open the page](${prefix}/${name}))` : ''
}
