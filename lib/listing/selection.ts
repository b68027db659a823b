import type { Collection } from '../collection.ts'
import type { Question } from './question.ts'
import { totalOrder } from './total-order.ts'

// In what order, and what of each item. A text says what would have been understood.

export function readOrder ({ id, listing: { sortable } }: Collection, names: readonly string[]): Question | string {
  const properties = new Set(names.map(name => name.replace(/^-/, '')))
  if (names.length === 0 || properties.size < names.length || ![...properties].every(property => sortable.has(property))) return `properties separated by commas, each once, with - in front for descending order: ${[...sortable.keys()].join(', ')}`
  return { order: totalOrder(names, id.property) }
}

export function readFields ({ listing: { visible } }: Collection, names: readonly string[]): Question | string {
  const fields = new Set(names)
  if (names.length === 0 || ![...fields].every(name => visible.has(name))) return `properties separated by commas: ${[...visible].join(', ')}`
  // In one order, so that one selection has one entity tag.
  return { fields: [...visible].filter(name => fields.has(name)) }
}
