import type { Lists } from '../query/lists.ts'
import { getFilterKeys } from '../query/conditions.ts'
import type { FilterKey } from '../query/conditions.ts'
import { maxCursorLength } from '../query/cursor.ts'
import { maxOffset, maxSearchLength } from '../query/lists.ts'
import { operators } from '../query/operators.ts'
import { getItemParameters } from '../query/resolve.ts'
import type { ActionInfo, AggregateAction } from '../engine/action-info.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { maxTextLength, queryText } from './query-text.ts'
import { getOperationName } from './summary.ts'
import type { OperationName } from './summary.ts'

// The query parameters of lists and items.

function describeChoice (names: readonly string[], description: string): JsonSchema {
  return { type: 'array', items: { type: 'string', enum: names }, minItems: 1, maxItems: names.length, description }
}

const parameterSchemas: Readonly<Record<string, (lists: Lists) => JsonSchema>> = {
  limit: ({ limit }) => ({
    type: 'integer',
    format: 'int32',
    minimum: 1,
    maximum: limit.maximum,
    default: limit.default,
    description: 'The maximum number of items on a page'
  }),
  cursor: () => ({
    ...queryText,
    maxLength: maxCursorLength,
    description: 'Where the page begins. Use the links of a list, which contain it'
  }),
  offset: () => ({
    type: 'integer',
    format: 'int32',
    minimum: 0,
    maximum: maxOffset,
    default: 0,
    description: 'How many items come before the page. The further, the slower: links with a cursor are not'
  }),
  sort: ({ sortable }) => {
    const names = [...sortable.keys()]
    const description = `Properties to sort by, each once; prefix one with - for descending order: ${names.join(', ')}`
    const choice = describeChoice(names.flatMap((name) => [name, `-${name}`]), description)
    return { ...choice, maxItems: names.length, uniqueItems: true }
  },
  fields: ({ visible }) => {
    const description = 'Returns only these properties. The others are left out, even if the schema requires them'
    return describeChoice([...visible], description)
  },
  count: () => ({
    type: 'boolean',
    default: false,
    description: 'Whether the response has X-Total-Count, the number of all items that match'
  }),
  q: ({ search }) => ({
    type: 'string',
    minLength: 1,
    maxLength: maxSearchLength,
    pattern: '\\S',
    description: `Words that all occur in one of these properties: ${search.join(', ')}`
  })
}

/** Describes a parameter of lists that is not a filter, in a query string or in the content of QUERY. */
export function describeListParameter (lists: Lists, name: string): JsonSchema {
  return parameterSchemas[name]?.(lists) ?? lists.featureParameters.get(name)!.schema
}

/** Returns the schemas of the parameters by name. */
function getSchemas (lists: Lists, operation: OperationName): Record<string, JsonSchema> {
  const { parameters: offered, filterable } = lists
  const available = { list: [...offered], read: getItemParameters(lists) }
  const names = operation === 'list' || operation === 'read' ? available[operation] : ['q']
  const schemas: Record<string, JsonSchema> = {}
  for (const name of names) {
    if (offered.has(name)) schemas[name] = describeListParameter(lists, name)
  }
  if (operation === 'read') return schemas
  for (const [name, key] of getFilterKeys(filterable, offered)) schemas[name] = describeFilter(key)
  return schemas
}

export function describeFilter ({ property, is, takes, schema: { description, ...schema } }: FilterKey): JsonSchema {
  const condition = `Only items whose ${property} ${operators[is].means}`
  const hasDescription = typeof description === 'string' && takes !== 'pattern'
  return { ...limitValues(schema), description: hasDescription ? `${condition}. ${description}` : condition }
}

/** Whether a condition has no operator in its name. */
export function isPlain ({ is }: FilterKey): boolean {
  return is === 'eq' || is === 'contains'
}

/** Adds limits: the value of a filter has fewer than the property itself. */
function limitValues (schema: JsonSchema): JsonSchema {
  if (schema.type === 'array') {
    const { description, ...items } = (schema.items ?? {}) as JsonSchema
    return { ...schema, items: limitValues(items) }
  }
  if (schema.type === 'string' && schema.enum === undefined) {
    return { ...queryText, ...schema, maxLength: Math.min(Number(schema.maxLength ?? maxTextLength), maxTextLength) }
  }
  if (schema.type !== 'integer') return schema
  if (schema.format === 'int32') return { ...schema, minimum: -2_147_483_648, maximum: 2_147_483_647 }
  return { format: 'int64', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, ...schema }
}

/** Returns the schemas of the parameters of an aggregate: its own, and those of lists that say which items match. */
function getAggregateSchemas (lists: Lists, { parameters }: AggregateAction): Record<string, JsonSchema> {
  const ofLists = [...lists.parameters].filter((name) => {
    const ofFeature = lists.featureParameters.get(name)
    return name === 'q' || (ofFeature !== undefined && ofFeature.isAboutContent !== true)
  })
  const described = ofLists.map((name) => [name, describeListParameter(lists, name)] as const)
  const schemas: Record<string, JsonSchema> = { ...parameters, ...Object.fromEntries(described) }
  const names = new Set(Object.keys(schemas))
  for (const [name, key] of getFilterKeys(lists.filterable, names)) schemas[name] = describeFilter(key)
  return schemas
}

/**
 * QUERY has its parameters in the content. It accepts those of GET as well, which the document does not repeat.
 * `related` are those about related items.
 */
export function buildQueryParameters (
  lists: Lists,
  operation: ActionInfo,
  related: Readonly<Record<string, JsonSchema>>
): object[] {
  const name = getOperationName(operation)
  const { takes, query, aggregate } = operation
  if (query === undefined || takes === 'query') return []
  const own = aggregate === undefined ? getSchemas(lists, name) : getAggregateSchemas(lists, aggregate)
  const keys = new Map(getFilterKeys(lists.filterable, lists.parameters))
  const all = Object.entries({ ...own, ...related })
  const hasOperator = ([parameter]: readonly [string, JsonSchema]): boolean => {
    const key = keys.get(parameter)
    return key !== undefined && !isPlain(key)
  }
  // Last is what few requests need: each property has up to nine operators.
  const schemas = [...all.filter((parameter) => !hasOperator(parameter)), ...all.filter(hasOperator)]
  // Without examples: tools such as Swagger UI send those of optional parameters, too.
  return schemas.map(([name, { description, examples, ...schema }]) => ({
    name,
    in: 'query',
    ...description !== undefined && { description },
    // Values of a list are separated by commas.
    style: 'form',
    explode: false,
    schema
  }))
}
