import type { Condition, Filter, Order, Query as Question } from '../lib/storage/contract.ts'
import type { Query } from './user.ts'

const byId: Order = { property: 'id', descending: false }

/** What the hand-written contestants sort by. */
const orders: Record<NonNullable<Query['sort']>, readonly Order[]> = {
  id: [byId],
  '-id': [{ property: 'id', descending: true }],
  email: [{ property: 'email', descending: false }, byId],
  '-email': [{ property: 'email', descending: true }, byId],
  name: [{ property: 'name', descending: false }, byId],
  '-name': [{ property: 'name', descending: true }, byId],
  createdAt: [{ property: 'createdAt', descending: false }, byId],
  '-createdAt': [{ property: 'createdAt', descending: true }, byId]
}

/** And what they filter by. */
const filters = [
  ['email', 'email', 'eq'],
  ['name', 'name', 'eq'],
  ['name.lt', 'name', 'lt'],
  ['name.gte', 'name', 'gte'],
  ['createdAt.lt', 'createdAt', 'lt'],
  ['createdAt.gte', 'createdAt', 'gte']
] as const

function filter (query: Query): Filter | undefined {
  const all: Condition[] = []
  for (const [parameter, property, is] of filters) {
    const value = query[parameter]
    if (value !== undefined) all.push({ property, is, value })
  }
  return all.length > 1 ? { all } : all[0]
}

/** What a validated query asks of the storage. */
export function question (query: Query, count = false): Question {
  return {
    filter: filter(query),
    search: undefined,
    order: query.sort === undefined ? orders.id : orders[query.sort],
    after: query.after,
    before: undefined,
    limit: query.limit,
    properties: undefined,
    count
  }
}
