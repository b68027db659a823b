import type { FigureName } from '../../engine/aggregate-types.ts'
import { toPointer } from '../../http/json-pointer.ts'
import { isObject, isStringArray } from '../../http/json-value.ts'
import { Problem, problem } from '../../http/problems.ts'
import { joinNames } from '../../query/join-names.ts'
import type { GroupQuery, ListQuery } from '../../query/list-query.ts'
import type { Lists } from '../../query/lists.ts'
import { isLimit, parseBoolean, parseNumber } from '../../query/parameters.ts'
import { badParameter } from '../../query/check-query.ts'
import { resolveConditions } from '../../query/resolve.ts'
import { getParts, omitParameters } from '../../query/tree.ts'
import type { QueryTree } from '../../query/tree.ts'
import type { Figure, Grouping } from '../../storage/contract.ts'

// The query of an aggregate: what is computed, and of which items. The latter is that of a list.

export const figureNames: readonly FigureName[] = ['distinct', 'sum', 'avg', 'min', 'max']

/** The parameters that lists do not have, or have with another meaning. No property can have the name of one. */
export const reservedNames: readonly string[] = ['by', 'count', ...figureNames]

/** What one request can group by. */
export const maxBy = 5

/** The figures of one request. */
export const maxFigures = 20

/** What the definition offers. */
export interface AggregateSettings {
  /** What items can be grouped by, by name: `createdAt.month`. */
  readonly by: ReadonlyMap<string, Grouping>
  /** The properties that each figure can be computed of. */
  readonly of: Readonly<Record<FigureName, readonly string[]>>
  /** How many groups a response has. */
  readonly maximum: number
}

/** What a caller can request: nothing about properties that it does not see. */
interface Offer {
  readonly by: ReadonlyMap<string, Grouping>
  readonly of: Readonly<Record<FigureName, readonly string[]>>
  readonly maximum: number
  /** The names of the parameters that are not about which items match. */
  readonly parameters: ReadonlySet<string>
}

function createOffer ({ by, of, maximum }: AggregateSettings, { known }: Lists): Offer {
  const offeredBy = new Map([...by].filter(([, { property }]) => known.has(property)))
  const offeredOf = { ...of }
  for (const name of figureNames) offeredOf[name] = of[name].filter((property) => known.has(property))
  return {
    by: offeredBy,
    of: offeredOf,
    maximum,
    parameters: new Set([
      ...offeredBy.size > 0 ? ['by'] : [],
      'count',
      ...figureNames.filter((name) => offeredOf[name].length > 0),
      'sort',
      'limit'
    ])
  }
}

/** Returns the lists by which the conditions of a query are resolved. */
function toConditionLists (lists: Lists, { parameters }: Offer): Lists {
  const ofFeatures = [...lists.featureParameters].filter(([, { isAboutContent }]) => isAboutContent !== true)
  return {
    ...lists,
    parameters: new Set([
      ...parameters,
      ...ofFeatures.map(([name]) => name).filter((name) => lists.parameters.has(name)),
      ...lists.parameters.has('q') ? ['q'] : []
    ])
  }
}

const onceOnly = 'given once; several values go into one list, as in by=status,country'

/** What the text of a parameter in a query string means. */
function readText (name: string, text: string): unknown {
  if (name === 'limit') return parseNumber(text)
  return name === 'count' ? parseBoolean(text) : text.split(',')
}

/** Reads what the query has beside conditions, by name. */
function readOwn ({ parameters, content }: QueryTree, { parameters: names }: Offer): Record<string, unknown> | Problem {
  const own: Record<string, unknown> = {}
  for (const [name, text] of Object.entries(parameters).filter(([name]) => names.has(name))) {
    if (typeof text !== 'string') return badParameter(name, onceOnly)
    own[name] = readText(name, text)
  }
  for (const { name, value } of getParts(content).filter(({ name }) => names.has(name))) own[name] = value
  return own
}

/** Resolves which figures are computed of which items. */
export function resolveGroups (settings: AggregateSettings, tree: QueryTree, lists: Lists): ListQuery | Problem {
  const offer = createOffer(settings, lists)
  const own = readOwn(tree, offer)
  if (own instanceof Problem) return own
  const conditions = resolveConditions(omitParameters(tree, offer.parameters), toConditionLists(lists, offer))
  if (conditions instanceof Problem) return conditions
  const groups = parseGroups(offer, own)
  if (!('wrong' in groups)) return { ...conditions, groups }
  if (tree.content === undefined) return badParameter(groups.wrong, groups.expected)
  return problem('validation-failed', {
    detail: 'The query is invalid.',
    properties: { errors: [{ pointer: toPointer([groups.wrong]), message: `must be ${groups.expected}` }] }
  })
}

/** A parameter with an invalid value, and what it must be. */
interface Wrong {
  readonly wrong: string
  readonly expected: string
}

/** In characters, of a name that a problem repeats. */
const maxNameLength = 50

/** Returns names, each once and one of those that are available; or what they must be. */
function readNames (value: unknown, available: readonly string[], maximum: number): readonly string[] | string {
  const names = Array.isArray(value) ? value as readonly unknown[] : []
  const wrong = names.find((name, index) => !available.includes(String(name)) || names.indexOf(name) < index)
  if (names.length > 0 && names.length <= maximum && wrong === undefined) return names.map(String)
  const count = maximum === 1 ? 'one of these names, once' : `up to ${maximum} of these names, each once`
  // Text is always split, so anything else is a query from code.
  const expected = `${Array.isArray(value) ? '' : 'an array of '}${count}: ${joinNames(available, String(wrong ?? ''))}`
  return wrong === undefined ? expected : `${expected}; not ${JSON.stringify(String(wrong).slice(0, maxNameLength))}`
}

function parseGroups (offer: Offer, given: Readonly<Record<string, unknown>>): GroupQuery | Wrong {
  const { count, limit = offer.maximum } = given
  if (count !== undefined && typeof count !== 'boolean') return { wrong: 'count', expected: 'true or false' }
  const by = given.by === undefined ? [] : readNames(given.by, [...offer.by.keys()], maxBy)
  if (typeof by === 'string') return { wrong: 'by', expected: by }

  const figures: Figure[] = []
  for (const figure of figureNames) {
    if (given[figure] === undefined) continue
    if (figures.length === maxFigures) {
      return { wrong: figure, expected: `omitted: a request can have up to ${maxFigures} figures` }
    }
    const properties = readNames(given[figure], offer.of[figure], maxFigures - figures.length)
    if (typeof properties === 'string') return { wrong: figure, expected: properties }
    figures.push(...properties.map((property) => ({ figure, property })))
  }
  if (count ?? figures.length === 0) figures.unshift({ figure: 'count' })
  if (figures.length === 0) return { wrong: 'count', expected: 'true if no other figure is requested' }

  const columns = [...by, ...figures.map(getFigureName)]
  const order = parseOrder(given.sort, columns)
  if (typeof order === 'string') return { wrong: 'sort', expected: order }
  if (!isLimit(limit, offer.maximum)) {
    return { wrong: 'limit', expected: `a whole number from 1 to ${offer.maximum}` }
  }
  const sorted = new Set(order.map(({ at }) => at))
  const rest = by.map((_, at) => ({ at, descending: false })).filter(({ at }) => !sorted.has(at))
  return {
    by: by.map((name) => offer.by.get(name)!),
    figures,
    order: [...order, ...rest],
    limit
  }
}

/** `sum.total`, or `count`. */
function getFigureName (figure: Figure): string {
  return 'property' in figure ? `${figure.figure}.${figure.property}` : figure.figure
}

/** Returns what groups are ordered by; or, as a string, what the value must be. */
function parseOrder (sort: unknown, columns: readonly string[]): GroupQuery['order'] | string {
  if (sort === undefined) return []
  const given = Array.isArray(sort) ? sort.map(String) : undefined
  const names = readNames(given?.map((name) => name.replace(/^-/, '')), columns, columns.length)
  if (typeof names === 'string') return `${names}. A - in front means descending`
  return names.map((name, index) => ({ at: columns.indexOf(name), descending: given![index]!.startsWith('-') }))
}

/** Whether the value is an object whose properties are arrays of names. */
export function isFigureTable (value: unknown): value is Readonly<Record<string, readonly string[]>> {
  return isObject(value) && Object.values(value).every(isStringArray)
}
