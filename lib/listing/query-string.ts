import type { Collection } from '../definition.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { embedded, translated } from '../profiles/profiles.ts'
import { badParameter } from '../query.ts'
import type { Request } from '../request.ts'
import type { Condition } from '../storage/contract.ts'
import { condition, keyOf, keysLike, operandOf } from './conditions.ts'
import { FilterCost } from './filter-cost.ts'
import { parameterOf } from './parameters.ts'
import { conjunction, joined } from './question.ts'
import type { Question } from './question.ts'

const nothing: Question = Object.freeze({})
const counted: Question = Object.freeze({ count: true })
/** In characters. RFC 9110 section 4.1 asks for 8000 in all, and much more does not pass every proxy. */
const longest = 8192
const once = 'given once; several values go into one list, as in status.in=draft,published'

/** The question that a query string asks; 400 names what is not understood, and says what would be. */
export function askedInString (collection: Collection, request: Request, only?: readonly string[]): Question {
  if (request.search.length > longest) throw problem('uri-too-long', { detail: `The query is longer than ${longest} characters. Ask with the method QUERY, whose content can be longer.` })
  if (collection.profiles.length === 0) return checkCost(asked(collection, request, only))
  const { question, rest } = only === undefined ? translated(collection, request.query) : embedded(collection, request.query)
  return checkCost(joined(asked(collection, { ...request, query: rest }, only), question))
}

/** The filter of a query string is a condition, or several that all have to hold. */
function checkCost (question: Question): Question {
  const { filter } = question
  if (filter === undefined || !('all' in filter)) return question
  const cost = new FilterCost()
  for (const part of filter.all) {
    const allowed = 'is' in part ? cost.add(part.is, part.value) : undefined
    if (allowed !== undefined) throw problem('bad-query', { detail: `The filter is too large. It can have ${allowed}.` })
  }
  return question
}

function asked (collection: Collection, { query, search, preferences }: Pick<Request, 'query' | 'search' | 'preferences'>, only?: readonly string[]): Question {
  const preferred = preferences.count === 'exact' && only === undefined && collection.listing.parameters.has('count') ? counted : nothing
  if (search === '') return preferred
  const conditions: Condition[] = []
  const question: { -readonly [Part in keyof Question]: Question[Part] } = { ...preferred }
  for (const name of Object.keys(query)) {
    const text = query[name]
    const parameter = only?.includes(name) === false ? undefined : parameterOf(collection, name)
    const key = parameter === undefined && only === undefined ? keyOf(name, collection.listing.filterable) : undefined
    if (parameter === undefined && key === undefined) {
      if (preferences.handling !== 'lenient') throw unknown(collection, name, only)
      question.lenient = true
      continue
    }
    if (typeof text !== 'string') throw badParameter(name, once)
    const part = parameter?.read(collection, parameter.ofText(text)) ?? condition(key!, operandOf(key!, text))
    if (typeof part === 'string') throw badParameter(name, part)
    if ('wanted' in part) throw badParameter(name, part.wanted)
    if ('is' in part) conditions.push(part)
    else Object.assign(question, part)
  }
  return conditions.length === 0 ? question : { ...question, filter: conjunction(conditions) }
}

/** Of an item, a client can ask only how it wants to see it. */
export function askedOfItem (collection: Collection, request: Request): Question {
  return request.search === '' ? nothing : askedInString(collection, request, ofItem)
}

const ofItem = ['fields', 'expand', 'deleted']

function unknown ({ listing: { parameters, filterable } }: Collection, name: string, only: readonly string[] | undefined): Problem {
  const known = [...parameters].filter(parameter => only?.includes(parameter) !== false)
  const keys = only === undefined ? ` ${keysLike(name, filterable)}` : ''
  return problem('bad-query', { detail: `The query parameter ${JSON.stringify(name)} is not known. Known here: ${known.join(', ')}.${keys}`, members: { parameter: name } })
}
