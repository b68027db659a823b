import type { Order } from '../storage/contract.ts'

/** `-createdAt`, `name`: it ends with the id, past which nothing is left to be ordered. */
export function totalOrder (names: readonly string[], id: string): readonly Order[] {
  const order = names.map(name => name.startsWith('-') ? { property: name.slice(1), descending: true } : { property: name, descending: false })
  const last = order.findIndex(({ property }) => property === id)
  return last < 0 ? [...order, { property: id, descending: false }] : order.slice(0, last + 1)
}
