import type { Condition, Filter, Order, Query as StorageQuery } from '../lib/storage/contract.ts'
import type { Query } from './user.ts'

const byId: Order = { property: 'id', descending: false }

/** The sort orders of the hand-written contestants. */
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

/** Their filters. */
const filters = [
  ['email', 'email', 'eq'],
  ['name', 'name', 'eq'],
  ['name.lt', 'name', 'lt'],
  ['name.gte', 'name', 'gte'],
  ['createdAt.lt', 'createdAt', 'lt'],
  ['createdAt.gte', 'createdAt', 'gte']
] as const

function buildFilter (query: Query): Filter | undefined {
  const all: Condition[] = []
  for (const [parameter, property, is] of filters) {
    const value = query[parameter]
    if (value !== undefined) all.push({ property, is, value })
  }
  return all.length > 1 ? { all } : all[0]
}

/** Converts a validated query string to a query of the storage. */
export function toStorageQuery (query: Query, count = false): StorageQuery {
  return {
    filter: buildFilter(query),
    search: undefined,
    order: query.sort === undefined ? orders.id : orders[query.sort],
    after: query.after,
    before: undefined,
    limit: query.limit,
    properties: undefined,
    count
  }
}
