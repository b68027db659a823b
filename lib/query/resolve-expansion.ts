import { toPointer } from '../http/json-pointer.ts'
import { Problem, problem } from '../http/problems.ts'
import { parseCondition, parseOperand, suggestKeys } from './conditions.ts'
import { FilterCost } from './filter-cost.ts'
import { joinNames } from './join-names.ts'
import { combineFilters } from './list-query.ts'
import type { Inclusion, ListFilter, ListQuery } from './list-query.ts'
import type { Lists } from './lists.ts'
import { getFilterable, getParameterNames, splitName } from './names.ts'
import type { ListedRelation, ListedRelations } from './names.ts'
import { getParameter } from './parameters.ts'
import { oneOptions, refuse, refuseUnknownOption } from './parse-expansion.ts'
import type { Spot } from './parse-expansion.ts'
import { maxLevels, maxPaths } from './relation-limits.ts'
import { FilterResolver, groupConditions, resolveName, toFilter } from './resolve-filter.ts'
import type { ExpandedTree, ExpandOption, Expansion, ExpandTree, FilterTree, Term } from './tree.ts'

/** How many related items a response includes at most. */
const maxIncluded = 2000

/** Resolves `expand` and the parameters that continue its name. `count` is how many items the response has at most. */
export function resolveExpansion (
  relations: ListedRelations,
  { tree, isContent, defaults, problem: mistake }: Expansion,
  count: number
): readonly Inclusion[] | Problem {
  if (mistake !== undefined) return mistake
  const spot = { parameter: 'expand', pointer: isContent ? '/expand' : undefined }
  try {
    checkDefaults(relations, tree, defaults)
    const inclusions = resolveTree(tree, { relations, path: '', level: 1, spot, cost: new FilterCost() })
    checkCost(inclusions, count)
    return inclusions
  } catch (thrown) {
    if (thrown instanceof Problem) return thrown
    throw thrown
  }
}

/** A relation that the caller does not see has no defaults. */
function checkDefaults ({ names }: ListedRelations, tree: ExpandTree, defaults: readonly string[]): void {
  for (const parameter of defaults) {
    const [, relation = ''] = parameter.split('.')
    if (!names.includes(relation) && !tree.has(relation)) refuseUnknownOption(parameter, tree.keys())
  }
}

interface Place {
  /** Undefined if no relation of these items can be read. */
  readonly relations: ListedRelations | undefined
  /** Ends with a dot, unless it is empty. */
  readonly path: string
  readonly level: number
  readonly spot: Spot
  /** Of the filters of all included lists. */
  readonly cost: FilterCost
}

function resolveTree (tree: ExpandTree, outer: Place): Inclusion[] {
  const { relations, path, level, spot, cost } = outer
  return [...tree].map(([name, expanded]) => {
    if (level > maxLevels) refuse(spot, `a shorter path than ${JSON.stringify(path + name)}`)
    const of = relations?.opened.get(name) ?? refuseRelation(name, outer)
    const place = { relations: of.lists?.relations, path: `${path}${name}.`, level: level + 1, spot, cost }
    const listQuery = resolveOptions(of, expanded, place)
    checkFilter(listQuery, cost)
    const expand = resolveTree(expanded.inner, place)
    return { of, listQuery: expand.length === 0 ? listQuery : { ...listQuery, expand } }
  })
}

/** Refuses a relation that the caller does not see. */
function refuseRelation (name: string, { relations, path, spot }: Place): never {
  const known = joinNames((relations?.names ?? []).map((known) => path + known))
  return refuse(spot, known === ''
    ? `shorter: ${path.slice(0, -1)} has no relations`
    : `relations${spot.pointer === undefined ? ' separated by commas' : ''}: ${known}; ` +
      `not ${JSON.stringify((path + name).slice(0, 50))}`)
}

function checkFilter ({ filter }: ListQuery, cost: FilterCost): void {
  const limit = filter && cost.addFilter(filter)
  if (limit === undefined) return
  throw problem('invalid-query', {
    detail: `The filters of what is included are too large. Together they can have ${limit}.`,
    properties: { parameter: 'expand' }
  })
}

const manyOptions = ['limit', 'sort', 'fields', 'count']

/** A caller who may not read the related items gets none, whatever it requests. */
function resolveOptions (
  { relation, lists }: ListedRelation,
  { options, inner }: ExpandedTree,
  place: Place
): ListQuery {
  const { isMany } = relation
  if (lists === undefined) return {}
  const { path } = place
  const listQuery: { -readonly [Name in keyof ListQuery]: ListQuery[Name] } = {}
  const conditions: ListFilter[] = []
  const filters: ListFilter[] = []
  for (const [option, given] of options) {
    const spot = findSpot(path, option, given)
    const [name] = splitName(option)
    // The parser knows no caller, so it has taken a relation that the caller does not see for a known one.
    if (inner.has(name) && place.relations?.opened.has(name) !== true) refuseRelation(name, place)
    if ((isMany ? manyOptions : oneOptions).includes(option)) {
      Object.assign(listQuery, resolveParameter(lists, { option, given, spot }))
    } else if (!isMany) {
      const available = spot.pointer === undefined ? oneOptions : [...oneOptions, 'expand']
      refuse(spot, `omitted: ${path.slice(0, -1)} is one item. Available: ${available.join(', ')}`)
    } else if (given.condition.kind === 'term') {
      conditions.push(resolveCondition(lists, given.condition, { option, given, spot }))
    } else {
      filters.push(resolveFilter(lists, given.condition))
    }
  }
  filters.push(...groupConditions(conditions))
  // An inclusion without rows is there for its count.
  if (listQuery.limit === 0) listQuery.count = true
  return filters.length === 0 ? listQuery : { ...listQuery, filter: combineFilters(filters) }
}

interface Option {
  readonly option: string
  readonly given: ExpandOption
  readonly spot: Spot
}

function findSpot (path: string, option: string, { isText }: ExpandOption): Spot {
  const names = path.slice(0, -1).split('.')
  return {
    parameter: `expand.${path}${option}`,
    pointer: isText ? undefined : toPointer([...names.flatMap((name) => ['expand', name]), option])
  }
}

function resolveParameter (lists: Lists, { option, given: { value, isText }, spot }: Option): ListQuery {
  const known = getParameter(lists, option)
  if (known === undefined) return refuse(spot, `omitted: ${lists.name} cannot be queried with ${option}`)
  const read = isText ? known.ofText(String(value)) : value
  // A list by itself has at least one item; an included one may be there for its count.
  const canBeEmpty = option === 'limit' && getParameterNames(lists).has('count')
  if (canBeEmpty && read === 0) return { limit: 0 }
  const part = known.read(lists, read)
  if (typeof part !== 'string') return part
  return refuse(spot, canBeEmpty ? `a whole number from 0 to ${lists.limit.maximum}` : part)
}

function resolveFilter (lists: Lists, tree: FilterTree): ListFilter {
  const resolver = new FilterResolver()
  const filter = resolver.resolve(tree, lists)
  const failed = resolver.getProblem()
  if (failed !== undefined) throw failed
  return filter!
}

function resolveCondition (
  lists: Lists,
  { name }: Term,
  { option, given: { value, isText }, spot }: Option
): ListFilter {
  const resolved = resolveName(lists, name)
  if (resolved === undefined) {
    if (spot.pointer !== undefined) refuse(spot, `omitted. Available: ${manyOptions.join(', ')}, filter, expand`)
    const available = `${manyOptions.join(', ')} and conditions. ${suggestKeys(option, getFilterable(lists))}`
    throw problem('invalid-query', {
      detail: `The query parameter ${JSON.stringify(spot.parameter)} is unknown. Available: ${available}`,
      properties: { parameter: spot.parameter }
    })
  }
  const condition = parseCondition(resolved.key, isText ? parseOperand(resolved.key, String(value)) : value)
  return 'expected' in condition ? refuse(spot, condition.expected) : toFilter(resolved, condition)
}

/** How many paths lead to what is included. An object has no more of them than a list of paths. */
function countPaths (inclusions: readonly Inclusion[]): number {
  return inclusions.reduce((sum, { listQuery: { expand } }) => sum + (expand === undefined ? 1 : countPaths(expand)), 0)
}

/** The sum of the largest pages that the response could include. */
function checkCost (inclusions: readonly Inclusion[], count: number): void {
  const paths = countPaths(inclusions)
  if (paths > maxPaths) {
    throw problem('invalid-query', {
      detail: `The query includes ${paths} relations, and at most ${maxPaths} are possible.`,
      properties: { parameter: 'expand' }
    })
  }
  const total = countIncluded(inclusions, count)
  if (total <= maxIncluded) return
  throw problem('invalid-query', {
    detail: `The response could include ${total} related items, and at most ${maxIncluded} are possible. ` +
      'Use a smaller limit, of the list or of what it includes.',
    properties: { parameter: 'expand' }
  })
}

function countIncluded (inclusions: readonly Inclusion[], count: number): number {
  return inclusions.reduce((sum, { of: { relation }, listQuery: { limit, expand = [] } }) => {
    const included = count * (relation.isMany ? limit ?? relation.limit! : 1)
    return sum + included + countIncluded(expand, included)
  }, 0)
}
