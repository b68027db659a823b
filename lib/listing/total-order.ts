import type { Order } from '../storage/contract.ts'

/** `-createdAt`, `name`: it ends with the id, past which nothing is left to be ordered. */
export function totalOrder (names: readonly string[], id: string): readonly Order[] {
  const order = names.map(name => name.startsWith('-') ? { member: name.slice(1), descending: true } : { member: name, descending: false })
  const last = order.findIndex(({ member }) => member === id)
  return last < 0 ? [...order, { member: id, descending: false }] : order.slice(0, last + 1)
}
