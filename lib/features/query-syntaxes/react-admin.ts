// The query syntax of ra-data-simple-rest: ?sort=["name","ASC"]&range=[0,24]&filter={"id":[1,2]}

import type { Lists } from '../../listing/lists.ts'
import { isObject } from '../../http/json-value.ts'
import { Problem } from '../../http/problems.ts'
import { joinNames } from '../../listing/join-names.ts'
import { getParameter, parseJsonText } from '../../listing/parameters.ts'
import type { ListQuery } from '../../listing/list-query.ts'
import { badParameter } from '../../request/query.ts'
import { queryText } from '../../openapi/query-text.ts'
import type { Condition } from '../../storage/contract.ts'
import type { QuerySyntax } from '../../listing/query-parameter.ts'
import type { Feature, ListedPage } from '../feature.ts'
import { buildFilter, buildRange, isEmptySearch, readComparison, readOrdering } from './admin-query.ts'
import { createAdminFeature } from './admin-feature.ts'
import { buildProblemProperties } from './problem-text.ts'

const syntax: QuerySyntax = {
  parameters: {
    range: { ...queryText, description: 'The positions of the first and the last item, as JSON, such as [0,24]' },
    filter: { ...queryText, description: 'Properties and values, as JSON, such as {"id":[1,2]}' }
  },
  embedding: { parameter: 'embed', names: (value) => [parseJson(value)].flat() },
  translate (lists, parameters) {
    const { filter, range, sort, ...others } = parameters
    // Our own sort is not JSON.
    const isJson = typeof sort === 'string' && sort.startsWith('[')
    const filtering = filter === undefined ? {} : readFilter(lists, filter)
    if (filtering instanceof Problem) return filtering
    const paging = range === undefined ? {} : readRange(lists, range)
    if (paging instanceof Problem) return paging
    const ordering = isJson ? readSort(lists, sort) : {}
    if (ordering instanceof Problem) return ordering
    return {
      listQuery: { ...filtering, ...paging, ...ordering },
      rest: isJson || sort === undefined ? others : { ...others, sort }
    }
  }
}

/**
 * The client requests a range in the query, and reads it from Content-Range (RFC 9110, section 14.4).
 * Responses without a range do not have the header, because it confuses caches.
 */
function buildContentRange ({ name, parameters, offset, length, total }: ListedPage): Record<string, string> {
  if (parameters.range === undefined || total === undefined) return {}
  const range = length === 0 ? '*' : `${offset}-${offset + length - 1}`
  return { 'content-range': `${name} ${range}/${total}` }
}

/**
 * Understands the requests of react-admin with ra-data-simple-rest, and sends the responses that it expects.
 *
 * @example
 * define({ name: 'posts', schema: Post, storage: memory() }).with(reactAdmin())
 */
export function reactAdmin (): Feature<object> {
  return createAdminFeature({
    name: 'react-admin',
    syntax,
    listHeaders: buildContentRange,
    describedHeaders: ['Content-Range'],
    problemProperties: buildProblemProperties,
    readsRemoved: true,
    sendsParts: true
  }, arguments)
}

function parseJson (text: unknown): unknown {
  return typeof text === 'string' ? parseJsonText(text) : undefined
}

function parseArray (text: unknown): unknown[] {
  const value = parseJson(text)
  return Array.isArray(value) ? value : []
}

function readSort (lists: Lists, text: string): ListQuery | Problem {
  const [property, direction, ...others] = parseArray(text)
  const isValid = typeof property === 'string' &&
    (direction === 'ASC' || direction === 'DESC') &&
    others.length === 0
  const listQuery = isValid ? readOrdering(lists, [{ property, descending: direction === 'DESC' }]) : undefined
  if (listQuery !== undefined) return listQuery
  const sortable = joinNames(lists.sortable.keys(), String(property))
  return badParameter('sort', `["property","ASC"] or ["property","DESC"], with one of: ${sortable}`)
}

function readRange (lists: Lists, text: unknown): ListQuery | Problem {
  const [first, last, ...others] = parseArray(text)
  const isValid = Number.isSafeInteger(first) &&
    Number.isSafeInteger(last) &&
    Number(first) >= 0 &&
    others.length === 0
  if (!isValid) return badParameter('range', 'the positions of the first and the last item, such as [0,24]')
  const range = buildRange(lists, {
    start: Number(first),
    end: Number(last) + 1,
    startParameter: 'range',
    endParameter: 'range'
  })
  return range instanceof Problem ? range : { ...range, count: true }
}

function readFilter (lists: Lists, text: unknown): ListQuery | Problem {
  const filter = parseJson(text)
  if (!isObject(filter)) {
    return badParameter('filter', 'a JSON object of properties and values, such as {"name":"Ada"}')
  }
  const conditions: Condition[] = []
  let search: ListQuery | undefined
  for (const comparison of flatten(filter, '')) {
    if (isEmptySearch(lists, comparison)) continue
    const found = readComparison(lists, comparison, 'filter')
    if (found instanceof Problem) return found
    if (found !== undefined) {
      conditions.push(...found)
      continue
    }
    const listQuery = readSearch(lists, comparison)
    if (listQuery instanceof Problem) return listQuery
    search = listQuery
  }
  return { ...buildFilter(lists, conditions), ...search }
}

interface NamedValue {
  readonly name: string
  readonly value: unknown
}

function readSearch (lists: Lists, { name, value }: NamedValue): ListQuery | Problem {
  const listQuery = name === 'q' ? getParameter(lists, name)?.read(lists, value) : undefined
  if (listQuery === undefined) {
    const filterable = joinNames(lists.filterable.keys(), name)
    return badParameter(
      'filter',
      `an object of filterable properties: ${filterable}. ${JSON.stringify(name)} is not one of them`
    )
  }
  if (typeof listQuery === 'string') return badParameter('filter', listQuery, 'filter, by q,')
  return listQuery
}

/** The client nests objects, while our names have dots. */
function flatten (value: Record<string, unknown>, prefix: string): NamedValue[] {
  return Object.entries(value).flatMap(([name, inner]) => (
    isObject(inner) ? flatten(inner, `${prefix}${name}.`) : [{ name: prefix + name, value: inner }]
  ))
}
