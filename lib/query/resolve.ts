import { Problem, problem } from '../http/problems.ts'
import { maxFailures } from '../schema/failures.ts'
import { badParameter } from './check-query.ts'
import { parseCondition, parseOperand, suggestKeys } from './conditions.ts'
import { FilterCost } from './filter-cost.ts'
import { addPart, combineFilters, mergeQueries } from './list-query.ts'
import type { ListFilter, ListQuery } from './list-query.ts'
import type { Lists } from './lists.ts'
import { getFilterable, getParameterNames } from './names.ts'
import { getParameter } from './parameters.ts'
import { emptyTree, isExpand } from './parse.ts'
import { maxLevels } from './relation-limits.ts'
import { FilterResolver, groupConditions, resolveName, toFilter } from './resolve-filter.ts'
import type { Mistake, Part, QueryTree } from './tree.ts'

// Resolves a query for its caller: the names of a tree become properties, relations and parameters of its lists.

const emptyQuery: ListQuery = Object.freeze({})
const onceOnly = 'given once; several values go into one list, as in status.in=draft,published'

/** What a query can have beside the parameters of the lists. */
interface Accepted {
  /** The only parameters, if not all of the lists are accepted. */
  readonly parameters?: readonly string[] | undefined
  readonly filters: boolean
  readonly expand: boolean
}

function isAccepted ({ parameters }: Accepted, name: string): boolean {
  return parameters === undefined || parameters.includes(name)
}

const ofList: Accepted = { filters: true, expand: true }
const ofGroups: Accepted = { filters: true, expand: false }

/** Resolves the query of a list. `defaults` is what it has if the client does not state it. */
export function resolveListQuery (tree: QueryTree, lists: Lists, defaults?: ListQuery): ListQuery | Problem {
  if (tree === emptyTree) return defaults ?? emptyQuery
  const listQuery = resolveQuery(tree, lists, ofList)
  if (listQuery instanceof Problem) return listQuery
  const whole = defaults === undefined ? listQuery : { ...defaults, ...listQuery }
  return addExpansion(tree, lists, { listQuery: whole, count: whole.limit ?? lists.limit.default })
}

/** Resolves the query of an item, which can only select what is shown. */
export function resolveItemQuery (tree: QueryTree, lists: Lists, defaults?: ListQuery): ListQuery | Problem {
  if (tree === emptyTree) return defaults ?? emptyQuery
  const accepted = { parameters: getItemParameters(lists), filters: false, expand: true }
  const listQuery = resolveQuery(tree, lists, accepted)
  if (listQuery instanceof Problem) return listQuery
  return addExpansion(tree, lists, { listQuery: { ...defaults, ...listQuery }, count: 1 })
}

/** Resolves the parts of a query that say which items match. */
export function resolveConditions (tree: QueryTree, lists: Lists): ListQuery | Problem {
  return resolveQuery(tree, lists, ofGroups)
}

/** Returns the names of the query parameters of an item. */
export function getItemParameters ({ featureParameters }: Lists): readonly string[] {
  const ofFeatures = [...featureParameters].filter(([, { on }]) => on === 'both').map(([name]) => name)
  return ['fields', ...ofFeatures]
}

function resolveQuery (tree: QueryTree, lists: Lists, accepted: Accepted): ListQuery | Problem {
  const { content } = tree
  const inString = resolveString(tree, lists, accepted)
  if (inString instanceof Problem) return explainDepth(tree, inString)
  if (content === undefined) return inString
  if (content instanceof Problem) return content
  const inContent = resolveContent(content, lists, accepted)
  return inContent instanceof Problem ? explainDepth(tree, inContent) : mergeQueries(inString, inContent)
}

/** What is too deep in a query is unknown. Says why. */
function explainDepth ({ isTooDeep }: QueryTree, refused: Problem): Problem {
  if (!isTooDeep) return refused
  const { status, name, detail, properties = {} } = refused
  const levels = `At most ${maxLevels} relations can follow each other.`
  return new Problem(status, name, { detail: `${detail} ${levels}`, properties })
}

interface Expandable {
  readonly listQuery: ListQuery
  /** How many items the response has at most. */
  readonly count: number
}

function addExpansion (
  tree: QueryTree,
  { relations }: Lists,
  { listQuery, count }: Expandable
): ListQuery | Problem {
  if (tree.expansion === undefined || relations === undefined) return listQuery
  const expand = relations.resolveExpansion(tree.expansion, count)
  if (expand instanceof Problem) return explainDepth(tree, expand)
  return expand.length === 0 ? listQuery : { ...listQuery, expand }
}

// Query strings

function resolveString (tree: QueryTree, lists: Lists, accepted: Accepted): ListQuery | Problem {
  const { parameters, names } = tree
  const listQuery: { -readonly [Name in keyof ListQuery]: ListQuery[Name] } = {}
  const filters: ListFilter[] = []
  const canExpand = accepted.expand && lists.relations !== undefined
  for (const name of Object.keys(parameters)) {
    const text = parameters[name]
    const parameter = isAccepted(accepted, name) ? getParameter(lists, name) : undefined
    // What is included is resolved at the end.
    const isIncluded = canExpand && isExpand(name)
    const isCondition = parameter === undefined && !isIncluded && accepted.filters
    const resolved = isCondition ? resolveName(lists, names.get(name) ?? name) : undefined
    if (parameter === undefined && resolved === undefined && !isIncluded) {
      return toUnknownParameterProblem(lists, name, accepted)
    }
    if (typeof text !== 'string') return badParameter(name, onceOnly)
    if (isIncluded) continue
    if (resolved !== undefined) {
      const condition = parseCondition(resolved.key, parseOperand(resolved.key, text))
      if ('expected' in condition) return badParameter(name, condition.expected)
      filters.push(toFilter(resolved, condition))
      continue
    }
    const part = parameter!.read(lists, parameter!.ofText(text))
    if (typeof part === 'string') return badParameter(name, part)
    addPart(listQuery, part)
  }
  if (filters.length === 0) return listQuery
  listQuery.filter = combineFilters(lists.relations === undefined ? filters : groupConditions(filters))
  return checkCost(listQuery.filter) ?? listQuery
}

function checkCost (filter: ListFilter): Problem | undefined {
  const limit = new FilterCost().addFilter(filter)
  return limit === undefined
    ? undefined
    : problem('invalid-query', { detail: `The filter is too large. It can have ${limit}.` })
}

function toUnknownParameterProblem (lists: Lists, name: string, accepted: Accepted): Problem {
  const known = [...getParameterNames(lists)].filter((parameter) => isAccepted(accepted, parameter))
  const suggestion = accepted.filters ? ` ${suggestKeys(name, getFilterable(lists))}` : ''
  return problem('invalid-query', {
    detail: `The query parameter ${JSON.stringify(name)} is unknown. Available: ${known.join(', ')}.${suggestion}`,
    properties: { parameter: name }
  })
}

// Contents of QUERY

/** A problem lists every part that is invalid. */
function resolveContent (content: readonly Part[] | Mistake, lists: Lists, accepted: Accepted): ListQuery | Problem {
  const resolver = new FilterResolver()
  const listQuery: ListQuery = {}
  if ('kind' in content) resolver.fail(content.at, content.message)
  for (const part of 'kind' in content ? [] : content) {
    if (resolver.failures.length >= maxFailures) break
    addPart(listQuery, resolvePart(part, resolver, { lists, accepted }) ?? {})
  }
  return resolver.getProblem() ?? listQuery
}

function resolvePart (
  { name, value, filter: tree }: Part,
  resolver: FilterResolver,
  { lists, accepted }: { readonly lists: Lists, readonly accepted: Accepted }
): ListQuery | undefined {
  if (tree !== undefined && accepted.filters) {
    const filter = resolver.resolve(tree, lists)
    return filter === undefined || ('all' in filter && filter.all.length === 0) ? undefined : { filter }
  }
  if (accepted.expand && lists.relations !== undefined && isExpand(name)) return undefined
  const part = isAccepted(accepted, name) ? getParameter(lists, name)?.read(lists, value) : undefined
  if (part === undefined) {
    const parameters = [...getParameterNames(lists)].filter((parameter) => isAccepted(accepted, parameter))
    const known = [...accepted.filters ? ['filter'] : [], ...parameters]
    return resolver.fail([name], `is not a known property. A query can have: ${known.join(', ')}.`)
  }
  return typeof part === 'string' ? resolver.fail([name], `must be ${part}`) : part
}
