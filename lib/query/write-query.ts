import type { Lists } from './lists.ts'
import type { Condition, Order } from '../storage/contract.ts'
import { formatOperand } from './conditions.ts'
import type { CountFilter, Inclusion, ListFilter, ListQuery, RelationFilter } from './list-query.ts'

/** Some proxies cut or refuse longer ones. */
const maxLength = 2000

/** Writes a query as the query string of a GET; undefined if there is none. RFC 10008, section 2.4, needs it. */
export function writeQuery (lists: Lists, listQuery: ListQuery): string | undefined {
  const parameters = writeParameters(lists, listQuery)
  const text = parameters?.toString() ?? ''
  return parameters === undefined || text.length > maxLength ? undefined : text
}

function writeParameters (lists: Lists, listQuery: ListQuery): URLSearchParams | undefined {
  const { type: { id }, parameters: known } = lists
  const { filter, search, order, fields, limit, cursor, offset, count, features = {}, expand = [] } = listQuery
  const parameters = new URLSearchParams()
  for (const condition of filter === undefined ? [] : flattenFilter(filter, new Set())) {
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
  const included = writeExpand(expand)
  if (included === undefined) return undefined
  for (const [name, value] of included) parameters.set(name, value)
  if (limit !== undefined) parameters.set('limit', String(limit))
  if (offset !== undefined) parameters.set('offset', String(offset))
  if (count !== undefined) parameters.set('count', String(count))
  if (search !== undefined) parameters.set('q', search)
  if (cursor !== undefined) parameters.set('cursor', cursor)
  return parameters
}

/** Returns the conditions that must all be met. Undefined means one that a query string cannot express. */
function flattenFilter (filter: ListFilter, used: Set<string>): Array<Condition | undefined> {
  if ('all' in filter) return filter.all.flatMap((part) => flattenFilter(part, used))
  if ('relation' in filter) return flattenRelation(filter, used)
  return ['is' in filter ? filter : undefined]
}

/** All conditions with the same beginning are about one related item, so a second one cannot be expressed. */
function flattenRelation (filter: RelationFilter | CountFilter, used: Set<string>): Array<Condition | undefined> {
  const { relation } = filter
  // The count of items is compared with a number.
  if ('count' in filter) return [{ property: `${relation}.count`, ...filter.count } as Condition]
  const name = filter.of.relation.isMany ? `${relation}.${filter.has}` : relation
  if (used.has(name)) return [undefined]
  used.add(name)
  const inner = flattenFilter(filter.filter, new Set())
  return inner.length === 0
    ? [undefined]
    : inner.map((condition) => condition && { ...condition, property: `${name}.${condition.property}` })
}

/** Leaves out the id that every order ends with, because clients may not be able to sort by it. */
function formatOrder (order: readonly Order[], id: string): string {
  const needed = order.filter(({ property, descending }) => property !== id || descending || order.length === 1)
  return needed.map(({ property, descending }) => descending ? `-${property}` : property).join()
}

/** Returns `expand` and its options; undefined if no query string can express them. */
function writeExpand (inclusions: readonly Inclusion[]): Map<string, string> | undefined {
  const paths: string[] = []
  const options = new Map<string, string>()
  const visit = ({ of: { relation, lists }, listQuery }: Inclusion, outer: string): boolean => {
    const path = `${outer}${relation.name}`
    const { expand = [], ...own } = listQuery
    // A longer path includes what leads to it.
    if (expand.length === 0) paths.push(path)
    const parameters = lists === undefined ? new URLSearchParams() : writeParameters(lists, own)
    for (const [option, value] of parameters ?? []) options.set(`expand.${path}.${option}`, value)
    return parameters !== undefined && expand.every((inner) => visit(inner, `${path}.`))
  }
  if (!inclusions.every((inclusion) => visit(inclusion, ''))) return undefined
  return paths.length === 0 ? options : new Map([['expand', paths.join()], ...options])
}
