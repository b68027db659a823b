import type { Collection } from '../../collection.ts'
import type { Question } from '../../listing/question.ts'
import { readOrder } from '../../listing/selection.ts'
import type { Order } from '../../storage/contract.ts'

/** Undefined where a list cannot be sorted so. A sign in a name is none of these clients' ways to say what descends. */
export function ordering (collection: Collection, order: readonly Order[]): Question | undefined {
  if (!order.every(({ property }) => collection.listing.sortable.has(property))) return undefined
  const question = readOrder(collection, order.map(({ property, descending }) => descending ? `-${property}` : property))
  return typeof question === 'string' ? undefined : question
}
