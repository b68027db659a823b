// The dialect of json-server: ?_sort=name,age&_order=asc,desc&_start=0&_end=25&age_gte=18&id=1&id=2

import type { Collection } from '../definition.ts'
import { parameterOf } from '../listing/parameters.ts'
import type { Question } from '../listing/question.ts'
import { badParameter } from '../query.ts'
import type { Condition } from '../storage/contract.ts'
import { asksNothing, comparison, filtered } from './comparison.ts'
import { ordering } from './ordering.ts'
import type { Parameters, Translation } from './profile.ts'
import { stretch } from './stretch.ts'

export function underscores (collection: Collection, parameters: Parameters): Translation {
  const { _sort: sort, _order: direction, _start: start, _end: end, ...others } = parameters
  const conditions: Condition[] = []
  const rest: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(others)) {
    if (asksNothing(collection, { name, value })) continue
    const found = speaksDialect(collection, name, value) ? comparison(collection, { name, value }, name) : undefined
    if (found === undefined) rest[name] = value
    else conditions.push(...found)
  }
  const question = {
    count: true,
    ...filtered(collection, conditions),
    ...(start !== undefined || end !== undefined) && stretch(collection, { start: readNumber('_start', start) ?? 0, end: readNumber('_end', end), from: '_start', to: '_end' }),
    ...(sort !== undefined || direction !== undefined) && readSort(collection, { sort, direction })
  }
  return { question, rest }
}

/** What is given once and known to us by its name is ours. */
function speaksDialect (collection: Collection, name: string, value: unknown): boolean {
  return parameterOf(collection, name) === undefined && (Array.isArray(value) || name.includes('_'))
}

function readNumber (name: string, text: unknown): number | undefined {
  if (text === undefined) return undefined
  if (typeof text !== 'string' || !/^\d{1,9}$/.test(text)) throw badParameter(name, 'a whole number')
  return Number(text)
}

const directions = ['asc', 'desc']

function readSort (collection: Collection, { sort, direction = '' }: { sort: unknown, direction: unknown }): Question {
  if (typeof sort !== 'string' || typeof direction !== 'string') throw badParameter('_sort', 'given once, and with it _order; several members are parted by commas')
  const given = direction === '' ? [] : direction.toLowerCase().split(',')
  const members = sort.split(',')
  if (given.length > members.length || !given.every(name => directions.includes(name))) throw badParameter('_order', 'asc or desc, parted by commas, for each member of _sort')
  const question = ordering(collection, members.map((member, index) => ({ member, descending: given[index] === 'desc' })))
  if (question === undefined) throw badParameter('_sort', `members parted by commas, each once: ${[...collection.listing.sortable.keys()].join(', ')}`)
  return question
}
