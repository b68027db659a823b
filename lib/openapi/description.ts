import type { FastifyInstance } from 'fastify'
import type { Collection } from '../engine/collection.ts'
import { getComponents } from './components.ts'
import type { OpenApi } from './components.ts'
import { buildOperation } from './operation.ts'
import { describeRoute, getOperationId } from './summary.ts'
import { addTag, createTransformConfig } from './swagger-config.ts'
import type { SwaggerConfig } from './swagger-config.ts'
import { buildParentRoute } from '../engine/collection.ts'
import { getTable } from '../engine/table.ts'
import type { ActionInfo } from '../engine/action-info.ts'

// Completes the operations that @fastify/swagger derives from routes. Loaded only if the app has that plugin.

interface DocumentedAction {
  readonly action: ActionInfo
  readonly method: string
}

/**
 * Creates the config of a hidden route that comes after those of the actions. It completes their operations in the
 * document. So operations that the app hides stay hidden, and nothing is built until a document is.
 */
export function createSwaggerConfig (
  app: FastifyInstance,
  collection: Collection,
  actions: readonly DocumentedAction[]
): SwaggerConfig {
  const prefix = app.prefix + buildParentRoute(collection)
  return createTransformConfig((document) => completeOperations(document, { app, collection, prefix, actions }))
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
      const query = action.key === 'list' ? getTable(collection).find(({ key }) => key === 'query') : undefined
      if (query !== undefined && components.supportsQuery) {
        item.query = {
          ...kept,
          ...describeRoute(collection.name, query, prefix),
          ...buildOperation(components, { ...context, operation: query }, prefix)
        }
      }
      addTag(document, collection.name, describeCollection(collection, prefix))
    }
  }
}

function describeCollection (collection: Collection, prefix: string): string {
  const { name, schema: { description } } = collection
  const text = typeof description === 'string' ? description : `The collection ${name}`
  return text + describePage(collection, prefix)
}

/** A reader of the reference in a browser can go on to the page of the list. */
function describePage ({ name, actions, http: { formats } }: Collection, prefix: string): string {
  const hasPage = formats.some(({ page, mediaType }) => page !== undefined && mediaType.startsWith('text/html'))
  return hasPage && actions.has('list') && !prefix.includes(':') ? ` ([open the page](${prefix}/${name}))` : ''
}
