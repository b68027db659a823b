import type { Lists } from './lists.ts'
import type { ListedRelation, ReadableRelation } from './names.ts'
import { splitName } from './names.ts'
import type { AggregateQuery, Condition, Filter, JsonSchema, Order, Position, Query } from '../storage/contract.ts'
import { parseWords } from '../storage/search-words.ts'

/** A filter as clients state it, with relations as the caller sees them. */
export type ListFilter =
  | Condition
  | RelationFilter
  | CountFilter
  | { readonly all: readonly ListFilter[] }
  | { readonly any: readonly ListFilter[] }
  | { readonly not: ListFilter }

/** Whether an item has a related item that matches. */
export interface RelationFilter {
  readonly relation: string
  readonly of: ReadableRelation
  readonly has: 'some' | 'none'
  readonly filter: ListFilter
}

/** How many related items an item has. */
export interface CountFilter {
  readonly relation: string
  readonly of: ReadableRelation
  readonly count: Pick<Condition, 'is' | 'value'>
}

/** An order as clients state it. */
export interface ListOrder extends Order {
  /** The relation whose items have the property. */
  readonly through?: ReadableRelation
  /** The schema of a related property. */
  readonly schema?: JsonSchema
}

/** Related items that are included. */
export interface Inclusion {
  readonly of: ListedRelation
  /** What is requested of the included list, or of the one item. */
  readonly listQuery: ListQuery
}

/** What a client requests of a list, in a query string or in the content of a QUERY. */
export interface ListQuery {
  readonly filter?: ListFilter
  readonly search?: string
  readonly order?: readonly ListOrder[]
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
  /** The related items to include. */
  readonly expand?: readonly Inclusion[]
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

function mergeFeatures (first: ListQuery, second: ListQuery): Pick<ListQuery, 'features' | 'needs'> {
  return {
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
  if ('has' in filter) return `${filter.relation}.${filter.has}(${toFilterText(filter.filter)})`
  return JSON.stringify('count' in filter ? { relation: filter.relation, count: filter.count } : filter)
}

/** Returns the query for the storage, from the beginning of the list. */
export function toStorageQuery (lists: Lists, listQuery: ListQuery): Query {
  const { search, order: wanted = lists.order, fields } = listQuery
  const { limit = lists.limit.default, count = false } = listQuery
  const order = lists.relations === undefined ? wanted : wanted.map(toStorageOrder)
  return {
    filter: listQuery.filter && toStorageFilter(lists, listQuery.filter),
    search: search === undefined ? undefined : { words: parseWords(search), properties: lists.search },
    order,
    after: listQuery.after,
    before: undefined,
    limit,
    properties: fields && listQuery.needsWholeItems !== true
      ? getNeededProperties(lists, listQuery, order)
      : undefined,
    count
  }
}

function toStorageOrder ({ property, descending, through }: ListOrder): Order {
  if (through === undefined) return { property, descending }
  return { property: splitName(property)[1], descending, related: through.toRows(undefined) }
}

/** If the query names no relation, its filter is one of the storage. */
function toStorageFilter ({ relations }: Lists, filter: ListFilter): Filter {
  return relations === undefined ? filter as Filter : convertFilter(filter)
}

function convertFilter (filter: ListFilter): Filter {
  if ('all' in filter) return { all: filter.all.map(convertFilter) }
  if ('any' in filter) return { any: filter.any.map(convertFilter) }
  if ('not' in filter) return { not: convertFilter(filter.not) }
  if ('count' in filter) return toCountCondition(filter)
  if (!('has' in filter)) return filter
  const condition: Filter = { related: filter.of.toRows(convertFilter(filter.filter)) }
  return filter.has === 'none' ? { not: condition } : condition
}

type CountOperator = NonNullable<Extract<Filter, { related: unknown }>['count']>['is']

/** `in` and `nin` are written with the other operators. */
function toCountCondition ({ of, count: { is, value } }: CountFilter): Filter {
  const related = of.toRows(undefined)
  const compare = (operator: CountOperator, number: unknown): Filter => {
    return { related, count: { is: operator, value: Number(number) } }
  }
  if (is === 'in') return { any: (value as readonly unknown[]).map((number) => compare('eq', number)) }
  if (is === 'nin') return { all: (value as readonly unknown[]).map((number) => compare('ne', number)) }
  return compare(is as CountOperator, value)
}

/**
 * Adds the id, the sorted properties and those of relations to those that the client wants. The function `links` may
 * need all of them.
 */
function getNeededProperties (
  { type: { id }, needsWholeItems }: Lists,
  { fields = [], needs = [], expand = [] }: ListQuery,
  order: readonly Order[]
): readonly string[] | undefined {
  if (needsWholeItems) return undefined
  const sorted = order.filter(({ related }) => related === undefined).map(({ property }) => property.split('.', 1)[0]!)
  const related = expand.map(({ of: { relation } }) => relation.property)
  return [...new Set([...fields, ...needs, ...related, id.property, ...sorted])]
}
