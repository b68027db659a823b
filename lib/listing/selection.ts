import type { Collection } from '../definition.ts'
import type { Order } from '../storage/contract.ts'
import type { Question } from './question.ts'

// In what order, and what of each item. A text says what would have been understood.

/** `-createdAt`, `name`: the id comes last, so that the order is total. */
export function readOrder ({ id, listing: { sortable } }: Collection, names: readonly string[]): Question | string {
  const order: Order[] = names.map(name => name.startsWith('-') ? { member: name.slice(1), descending: true } : { member: name, descending: false })
  const members = new Set(order.map(({ member }) => member))
  if (members.size < order.length || !order.every(({ member }) => sortable.has(member))) return `members parted by commas, each once and with - in front to begin with the greatest: ${[...sortable.keys()].join(', ')}`
  return { order: members.has(id.member) ? order : [...order, { member: id.member, descending: false }] }
}

/** What the items refer to, by the names of the relations. */
export function readExpand ({ relations }: Collection, names: readonly string[]): Question | string {
  const known = Object.keys(relations)
  return names.every(name => known.includes(name)) ? { expand: known.filter(name => names.includes(name)) } : `relations parted by commas: ${known.join(', ')}`
}

export function readFields ({ listing: { visible } }: Collection, names: readonly string[]): Question | string {
  const fields = new Set(names)
  if (![...fields].every(name => visible.has(name))) return `members parted by commas: ${[...visible].join(', ')}`
  // In one order, so that one selection has one entity tag.
  return { fields: [...visible].filter(name => fields.has(name)) }
}
