// ra-data-simple-rest: ?sort=["name","ASC"]&range=[0,24]&filter={"id":[1,2]}

import type { Collection } from '../../collection.ts'
import { isObject } from '../../http/json-value.ts'
import { Problem } from '../../http/problems.ts'
import { parameterOf } from '../../listing/parameters.ts'
import type { Question } from '../../listing/question.ts'
import { badParameter } from '../../request/query.ts'
import { longestField } from '../../openapi/fields.ts'
import type { Condition, JsonSchema } from '../../storage/contract.ts'
import type { Dialect, Feature } from '../feature.ts'
import { asksNothing, comparison, filtered } from './comparison.ts'
import { ordering as readOrdering } from './ordering.ts'
import { adminClient } from './dialect.ts'
import { stretch } from './stretch.ts'
import { errorsByField, message } from './wording.ts'

const text: JsonSchema = { type: 'string', maxLength: longestField, pattern: '^[^\\u0000]*$' }

const dialect: Dialect = {
  parameters: {
    range: { ...text, description: 'The numbers of the first and the last item', examples: ['[0,24]'] },
    filter: { ...text, description: 'Properties and values, as JSON', examples: ['{}'] }
  },
  embedding: { parameter: 'embed', names: (value) => [parsed(value)].flat() },
  translate (collection, parameters) {
    const { filter, range, sort, ...others } = parameters
    // Our own sort is no JSON.
    const isJson = typeof sort === 'string' && sort.startsWith('[')
    const filtering = filter === undefined ? {} : readFilter(collection, filter)
    if (filtering instanceof Problem) return filtering
    const paging = range === undefined ? {} : readRange(collection, range)
    if (paging instanceof Problem) return paging
    const ordering = isJson ? readSort(collection, sort) : {}
    if (ordering instanceof Problem) return ordering
    return { question: { ...filtering, ...paging, ...ordering }, rest: isJson || sort === undefined ? others : { ...others, sort } }
  }
}

/** `errors` is an object by field: as an array it would show nothing, and hide the message as well. */
export function getProblemProperties (problem: Problem): Record<string, unknown> {
  const errors = errorsByField(problem)
  return { message: message(problem), ...errors && { errors } }
}

/**
 * Understands the requests of react-admin with ra-data-simple-rest, and sends what it reads.
 *
 * @example
 * define({ name: 'posts', schema: Post, storage: memory() }).with(reactAdmin())
 */
export function reactAdmin (): Feature<object> {
  return adminClient({
    name: 'react-admin',
    dialect,
    // As if it were requested by ranges (RFC 9110, section 14.4), which the client does. On other responses it would confuse caches.
    listHeaders ({ name, parameters, offset, length, total }) {
      if (parameters.range === undefined || total === undefined) return {}
      return { 'content-range': `${name} ${length === 0 ? '*' : `${offset}-${offset + length - 1}`}/${total}` }
    },
    describedHeaders: ['Content-Range'],
    problemProperties: getProblemProperties,
    readsRemoved: true,
    sendsParts: true
  })
}

function parsed (text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

function readSort (collection: Collection, text: string): Question | Problem {
  const value = parsed(text)
  const [property, direction, ...others] = Array.isArray(value) ? value as unknown[] : []
  const descending = direction === 'DESC'
  const question = typeof property === 'string' && (descending || direction === 'ASC') && others.length === 0 ? readOrdering(collection, [{ property, descending }]) : undefined
  if (question === undefined) return badParameter('sort', `["property","ASC"] or ["property","DESC"], with one of: ${[...collection.listing.sortable.keys()].join(', ')}`)
  return question
}

function readRange (collection: Collection, text: unknown): Question | Problem {
  const value = parsed(text)
  const [start, last, ...others] = Array.isArray(value) ? value as unknown[] : []
  const fits = Number.isSafeInteger(start) && Number.isSafeInteger(last) && Number(start) >= 0 && others.length === 0
  if (!fits) return badParameter('range', 'the numbers of the first and the last item, such as [0,24]')
  const range = stretch(collection, { start: Number(start), end: Number(last) + 1, from: 'range', to: 'range' })
  return range instanceof Problem ? range : { ...range, count: true }
}

function readFilter (collection: Collection, text: unknown): Question | Problem {
  const value = parsed(text)
  if (!isObject(value)) return badParameter('filter', 'a JSON object of properties and values, such as {"name":"Ada"}')
  const conditions: Condition[] = []
  let search: Question | undefined
  for (const comparing of flat(value, '')) {
    if (asksNothing(collection, comparing)) continue
    const found = comparison(collection, comparing, 'filter')
    if (found instanceof Problem) return found
    if (found !== undefined) {
      conditions.push(...found)
      continue
    }
    const searched = readSearch(collection, comparing)
    if (searched instanceof Problem) return searched
    search = searched
  }
  return { ...filtered(collection, conditions), ...search }
}

function readSearch (collection: Collection, { name, value }: { name: string, value: unknown }): Question | Problem {
  const question = name === 'q' ? parameterOf(collection, name)?.read(collection, value) : undefined
  if (question === undefined) return badParameter('filter', `an object of properties that a list can be filtered by: ${[...collection.listing.filterable.keys()].join(', ')}. ${JSON.stringify(name)} is not one of them`)
  if (typeof question === 'string') return badParameter('filter', question, 'filter, by q,')
  return question
}

/** Properties of properties are written as such, while our names have dots. */
function flat (value: Record<string, unknown>, path: string): Array<{ name: string, value: unknown }> {
  return Object.entries(value).flatMap(([name, inner]) => isObject(inner) ? flat(inner, `${path}${name}.`) : [{ name: path + name, value: inner }])
}
