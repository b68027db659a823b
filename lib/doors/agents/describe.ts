import type { ToolAnnotations } from '@modelcontextprotocol/server'
import type { Collection } from '../../engine/collection.ts'
import { isStringArray } from '../../http/json-value.ts'
import { getBranches } from '../../json-schema/subschemas.ts'
import type { Lists } from '../../query/lists.ts'
import type { QueryableProperty } from '../../query/queryable.ts'
import type { ItemType } from '../../schema/item-type.ts'
import { MessageSchemas } from '../../schema/message-schemas.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import type { ArgumentName } from './actions.ts'
import { agentArguments } from './arguments.ts'
import type { OpenAction } from './call.ts'

// What an agent reads about an action: a description, the schema of its arguments, and hints. Nothing that the caller
// does not see is in it.

export interface DescribedAction {
  readonly description: string
  /** The schema of the arguments. */
  readonly inputSchema: JsonSchema
  readonly annotations: ToolAnnotations
}

/** Describes an action for its caller. */
export function describeAction (open: OpenAction): DescribedAction {
  const { needs } = open
  const properties = [...needs.keys()].map((name) => [name, describeArgument(open, name)])
  const required = [...needs].filter(([, need]) => need === 'required').map(([name]) => name)
  return {
    description: describe(open),
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(properties) as Record<string, JsonSchema>,
      ...required.length > 0 && { required },
      additionalProperties: false
    },
    annotations: getHints(open)
  }
}

export const readHints: ToolAnnotations = { readOnlyHint: true, openWorldHint: false }

/** Nothing is done twice: a repeated call has the same key, or a tag that is stale then. */
export function getHints ({ action: { key, safe } }: OpenAction): ToolAnnotations {
  if (safe) return readHints
  return { readOnlyHint: false, destructiveHint: key !== 'create', idempotentHint: true, openWorldHint: false }
}

const verbs: Readonly<Record<string, string>> = {
  list: 'List',
  read: 'Read one of',
  create: 'Create one of',
  update: 'Change one of',
  remove: 'Delete one of',
  aggregate: 'Compute figures over groups of'
}

function describe ({ collection: { name, schema }, action: { key, custom } }: OpenAction): string {
  if (custom !== undefined) return `${custom.title} (${name}). ${custom.description ?? ''}`.trim()
  const about = typeof schema.description === 'string' ? `: ${schema.description}` : ''
  return `${verbs[key]} ${name}${about}`
}

function describeArgument ({ collection, action, access: { view } }: OpenAction, name: ArgumentName): JsonSchema {
  const { type, lists } = view
  const { schema } = agentArguments[name]
  switch (name) {
    case 'id': return { ...schema, type: getIdType(type.schema, type.id.property) }
    case 'item': return withOwnReferences({ ...schema, ...getMessages(type).create })
    case 'patch': return withOwnReferences({ ...getMessages(type).patch, description: schema.description })
    case 'input': return describeInput(action.custom!.input, type.hidden)
    case 'query': return action.aggregate === undefined
      ? describeQuery(lists, { relations: findRelations(collection, type), isItem: action.query === 'item' })
      : describeGroups(action.aggregate.parameters, lists)
    default: return schema
  }
}

/** Returns the names of the relations that do not depend on a property that the caller does not see. */
function findRelations ({ attached: { relations } }: Collection, { hidden }: ItemType): string[] {
  return [...relations].filter(([, { property }]) => hidden?.has(property) !== true).map(([name]) => name)
}

const messages = new WeakMap<ItemType, MessageSchemas>()

/** Returns the schemas of what a caller sends. Those of OpenAPI are for all callers. */
function getMessages (type: ItemType): MessageSchemas {
  let own = messages.get(type)
  if (own === undefined) messages.set(type, own = new MessageSchemas(type.schema))
  return own
}

function getIdType ({ properties }: JsonSchema, property: string): 'integer' | 'string' {
  return properties?.[property]?.type === 'integer' ? 'integer' : 'string'
}

/** References such as `#/$defs/Address` are about the schema of the item, which is a part of another one here. */
function withOwnReferences (schema: JsonSchema): JsonSchema {
  const refersToItself = JSON.stringify(schema).includes('"$ref":"#')
  return refersToItself ? { $id: 'urn:item', ...schema } : schema
}

/** Leaves out properties with the name of one that the caller does not see, at any depth: they are refused. */
function describeInput (input: JsonSchema, hidden: ReadonlySet<string> = new Set()): JsonSchema {
  const visible = JSON.stringify(input, (keyword, value: unknown) => {
    if (hidden.has(keyword)) return undefined
    return keyword === 'required' && isStringArray(value) ? value.filter((name) => !hidden.has(name)) : value
  })
  return withOwnReferences(JSON.parse(visible) as JsonSchema)
}

interface QueryOffer {
  readonly relations: readonly string[]
  readonly isItem: boolean
}

function describeQuery (lists: Lists, { relations, isItem }: QueryOffer): JsonSchema {
  const fields = describeNames('The properties to return. All if left out.', lists.visible)
  const expand = relations.length > 0 && {
    expand: describeNames(`Related items to include. Available: ${relations.join(', ')}`)
  }
  if (isItem) return toObject({ fields, ...expand })
  const { parameters, sortable, limit, search } = lists
  return toObject({
    ...describeFilter(lists),
    ...parameters.has('q') && { q: { type: 'string', description: `Words to search for in ${search.join(', ')}.` } },
    ...parameters.has('sort') && {
      sort: describeNames(`What to sort by; -name is descending. Available: ${[...sortable.keys()].join(', ')}`)
    },
    fields,
    ...expand,
    limit: { type: 'integer', minimum: 1, maximum: limit.maximum, description: 'How many items to return.' },
    cursor: { type: 'string', description: 'The "next" of the page before, with the same filter and sort.' },
    ...parameters.has('count') && { count: { type: 'boolean', description: 'Whether to return the total.' } }
  })
}

function describeFilter ({ filterable }: Lists): Record<string, JsonSchema> {
  const properties = [...filterable.values()]
  if (properties.length === 0) return {}
  const { property, type } = properties.find((one) => one.type !== 'string') ?? properties[0]!
  return {
    filter: {
      type: 'object',
      description: `Conditions that must all match: ${properties.map(describeProperty).join(', ')}. ` +
        'Operators: .ne, .lt, .lte, .gt, .gte, .in, .nin, .like (* matches any characters), .null. ' +
        'Combine with all, any and not.',
      examples: [samples[type](property)]
    }
  }
}

/** As many as a model needs to see what is meant. */
const maxChoices = 10

function describeProperty ({ property, type, schema }: QueryableProperty): string {
  const choices = (schema.enum ?? getBranches(schema).map((branch) => branch.const)) as readonly unknown[]
  const isChoice = choices.length > 0 && choices.length <= maxChoices && !choices.includes(undefined)
  return `${property} (${isChoice ? choices.join(' | ') : schema.format ?? type})`
}

const samples: Readonly<Record<QueryableProperty['type'], (property: string) => object>> = {
  string: (property) => ({ [`${property}.like`]: '*text*' }),
  number: (property) => ({ [`${property}.gte`]: 10 }),
  integer: (property) => ({ [`${property}.gte`]: 10 }),
  boolean: (property) => ({ [property]: true })
}

/** The figures of properties that the caller does not see are left out. */
function describeGroups (parameters: Readonly<Record<string, JsonSchema>>, lists: Lists): JsonSchema {
  const { hidden } = lists.type
  const isVisible = (name: unknown): boolean => {
    return !String(name).replace(/^-/, '').split('.').some((part) => hidden?.has(part) === true)
  }
  const offered = Object.entries(parameters).flatMap(([name, schema]) => {
    const names = (schema.items as JsonSchema | undefined)?.enum as readonly unknown[] | undefined
    if (names === undefined) return [[name, schema]]
    const visible = names.filter(isVisible)
    return visible.length === 0 ? [] : [[name, { ...schema, items: { type: 'string', enum: visible } }]]
  })
  return toObject({ ...describeFilter(lists), ...Object.fromEntries(offered) as Record<string, JsonSchema> })
}

function describeNames (description: string, names?: Iterable<string>): JsonSchema {
  return { type: 'array', items: { type: 'string', ...names && { enum: [...names] } }, description }
}

function toObject (properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties, additionalProperties: false }
}
