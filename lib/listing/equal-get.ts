import type { Collection } from '../collection.ts'
import type { Condition, Filter, Order } from '../storage/contract.ts'
import { textOf } from './conditions.ts'
import type { Question } from './question.ts'

/** Longer ones are cut or refused on their way. */
const longest = 2000

/** The query string that asks the same question, where there is one; RFC 10008 section 2.4. */
export function equalGet ({ id, limit: { maximum }, listing: { parameters: offered } }: Collection, { filter, search, order, fields, limit, cursor, offset, count, features = {} }: Question): string | undefined {
  // The dialect of a client can ask for both.
  if (offset !== undefined || (limit !== undefined && limit > maximum)) return undefined
  const parameters = new URLSearchParams()
  for (const condition of filter === undefined ? [] : flat(filter)) {
    const text = condition && textOf(condition.value)
    if (condition === undefined || text === undefined) return undefined
    const { property, is } = condition
    const name = is === 'eq' && !offered.has(property) ? property : `${property}.${is}`
    if (parameters.has(name)) return undefined
    parameters.set(name, text)
  }
  if (order !== undefined) parameters.set('sort', sorted(order, id.property))
  if (fields !== undefined) parameters.set('fields', fields.join())
  for (const [name, value] of Object.entries(features)) parameters.set(name, value)
  if (limit !== undefined) parameters.set('limit', String(limit))
  if (count !== undefined) parameters.set('count', String(count))
  if (search !== undefined) parameters.set('q', search)
  if (cursor !== undefined) parameters.set('cursor', cursor)
  const text = parameters.toString()
  return text.length > longest ? undefined : text
}

/** The conditions that all have to hold; undefined stands for what a query string cannot say. */
function flat (filter: Filter): Array<Condition | undefined> {
  if ('all' in filter) return filter.all.flatMap(flat)
  return ['is' in filter ? filter : undefined]
}

/** The id need not be one of the properties that a client can sort by to be the last of them. */
function sorted (order: readonly Order[], id: string): string {
  const asked = order.filter(({ property, descending }) => property !== id || descending || order.length === 1)
  return asked.map(({ property, descending }) => descending ? `-${property}` : property).join()
}
