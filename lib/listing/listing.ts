import type { JsonSchema, Supports } from '../storage/contract.ts'
import { keys } from './conditions.ts'
import { queryable } from './queryable.ts'
import type { Queryable } from './queryable.ts'

/** What the lists of a collection can be asked, derived at boot. */
export interface Listing {
  readonly known: ReadonlyMap<string, Queryable>
  readonly filterable: ReadonlyMap<string, Queryable>
  readonly sortable: ReadonlyMap<string, Queryable>
  /** The members that a search looks into. */
  readonly search: readonly string[]
  /** The members that can be selected. */
  readonly visible: ReadonlySet<string>
}

export interface ListingOptions {
  readonly filter?: readonly string[] | undefined
  readonly sort?: readonly string[] | undefined
  readonly search?: readonly string[] | undefined
}

/** What the storage does not support is not offered. */
export function listing (schema: JsonSchema, { filter, sort, search = [] }: ListingOptions, supports: Supports): Listing {
  const known = queryable(schema)
  const visible = Object.entries(schema.properties ?? {}).filter(([, member]) => member.writeOnly !== true).map(([name]) => name)
  return { known, filterable: supports.filter ? only(known, filter) : none, sortable: supports.order ? only(known, sort) : none, search, visible: new Set(visible) }
}

const none: ReadonlyMap<string, Queryable> = new Map()

function only (known: ReadonlyMap<string, Queryable>, names: readonly string[] | undefined): ReadonlyMap<string, Queryable> {
  return names === undefined ? known : new Map([...known].filter(([name]) => names.includes(name)))
}

/** The query parameters of a list, each with its schema, for OpenAPI. */
export function querySchema ({ filterable, sortable, search, visible }: Listing, page: { default: number, maximum: number }): JsonSchema {
  return {
    type: 'object',
    properties: {
      limit: { type: 'integer', minimum: 1, maximum: page.maximum, default: page.default },
      cursor: { type: 'string', description: 'Where the page begins, as the links of a list give it' },
      ...sortable.size > 0 && { sort: { type: 'string', description: `Members parted by commas, - in front for descending: ${[...sortable.keys()].join(', ')}` } },
      fields: { type: 'string', description: `Only these members, parted by commas: ${[...visible].join(', ')}` },
      count: { type: 'boolean', default: false, description: 'Whether X-Total-Count tells how many items there are in all' },
      ...search.length > 0 && { q: { type: 'string', minLength: 1, description: `Words that all occur in one of: ${search.join(', ')}` } },
      ...Object.fromEntries(keys(filterable))
    }
  }
}
