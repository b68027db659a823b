import type { JsonSchema, Supports } from '../storage/contract.ts'
import { keys } from './conditions.ts'
import { queryable } from './queryable.ts'
import type { Described, Queryable } from './queryable.ts'

/** More words than any person looks for would make no statement that a database takes. */
export const longestSearch = 200

/** What the lists of a collection can be asked, derived at boot. */
export interface Listing {
  readonly known: ReadonlyMap<string, Queryable>
  readonly filterable: ReadonlyMap<string, Queryable>
  readonly sortable: ReadonlyMap<string, Queryable>
  /** The members that a search looks into. */
  readonly search: readonly string[]
  /** The members that can be selected. */
  readonly visible: ReadonlySet<string>
  /** What the items refer to and can be given with. */
  readonly relations: readonly string[]
  /** The parameters that are offered beside the keys of filters. */
  readonly parameters: ReadonlySet<string>
}

export interface ListingOptions {
  readonly filter?: readonly string[] | undefined
  readonly sort?: readonly string[] | undefined
  readonly search?: readonly string[] | undefined
  readonly relations?: Readonly<Record<string, unknown>> | undefined
  readonly tombstones?: { readonly permitted?: unknown } | undefined
}

/** What the storage does not support is not offered. */
export function listing ({ schema, members }: Described, { filter, sort, search = [], relations = {}, tombstones }: ListingOptions, supports: Supports): Listing {
  const known = queryable({ schema, members })
  const sortable = supports.order ? only(known, sort) : none
  return {
    known,
    filterable: supports.filter ? only(known, filter) : none,
    sortable,
    search,
    visible: new Set([...members.named].filter(([, { writeOnly }]) => !writeOnly).map(([name]) => name)),
    relations: Object.keys(relations),
    parameters: new Set(['limit', 'cursor', ...sortable.size > 0 ? ['sort'] : [], 'fields', ...Object.keys(relations).length > 0 ? ['expand'] : [], ...supports.count ? ['count'] : [], ...tombstones?.permitted === undefined ? [] : ['deleted'], ...search.length > 0 ? ['q'] : []])
  }
}

const none: ReadonlyMap<string, Queryable> = new Map()

function only (known: ReadonlyMap<string, Queryable>, names: readonly string[] | undefined): ReadonlyMap<string, Queryable> {
  return names === undefined ? known : new Map([...known].filter(([name]) => names.includes(name)))
}

/** The query parameters of a list, each with its schema, for OpenAPI. */
export function querySchema (listing: Listing, page: { readonly default: number, readonly maximum: number }): JsonSchema {
  const { filterable, sortable, search, parameters } = listing
  const described: Readonly<Record<string, JsonSchema>> = {
    limit: { type: 'integer', minimum: 1, maximum: page.maximum, default: page.default },
    cursor: { type: 'string', description: 'Where the page begins, as the links of a list give it' },
    sort: { type: 'string', description: `Members parted by commas, - in front for descending: ${[...sortable.keys()].join(', ')}` },
    ...itemSchemas(listing),
    count: { type: 'boolean', default: false, description: 'Whether X-Total-Count tells how many items there are in all' },
    q: { type: 'string', minLength: 1, maxLength: longestSearch, description: `Words that all occur in one of: ${search.join(', ')}` }
  }
  return {
    type: 'object',
    // Of OpenAPI: the values of one list are parted by commas.
    style: 'form',
    explode: false,
    properties: Object.fromEntries([...Object.entries(described).filter(([name]) => parameters.has(name)), ...keys(filterable, parameters)])
  }
}

/** The query parameters of an item. */
export function itemQuerySchema (listing: Listing): JsonSchema {
  return { type: 'object', properties: Object.fromEntries(Object.entries(itemSchemas(listing)).filter(([name]) => listing.parameters.has(name))) }
}

function itemSchemas ({ visible, relations }: Listing): Readonly<Record<string, JsonSchema>> {
  return {
    fields: { type: 'string', description: `Only these members, parted by commas: ${[...visible].join(', ')}` },
    expand: { type: 'string', description: `With what the items refer to, parted by commas: ${relations.join(', ')}` },
    deleted: { type: 'boolean', default: false, description: 'Whether items that were removed are given as well' }
  }
}
