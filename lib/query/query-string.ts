import type { Lists } from './lists.ts'
import { Problem, problem } from '../http/problems.ts'
import { badParameter } from './check-query.ts'
import type { Condition } from '../storage/contract.ts'
import { parseCondition, parseFilterKey, parseOperand, suggestKeys } from './conditions.ts'
import { FilterCost } from './filter-cost.ts'
import { getParameter } from './parameters.ts'
import { addPart, combineFilters } from './list-query.ts'
import type { ListFilter, ListQuery } from './list-query.ts'

/** The parts of a request that its query depends on. */
export interface QueryRequest {
  readonly query: Readonly<Record<string, unknown>>
  /** The query string, as the client sent it, without the question mark. */
  readonly search: string
}

const emptyQuery: ListQuery = Object.freeze({})
/** In characters. RFC 9110, section 4.1, recommends 8000 for a URI, and some proxies refuse much longer ones. */
export const maxQueryLength = 8192
const onceOnly = 'given once; several values go into one list, as in status.in=draft,published'

/**
 * Parses the query string of a list. An unknown or invalid parameter is a problem that names the valid ones.
 * If `allowed` is given, only these parameters are valid, and no filters.
 */
export function parseListQuery (
  lists: Lists,
  request: QueryRequest,
  allowed?: readonly string[]
): ListQuery | Problem {
  if (request.search.length > maxQueryLength) {
    return problem('uri-too-long', {
      detail: `The query is longer than ${maxQueryLength} characters. ` +
        'Use the method QUERY, whose content can be longer.'
    })
  }
  const listQuery = parseParameters(lists, request, allowed)
  return listQuery instanceof Problem ? listQuery : checkCost(listQuery.filter) ?? listQuery
}

function checkCost (filter: ListFilter | undefined): Problem | undefined {
  const limit = filter && new FilterCost().addFilter(filter)
  return limit === undefined
    ? undefined
    : problem('invalid-query', { detail: `The filter is too large. It can have ${limit}.` })
}

function parseParameters (
  lists: Lists,
  { query, search }: QueryRequest,
  allowed?: readonly string[]
): ListQuery | Problem {
  if (search === '') return emptyQuery

  const conditions: Condition[] = []
  const listQuery: { -readonly [Part in keyof ListQuery]: ListQuery[Part] } = {}
  for (const name of Object.keys(query)) {
    const text = query[name]
    const own = allowed?.includes(name) === false ? undefined : getParameter(lists, name)
    const parameter = own ?? lists.relations?.getParameter(name)
    const isFilter = parameter === undefined && allowed === undefined
    const key = isFilter ? parseFilterKey(name, lists.filterable) : undefined
    if (parameter === undefined && key === undefined) return toUnknownParameterProblem(lists, name, allowed)
    if (typeof text !== 'string') return badParameter(name, onceOnly)
    const part = parameter?.read(lists, parameter.ofText(text)) ?? parseCondition(key!, parseOperand(key!, text))
    if (typeof part === 'string') return badParameter(name, part)
    if ('expected' in part) return badParameter(name, part.expected)
    if ('is' in part) conditions.push(part)
    else addPart(listQuery, part)
  }
  if (conditions.length === 0) return listQuery
  return { ...listQuery, filter: combineFilters(lists.relations?.group(conditions) ?? conditions) }
}

/** Parses the query string of an item, which can only select what is shown. */
export function parseItemQuery (lists: Lists, request: QueryRequest): ListQuery | Problem {
  return request.search === '' ? emptyQuery : parseListQuery(lists, request, getItemParameters(lists))
}

/** Returns the names of the query parameters of an item. */
export function getItemParameters ({ featureParameters }: Lists): readonly string[] {
  const ofFeatures = [...featureParameters].filter(([, { on }]) => on === 'both').map(([name]) => name)
  return ['fields', ...ofFeatures]
}

function toUnknownParameterProblem (
  { parameters, filterable }: Lists,
  name: string,
  allowed: readonly string[] | undefined
): Problem {
  const known = [...parameters].filter((parameter) => allowed?.includes(parameter) !== false)
  const suggestion = allowed === undefined ? ` ${suggestKeys(name, filterable)}` : ''
  return problem('invalid-query', {
    detail: `The query parameter ${JSON.stringify(name)} is unknown. Available: ${known.join(', ')}.${suggestion}`,
    properties: { parameter: name }
  })
}
