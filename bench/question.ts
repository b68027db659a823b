import type { Condition, Filter, Order, Query as Question } from '../lib/storage/contract.ts'
import type { Query } from './user.ts'

const byId: Order = { member: 'id', descending: false }

/** What the hand-written contestants sort by. */
const orders: Record<NonNullable<Query['sort']>, readonly Order[]> = {
  id: [byId],
  '-id': [{ member: 'id', descending: true }],
  email: [{ member: 'email', descending: false }, byId],
  '-email': [{ member: 'email', descending: true }, byId],
  name: [{ member: 'name', descending: false }, byId],
  '-name': [{ member: 'name', descending: true }, byId],
  createdAt: [{ member: 'createdAt', descending: false }, byId],
  '-createdAt': [{ member: 'createdAt', descending: true }, byId]
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
  for (const [parameter, member, is] of filters) {
    const value = query[parameter]
    if (value !== undefined) all.push({ member, is, value })
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
    members: undefined,
    count
  }
}
