import type { Condition } from '../storage/contract.ts'

// Limits the filters of clients, because each condition is tested for many rows. The scope of an app is not limited.

export const maxConditions = 100

/** A pattern is compared with the whole text of a property, not only with its beginning. */
const likeCost = 20

/** Each is tested by reading rows of another table. */
const relationCost = 5

/** In all lists of a filter together. */
const maxListedValues = 1000

const limit = `at most ${maxConditions} conditions, each like counting as ${likeCost}, ` +
  `and ${maxListedValues} values in all its lists`

/** Counts the conditions of a filter. */
export class FilterCost {
  #conditions = 0
  #listedValues = 0
  #hasRelations = false

  /** Adds a condition. Returns the limit if it is exceeded. An empty filter counts as a condition. */
  add (is: Condition['is'] | undefined, value: unknown): string | undefined {
    this.#conditions += is === 'like' ? likeCost : 1
    if (Array.isArray(value)) this.#listedValues += value.length
    return this.#getLimit()
  }

  /** Adds a condition about related items. */
  addRelation (): string | undefined {
    this.#conditions += relationCost
    this.#hasRelations = true
    return this.#getLimit()
  }

  #getLimit (): string | undefined {
    if (this.#conditions <= maxConditions && this.#listedValues <= maxListedValues) return undefined
    return this.#hasRelations ? `${limit}; each relation counts as ${relationCost} conditions` : limit
  }
}
