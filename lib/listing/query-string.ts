import type { Collection } from '../collection.ts'
import { Problem, problem } from '../http/problems.ts'
import { badParameter } from '../request/query.ts'
import type { Request } from '../request/request.ts'
import type { Condition, Filter } from '../storage/contract.ts'
import { condition, keyOf, keysLike, operandOf } from './conditions.ts'
import { translateEmbedding, translateQuery } from './dialects.ts'
import { FilterCost } from './filter-cost.ts'
import { parameterOf } from './parameters.ts'
import { addPart, conjunction, joined } from './question.ts'
import type { Question } from './question.ts'

const nothing: Question = Object.freeze({})
const counted: Question = Object.freeze({ count: true })
/** In characters. RFC 9110 section 4.1 asks for 8000 in all, and much more does not pass every proxy. */
const longest = 8192
const once = 'given once; several values go into one list, as in status.in=draft,published'

/** The question of a query string; 400 names a parameter that is not understood, and says what would be. */
export function parseListQuery (collection: Collection, request: Request, only?: readonly string[]): Question | Problem {
  if (request.search.length > longest) return problem('uri-too-long', { detail: `The query is longer than ${longest} characters. Use the method QUERY, whose content can be longer.` })
  const question = collection.attached.dialects.length === 0 ? parseParameters(collection, request, only) : parseWithDialects(collection, request, only)
  return question instanceof Problem ? question : checkCost(question.filter) ?? question
}

function parseWithDialects (collection: Collection, request: Request, only: readonly string[] | undefined): Question | Problem {
  const translation = only === undefined ? translateQuery(collection, request.query) : translateEmbedding(collection, request.query)
  if (translation instanceof Problem) return translation
  const own = parseParameters(collection, { ...request, query: translation.rest }, only)
  return own instanceof Problem ? own : joined(own, translation.question)
}

/** The filter of a query string is a condition, or several that all have to hold. */
function checkCost (filter: Filter | undefined): Problem | undefined {
  if (filter === undefined || !('all' in filter)) return undefined
  const cost = new FilterCost()
  for (const part of filter.all) {
    const allowed = 'is' in part ? cost.add(part.is, part.value) : undefined
    if (allowed !== undefined) return problem('invalid-query', { detail: `The filter is too large. It can have ${allowed}.` })
  }
  return undefined
}

function parseParameters (collection: Collection, { query, search, preferences }: Pick<Request, 'query' | 'search' | 'preferences'>, only?: readonly string[]): Question | Problem {
  const preferred = preferences.count === 'exact' && only === undefined && collection.listing.parameters.has('count') ? counted : nothing
  if (search === '') return preferred
  const conditions: Condition[] = []
  const question: { -readonly [Part in keyof Question]: Question[Part] } = { ...preferred }
  for (const name of Object.keys(query)) {
    const text = query[name]
    const parameter = only?.includes(name) === false ? undefined : parameterOf(collection, name)
    const key = parameter === undefined && only === undefined ? keyOf(name, collection.listing.filterable) : undefined
    if (parameter === undefined && key === undefined) {
      if (preferences.handling !== 'lenient') return unknownParameter(collection, name, only)
      question.lenient = true
      continue
    }
    if (typeof text !== 'string') return badParameter(name, once)
    const part = parameter?.read(collection, parameter.ofText(text)) ?? condition(key!, operandOf(key!, text))
    if (typeof part === 'string') return badParameter(name, part)
    if ('wanted' in part) return badParameter(name, part.wanted)
    if ('is' in part) conditions.push(part)
    else addPart(question, part)
  }
  return conditions.length === 0 ? question : { ...question, filter: conjunction(conditions) }
}

/** The query string of an item can only choose what is shown of it. */
export function parseItemQuery (collection: Collection, request: Request): Question | Problem {
  return request.search === '' ? nothing : parseListQuery(collection, request, getItemParameters(collection))
}

/** The query parameters of an item. */
export function getItemParameters ({ attached }: Collection): readonly string[] {
  return ['fields', ...[...attached.queryParameters].filter(([, { on }]) => on === 'both').map(([name]) => name)]
}

function unknownParameter ({ listing: { parameters, filterable } }: Collection, name: string, only: readonly string[] | undefined): Problem {
  const known = [...parameters].filter(parameter => only?.includes(parameter) !== false)
  const keys = only === undefined ? ` ${keysLike(name, filterable)}` : ''
  return problem('invalid-query', { detail: `The query parameter ${JSON.stringify(name)} is unknown. Available: ${known.join(', ')}.${keys}`, members: { parameter: name } })
}
