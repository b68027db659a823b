import type { ItemType } from '../schema/item-type.ts'
import type { Order, Supports } from '../storage/contract.ts'
import type { ListedRelations } from './names.ts'
import { findQueryable } from './queryable.ts'
import type { QueryableProperty } from './queryable.ts'
import type { QueryParameter } from './query-parameter.ts'

/** How many items can come before a page. The further, the more a storage has to read. */
export const maxOffset = 10_000

/** Databases limit the length of a statement, which grows with the words. */
export const maxSearchLength = 200

/** How a caller can query the lists of a collection. */
export interface Lists {
  /** The name of the collection. */
  readonly name: string
  /** The type of the items, as the caller sees them. */
  readonly type: ItemType
  /** The order of a list if the client requests none. */
  readonly order: readonly Order[]
  /** The number of items on a page. */
  readonly limit: { readonly default: number, readonly maximum: number }
  /** Whether pages can be requested by offset. */
  readonly offset: boolean
  /** The properties that a storage can compare. */
  readonly known: ReadonlyMap<string, QueryableProperty>
  readonly filterable: ReadonlyMap<string, QueryableProperty>
  readonly sortable: ReadonlyMap<string, QueryableProperty>
  /** The properties that are searched. */
  readonly search: readonly string[]
  /** The properties that can be selected. */
  readonly visible: ReadonlySet<string>
  /** The query parameters, without the keys of filters. */
  readonly parameters: ReadonlySet<string>
  /** The query parameters of features. */
  readonly featureParameters: ReadonlyMap<string, QueryParameter>
  /** Whether a function of the definition needs the whole item, whatever the client selects. */
  readonly needsWholeItems: boolean
  /** The relations that this query refers to; undefined if it refers to none. */
  readonly relations?: ListedRelations
}

/** What the definition and its features state about lists. */
export interface ListSettings
  extends Pick<Lists, 'order' | 'limit' | 'offset' | 'featureParameters' | 'needsWholeItems'> {
  readonly filter?: readonly string[] | undefined
  readonly sort?: readonly string[] | undefined
  readonly search?: readonly string[] | undefined
  readonly supports: Supports
}

/** Derives how lists can be queried from the type of the items, the options and the support of the storage. */
export function deriveLists (type: ItemType, settings: ListSettings): Lists {
  const { order, limit, offset, filter, sort, search = [], supports } = settings
  const { featureParameters, needsWholeItems } = settings
  const known = findQueryable(type)
  const ordered = new Map([...known].filter(([, property]) => property.ordered))
  const comparable = supports.arrays === true ? known : new Map([...known].filter(([, { isArray }]) => !isArray))
  const sortable = supports.order ? selectProperties(ordered, sort) : noProperties
  const visible = [...type.properties.named].filter(([, { writeOnly }]) => !writeOnly).map(([name]) => name)
  return {
    name: type.name,
    type,
    order,
    limit,
    offset,
    known,
    filterable: supports.filter ? selectProperties(comparable, filter) : noProperties,
    sortable,
    search,
    visible: new Set(visible),
    parameters: new Set([
      'limit',
      'cursor',
      ...offset ? ['offset'] : [],
      ...sortable.size > 0 ? ['sort'] : [],
      'fields',
      ...supports.count ? ['count'] : [],
      ...featureParameters.keys(),
      ...search.length > 0 ? ['q'] : []
    ]),
    featureParameters,
    needsWholeItems
  }
}

/** Returns the lists for callers who do not see all properties. */
export function hideInLists (lists: Lists, type: ItemType, supports: Supports): Lists {
  const hidden = type.hidden ?? new Set<string>()
  const isVisible = (property: string): boolean => !hidden.has(property.split('.', 1)[0]!)
  const offered = [...lists.featureParameters].filter(([, { isOffered }]) => isOffered?.(hidden) !== false)
  return deriveLists(type, {
    ...lists,
    // The order would reveal the values of hidden properties.
    order: lists.order.filter(({ property }) => isVisible(property)),
    filter: [...lists.filterable.keys()],
    sort: [...lists.sortable.keys()],
    search: lists.search.filter(isVisible),
    featureParameters: new Map(offered),
    supports
  })
}

/** How many items the app can read at a time. */
const maxAppLimit = 1000

/** Returns the lists for the app itself, which can filter and sort by every property that a storage can compare. */
export function openLists (lists: Lists, type: ItemType, supports: Supports): Lists {
  const { order, limit: { maximum }, search, needsWholeItems } = lists
  return deriveLists(type, {
    order,
    limit: { default: maximum, maximum: Math.max(maximum, maxAppLimit) },
    search,
    offset: true,
    featureParameters: new Map(),
    needsWholeItems,
    supports
  })
}

const noProperties: ReadonlyMap<string, QueryableProperty> = new Map()

function selectProperties (
  known: ReadonlyMap<string, QueryableProperty>,
  names: readonly string[] | undefined
): ReadonlyMap<string, QueryableProperty> {
  return names === undefined ? known : new Map([...known].filter(([name]) => names.includes(name)))
}
