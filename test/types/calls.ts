import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { define } from '../../lib/index.ts'
import type { CollectionCalls, Entry, Transaction } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { expect, test } from './expect.ts'

declare const app: FastifyInstance

const Order = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  total: Type.Integer(),
  note: Type.Optional(Type.String()),
  address: Type.Object({ city: Type.String() })
})
interface Item {
  id: string
  total: number
  note?: string
  address: { city: string }
}
const orders = define({ name: 'orders', schema: Order, storage: memory() })

test('app.collection() is typed from the definition', () => {
  const calls = app.collection(orders)
  expect(calls).type.toBe<CollectionCalls<Item>>()
  expect(calls.read('x')).type.toBe<Promise<Entry<Item>>>()
  expect(calls.create).type.toBeCallableWith({ total: 1 })
  // @ts-expect-error 'totl' does not exist in type
  calls.create({ totl: 1 })
  // @ts-expect-error Type 'string' is not assignable
  calls.create({ total: '1' })
  expect(calls.update).type.toBeCallableWith('x', { note: null, address: { city: 'Rome' } }, { ifMatch: '"x"' })
  // @ts-expect-error Type 'null' is not assignable
  calls.update('x', { total: null })
  expect(calls.update).type.toBeCallableWith('x', [{ op: 'remove', path: '/note' }])
  expect(calls.remove).type.toBeCallableWith(1, { caller: undefined })
  // @ts-expect-error 'calller' does not exist in type
  calls.remove(1, { calller: 'ada' })
})

test('queries are typed', () => {
  const calls = app.collection(orders)
  expect(calls.list).type.toBeCallableWith({ filter: { total: 1, 'total.gte': 1, 'address.city.in': ['Rome'] } })
  expect(calls.list).type.toBeCallableWith({ filter: { any: [{ total: 1 }, { not: { note: 'x' } }] }, sort: ['-total'] })
  // @ts-expect-error 'totl' does not exist in type
  calls.list({ filter: { totl: 1 } })
  // @ts-expect-error ''total.above'' does not exist in type
  calls.list({ filter: { 'total.above': 1 } })
  // @ts-expect-error Type '"totl"' is not assignable
  calls.list({ sort: ['totl'] })
  calls.list({ cursor: 'x' })
  // @ts-expect-error 'before' does not exist in type
  calls.list({ before: 'x' })
})

test('hooks inside the transaction are typed', () => {
  define({
    name: 'orders',
    schema: Order,
    storage: memory(),
    hooks: {
      beforeWrite (write) {
        expect(write.before).type.toBe<Readonly<Item> | undefined>()
        expect(write.transaction).type.toBe<Transaction>()
        expect(write.customAction).type.toBe<string | undefined>()
        if (write.action === 'remove') {
          expect(write.item).type.toBe<undefined>()
          return
        }
        expect(write.item).type.toBe<Item>()
        return { ...write.item, total: 2 }
      },
      async afterWrite ({ after, transaction, action, customAction }) {
        expect(action).type.toBe<'create' | 'replace' | 'update' | 'remove'>()
        expect(customAction).type.toBe<string | undefined>()
        expect(after).type.toBe<Readonly<Item> | undefined>()
        expect(transaction.collection(orders)).type.toBe<CollectionCalls<Item>>()
        expect(transaction.signal).type.toBe<AbortSignal>()
      }
    }
  })
  expect(app.collection(orders).transaction(async () => 1)).type.toBe<Promise<number>>()
  app.collection(orders).transaction(async (transaction) => {
    const pair = await transaction.lock(orders, ['a', 2])
    expect(pair).type.toBe<readonly [Entry<Item>, Entry<Item>]>()
    const ids: string[] = []
    expect(await transaction.lock(orders, ids)).type.toBe<ReadonlyArray<Entry<Item>>>()
    expect(await transaction.lock(app.collection(orders), ids)).type.toBe<ReadonlyArray<Entry<Item>>>()
    // @ts-expect-error Type '{}' is not assignable
    transaction.lock(orders, [{}])
  })
  // @ts-expect-error is missing the following properties
  app.collection(orders).create({ total: 1 }, { transaction: {} })
})
