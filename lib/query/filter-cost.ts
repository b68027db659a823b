import type { Condition } from '../storage/contract.ts'
import type { CountFilter, ListFilter, RelationFilter } from './list-query.ts'
import { likeCost, operators } from './operators.ts'

// Limits the filters of clients, because each condition is tested for many rows. The scope of an app is not limited.

export const maxConditions = 100

/** Each is tested by reading rows of another table. */
const relationCost = 5

/** In all lists of a filter together. */
const maxListedValues = 1000

const limit = `at most ${maxConditions} conditions, each like or ilike counting as ${likeCost} or more, ` +
  `and ${maxListedValues} values in all its lists`

/** Counts the conditions of a filter. */
export class FilterCost {
  #conditions = 0
  #listedValues = 0
  #hasRelations = false

  /** Adds a condition. Returns the limit if it is exceeded. An empty filter counts as a condition. */
  add (is: Condition['is'] | undefined, value: unknown): string | undefined {
    this.#conditions += is === undefined ? 1 : operators[is].cost?.(value) ?? 1
    if (Array.isArray(value)) this.#listedValues += value.length
    return this.#getLimit()
  }

  /** Adds all conditions of a filter. Returns the limit if it is exceeded. */
  addFilter (filter: ListFilter): string | undefined {
    if ('is' in filter) return this.add(filter.is, filter.value)
    if ('not' in filter) return this.addFilter(filter.not)
    if ('relation' in filter) return this.#addRelation(filter)
    const parts = 'all' in filter ? filter.all : filter.any
    if (parts.length === 0) return this.add(undefined, undefined)
    for (const part of parts) {
      const limit = this.addFilter(part)
      if (limit !== undefined) return limit
    }
    return undefined
  }

  #addRelation (filter: RelationFilter | CountFilter): string | undefined {
    // Each number of a list is compared by itself.
    const times = 'count' in filter && Array.isArray(filter.count.value) ? filter.count.value.length : 1
    this.#conditions += relationCost * times
    this.#hasRelations = true
    return 'filter' in filter ? this.addFilter(filter.filter) : this.#getLimit()
  }

  #getLimit (): string | undefined {
    if (this.#conditions <= maxConditions && this.#listedValues <= maxListedValues) return undefined
    return this.#hasRelations ? `${limit}; each relation counts as ${relationCost} conditions` : limit
  }
}
