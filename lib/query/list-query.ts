import type { Lists } from './lists.ts'
import type { AggregateQuery, Condition, Filter, Order, Position, Query } from '../storage/contract.ts'
import { parseWords } from '../storage/search-words.ts'

/** A filter as clients state it, with relations by their names. */
export type ListFilter =
  | Condition
  | RelationFilter
  | { readonly all: readonly ListFilter[] }
  | { readonly any: readonly ListFilter[] }
  | { readonly not: ListFilter }

/** Whether an item has a related item that matches; or, with `count`, so many related items. */
export type RelationFilter =
  | { readonly relation: string, readonly has: 'some' | 'none', readonly filter: ListFilter }
  | { readonly relation: string, readonly count: Pick<Condition, 'is' | 'value'> }

/** What a client requests of a list, in a query string or in the content of a QUERY. */
export interface ListQuery {
  readonly filter?: ListFilter
  readonly search?: string
  readonly order?: readonly Order[]
  readonly fields?: readonly string[]
  readonly limit?: number
  readonly cursor?: string
  /** Where the page begins. Only calls from code state it. */
  readonly after?: Position
  /** How many items to skip. */
  readonly offset?: number
  readonly count?: boolean
  /** The query parameters of features, as written in a query string. */
  readonly features?: Readonly<Record<string, string>>
  /** The related items to include, as the client states them: by the name of the parameter. */
  readonly expand?: Readonly<Record<string, unknown>>
  /** Whether no query string can express what is requested. */
  readonly isInexpressible?: boolean
  /** The figures to compute instead of returning items. */
  readonly groups?: GroupQuery
  /** Whether the response needs more of an item than it contains, such as its entity tag. */
  readonly needsWholeItems?: boolean
  /** Properties that features need in addition to `fields`. */
  readonly needs?: readonly string[]
}

/** What is computed over the items that match. */
export type GroupQuery = Pick<AggregateQuery, 'by' | 'figures' | 'order' | 'limit'>

/** Merges two queries. The first one takes precedence; both filters apply. */
export function mergeQueries (first: ListQuery, second: ListQuery): ListQuery {
  const filters = [first.filter, second.filter].filter((filter) => filter !== undefined)
  return {
    ...second,
    ...first,
    ...filters.length > 0 && { filter: combineFilters(filters) },
    ...mergeFeatures(first, second)
  }
}

function mergeFeatures (first: ListQuery, second: ListQuery): Pick<ListQuery, 'features' | 'expand' | 'needs'> {
  return {
    ...(first.expand ?? second.expand) && { expand: { ...second.expand, ...first.expand } },
    ...(first.features ?? second.features) && { features: { ...second.features, ...first.features } },
    ...(first.needs ?? second.needs) && { needs: [...first.needs ?? [], ...second.needs ?? []] }
  }
}

/** Adds the part of a query that one parameter states. */
export function addPart (listQuery: object, part: ListQuery): void {
  Object.assign(listQuery, part, part.features && mergeFeatures(part, listQuery))
}

/** Combines filters that must all match. Of equal ones, only one is kept. */
export function combineFilters (filters: readonly ListFilter[]): ListFilter {
  const [first] = filters
  if (filters.length === 1 && !('all' in first!)) return first!
  const parts = new Map<string, ListFilter>()
  for (const filter of filters) {
    for (const part of 'all' in filter ? filter.all : [filter]) parts.set(toFilterText(part), part)
  }
  const [only, ...others] = parts.values()
  return only !== undefined && others.length === 0 ? only : { all: [...parts.values()] }
}

/** Returns the same text for the same conditions in any order. The cursors of a QUERY and of a query string need it. */
export function toFilterText (filter: ListFilter): string {
  if ('all' in filter) return `all(${filter.all.map(toFilterText).sort().join()})`
  if ('any' in filter) return `any(${filter.any.map(toFilterText).sort().join()})`
  if ('not' in filter) return `not(${toFilterText(filter.not)})`
  if ('relation' in filter && 'has' in filter) return `${filter.relation}.${filter.has}(${toFilterText(filter.filter)})`
  return JSON.stringify(filter)
}

/** Returns the query for the storage, from the beginning of the list. */
export function toStorageQuery (lists: Lists, listQuery: ListQuery): Query {
  const { search, order: wanted = lists.order, fields, needs = [] } = listQuery
  const { limit = lists.limit.default, count = false } = listQuery
  const { filter, order } = lists.relations?.resolve(listQuery.filter, wanted) ??
    { filter: toOwnFilter(listQuery.filter), order: wanted }
  return {
    filter,
    search: search === undefined ? undefined : { words: parseWords(search), properties: lists.search },
    order,
    after: listQuery.after,
    before: undefined,
    limit,
    properties: fields && listQuery.needsWholeItems !== true
      ? getNeededProperties(lists, [...fields, ...needs], order)
      : undefined,
    count
  }
}

/** If the query refers to no relation, its filter is one of the storage. */
function toOwnFilter (filter: ListFilter | undefined): Filter | undefined {
  return filter as Filter | undefined
}

/** Adds the id and the sorted properties to those that the client wants. The function `links` may need all of them. */
function getNeededProperties (
  { type: { id }, needsWholeItems }: Lists,
  fields: readonly string[],
  order: readonly Order[]
): readonly string[] | undefined {
  if (needsWholeItems) return undefined
  const sorted = order.filter(({ related }) => related === undefined).map(({ property }) => property.split('.', 1)[0]!)
  return [...new Set([...fields, id.property, ...sorted])]
}
