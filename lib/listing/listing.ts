import type { Supports } from '../storage/contract.ts'
import { queryable } from './queryable.ts'
import type { Described, Queryable } from './queryable.ts'

/** More words than any person looks for would make no statement that a database takes. */
export const longestSearch = 200

/** What the lists of a collection can be asked, derived at boot. */
export interface Listing {
  readonly known: ReadonlyMap<string, Queryable>
  readonly filterable: ReadonlyMap<string, Queryable>
  readonly sortable: ReadonlyMap<string, Queryable>
  /** The properties that a search looks into. */
  readonly search: readonly string[]
  /** The properties that can be selected. */
  readonly visible: ReadonlySet<string>
  /** The parameters that are offered beside the keys of filters. */
  readonly parameters: ReadonlySet<string>
}

export interface ListingOptions {
  readonly filter?: readonly string[] | undefined
  readonly sort?: readonly string[] | undefined
  readonly search?: readonly string[] | undefined
  /** Those of features. */
  readonly parameters?: readonly string[]
}

/** What the storage does not support is not offered. */
export function listing ({ schema, properties }: Described, { filter, sort, search = [], parameters = [] }: ListingOptions, supports: Supports): Listing {
  const known = queryable({ schema, properties })
  const inOrder = new Map([...known].filter(([, { ordered }]) => ordered))
  const sortable = supports.order ? only(inOrder, sort) : none
  return {
    known,
    filterable: supports.filter ? only(known, filter) : none,
    sortable,
    search,
    visible: new Set([...properties.named].filter(([, { writeOnly }]) => !writeOnly).map(([name]) => name)),
    parameters: new Set(['limit', 'cursor', ...sortable.size > 0 ? ['sort'] : [], 'fields', ...supports.count ? ['count'] : [], ...parameters, ...search.length > 0 ? ['q'] : []])
  }
}

const none: ReadonlyMap<string, Queryable> = new Map()

function only (known: ReadonlyMap<string, Queryable>, names: readonly string[] | undefined): ReadonlyMap<string, Queryable> {
  return names === undefined ? known : new Map([...known].filter(([name]) => names.includes(name)))
}
