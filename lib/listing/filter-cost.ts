import type { Condition } from '../storage/contract.ts'

// What the filter of a client may cost, since each condition is tested for many rows. The scope of an app is not limited.

export const mostConditions = 100

/** A pattern is compared with the whole text of a property, not only with its beginning. */
export const likeCost = 20

/** In all lists of a filter together. */
export const mostListed = 1000

const limit = `at most ${mostConditions} conditions, each like counting as ${likeCost}, and ${mostListed} values in all its lists`

/** Adds up the conditions of one filter. */
export class FilterCost {
  #conditions = 0
  #listed = 0

  /** What is allowed, once there are too many. An empty filter counts as a condition. */
  add (is: Condition['is'] | undefined, value: unknown): string | undefined {
    this.#conditions += is === 'like' ? likeCost : 1
    if (Array.isArray(value)) this.#listed += value.length
    return this.#conditions > mostConditions || this.#listed > mostListed ? limit : undefined
  }
}
