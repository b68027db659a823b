import type { Lists } from '../listing/lists.ts'
import { getFilterKeys } from '../listing/conditions.ts'
import { maxConditions } from '../listing/filter-cost.ts'
import type { JsonSchema } from '../storage/contract.ts'
import type { Reference } from './components.ts'
import { describeFilter, describeListParameter } from './query-parameters.ts'

// The content of QUERY: RFC 10008. OpenAPI supports the method since 3.2.

/** A property with one of these names can only be filtered with `.eq`. */
const combinations = new Set(['all', 'any', 'not'])

/** Describes a filter. `self` refers to the result. */
export function describeFilters ({ filterable }: Lists, self: Reference): JsonSchema {
  const properties: Record<string, JsonSchema> = {
    all: { type: 'array', items: self, maxItems: maxConditions, description: 'Filters that must all match' },
    any: { type: 'array', items: self, maxItems: maxConditions, description: 'Filters of which one must match' },
    not: { ...self, description: 'A filter that must not match' }
  }
  for (const [name, key] of getFilterKeys(filterable, combinations)) properties[name] = describeFilter(key)
  return {
    type: 'object',
    description: 'Conditions that items must all meet',
    additionalProperties: false,
    properties
  }
}

/** Describes the content of a QUERY. `filter` refers to the schema of its filter. */
export function describeQuery (lists: Lists, filter: Reference): JsonSchema {
  const parameters = [...lists.parameters].map((name) => [name, describeListParameter(lists, name)])
  return {
    type: 'object',
    description: `A query of ${lists.name}`,
    additionalProperties: false,
    properties: { filter, ...Object.fromEntries(parameters) as Record<string, JsonSchema> }
  }
}

/** The first page, as a GET without parameters returns it. */
export function buildQueryExample ({ limit }: Lists): object {
  return { limit: limit.default }
}
