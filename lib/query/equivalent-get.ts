import type { Lists } from './lists.ts'
import type { Condition, Order } from '../storage/contract.ts'
import { formatOperand } from './conditions.ts'
import type { ListFilter, ListQuery, RelationFilter } from './list-query.ts'

/** Some proxies cut or refuse longer ones. */
const maxLength = 2000

/** Builds the query string that is equivalent to a QUERY (RFC 10008, section 2.4); undefined if there is none. */
export function buildEquivalentGet (lists: Lists, listQuery: ListQuery): string | undefined {
  const { type: { id }, parameters: known } = lists
  const { filter, search, order, fields, limit, cursor, offset, count, features = {} } = listQuery
  if (listQuery.isInexpressible === true) return undefined

  const parameters = new URLSearchParams()
  for (const condition of filter === undefined ? [] : flattenFilter(lists, filter, new Set())) {
    const text = condition && formatOperand(condition.value)
    if (condition === undefined || text === undefined) return undefined
    const { property, is } = condition
    // `comments.count` is also a parameter of an included list, as `limit` is one of the list itself.
    const isParameter = known.has(property.slice(property.lastIndexOf('.') + 1))
    const name = is === 'eq' && !isParameter ? property : `${property}.${is}`
    if (parameters.has(name)) return undefined
    parameters.set(name, text)
  }
  if (order !== undefined) parameters.set('sort', formatOrder(order, id.property))
  if (fields !== undefined) parameters.set('fields', fields.join())
  for (const [name, value] of Object.entries(features)) parameters.set(name, value)
  if (limit !== undefined) parameters.set('limit', String(limit))
  if (offset !== undefined) parameters.set('offset', String(offset))
  if (count !== undefined) parameters.set('count', String(count))
  if (search !== undefined) parameters.set('q', search)
  if (cursor !== undefined) parameters.set('cursor', cursor)
  const text = parameters.toString()
  return text.length > maxLength ? undefined : text
}

/** Returns the conditions that must all be met. Undefined means one that a query string cannot express. */
function flattenFilter (lists: Lists, filter: ListFilter, used: Set<string>): Array<Condition | undefined> {
  if ('all' in filter) return filter.all.flatMap((part) => flattenFilter(lists, part, used))
  if ('relation' in filter) return flattenRelation(lists, filter, used)
  return ['is' in filter ? filter : undefined]
}

/** All conditions with the same beginning are about one related item, so a second one cannot be expressed. */
function flattenRelation (lists: Lists, filter: RelationFilter, used: Set<string>): Array<Condition | undefined> {
  const { relation } = filter
  // The count of items is compared with a number.
  if ('count' in filter) return [{ property: `${relation}.count`, ...filter.count } as Condition]
  const known = lists.relations?.get(relation)
  const name = known?.isMany === true ? `${relation}.${filter.has}` : relation
  if (known === undefined || used.has(name)) return [undefined]
  used.add(name)
  const inner = flattenFilter(known.lists, filter.filter, new Set())
  return inner.length === 0
    ? [undefined]
    : inner.map((condition) => condition && { ...condition, property: `${name}.${condition.property}` })
}

/** Leaves out the id that every order ends with, because clients may not be able to sort by it. */
function formatOrder (order: readonly Order[], id: string): string {
  const needed = order.filter(({ property, descending }) => property !== id || descending || order.length === 1)
  return needed.map(({ property, descending }) => descending ? `-${property}` : property).join()
}
