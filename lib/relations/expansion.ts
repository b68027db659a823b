import { toPointer } from '../http/json-pointer.ts'
import { isObject } from '../http/json-value.ts'
import { Problem, problem } from '../http/problems.ts'
import { parseCondition, parseFilterKey, parseOperand, suggestKeys } from '../query/conditions.ts'
import { FilterCost } from '../query/filter-cost.ts'
import { joinNames } from '../query/join-names.ts'
import { combineFilters } from '../query/list-query.ts'
import type { ListFilter, ListQuery } from '../query/list-query.ts'
import type { Lists } from '../query/lists.ts'
import { getParameter } from '../query/parameters.ts'
import { parseQueryContent } from '../query/query-content.ts'
import { maxLevels, maxPaths } from '../query/relation-limits.ts'
import type { Failure } from '../schema/failures.ts'
import type { Condition } from '../storage/contract.ts'
import type { CallerRelation, CallerRelations } from './caller-relations.ts'
import { ExpandText } from './extend-lists.ts'

/** Related items that a client wants to have included. */
export interface Inclusion extends CallerRelation {
  /** What is requested of the included list, or of the one item. */
  readonly listQuery: ListQuery
  readonly inclusions: readonly Inclusion[]
}

/** How many related items a response includes at most. */
const maxIncluded = 2000

/** What is requested of a relation, by name: as text, or as a value of the content of a QUERY. */
interface Wanted {
  readonly options: Map<string, unknown>
  readonly inner: Map<string, Wanted>
}

/** Where a mistake is. */
interface Spot {
  /** The parameter of the query string. */
  readonly parameter: string
  /** The JSON Pointer, if the content of a QUERY or a call has the mistake. */
  readonly pointer: string | undefined
}

/** Parses `expand` and the parameters that continue its name. `count` is how many items the response has at most. */
export function parseExpansion (
  relations: CallerRelations,
  given: NonNullable<ListQuery['expand']>,
  count: number
): readonly Inclusion[] | Problem {
  // A syntax of a client has another name for it.
  const parameter = Object.keys(given).find((name) => !name.startsWith('expand.')) ?? 'expand'
  const isContent = given.expand !== undefined && !(given.expand instanceof ExpandText)
  const spot = { parameter, pointer: isContent ? '/expand' : undefined }
  try {
    const wanted = readWanted(given, relations, spot)
    const inclusions = readInclusions(wanted, { relations, path: '', level: 1, spot, cost: new FilterCost() })
    checkCost(inclusions, count)
    return inclusions
  } catch (thrown) {
    if (thrown instanceof Problem) return thrown
    throw thrown
  }
}

function refuse ({ parameter, pointer }: Spot, expected: string): never {
  throw pointer === undefined
    ? problem('invalid-query', { detail: `${parameter} must be ${expected}.`, properties: { parameter } })
    : problem('validation-failed', {
      detail: 'The query is invalid.',
      properties: { errors: [{ pointer, message: `must be ${expected}` }] }
    })
}

function readWanted (
  given: NonNullable<ListQuery['expand']>,
  relations: CallerRelations,
  spot: Spot
): Wanted['inner'] {
  const wanted: Wanted = { options: new Map(), inner: new Map() }
  const { [spot.parameter]: expand = [], ...options } = given
  if (isObject(expand) && !(expand instanceof ExpandText)) addObject(wanted, expand, ['expand'])
  else addPaths(wanted, expand, spot)
  for (const [name, value] of Object.entries(options)) {
    const found = findOption(wanted, relations, name.split('.').slice(1))
    if (found === undefined) {
      const named = [...wanted.inner.keys()]
      return refuse({ parameter: name, pointer: undefined }, named.length === 0
        ? 'about a relation that expand names: add expand to the query'
        : `about a relation that expand names: ${joinNames(named)}`)
    }
    found.place.options.set(found.option, value)
  }
  return wanted.inner
}

interface FoundOption {
  readonly place: Wanted
  readonly option: string
}

/**
 * Finds what `comments.author.country` is about. One item has no conditions, so this is a condition of `comments`,
 * whether `author` is included as well or not.
 */
function findOption (
  { inner }: Wanted,
  { opened }: CallerRelations,
  path: readonly string[]
): FoundOption | undefined {
  let found: FoundOption | undefined
  let [wanted, relations] = [inner, opened]
  for (const [index, name] of path.entries()) {
    const place = wanted.get(name)
    if (place === undefined) break
    const related = relations.get(name)
    const option = path.slice(index + 1).join('.')
    if (found === undefined || related === undefined || isOption(related, option)) found = { place, option }
    wanted = place.inner
    relations = related?.relations.opened ?? new Map()
  }
  return found
}

/** `comments.some.text` and `comments.count.gte` are conditions about the items around `comments`. */
function isOption ({ relation: { isMany } }: CallerRelation, option: string): boolean {
  return isMany ? !/^(?:some|none|count)\./.test(option) : oneOptions.includes(option)
}

/** `author,comments.author`: a path includes what leads to it. */
function addPaths (wanted: Wanted, given: unknown, spot: Spot): void {
  const paths = given instanceof ExpandText ? given.text.split(',') : given
  const isList = Array.isArray(paths) && paths.length <= maxPaths && paths.every((path) => typeof path === 'string')
  if (!isList) {
    refuse(spot, spot.pointer === undefined
      ? `up to ${maxPaths} relations, separated by commas`
      : `an array of up to ${maxPaths} relations, or an object with options for each`)
  }
  for (const path of paths as readonly string[]) {
    let place = wanted
    for (const name of path.split('.')) place = addInner(place, name)
  }
}

/** `{ comments: { limit: 5, expand: { author: true } } }` */
function addObject (wanted: Wanted, given: Record<string, unknown>, at: readonly string[]): void {
  for (const [name, value] of Object.entries(given)) {
    const inner = addInner(wanted, name)
    if (value === true) continue
    const path = [...at, name]
    if (!isObject(value)) return refuseContent(path, 'true, or an object with options')
    const { expand, ...options } = value
    for (const [option, set] of Object.entries(options)) inner.options.set(option, set)
    if (isObject(expand)) addObject(inner, expand, [...path, 'expand'])
    else if (expand !== undefined) addPaths(inner, expand, toContentSpot([...path, 'expand']))
  }
}

function toContentSpot (path: readonly string[]): Spot {
  return { parameter: 'expand', pointer: toPointer(path) }
}

function refuseContent (path: readonly string[], expected: string): never {
  return refuse(toContentSpot(path), expected)
}

function addInner ({ inner }: Wanted, name: string): Wanted {
  const known = inner.get(name) ?? { options: new Map(), inner: new Map() }
  inner.set(name, known)
  return known
}

interface Place {
  readonly relations: CallerRelations
  /** Ends with a dot, unless it is empty. */
  readonly path: string
  readonly level: number
  readonly spot: Spot
  /** Of the filters of all included lists. */
  readonly cost: FilterCost
}

function readInclusions (wanted: Wanted['inner'], { relations, path, level, spot, cost }: Place): Inclusion[] {
  return [...wanted].map(([name, { options, inner }]) => {
    if (level > maxLevels) refuse(spot, `a shorter path than ${JSON.stringify(path + name)}`)
    const found = relations.opened.get(name)
    if (found === undefined) {
      const known = joinNames(relations.names.map((known) => path + known))
      return refuse(spot, known === ''
        ? `shorter: ${path.slice(0, -1)} has no relations`
        : `relations${spot.pointer === undefined ? ' separated by commas' : ''}: ${known}; ` +
          `not ${JSON.stringify((path + name).slice(0, 50))}`)
    }
    const place = { relations: found.relations, path: `${path}${name}.`, level: level + 1, spot, cost }
    const listQuery = readOptions(found, options, place.path)
    checkFilter(listQuery, cost)
    return { ...found, listQuery, inclusions: readInclusions(inner, place) }
  })
}

function checkFilter ({ filter }: ListQuery, cost: FilterCost): void {
  const limit = filter && cost.addFilter(filter)
  if (limit === undefined) return
  throw problem('invalid-query', {
    detail: `The filters of what is included are too large. Together they can have ${limit}.`,
    properties: { parameter: 'expand' }
  })
}

const oneOptions = ['fields']
const manyOptions = ['limit', 'sort', 'fields', 'count']

/** A caller who may not read the related items gets none, whatever it requests. */
function readOptions ({ relation, reading }: CallerRelation, options: Wanted['options'], path: string): ListQuery {
  const { isMany } = relation
  if (reading === undefined) return {}
  const { lists } = reading
  const listQuery: { -readonly [Part in keyof ListQuery]: ListQuery[Part] } = {}
  const conditions: Condition[] = []
  const filters: ListFilter[] = []
  for (const [option, value] of options) {
    const spot = findSpot(path, option, value)
    if ((isMany ? manyOptions : oneOptions).includes(option)) {
      Object.assign(listQuery, readParameter(lists, { option, value, spot }))
    } else if (!isMany) {
      const available = spot.pointer === undefined ? oneOptions : [...oneOptions, 'expand']
      refuse(spot, `omitted: ${path.slice(0, -1)} is one item. Available: ${available.join(', ')}`)
    } else if (option === 'filter' && isObject(value) && !(value instanceof ExpandText)) {
      filters.push(readFilter(lists, value, spot))
    } else {
      conditions.push(readCondition(lists, { option, value, spot }))
    }
  }
  if (conditions.length > 0) filters.push(...lists.relations?.group(conditions) ?? conditions)
  // An inclusion without rows is there for its count.
  if (listQuery.limit === 0) listQuery.count = true
  return filters.length === 0 ? listQuery : { ...listQuery, filter: combineFilters(filters) }
}

interface Option {
  readonly option: string
  readonly value: unknown
  readonly spot: Spot
}

function findSpot (path: string, option: string, value: unknown): Spot {
  const names = path.slice(0, -1).split('.')
  return {
    parameter: `expand.${path}${option}`,
    pointer: value instanceof ExpandText ? undefined : toPointer([...names.flatMap((name) => ['expand', name]), option])
  }
}

function readParameter (lists: Lists, { option, value, spot }: Option): ListQuery {
  const known = getParameter(lists, option)
  if (known === undefined) return refuse(spot, `omitted: ${lists.name} cannot be queried with ${option}`)
  const given = value instanceof ExpandText ? known.ofText(value.text) : value
  // A list by itself has at least one item; an included one may be there for its count.
  const canBeEmpty = option === 'limit' && lists.parameters.has('count')
  if (canBeEmpty && given === 0) return { limit: 0 }
  const part = known.read(lists, given)
  if (typeof part !== 'string') return part
  return refuse(spot, canBeEmpty ? `a whole number from 0 to ${lists.limit.maximum}` : part)
}

function readFilter (lists: Lists, value: unknown, { pointer: at }: Spot): ListFilter {
  const parsed = parseQueryContent(lists, { filter: value })
  if (!(parsed instanceof Problem)) return parsed.filter ?? { all: [] }
  const { errors } = parsed.properties as { errors: readonly Failure[] }
  const outer = at!.slice(0, -'/filter'.length)
  throw problem('validation-failed', {
    detail: 'The query is invalid.',
    properties: { errors: errors.map(({ pointer, message }) => ({ pointer: outer + pointer, message })) }
  })
}

function readCondition (lists: Lists, { option, value, spot }: Option): Condition {
  const key = parseFilterKey(option, lists.filterable)
  if (key === undefined) {
    if (spot.pointer !== undefined) refuse(spot, `omitted. Available: ${manyOptions.join(', ')}, filter, expand`)
    const available = `${manyOptions.join(', ')} and conditions. ${suggestKeys(option, lists.filterable)}`
    throw problem('invalid-query', {
      detail: `The query parameter ${JSON.stringify(spot.parameter)} is unknown. Available: ${available}`,
      properties: { parameter: spot.parameter }
    })
  }
  const condition = parseCondition(key, value instanceof ExpandText ? parseOperand(key, value.text) : value)
  return 'expected' in condition ? refuse(spot, condition.expected) : condition
}

/** How many paths lead to what is included. An object has no more of them than a list of paths. */
function countPaths (inclusions: readonly Inclusion[]): number {
  return inclusions.reduce((sum, { inclusions: inner }) => sum + (inner.length === 0 ? 1 : countPaths(inner)), 0)
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
  return inclusions.reduce((sum, { relation, listQuery, inclusions: inner }) => {
    const included = count * (relation.isMany ? listQuery.limit ?? relation.limit! : 1)
    return sum + included + countIncluded(inner, included)
  }, 0)
}
