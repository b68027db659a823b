import type { Collection } from '../definition.ts'
import type { Condition, Filter } from '../storage/contract.ts'
import { parameterOf } from './parameters.ts'
import type { Question } from './question.ts'

/** Longer ones are cut or refused on their way. */
const longest = 2000

/** The query string that asks the same question, where there is one; RFC 10008 section 2.4. */
export function equalGet (collection: Collection, { filter, search, order, fields, expand, limit, cursor, count }: Question): string | undefined {
  const parameters = new URLSearchParams()
  for (const condition of filter === undefined ? [] : flat(filter)) {
    const [name, text] = condition === undefined ? [] : written(collection, condition)
    if (name === undefined || text === undefined || parameters.has(name)) return undefined
    parameters.set(name, text)
  }
  if (order !== undefined) parameters.set('sort', order.map(({ member, descending }) => descending ? `-${member}` : member).join())
  if (fields !== undefined) parameters.set('fields', fields.join())
  if (expand !== undefined) parameters.set('expand', expand.join())
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

function written (collection: Collection, { member, is, value }: Condition): [name: string, text: string | undefined] {
  const name = is === 'eq' && parameterOf(collection, member) === undefined ? member : `${member}.${is}`
  if (!Array.isArray(value)) return [name, String(value)]
  const texts = value.map(String)
  // In a list, a backslash has a meaning of its own.
  return [name, texts.some(text => text.includes('\\')) ? undefined : texts.map(text => text.replaceAll(',', '\\,')).join()]
}
