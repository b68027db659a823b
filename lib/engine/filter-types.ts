import type { PropertyOf } from '../schema/static.ts'
import type { Condition, Scalar } from '../storage/contract.ts'

/** What a condition does with a property: `total.gte`. */
export type FilterOperator = Condition['is']

/** Conditions about the properties of an item. */
export type PropertyConditions<Item> = {
  readonly [Property in PropertyOf<Item>]?: Scalar | Date
} & {
  readonly [Key in `${PropertyOf<Item>}.${FilterOperator}` | `${PropertyOf<Item>}.${string}.${FilterOperator}`]?:
  Scalar | Date | ReadonlyArray<Scalar | Date>
}

/** Conditions that must all be met, as in the content of QUERY. Dates are compared as date-times. */
export type CallFilter<Item> = PropertyConditions<Item> & {
  readonly all?: ReadonlyArray<CallFilter<Item>>
  readonly any?: ReadonlyArray<CallFilter<Item>>
  readonly not?: CallFilter<Item>
}
