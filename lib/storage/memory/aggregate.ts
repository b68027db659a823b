import { Aggregation } from '../aggregation.ts'
import type { AggregateQuery, Aggregates, Filter, Scalar } from '../contract.ts'
import { compilePredicate, orderById } from './page.ts'
import type { PageSource } from './page.ts'
import { createReader } from './property.ts'
import { RelatedReader } from './related.ts'

/** Computes figures over the rows that match, by groups. */
export function aggregateRows<Item extends object> (
  { rows, findRows }: PageSource<Item>,
  query: AggregateQuery,
  scope: Filter | undefined
): Aggregates {
  const matches = compilePredicate(query, scope, new RelatedReader(findRows))
  const readers = [...query.by, ...query.figures].map((part) => {
    return 'property' in part ? createReader(part.property) : () => null
  })
  const aggregation = new Aggregation(query, rows.shape.schema)
  rows.walk({ order: orderById(rows), from: undefined, backward: false }, ({ item }) => {
    // Figures are over scalars.
    if (matches?.(item) !== false) aggregation.add(readers.map((read) => read(item) as Scalar | null))
    return true
  })
  return aggregation.getResult()
}
