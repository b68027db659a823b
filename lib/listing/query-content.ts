import type { Lists } from './lists.ts'
import { toPointer } from '../http/json-pointer.ts'
import { isObject } from '../http/json-value.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { maxFailures } from '../schema/failures.ts'
import type { Failure } from '../schema/failures.ts'
import type { Condition, Filter } from '../storage/contract.ts'
import { parseCondition, parseFilterKey, suggestKeys } from './conditions.ts'
import { FilterCost } from './filter-cost.ts'
import { getParameter } from './parameters.ts'
import { addPart, combineFilters } from './list-query.ts'
import type { ListQuery } from './list-query.ts'

// RFC 10008: the content of a QUERY can express what a query string can, and `all`, `any` and `not` at any depth,
// and long lists of values.

const maxDepth = 16

type Path = readonly string[]

/** Parses the content of a QUERY. A problem lists every property that is invalid. */
export function parseQueryContent (lists: Lists, content: unknown): ListQuery | Problem {
  const parser = new ContentParser(lists)
  const listQuery = parser.parse(content)
  if (parser.failures.length === 0) return listQuery
  return problem('validation-failed', {
    detail: 'The query is invalid.',
    properties: { errors: parser.failures }
  })
}

class ContentParser {
  readonly failures: Failure[] = []
  readonly #lists: Lists
  readonly #cost = new FilterCost()
  #isTooLarge = false

  constructor (lists: Lists) {
    this.#lists = lists
  }

  parse (content: unknown): ListQuery {
    const listQuery: ListQuery = {}
    if (!isObject(content)) {
      this.#fail([], 'must be an object')
      return listQuery
    }
    for (const [name, value] of Object.entries(content)) {
      if (this.failures.length >= maxFailures) break
      addPart(listQuery, this.#parsePart(name, value) ?? {})
    }
    return listQuery
  }

  #parsePart (name: string, value: unknown): ListQuery | undefined {
    if (name === 'filter') {
      const filter = this.#parseFilter(value, [name], 1)
      // An empty filter matches everything.
      return filter === undefined || ('all' in filter && filter.all.length === 0) ? undefined : { filter }
    }
    const part = getParameter(this.#lists, name)?.read(this.#lists, value)
    if (part === undefined) {
      const known = ['filter', ...this.#lists.parameters]
      return this.#fail([name], `is not a known property. A query can have: ${known.join(', ')}.`)
    }
    return typeof part === 'string' ? this.#fail([name], `must be ${part}`) : part
  }

  /** The conditions of one object must all be met. */
  #parseFilter (value: unknown, at: Path, depth: number): Filter | undefined {
    if (!isObject(value)) return this.#fail(at, 'must be an object')
    if (depth > maxDepth) return this.#fail(at, `is nested deeper than ${maxDepth} levels`)
    const entries = Object.entries(value)
    if (entries.length === 0) this.#addCost(at)
    const terms = entries.map(([name, inner]) => this.#parseTerm(inner, [...at, name], depth))
    return combineFilters(terms.filter((term) => term !== undefined))
  }

  #parseTerm (value: unknown, at: Path, depth: number): Filter | undefined {
    // The rest of a filter that is too large, or has too many failures, is not parsed.
    if (this.#isTooLarge || this.failures.length >= maxFailures) return undefined
    const name = at.at(-1)!
    if (name === 'all') return combineFilters(this.#parseFilters(value, at, depth))
    if (name === 'any') return { any: this.#parseFilters(value, at, depth) }
    if (name !== 'not') return this.#parseCondition(name, value, at)
    const filter = this.#parseFilter(value, at, depth + 1)
    return filter && { not: filter }
  }

  #parseFilters (value: unknown, at: Path, depth: number): Filter[] {
    if (!Array.isArray(value)) {
      this.#fail(at, 'must be an array of filters')
      return []
    }
    if (value.length === 0) this.#addCost(at)
    const filters = value.map((part, index) => this.#parseFilter(part, [...at, String(index)], depth + 1))
    return filters.filter((filter) => filter !== undefined)
  }

  #parseCondition (name: string, value: unknown, at: Path): Filter | undefined {
    const { filterable } = this.#lists
    const key = parseFilterKey(name, filterable)
    if (key === undefined) return this.#fail(at, `is not a known property. ${suggestKeys(name, filterable)}`)
    this.#addCost(at, key.is, value)
    if (this.#isTooLarge) return undefined
    const condition = parseCondition(key, value)
    return 'expected' in condition ? this.#fail(at, `must be ${condition.expected}`) : condition
  }

  #addCost (at: Path, is?: Condition['is'], value?: unknown): void {
    const limit = this.#cost.add(is, value)
    if (limit === undefined || this.#isTooLarge) return
    this.#isTooLarge = true
    this.#fail(at, `is too large: a filter can have ${limit}`)
  }

  #fail (at: Path, message: string): undefined {
    if (this.failures.length < maxFailures) this.failures.push({ pointer: toPointer(at), message })
  }
}
