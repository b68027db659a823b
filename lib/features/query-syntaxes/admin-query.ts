import type { Lists } from '../../listing/lists.ts'
import type { Problem } from '../../http/problems.ts'
import { parseCondition, parseFilterKey, parseOperand } from '../../listing/conditions.ts'
import { maxOffset } from '../../listing/lists.ts'
import { getParameter } from '../../listing/parameters.ts'
import { combineFilters } from '../../listing/list-query.ts'
import type { ListQuery } from '../../listing/list-query.ts'
import { parseSort } from '../../listing/selection.ts'
import { badParameter } from '../../request/query.ts'
import type { Condition, Order } from '../../storage/contract.ts'

// Queries in the syntax of admin clients: conditions, orders and ranges. A condition has a property, perhaps with an
// operator as suffix, and one or more values.

interface Operator {
  readonly is: Condition['is']
  readonly toOperand: (value: unknown) => unknown
}

const keepValue = (value: unknown): unknown => value

/** Builds a pattern that matches the text anywhere. An empty text matches everything: undefined. */
function toContainsPattern (value: unknown): unknown {
  if (value === '') return undefined
  return typeof value === 'string' ? `*${value.replace(/[\\*]/g, '\\$&')}*` : value
}

/** The operators of json-server, and of FakeRest, which react-admin follows. */
const operators: Readonly<Record<string, Operator>> = {
  ne: { is: 'ne', toOperand: keepValue },
  neq: { is: 'ne', toOperand: keepValue },
  gt: { is: 'gt', toOperand: keepValue },
  gte: { is: 'gte', toOperand: keepValue },
  lt: { is: 'lt', toOperand: keepValue },
  lte: { is: 'lte', toOperand: keepValue },
  like: { is: 'like', toOperand: toContainsPattern },
  inc: { is: 'contains', toOperand: keepValue },
  inc_any: { is: 'overlaps', toOperand: keepValue }
}

interface Comparison {
  readonly name: string
  readonly value: unknown
}

/** Translates a comparison into our own syntax, which takes precedence; undefined if the name is unknown. */
function translate ({ filterable }: Lists, { name, value }: Comparison): Comparison | undefined {
  const queryable = filterable.get(name)
  if (queryable !== undefined) {
    if (value === null) return { name: `${name}.null`, value: true }
    const [single, several] = queryable.isArray ? ['.contains', '.overlaps'] : ['', '.in']
    return { name: `${name}${Array.isArray(value) ? several : single}`, value }
  }
  if (parseFilterKey(name, filterable) !== undefined) return { name, value }
  const [, property = '', suffix = ''] = /^(.+?)_(inc_any|[a-z]+)$/.exec(name) ?? []
  if (!Object.hasOwn(operators, suffix)) return undefined
  const { is, toOperand } = operators[suffix]!
  if (parseFilterKey(`${property}.${is}`, filterable) === undefined) return undefined
  return { name: `${property}.${is}`, value: toOperand(value) }
}

/**
 * Reads a comparison. Returns an empty array if it matches everything, undefined if the name is unknown, and a problem
 * with the parameter if the value is invalid.
 */
export function readComparison (
  lists: Lists,
  given: Comparison,
  parameter: string
): Condition[] | Problem | undefined {
  const comparison = translate(lists, given)
  if (comparison === undefined) return undefined
  const { name, value } = comparison
  if (value === undefined) return []
  const { filterable } = lists
  const key = parseFilterKey(name, filterable)!
  // Each text of an array is read like a single one.
  const elementKey = parseFilterKey(key.property, filterable) ?? parseFilterKey(`${key.property}.contains`, filterable)!
  const readElement = (element: unknown): unknown => (
    typeof element === 'string' ? parseOperand(elementKey, element) : element
  )
  const readValue = (): unknown => {
    if (Array.isArray(value)) return value.map(readElement)
    return typeof value === 'string' ? parseOperand(key, value) : value
  }
  const result = parseCondition(key, readValue())
  if (!('expected' in result)) return [result]
  const about = parameter === given.name ? parameter : `${parameter}, by ${given.name},`
  return badParameter(parameter, result.expected, about)
}

/** An empty search field sends an empty `q`. */
export function isEmptySearch (lists: Lists, { name, value }: Comparison): boolean {
  return name === 'q' &&
    typeof value === 'string' &&
    value.trim() === '' &&
    getParameter(lists, name) !== undefined
}

/** Joins the conditions. A client that requests items by their ids gets all of them on one page. */
export function buildFilter ({ type: { id }, relations }: Lists, conditions: readonly Condition[]): ListQuery {
  if (conditions.length === 0) return {}
  const filters = relations?.group(conditions) ?? conditions
  const ids = conditions.find(({ property, is }) => property === id.property && is === 'in')?.value
  return { filter: combineFilters(filters), ...Array.isArray(ids) && { limit: Math.max(1, ids.length) } }
}

/** Builds the order of a list; undefined if one of the properties is not sortable. */
export function readOrdering (lists: Lists, order: readonly Order[]): ListQuery | undefined {
  // Checked first: "-name" is not a property in these syntaxes.
  if (!order.every(({ property }) => lists.sortable.has(property))) return undefined
  const names = order.map(({ property, descending }) => descending ? `-${property}` : property)
  const listQuery = parseSort(lists, names)
  return typeof listQuery === 'string' ? undefined : listQuery
}

/** Items by their positions, from 0. */
interface ItemRange {
  readonly start: number
  /** The position after the last item; undefined for a page of the default size. */
  readonly end: number | undefined
  /** The parameter that contains the start. */
  readonly startParameter: string
  /** The parameter that contains the end. */
  readonly endParameter: string
}

/** Turns a range into an offset and a limit. */
export function buildRange ({ limit: { maximum } }: Lists, range: ItemRange): ListQuery | Problem {
  const { start, end, startParameter, endParameter } = range
  if (start > maxOffset) {
    const wanted = `at most ${maxOffset}. To go further, use limit=${maximum} and follow the cursor of each page`
    return badParameter(startParameter, wanted, `The number of items that ${startParameter} skips`)
  }
  if (end === undefined) return { offset: start }
  const limit = end - start
  if (!(limit >= 1 && limit <= maximum)) {
    return badParameter(endParameter, `from 1 to ${maximum}`, `The number of items up to ${endParameter}`)
  }
  return { offset: start, limit }
}
