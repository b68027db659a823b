import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { client } from '../../lib/client/client.ts'
import { define } from '../../lib/index.ts'
import { aggregates } from '../../lib/features/aggregates.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { expect, test } from './expect.ts'

declare const app: FastifyInstance

const Order = Type.Object({
  id: Type.Integer(),
  status: Type.Union([Type.Literal('open'), Type.Literal('paid')]),
  country: Type.Optional(Type.String()),
  customerId: Type.Integer(),
  total: Type.Integer(),
  place: Type.Optional(Type.Object({ city: Type.String() })),
  createdAt: Type.String()
})

const base = define({ name: 'orders', schema: Order, storage: memory() })
const definition = base.with(idempotency(), aggregates({
  by: ['status', 'country', 'place.city', 'createdAt.month'],
  of: { total: ['sum', 'avg', 'min', 'max'], country: ['distinct', 'min'] },
  maximum: 100
}))

async function getGroup<Group> (call: Promise<{ readonly groups: readonly Group[] }>): Promise<Group> {
  return (await call).groups[0]!
}

test('groups have the types of what they are grouped by and of their figures, from code and by the client', async () => {
  for (const orders of [app.collection(definition), client<typeof definition>('/orders')]) {
    const group = await getGroup(orders.aggregate({
      by: ['status', 'country', 'place.city', 'createdAt.month'],
      sum: ['total'],
      min: ['total', 'country'],
      distinct: ['country'],
      sort: ['-sum.total', 'status']
    }))
    expect(group.by).type.toBe<{
      readonly status: 'open' | 'paid'
      readonly country: string | null
      readonly 'place.city': string | null
      readonly 'createdAt.month': string
    }>()
    expect(group.sum).type.toBe<{ readonly total: number | null }>()
    expect(group.min).type.toBe<{ readonly total: number | null, readonly country: string | null }>()
    expect(group.distinct).type.toBe<{ readonly country: number }>()
    expect(group).type.not.toHaveProperty('count')
    expect(group).type.not.toHaveProperty('max')
    expect((await getGroup(orders.aggregate({ count: true, avg: ['total'] }))).count).type.toBe<number>()
    expect((await getGroup(orders.aggregate())).count).type.toBe<number>()
    expect((await getGroup(orders.aggregate({ by: ['status'] }))).count).type.toBe<number>()
    expect((await orders.aggregate()).more).type.toBe<boolean>()
    // @ts-expect-error Type '"total"' is not assignable
    orders.aggregate({ by: ['total'] })
    // @ts-expect-error Argument of type '{ by: ["status"]; bi: string[]; }' is not assignable
    orders.aggregate({ by: ['status'], bi: ['status'] })
    // @ts-expect-error Type '"country"' is not assignable
    orders.aggregate({ sum: ['country'] })
    // @ts-expect-error Type '"country"' is not assignable
    orders.aggregate({ max: ['country'] })
    // @ts-expect-error Type '"total"' is not assignable
    orders.aggregate({ sort: ['total'] })
    // @ts-expect-error Type '"sum.country"' is not assignable
    orders.aggregate({ sort: ['sum.country'] })
  }
})

test('conditions are those of lists', () => {
  const calls = app.collection(definition)
  expect(calls.aggregate).type.toBeCallableWith({ filter: { status: 'open', any: [{ 'total.gte': 1 }] }, q: 'x' })
  expect(calls.aggregate).type.toBeCallableWith({}, { caller: 'ada' })
  // @ts-expect-error 'stats' does not exist in type
  calls.aggregate({ filter: { stats: 'open' } })
  const orders = client<typeof definition>('/orders', { aggregatePath: 'figures' })
  expect(orders.aggregate).type.toBeCallableWith({ by: ['status'], filter: { status: 'open', 'total.gte': 1 }, q: 'x' })
  // @ts-expect-error is not assignable
  orders.aggregate({ by: ['status'], status: 'open' })
  // @ts-expect-error 'stats' does not exist in type
  orders.aggregate({ filter: { stats: 'open' } })
})

test('with relations, conditions can be about related items', () => {
  const customers = define({ name: 'customers', schema: Type.Object({ id: Type.Integer(), country: Type.String() }), storage: memory() })
  const related = relate({ orders: definition, customers }, {
    orders: { customer: { to: 'customers', property: 'customerId' } }
  })
  const calls = app.collection(related.orders)
  expect(calls.aggregate).type.toBeCallableWith({ sum: ['total'], filter: { 'customer.country': 'AT' } })
  // @ts-expect-error Type 'string' is not assignable
  calls.aggregate({ sum: ['total'], filter: { 'customer.contry': 'AT' } })
  expect(client<typeof related.orders>('/orders').aggregate).type.toBeCallableWith({ filter: { 'customer.country': 'AT' } })
})

test('only definitions with aggregates have the method, and options name properties', () => {
  expect(app.collection(base)).type.not.toHaveProperty('aggregate')
  expect(client<typeof base>('/orders')).type.not.toHaveProperty('aggregate')
  // @ts-expect-error Type '"nothing"' is not assignable
  base.with(aggregates({ by: ['nothing'] }))
  // @ts-expect-error Type '"median"' is not assignable
  aggregates({ of: { total: ['median'] } })
  // @ts-expect-error 'sums' does not exist in type
  aggregates({ sums: ['total'] })
})

test('sums and averages are of numbers, minima and maxima of numbers and text', () => {
  const Book = Type.Object({
    id: Type.Integer(),
    title: Type.String(),
    state: Type.Optional(Type.Union([Type.Literal('new'), Type.Literal('used')])),
    pages: Type.Union([Type.Integer(), Type.Null()]),
    isSold: Type.Optional(Type.Boolean()),
    size: Type.Optional(Type.Object({ height: Type.Number(), unit: Type.String() }))
  })
  const books = define({ name: 'books', schema: Book, storage: memory() })
  books.with(aggregates({
    of: {
      title: ['distinct', 'min', 'max'],
      state: ['min'],
      pages: ['distinct', 'sum', 'avg', 'min', 'max'],
      isSold: ['distinct'],
      'size.height': ['sum'],
      'size.unit': ['max']
    }
  }))
  // @ts-expect-error Type '"sum"' is not assignable
  books.with(aggregates({ of: { title: ['sum'] } }))
  // @ts-expect-error Type '"avg"' is not assignable
  books.with(aggregates({ of: { state: ['min', 'avg'] } }))
  // @ts-expect-error Type '"max"' is not assignable to type '"distinct"'
  books.with(aggregates({ of: { isSold: ['max'] } }))
  // @ts-expect-error Type '"sum"' is not assignable
  books.with(aggregates({ of: { 'size.unit': ['sum'] } }))
})

test('the figures of properties whose types are not known are checked at boot', () => {
  expect(aggregates).type.toBeCallableWith({ of: { title: ['sum'] } })
})
