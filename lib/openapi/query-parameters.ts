import type { Collection } from '../collection.ts'
import { keys } from '../listing/conditions.ts'
import type { Key } from '../listing/conditions.ts'
import { longestSearch } from '../listing/listing.ts'
import { getItemParameters } from '../listing/query-string.ts'
import type { ActionName } from '../action.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { example } from './examples.ts'
import { longestField } from './fields.ts'

// The query parameters of a list and of an item, each with its schema.

/** A value with U+0000 in it is refused. */
const text: JsonSchema = { type: 'string', maxLength: longestField, pattern: '^[^\\u0000]*$' }

type Describe = (collection: Collection) => JsonSchema

const chosen = (names: readonly string[], description: string): JsonSchema => ({ type: 'array', items: { type: 'string', enum: names }, minItems: 1, maxItems: names.length, description })

const parameters: Readonly<Record<string, Describe>> = {
  limit: ({ limit }) => ({ type: 'integer', format: 'int32', minimum: 1, maximum: limit.maximum, default: limit.default, description: 'How many items a page has' }),
  cursor: () => ({ ...text, description: 'Where the page begins, as the links of a list give it', examples: ['eyJhIjpbIjEiXX0'] }),
  sort: ({ listing: { sortable } }) => chosen([...sortable.keys()].flatMap(name => [name, `-${name}`]), `Properties, - in front for descending: ${[...sortable.keys()].join(', ')}`),
  fields: ({ listing: { visible } }) => chosen([...visible], 'Only these properties; the others are left out, be they required or not'),
  count: () => ({ type: 'boolean', default: false, description: 'Whether X-Total-Count tells how many items there are in all' }),
  q: ({ listing: { search } }) => ({ type: 'string', minLength: 1, maxLength: longestSearch, pattern: '\\S', description: `Words that all occur in one of: ${search.join(', ')}` })
}

/** In the order in which they are offered; those of filters come last. */
function schemasOf (collection: Collection, action: ActionName): Record<string, JsonSchema> {
  const { listing: { parameters: offered, filterable }, attached: { dialects } } = collection
  const asked = action === 'list' ? [...offered] : getItemParameters(collection).filter(name => offered.has(name))
  const own = asked.map(name => [name, parameters[name]?.(collection) ?? collection.attached.queryParameters.get(name)!.schema] as const)
  if (action !== 'list') return Object.fromEntries(own)
  return { ...Object.fromEntries([...own, ...[...keys(filterable, offered)].map(([name, key]) => [name, operand(key)])]), ...Object.assign({}, ...dialects.map(({ parameters }) => parameters)) }
}

const wording: Readonly<Record<Key['is'], string>> = {
  eq: 'is this',
  ne: 'is not this, or is null',
  lt: 'is less than this',
  lte: 'is this or less',
  gt: 'is more than this',
  gte: 'is this or more',
  in: 'is one of these',
  nin: 'is none of these, or is null',
  like: 'is like this: * stands for any run of characters, \\ takes the next one as it is',
  null: 'is null or absent, or is not'
}

function operand ({ property, is, schema: { description, ...schema } }: Key): JsonSchema {
  const told = `Only items whose ${property} ${wording[is]}`
  return { ...bounded(schema), description: typeof description === 'string' && is !== 'like' ? `${told}. ${description}` : told }
}

/** What a value is compared with is held to less than the property itself, but not to nothing. */
function bounded (schema: JsonSchema): JsonSchema {
  const { description, ...items } = (schema.items ?? {}) as JsonSchema
  if (schema.type === 'array') return { ...schema, items: bounded(items) }
  if (schema.type === 'string' && schema.enum === undefined) return { ...text, ...schema }
  if (schema.type !== 'integer') return schema
  return schema.format === 'int32' ? { ...schema, minimum: -2_147_483_648, maximum: 2_147_483_647 } : { format: 'int64', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, ...schema }
}

export function queryParameters (collection: Collection, action: ActionName): object[] {
  if (action !== 'list' && action !== 'read') return []
  return Object.entries(schemasOf(collection, action)).map(([name, { description, examples, ...schema }]) => ({
    name,
    in: 'query',
    ...description !== undefined && { description },
    // The values of one list are parted by commas.
    style: 'form',
    explode: false,
    schema,
    example: example({ examples, ...schema }, schema)
  }))
}
