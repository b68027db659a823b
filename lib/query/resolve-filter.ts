import { toPointer } from '../http/json-pointer.ts'
import type { Problem } from '../http/problems.ts'
import { problem } from '../http/problems.ts'
import { maxFailures } from '../schema/failures.ts'
import type { Failure } from '../schema/failures.ts'
import type { Condition } from '../storage/contract.ts'
import { parseCondition, parseFilterKey, suggestKeys } from './conditions.ts'
import type { FilterKey } from './conditions.ts'
import { FilterCost } from './filter-cost.ts'
import { combineFilters } from './list-query.ts'
import type { ListFilter, RelationFilter } from './list-query.ts'
import type { Lists } from './lists.ts'
import { findFilterRelation, getFilterable, toCount } from './names.ts'
import type { FilterTree, Name, Path, RelatedTree, Step, Term } from './tree.ts'

// What filters mean to a caller. A name that is unknown, hidden or unreadable is refused in the same way.

/** A relation that a name follows, as the caller sees it. */
interface FollowedStep extends Pick<RelationFilter, 'relation' | 'of'> {
  readonly has: Step['has']
}

/** What the name of a condition means to the caller. */
interface ResolvedName {
  readonly key: FilterKey
  readonly followed: readonly FollowedStep[]
}

const notFollowed: readonly FollowedStep[] = []

/** Resolves the name of a condition; undefined if the caller cannot use it. A name without relations can be text. */
export function resolveName (lists: Lists, name: Name | string): ResolvedName | undefined {
  if (typeof name === 'string') {
    const key = parseFilterKey(name, lists.filterable)
    return key && { key, followed: notFollowed }
  }
  const followed: FollowedStep[] = []
  let inner = lists
  for (const { relation, has } of name.steps) {
    const of = findFilterRelation(inner, relation)
    if (of === undefined) return undefined
    followed.push({ relation, of, has })
    inner = of.lists
  }
  const last = followed.at(-1)
  const isCount = last?.has === 'count'
  const key = parseFilterKey(name.last, isCount ? new Map([['count', toCount(last.relation)]]) : inner.filterable)
  return key && { key, followed }
}

/** Returns the condition, with the relations that its name follows. */
export function toFilter ({ followed }: ResolvedName, condition: Condition): ListFilter {
  return followed.reduceRight<ListFilter>((filter, { relation, of, has }) => {
    if (has !== 'count') return { relation, of, has, filter }
    return { relation, of, count: { is: condition.is, value: condition.value } }
  }, condition)
}

/** Combines the conditions about the same related item: those whose names begin alike, of one object. */
export function groupConditions (filters: readonly ListFilter[]): readonly ListFilter[] {
  const own: ListFilter[] = []
  const groups = new Map<string, RelationFilter[]>()
  for (const filter of filters) {
    if (!('has' in filter)) {
      own.push(filter)
      continue
    }
    const key = `${filter.relation}.${filter.has}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [filter])
    else group.push(filter)
  }
  const grouped = [...groups.values()].map((group): RelationFilter => {
    const [first] = group
    const inner = groupConditions(group.map(({ filter }) => filter))
    return { ...first!, filter: combineFilters(inner) }
  })
  return [...own, ...grouped]
}

/** Resolves filters, and finds every part of a query that is invalid. */
export class FilterResolver {
  readonly failures: Failure[] = []
  readonly #cost = new FilterCost()
  #isTooLarge = false

  /** Resolves a whole filter. An empty one matches everything. */
  resolve (tree: FilterTree, lists: Lists): ListFilter | undefined {
    const filter = this.#resolveFilter(tree, lists)
    // Conditions about related items cost more, and are only known when all are grouped.
    const limit = filter && lists.relations && new FilterCost().addFilter(filter)
    if (limit !== undefined) this.#failTooLarge('at' in tree ? tree.at : [], limit)
    return filter
  }

  fail (at: Path, message: string): undefined {
    if (this.failures.length < maxFailures) this.failures.push({ pointer: toPointer(at), message })
  }

  /** Returns the problem with all failures; undefined if there are none. */
  getProblem (): Problem | undefined {
    if (this.failures.length === 0) return undefined
    return problem('validation-failed', { detail: 'The query is invalid.', properties: { errors: this.failures } })
  }

  #resolveFilter (tree: FilterTree, lists: Lists): ListFilter | undefined {
    // The rest of a filter that is too large, or has too many failures, is not resolved.
    if (this.#isTooLarge || this.failures.length >= maxFailures) return undefined
    switch (tree.kind) {
      case 'mistake': return this.fail(tree.at, tree.message)
      case 'term': return this.#resolveTerm(tree, lists)
      case 'related': return this.#resolveRelated(tree, lists)
      case 'not': {
        const filter = this.#resolveFilter(tree.filter, lists)
        return filter && { not: filter }
      }
      case 'object': {
        if (tree.parts.length === 0) this.#addCost(tree.at)
        return combineFilters(this.#resolveTogether(tree.parts, lists))
      }
      case 'all':
      case 'any': {
        if (tree.parts.length === 0) this.#addCost(tree.at)
        const filters = tree.parts.map((part) => this.#resolveFilter(part, lists)).filter((part) => part !== undefined)
        return tree.kind === 'all' ? combineFilters(filters) : { any: filters }
      }
    }
  }

  /** Conditions of one object about a relation are about the same related item. */
  #resolveTogether (parts: readonly FilterTree[], lists: Lists): readonly ListFilter[] {
    const conditions: ListFilter[] = []
    const others: ListFilter[] = []
    for (const part of parts) {
      const filter = this.#resolveFilter(part, lists)
      if (filter === undefined) continue
      const isCondition = lists.relations === undefined || part.kind === 'term' || 'is' in filter
      ;(isCondition ? conditions : others).push(filter)
    }
    return [...groupConditions(conditions), ...others]
  }

  #resolveTerm ({ name, value, at }: Term, lists: Lists): ListFilter | undefined {
    const resolved = resolveName(lists, name)
    if (resolved === undefined) return this.#failUnknown(name.text, at, lists)
    const { key } = resolved
    this.#addCost(at, key.is, value)
    if (this.#isTooLarge) return undefined
    const condition = parseCondition(key, value)
    return 'expected' in condition ? this.fail(at, `must be ${condition.expected}`) : toFilter(resolved, condition)
  }

  #resolveRelated ({ relation, at, parts }: RelatedTree, lists: Lists): ListFilter | undefined {
    const of = findFilterRelation(lists, relation)
    if (of === undefined) return this.#failUnknown(relation, at, lists)
    const conditions: ListFilter[] = []
    const others: ListFilter[] = []
    for (const part of parts) {
      if (part.kind === 'term') {
        const condition = this.#resolveFilter(part, lists)
        if (condition !== undefined) conditions.push(condition)
        continue
      }
      const filter = this.#resolveFilter(part.filter, of.lists)
      if (filter !== undefined) others.push({ relation, of, has: part.has, filter })
    }
    if (!of.relation.isMany) return others[0]
    return combineFilters([...groupConditions(conditions), ...others])
  }

  #failUnknown (name: string, at: Path, lists: Lists): undefined {
    return this.fail(at, `is not a known property. ${suggestKeys(name, getFilterable(lists))}`)
  }

  #addCost (at: Path, is?: Condition['is'], value?: unknown): void {
    const limit = this.#cost.add(is, value)
    if (limit !== undefined) this.#failTooLarge(at, limit)
  }

  #failTooLarge (at: Path, limit: string): undefined {
    if (!this.#isTooLarge) this.fail(at, `is too large: a filter can have ${limit}`)
    this.#isTooLarge = true
  }
}
