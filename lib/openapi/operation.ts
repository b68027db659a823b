import type { ActionName } from '../action.ts'
import type { OperationObject } from '../features/feature.ts'
import { buildResponses } from './responses.ts'
import type { OperationContext } from './responses.ts'
import type { Components } from './components.ts'
import { Contents } from './contents.ts'
import type { Content } from './contents.ts'
import { describeHeaderParameters } from './headers.ts'
import type { RequestHeader } from './headers.ts'
import { buildPathParameters } from './path-parameters.ts'
import { buildQueryParameters } from './query-parameters.ts'

interface ActionDescription {
  readonly description: string
  readonly headers: readonly RequestHeader[]
  /** The content of the request. */
  readonly content?: (contents: Contents) => Content
}

const readHeaders = ['If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since', 'Prefer'] as const
const writeHeaders = ['If-Match', 'If-Unmodified-Since', 'If-None-Match', 'Prefer'] as const

const actions: Readonly<Record<ActionName, ActionDescription>> = {
  list: {
    description: 'Returns a page of the collection, filtered and sorted. The header Link has the next page.',
    headers: ['If-None-Match', 'If-Match', 'Prefer']
  },
  create: {
    description: 'Creates an item. The header Location has its URI.',
    headers: ['If-Match', 'If-None-Match', 'Prefer'],
    content: (contents) => contents.representation('create')
  },
  read: {
    description: 'Returns the item, with an entity tag for conditional requests.',
    headers: readHeaders
  },
  replace: {
    description: 'Replaces the item. Optional properties that the request leaves out are removed.',
    headers: writeHeaders,
    content: (contents) => contents.representation('replace')
  },
  update: {
    description: 'Changes some properties of the item, with a merge patch (RFC 7396) or a JSON Patch (RFC 6902).',
    headers: writeHeaders,
    content: (contents) => contents.patch()
  },
  remove: {
    description: 'Deletes the item.',
    headers: writeHeaders
  }
}

/** Describes an action as an OpenAPI operation. */
export function buildOperation (components: Components, context: OperationContext, prefix: string): object {
  const { collection, action } = context
  const { description, headers, content } = actions[action]
  const contents = new Contents(components, collection, prefix)
  const needsIfMatch = collection.etag.required && headers === writeHeaders
  const operation: OperationObject = {
    description,
    parameters: [
      ...buildPathParameters(collection, action, prefix),
      ...buildQueryParameters(collection, action),
      ...describeHeaderParameters(components, headers, needsIfMatch ? ['If-Match'] : [])
    ],
    ...content && { requestBody: { required: true, content: content(contents) } },
    responses: buildResponses(components, context, contents)
  }
  const info = {
    name: action,
    at: action === 'list' || action === 'create' ? 'collection' : 'item',
    safe: action === 'list' || action === 'read'
  } as const
  const tools = { components, contents, isReworded: collection.attached.hooks.onProblem.length > 0 }
  for (const describe of collection.attached.descriptions) describe(operation, info, tools)
  return components.convert(operation)
}
