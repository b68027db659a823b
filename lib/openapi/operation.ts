import type { CustomAction } from '../engine/action-info.ts'
import type { Content, OperationObject } from '../engine/operation-object.ts'
import { buildResponses, requiresMatch } from './responses.ts'
import type { OperationContext } from './responses.ts'
import type { Components } from './components.ts'
import { Contents } from './contents.ts'
import { describeHeaderParameters } from './headers.ts'
import type { RequestHeader } from './headers.ts'
import { buildPathParameters } from './path-parameters.ts'
import { buildQueryParameters } from './query-parameters.ts'
import { describeFurtherConditions, describeRelatedParameters } from './related-parameters.ts'
import { getOperationName } from './summary.ts'
import type { OperationName } from './summary.ts'

interface OperationDescription {
  readonly description: string
  readonly headers: readonly RequestHeader[]
  /** The content of the request. */
  readonly content?: (contents: Contents) => Content
  /** Whether a request can have no content. */
  readonly isContentOptional?: boolean
}

const readHeaders = ['If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since', 'Prefer'] as const
const preconditionHeaders = ['If-Match', 'If-Unmodified-Since', 'If-None-Match'] as const
const writeHeaders = [...preconditionHeaders, 'Prefer'] as const

const operations: Readonly<Record<OperationName, OperationDescription>> = {
  list: {
    description: 'Returns a page of the collection, filtered and sorted. The header Link has the next page.',
    headers: ['If-None-Match', 'If-Match']
  },
  query: {
    description: 'Returns a page of the collection, like GET, with the query as content (RFC 10008). ' +
      'Filters can contain all, any and not at any depth, and long lists of values.',
    headers: ['If-None-Match', 'If-Match'],
    content: (contents) => contents.query()
  },
  aggregate: {
    description: 'Returns figures over the items that match, by groups. Parts of dates are in UTC.',
    headers: ['If-None-Match', 'If-Match']
  },
  create: {
    description: 'Creates an item. The header Location has its URI.',
    headers: ['Prefer'],
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
  },
  updateMany: {
    description: 'Changes some properties of all items that match, with a merge patch (RFC 7396), or of none. ' +
      'The request needs at least one condition.',
    headers: ['Prefer'],
    content: (contents) => contents.mergePatch()
  },
  removeMany: {
    description: 'Deletes all items that match, or none. The request needs at least one condition.',
    headers: ['Prefer']
  }
}

/** A safe action that is called with GET has its input in the query string. */
function describeQueryAction ({ name, at, description }: CustomAction): OperationDescription {
  return {
    description: description ?? `Runs the action ${name} on the ${at}, which only reads.`,
    headers: ['If-None-Match', 'If-Match']
  }
}

function describeInputParameters ({ input: { properties = {}, required = [] } }: CustomAction): object[] {
  return Object.entries(properties).map(([name, { description = `The ${name} of the input`, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    description,
    schema,
    ...schema.type === 'array' && { style: 'form', explode: false }
  }))
}

function describeCustomAction (custom: CustomAction): OperationDescription {
  const { name, at, input, output } = custom
  const { description = `Runs the action ${name} on the ${at}.` } = custom
  const itemHeaders = output === undefined ? writeHeaders : preconditionHeaders
  return {
    description,
    headers: at === 'item' ? itemHeaders : [],
    content: (contents) => contents.input(custom),
    isContentOptional: (input.required ?? []).length === 0
  }
}

/** Describes an operation in OpenAPI. */
export function buildOperation (components: Components, context: OperationContext, prefix: string): object {
  const { collection, operation: info } = context
  const { custom, takes } = info
  const { description, headers, content, isContentOptional = false } = custom === undefined
    ? operations[getOperationName(info)]
    : (takes === 'parameters' ? describeQueryAction : describeCustomAction)(custom)
  const contents = new Contents(components, collection, prefix)
  const operation: OperationObject = {
    description: description + describeFurtherConditions(collection, info),
    parameters: [
      ...buildPathParameters(collection, info, prefix),
      ...takes === 'parameters'
        ? describeInputParameters(custom!)
        : buildQueryParameters(collection.lists, info, describeRelatedParameters(collection, info)),
      ...describeHeaderParameters(components, headers, requiresMatch(context) ? ['If-Match'] : [])
    ],
    ...content && { requestBody: { required: !isContentOptional, content: content(contents) } },
    responses: buildResponses(components, context, contents)
  }
  for (const describe of collection.attached.descriptions) describe(operation, info, { components, contents })
  return components.convert(operation)
}
