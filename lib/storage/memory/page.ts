import type { Entry, Filter, Page, Query } from '../contract.ts'
import { filter, search, type Predicate } from './filter.ts'
import { Ordering } from './order.ts'
import type { Rows } from './table.ts'

export function page<Item extends object> (rows: Rows<Item>, query: Query, scope: Filter | undefined): Page<Item> {
  const { order, after, before, limit, count } = query
  const matches = predicate(query, scope)
  const backward = before !== undefined
  const isOver = over(rows, query)
  const entries: Array<Entry<Item>> = []
  let more = false
  rows.walk({ order, from: before ?? after, backward }, (entry) => {
    if (isOver?.(entry) === true) return false
    if (matches?.(entry.item) === false) return true
    more = entries.length === limit
    if (!more) entries.push(entry)
    return !more
  })
  if (backward) entries.reverse()
  return count ? { entries, more, total: total(rows, query, matches) } : { entries, more }
}

/** What every entry must fulfil; undefined where all do, so that nothing is asked of them. */
function predicate (query: Query, scope: Filter | undefined): Predicate | undefined {
  const parts = [scope, query.filter].filter((part) => part !== undefined).map(filter)
  if (query.search !== undefined) parts.push(search(query.search))
  return parts.length > 1 ? (item) => parts.every((part) => part(item)) : parts[0]
}

/** Where both ends are given, the walk comes from `before` and is over at `after`. */
function over<Item extends object> (rows: Rows<Item>, { order, after, before }: Query): ((entry: Entry<Item>) => boolean) | undefined {
  if (after === undefined || before === undefined) return undefined
  const ordering = new Ordering(order, rows.shape.id.property)
  return (entry) => ordering.distance(entry, after) <= 0
}

function total<Item extends object> (rows: Rows<Item>, { order }: Query, matches: Predicate | undefined): number {
  if (matches === undefined) return rows.size
  let matching = 0
  rows.walk({ order, from: undefined, backward: false }, (entry) => {
    if (matches(entry.item)) matching++
    return true
  })
  return matching
}
