import type { Supports } from '../storage/contract.ts'
import { findQueryable } from './queryable.ts'
import type { DescribedSchema, QueryableProperty } from './queryable.ts'

/** Databases limit the length of a statement, which grows with the words. */
export const maxSearchLength = 200

/** How the lists of a collection can be queried, derived at boot. */
export interface Listing {
  readonly known: ReadonlyMap<string, QueryableProperty>
  readonly filterable: ReadonlyMap<string, QueryableProperty>
  readonly sortable: ReadonlyMap<string, QueryableProperty>
  /** The properties that are searched. */
  readonly search: readonly string[]
  /** The properties that can be selected. */
  readonly visible: ReadonlySet<string>
  /** The query parameters, without the keys of filters. */
  readonly parameters: ReadonlySet<string>
}

export interface ListingOptions {
  readonly filter?: readonly string[] | undefined
  readonly sort?: readonly string[] | undefined
  readonly search?: readonly string[] | undefined
  /** The query parameters of features. */
  readonly parameters?: readonly string[]
}

/** Derives how lists can be queried from the schema, the options and the support of the storage. */
export function deriveListing (
  { schema, properties }: DescribedSchema,
  { filter, sort, search = [], parameters = [] }: ListingOptions,
  supports: Supports
): Listing {
  const known = findQueryable({ schema, properties })
  const ordered = new Map([...known].filter(([, property]) => property.ordered))
  const sortable = supports.order ? selectProperties(ordered, sort) : noProperties
  const visible = [...properties.named].filter(([, { writeOnly }]) => !writeOnly).map(([name]) => name)
  return {
    known,
    filterable: supports.filter ? selectProperties(known, filter) : noProperties,
    sortable,
    search,
    visible: new Set(visible),
    parameters: new Set([
      'limit',
      'cursor',
      ...sortable.size > 0 ? ['sort'] : [],
      'fields',
      ...supports.count ? ['count'] : [],
      ...parameters,
      ...search.length > 0 ? ['q'] : []
    ])
  }
}

const noProperties: ReadonlyMap<string, QueryableProperty> = new Map()

function selectProperties (
  known: ReadonlyMap<string, QueryableProperty>,
  names: readonly string[] | undefined
): ReadonlyMap<string, QueryableProperty> {
  return names === undefined ? known : new Map([...known].filter(([name]) => names.includes(name)))
}
