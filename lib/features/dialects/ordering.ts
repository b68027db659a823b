import type { Collection } from '../../collection.ts'
import type { ListQuery } from '../../listing/list-query.ts'
import { parseSort } from '../../listing/selection.ts'
import type { Order } from '../../storage/contract.ts'

/** Builds the order of a list; undefined if one of the properties is not sortable. */
export function readOrdering (collection: Collection, order: readonly Order[]): ListQuery | undefined {
  // Checked first: "-name" is not a property in these dialects.
  if (!order.every(({ property }) => collection.listing.sortable.has(property))) return undefined
  const names = order.map(({ property, descending }) => descending ? `-${property}` : property)
  const listQuery = parseSort(collection, names)
  return typeof listQuery === 'string' ? undefined : listQuery
}
