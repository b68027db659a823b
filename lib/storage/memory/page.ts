import type { Entry, Filter, Page, Query } from '../contract.ts'
import { compileFilter, compileSearch, type Predicate } from './filter.ts'
import { Ordering } from './order.ts'
import type { Rows } from './table.ts'

/** Reads one page of the rows that match the query and the scope. */
export function readPage<Item extends object> (
  rows: Rows<Item>,
  query: Query,
  scope: Filter | undefined
): Page<Item> {
  const { order, after, before, limit, count } = query
  const matches = compilePredicate(query, scope)
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
  return count ? { entries, more, total: countMatches(rows, query, matches) } : { entries, more }
}

/** Undefined if every entry matches. */
function compilePredicate (query: Query, scope: Filter | undefined): Predicate | undefined {
  const parts = [scope, query.filter].filter((part) => part !== undefined).map(compileFilter)
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

function countMatches<Item extends object> (
  rows: Rows<Item>,
  { order }: Query,
  matches: Predicate | undefined
): number {
  if (matches === undefined) return rows.size
  let matching = 0
  rows.walk({ order, from: undefined, backward: false }, (entry) => {
    if (matches(entry.item)) matching++
    return true
  })
  return matching
}
