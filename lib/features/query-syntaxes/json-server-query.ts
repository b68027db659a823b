// The query syntax of json-server: ?_sort=name,age&_order=asc,desc&_start=0&_end=25&age_gte=18&id=1&id=2

import type { Lists } from '../../listing/lists.ts'
import { Problem } from '../../http/problems.ts'
import { joinNames } from '../../listing/join-names.ts'
import { getParameter } from '../../listing/parameters.ts'
import type { ListQuery } from '../../listing/list-query.ts'
import { badParameter } from '../../request/query.ts'
import { queryText } from '../../openapi/query-text.ts'
import type { Condition, JsonSchema } from '../../storage/contract.ts'
import type { ClientParameters, Translation } from '../../listing/query-parameter.ts'
import { buildFilter, buildRange, isEmptySearch, readComparison, readOrdering } from './admin-query.ts'

const number: JsonSchema = { type: 'integer', format: 'int32', minimum: 0, maximum: 999_999_999 }

/** The parameters, for OpenAPI. */
export const jsonServerParameters: Readonly<Record<string, JsonSchema>> = {
  _start: { ...number, description: 'The position of the first item of the page' },
  _end: { ...number, description: 'The position after the last item of the page' },
  _sort: { ...queryText, description: 'Properties to sort by, separated by commas' },
  _order: { ...queryText, description: 'asc or desc for each property of _sort, separated by commas' }
}

export function translateJsonServerQuery (
  lists: Lists,
  parameters: ClientParameters
): Translation | Problem {
  const { _sort: sort, _order: direction, _start: start, _end: end, ...others } = parameters
  const conditions: Condition[] = []
  const rest: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(others)) {
    if (isEmptySearch(lists, { name, value })) continue
    const found = isInSyntax(lists, name, value)
      ? readComparison(lists, { name, value }, name)
      : undefined
    if (found instanceof Problem) return found
    if (found === undefined) rest[name] = value
    else conditions.push(...found)
  }
  const range = readRange(lists, { start, end })
  if (range instanceof Problem) return range
  const order = sort === undefined && direction === undefined ? {} : readSort(lists, { sort, direction })
  if (order instanceof Problem) return order
  return { listQuery: { count: true, ...buildFilter(lists, conditions), ...range, ...order }, rest }
}

function readRange (lists: Lists, given: { start: unknown, end: unknown }): ListQuery | Problem {
  if (given.start === undefined && given.end === undefined) return {}
  const start = readNumber('_start', given.start)
  if (start instanceof Problem) return start
  const end = readNumber('_end', given.end)
  if (end instanceof Problem) return end
  return buildRange(lists, { start: start ?? 0, end, startParameter: '_start', endParameter: '_end' })
}

/** Our own parameters take precedence if they occur once. */
function isInSyntax (lists: Lists, name: string, value: unknown): boolean {
  if (getParameter(lists, name) !== undefined) return false
  return Array.isArray(value) || name.includes('_') || lists.filterable.get(name)?.isArray === true
}

function readNumber (name: string, text: unknown): number | Problem | undefined {
  if (text === undefined) return undefined
  if (typeof text !== 'string' || !/^\d{1,9}$/.test(text)) return badParameter(name, 'a whole number')
  return Number(text)
}

const directionNames = ['asc', 'desc']

function readSort (
  lists: Lists,
  { sort, direction = '' }: { sort: unknown, direction: unknown }
): ListQuery | Problem {
  if (typeof sort !== 'string' || typeof direction !== 'string') {
    return badParameter('_sort', 'given once, as must _order; several properties are separated by commas')
  }
  const directions = direction === '' ? [] : direction.toLowerCase().split(',')
  const properties = sort.split(',')
  if (directions.length > properties.length || !directions.every((name) => directionNames.includes(name))) {
    return badParameter('_order', 'asc or desc, separated by commas, for each property of _sort')
  }
  const order = properties.map((property, index) => ({ property, descending: directions[index] === 'desc' }))
  const listQuery = readOrdering(lists, order)
  if (listQuery !== undefined) return listQuery
  const sortable = joinNames(lists.sortable.keys())
  return badParameter('_sort', `properties separated by commas, each once: ${sortable}`)
}
