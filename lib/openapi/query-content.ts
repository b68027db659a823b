import type { Collection } from '../engine/collection.ts'
import type { Lists } from '../query/lists.ts'
import { getFilterKeys } from '../query/conditions.ts'
import { maxConditions } from '../query/filter-cost.ts'
import type { JsonSchema } from '../storage/contract.ts'
import type { Components } from './components.ts'
import type { Reference } from '../engine/operation-object.ts'
import { getSchemaNames } from './names.ts'
import { describeFilter, describeListParameter } from './query-parameters.ts'
import { describeCounts, describeOptions, describePaths, describeRelatedSort } from './related-parameters.ts'
import { findRelated } from './related.ts'
import type { Related } from './related.ts'

// The content of QUERY: RFC 10008. OpenAPI supports the method since 3.2.

/** A property with one of these names can only be filtered with `.eq`. */
const combinations = new Set(['all', 'any', 'not'])

/** Describes the filters of a collection. They refer to themselves and to each other, so they are components. */
function describeFilters (components: Components, collection: Collection, prefix: string): Reference {
  const { filter } = getSchemaNames(components, collection, prefix)
  return components.reference('schemas', filter, (self) => {
    const properties: Record<string, JsonSchema> = {
      all: { type: 'array', items: self, maxItems: maxConditions, description: 'Filters that must all match' },
      any: { type: 'array', items: self, maxItems: maxConditions, description: 'Filters of which one must match' },
      not: { ...self, description: 'A filter that must not match' }
    }
    const { lists: { filterable } } = collection
    for (const [name, key] of getFilterKeys(filterable, combinations)) properties[name] = describeFilter(key)
    const related = findRelated(collection).filter(({ relation }) => relation.canFilter)
    for (const each of related) properties[each.relation.name] = describeRelatedFilter(components, each)
    const names = related.map(({ relation }) => relation.name)
    return {
      type: 'object',
      description: 'Conditions that items must all meet',
      additionalProperties: false,
      properties,
      ...names.length > 0 && { patternProperties: { [`^(?:${names.join('|')})\\.`]: relatedCondition } }
    }
  })
}

const relatedCondition: JsonSchema = { description: 'A condition about related items, with a dotted name' }

function describeRelatedFilter (components: Components, { relation, target, prefix }: Related): JsonSchema {
  const filter = describeFilters(components, target, prefix)
  const { name, isMany } = relation
  if (!isMany) return { ...filter, description: `Conditions that the ${name} must all meet` }
  return {
    type: 'object',
    description: `Conditions about ${name}`,
    additionalProperties: false,
    properties: {
      some: { ...filter, description: `Conditions that one of the ${name} must all meet` },
      none: { ...filter, description: `Conditions that none of the ${name} may meet` },
      ...describeCounts(name)
    }
  }
}

/** Describes what is included: paths, or an object with options. It refers to itself if relations form a circle. */
function describeExpand (components: Components, collection: Collection, prefix: string): Reference {
  const { expand } = getSchemaNames(components, collection, prefix)
  return components.reference('schemas', expand, () => ({
    anyOf: [describePaths(collection), {
      type: 'object',
      description: 'The related items to include, with options',
      additionalProperties: false,
      properties: Object.fromEntries(findRelated(collection).map((related) => {
        return [related.relation.name, { anyOf: [alone, describeIncluded(components, related)] }]
      }))
    }]
  }))
}

const alone: JsonSchema = { type: 'boolean', enum: [true] }

function describeIncluded (components: Components, related: Related): JsonSchema {
  const { relation: { isMany }, target, prefix } = related
  const hasRelations = target.attached.relations.size > 0
  return {
    type: 'object',
    properties: {
      ...describeOptions(related),
      ...isMany && { filter: describeFilters(components, target, prefix) },
      ...hasRelations && { expand: describeExpand(components, target, prefix) }
    }
  }
}

/** Describes the content of a QUERY. */
export function describeQuery (components: Components, collection: Collection, prefix: string): Reference {
  // A filter refers to itself, so it is a component of its own.
  const filter = describeFilters(components, collection, prefix)
  const { query } = getSchemaNames(components, collection, prefix)
  return components.reference('schemas', query, () => {
    const { lists, attached: { relations } } = collection
    const sort = describeRelatedSort(collection)
    const parameters = [...lists.parameters].map((name) => [name, describeListParameter(lists, name)])
    return {
      type: 'object',
      description: `A query of ${lists.name}`,
      additionalProperties: false,
      properties: {
        filter,
        ...Object.fromEntries(parameters) as Record<string, JsonSchema>,
        ...sort && { sort },
        ...relations.size > 0 && { expand: describeExpand(components, collection, prefix) }
      }
    }
  })
}

/** The first page, as a GET without parameters returns it. */
export function buildQueryExample ({ limit }: Lists): object {
  return { limit: limit.default }
}
