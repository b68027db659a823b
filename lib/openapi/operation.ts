import type { ActionName } from '../action.ts'
import type { OperationObject } from '../features/feature.ts'
import { answersOf } from './answers.ts'
import type { Situation } from './answers.ts'
import type { Components } from './components.ts'
import { Contents } from './contents.ts'
import type { Content } from './contents.ts'
import { fieldParameters } from './fields.ts'
import type { AskedField } from './fields.ts'
import { pathParameters } from './path-parameters.ts'
import { queryParameters } from './query-parameters.ts'

interface Row {
  readonly description: string
  readonly fields: readonly AskedField[]
  /** The content that is sent. */
  readonly content?: (contents: Contents) => Content
}

const read = ['If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since', 'Prefer'] as const
const write = ['If-Match', 'If-Unmodified-Since', 'If-None-Match', 'Prefer'] as const

const table: Readonly<Record<ActionName, Row>> = {
  list: { description: 'A page of the collection, filtered and sorted as the query says. The field Link leads to the next page.', fields: ['If-None-Match', 'If-Match', 'Prefer'] },
  create: { description: 'Makes a new item of the representation that is sent. The field Location tells its URI.', fields: ['If-Match', 'If-None-Match', 'Prefer'], content: contents => contents.representation('create') },
  read: { description: 'The item as it is now, with the entity tag that a later write can be held to.', fields: read },
  replace: { description: 'Puts the complete representation that is sent in the place of the item. Properties that are left out are gone.', fields: write, content: contents => contents.representation('replace') },
  update: { description: 'Changes the properties that the patch names, and no others: a merge patch (RFC 7396) or a JSON Patch (RFC 6902).', fields: write, content: contents => contents.patch() },
  remove: { description: 'Removes the item.', fields: write }
}

/** All that OpenAPI can be told of an action, under the prefix at which it is served. */
export function operation (components: Components, situation: Situation, prefix: string): object {
  const { collection, action } = situation
  const { description, fields, content } = table[action]
  const contents = new Contents(components, collection, prefix)
  const required: AskedField[] = collection.etag.required && fields === write ? ['If-Match'] : []
  const operation: OperationObject = {
    description,
    parameters: [...pathParameters(collection, action, prefix), ...queryParameters(collection, action), ...fieldParameters(components, fields, required)],
    ...content && { requestBody: { required: true, content: content(contents) } },
    responses: answersOf(components, situation, contents)
  }
  const info = { name: action, at: action === 'list' || action === 'create' ? 'collection' : 'item', safe: action === 'list' || action === 'read' } as const
  for (const describe of collection.attached.descriptions) describe(operation, info, { components, contents, isReworded: collection.attached.hooks.onProblem.length > 0 })
  return components.written(operation)
}
