import type { Lists } from './lists.ts'
import type { Condition, Filter, Order } from '../storage/contract.ts'
import { formatOperand } from './conditions.ts'
import type { ListQuery } from './list-query.ts'

/** Some proxies cut or refuse longer ones. */
const maxLength = 2000

/** Builds the query string that is equivalent to a QUERY (RFC 10008, section 2.4); undefined if there is none. */
export function buildEquivalentGet (lists: Lists, listQuery: ListQuery): string | undefined {
  const { type: { id }, limit: { maximum }, parameters: known } = lists
  const { filter, search, order, fields, limit, cursor, offset, count, features = {} } = listQuery
  // Only query syntaxes of clients support an offset, or a greater limit.
  if (offset !== undefined || (limit !== undefined && limit > maximum)) return undefined

  const parameters = new URLSearchParams()
  for (const condition of filter === undefined ? [] : flattenFilter(filter)) {
    const text = condition && formatOperand(condition.value)
    if (condition === undefined || text === undefined) return undefined
    const { property, is } = condition
    const name = is === 'eq' && !known.has(property) ? property : `${property}.${is}`
    if (parameters.has(name)) return undefined
    parameters.set(name, text)
  }
  if (order !== undefined) parameters.set('sort', formatOrder(order, id.property))
  if (fields !== undefined) parameters.set('fields', fields.join())
  for (const [name, value] of Object.entries(features)) parameters.set(name, value)
  if (limit !== undefined) parameters.set('limit', String(limit))
  if (count !== undefined) parameters.set('count', String(count))
  if (search !== undefined) parameters.set('q', search)
  if (cursor !== undefined) parameters.set('cursor', cursor)
  const text = parameters.toString()
  return text.length > maxLength ? undefined : text
}

/** Returns the conditions that must all be met. Undefined means one that a query string cannot express. */
function flattenFilter (filter: Filter): Array<Condition | undefined> {
  if ('all' in filter) return filter.all.flatMap(flattenFilter)
  return ['is' in filter ? filter : undefined]
}

/** Leaves out the id that every order ends with, because clients may not be able to sort by it. */
function formatOrder (order: readonly Order[], id: string): string {
  const needed = order.filter(({ property, descending }) => property !== id || descending || order.length === 1)
  return needed.map(({ property, descending }) => descending ? `-${property}` : property).join()
}
