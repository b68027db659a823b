import type { AggregateQuery, Aggregates, Entry, Filter, Id, Page, Query, Scalar } from '../contract.ts'
import { compileFilter, compileSearch, type Predicate } from './filter.ts'
import { Ordering } from './order.ts'
import { createReader } from './property.ts'
import { RelatedReader, type FindRows } from './related.ts'
import type { Rows, WalkOptions } from './table.ts'

/** Where pages are read from. */
export interface PageSource<Item extends object> {
  readonly rows: Rows<Item>
  /** The rows of storages that a filter or an order refers to. */
  readonly findRows: FindRows
}

/** Reads one page of the rows that match the query and the scope. */
export function readPage<Item extends object> (
  source: PageSource<Item>,
  query: Query,
  scope: Filter | undefined
): Page<Item> {
  const { rows } = source
  const related = new RelatedReader(source.findRows)
  const matches = compilePredicate(query, scope, related)
  const { order, after, before, limit, count } = query
  if (hasRelatedOrder(query)) {
    const options = { order: orderById(rows), from: undefined, backward: false }
    return sortPage(rows, query, { related, entries: collectMatches(rows, options, matches) })
  }
  const backward = before !== undefined
  const isPastEnd = compileEnd(rows, query)
  const entries: Array<Entry<Item>> = []
  let more = false
  rows.walk({ order, from: before ?? after, backward }, (entry) => {
    if (isPastEnd?.(entry) === true) return false
    if (matches?.(entry.item) === false) return true
    more = entries.length === limit
    if (!more) entries.push(entry)
    return !more
  })
  if (backward) entries.reverse()
  if (!count) return { entries, more }
  const total = matches === undefined
    ? rows.size
    : countMatches(rows, { order, from: undefined, backward: false }, matches)
  return { entries, more, total }
}

/** Reads a page for each of the values. An index over the property and the order has the entries of each in a row. */
export function readPages<Item extends object> (
  source: PageSource<Item>,
  by: { readonly property: string, readonly values: readonly Id[] },
  query: Query,
  scope: Filter | undefined
): ReadonlyArray<Page<Item>> {
  const { rows } = source
  const related = new RelatedReader(source.findRows)
  const matches = compilePredicate(query, scope, related)
  const { limit, count } = query
  if (by.property === rows.shape.id.property) {
    return by.values.map((id) => {
      const entry = rows.get(id)
      const entries = entry === undefined || matches?.(entry.item) === false ? [] : [entry]
      return sortPage(rows, query, { related, entries })
    })
  }
  const isSorted = hasRelatedOrder(query)
  const order = [{ property: by.property, descending: false }, ...isSorted ? orderById(rows) : query.order]
  return by.values.map((within) => {
    const options = { order, from: undefined, backward: false, within }
    if (isSorted) return sortPage(rows, query, { related, entries: collectMatches(rows, options, matches) })
    const found = collectMatches(rows, options, matches, limit + 1)
    const page = { entries: found.slice(0, limit), more: found.length > limit }
    return count ? { ...page, total: countMatches(rows, options, matches) } : page
  })
}

/** Computes figures over the rows that match, by groups. */
export async function aggregateRows<Item extends object> (
  { rows, findRows }: PageSource<Item>,
  query: AggregateQuery,
  scope: Filter | undefined
): Promise<Aggregates> {
  // Most apps do not need it.
  const { Aggregation } = await import('../aggregation.ts')
  const matches = compilePredicate(query, scope, new RelatedReader(findRows))
  const readers = [...query.by, ...query.figures].map((part) => {
    return 'property' in part ? createReader(part.property) : () => null
  })
  const aggregation = new Aggregation(query, rows.shape.schema)
  rows.walk({ order: orderById(rows), from: undefined, backward: false }, ({ item }) => {
    // Figures are over scalars.
    if (matches?.(item) !== false) aggregation.add(readers.map((read) => read(item) as Scalar | null))
    return true
  })
  return aggregation.getResult()
}

interface SortedSource<Item> {
  readonly related: RelatedReader
  /** All that match. */
  readonly entries: ReadonlyArray<Entry<Item>>
}

/** Sorts entries by what no index has, and returns a page of them. */
function sortPage<Item extends object> (
  rows: Rows<Item>,
  query: Query,
  { related, entries }: SortedSource<Item>
): Page<Item> {
  const { order, after, before, limit, count } = query
  const ordering = new Ordering(order, rows.shape.id.property, related.createReader)
  const found = entries
    .map((entry) => ({ entry, position: ordering.getPosition(entry) }))
    .filter(({ position }) => after === undefined || ordering.comparePositions(position, after) > 0)
    .filter(({ position }) => before === undefined || ordering.comparePositions(position, before) < 0)
    .sort((a, b) => ordering.comparePositions(a.position, b.position))
  const part = before === undefined ? found.slice(0, limit) : found.slice(Math.max(0, found.length - limit))
  const page = {
    entries: hasRelatedOrder(query)
      ? part.map(({ entry, position }) => ({ ...entry, position }))
      : part.map(({ entry }) => entry),
    more: found.length > limit
  }
  return count ? { ...page, total: entries.length } : page
}

function hasRelatedOrder ({ order }: Query): boolean {
  return order.some(({ related }) => related !== undefined)
}

function orderById<Item> ({ shape }: Rows<Item>): Query['order'] {
  return [{ property: shape.id.property, descending: false }]
}

/** Undefined if every entry matches. */
function compilePredicate (
  query: Pick<Query, 'filter' | 'search'>,
  scope: Filter | undefined,
  related: RelatedReader
): Predicate | undefined {
  const parts = [scope, query.filter]
    .filter((part) => part !== undefined)
    .map((part) => compileFilter(part, related.compileCondition))
  if (query.search !== undefined) parts.push(compileSearch(query.search))
  return parts.length > 1 ? (item) => parts.every((part) => part(item)) : parts[0]
}

/** With both positions, the walk starts at `before` and ends at `after`. */
function compileEnd<Item extends object> (
  rows: Rows<Item>,
  { order, after, before }: Query
): ((entry: Entry<Item>) => boolean) | undefined {
  if (after === undefined || before === undefined) return undefined
  const ordering = new Ordering(order, rows.shape.id.property)
  return (entry) => ordering.compareToPosition(entry, after) <= 0
}

function collectMatches<Item extends object> (
  rows: Rows<Item>,
  options: WalkOptions,
  matches: Predicate | undefined,
  limit = Infinity
): Array<Entry<Item>> {
  const entries: Array<Entry<Item>> = []
  rows.walk(options, (entry) => {
    if (matches?.(entry.item) !== false) entries.push(entry)
    return entries.length < limit
  })
  return entries
}

function countMatches<Item extends object> (
  rows: Rows<Item>,
  options: WalkOptions,
  matches: Predicate | undefined
): number {
  let matching = 0
  rows.walk(options, ({ item }) => {
    if (matches?.(item) !== false) matching++
    return true
  })
  return matching
}
