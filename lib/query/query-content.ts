import type { Lists } from './lists.ts'
import { toPointer } from '../http/json-pointer.ts'
import { isObject } from '../http/json-value.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { maxFailures } from '../schema/failures.ts'
import type { Failure } from '../schema/failures.ts'
import type { Condition } from '../storage/contract.ts'
import { parseCondition, parseFilterKey, suggestKeys } from './conditions.ts'
import { FilterCost } from './filter-cost.ts'
import { getParameter } from './parameters.ts'
import { addPart, combineFilters } from './list-query.ts'
import type { ListFilter, ListQuery } from './list-query.ts'

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
  #lists: Lists
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
      // Conditions about related items cost more, and are only known when all are grouped.
      const limit = filter && this.#lists.relations && new FilterCost().addFilter(filter)
      if (limit !== undefined) this.#failTooLarge([name], limit)
      // An empty filter matches everything.
      return filter === undefined || ('all' in filter && filter.all.length === 0) ? undefined : { filter }
    }
    const parameter = getParameter(this.#lists, name) ?? this.#lists.relations?.getParameter(name)
    const part = parameter?.read(this.#lists, value)
    if (part === undefined) {
      const known = ['filter', ...this.#lists.parameters]
      return this.#fail([name], `is not a known property. A query can have: ${known.join(', ')}.`)
    }
    return typeof part === 'string' ? this.#fail([name], `must be ${part}`) : part
  }

  /** The conditions of one object must all be met. */
  #parseFilter (value: unknown, at: Path, depth: number): ListFilter | undefined {
    if (!isObject(value)) return this.#fail(at, 'must be an object')
    if (depth > maxDepth) return this.#fail(at, `is nested deeper than ${maxDepth} levels`)
    const entries = Object.entries(value)
    if (entries.length === 0) this.#addCost(at)
    const terms = entries
      .map(([name, inner]) => this.#parseTerm(inner, [...at, name], depth))
      .filter((term) => term !== undefined)
    return combineFilters(this.#groupConditions(terms))
  }

  /** Conditions of one object about a relation are about the same related item. */
  #groupConditions (terms: readonly ListFilter[]): readonly ListFilter[] {
    const { relations } = this.#lists
    if (relations === undefined) return terms
    const conditions = terms.filter((term) => 'is' in term)
    return [...relations.group(conditions), ...terms.filter((term) => !('is' in term))]
  }

  #parseTerm (value: unknown, at: Path, depth: number): ListFilter | undefined {
    // The rest of a filter that is too large, or has too many failures, is not parsed.
    if (this.#isTooLarge || this.failures.length >= maxFailures) return undefined
    const name = at.at(-1)!
    if (name === 'all') return combineFilters(this.#parseFilters(value, at, depth))
    if (name === 'any') return { any: this.#parseFilters(value, at, depth) }
    if (name !== 'not') {
      const relation = isObject(value) ? this.#lists.relations?.get(name) : undefined
      return relation === undefined
        ? this.#parseCondition(name, value, at)
        : this.#parseRelation(relation, value as Record<string, unknown>, { at, depth })
    }
    const filter = this.#parseFilter(value, at, depth + 1)
    return filter && { not: filter }
  }

  #parseFilters (value: unknown, at: Path, depth: number): ListFilter[] {
    if (!Array.isArray(value)) {
      this.#fail(at, 'must be an array of filters')
      return []
    }
    if (value.length === 0) this.#addCost(at)
    const filters = value.map((part, index) => this.#parseFilter(part, [...at, String(index)], depth + 1))
    return filters.filter((filter) => filter !== undefined)
  }

  /** An object in the place of a value is about the related item; with `some` and `none`, about several. */
  #parseRelation (
    { isMany, lists }: NonNullable<ReturnType<NonNullable<Lists['relations']>['get']>>,
    value: Record<string, unknown>,
    { at, depth }: { readonly at: Path, readonly depth: number }
  ): ListFilter | undefined {
    const relation = at.at(-1)!
    if (!isMany) {
      const filter = this.#within(lists, () => this.#parseFilter(value, at, depth + 1))
      return filter && { relation, has: 'some', filter }
    }
    const terms = Object.entries(value).map(([name, inner]): ListFilter | undefined => {
      const inside = [...at, name]
      if (name !== 'some' && name !== 'none') return this.#parseCondition(`${relation}.${name}`, inner, inside)
      const filter = this.#within(lists, () => this.#parseFilter(inner, inside, depth + 1))
      return filter && { relation, has: name, filter }
    })
    return combineFilters(this.#groupConditions(terms.filter((term) => term !== undefined)))
  }

  /** Parses with the lists of a related collection. */
  #within<Result> (lists: Lists, parse: () => Result): Result {
    const outer = this.#lists
    this.#lists = lists
    try {
      return parse()
    } finally {
      this.#lists = outer
    }
  }

  #parseCondition (name: string, value: unknown, at: Path): ListFilter | undefined {
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
    if (limit !== undefined) this.#failTooLarge(at, limit)
  }

  #failTooLarge (at: Path, limit: string): undefined {
    if (!this.#isTooLarge) this.#fail(at, `is too large: a filter can have ${limit}`)
    this.#isTooLarge = true
  }

  #fail (at: Path, message: string): undefined {
    if (this.failures.length < maxFailures) this.failures.push({ pointer: toPointer(at), message })
  }
}
