import { expect, test } from 'tstyche'
import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { define } from '../../lib/index.ts'
import type { CollectionCalls, StoredItem, Transaction } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'

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
  expect(calls.read('x')).type.toBe<Promise<StoredItem<Item>>>()
  expect(calls.create).type.toBeCallableWith({ total: 1 })
  expect(calls.create).type.not.toBeCallableWith({ totl: 1 })
  expect(calls.create).type.not.toBeCallableWith({ total: '1' })
  expect(calls.update).type.toBeCallableWith('x', { note: null, address: { city: 'Rome' } }, { ifMatch: '"x"' })
  expect(calls.update).type.not.toBeCallableWith('x', { total: null })
  expect(calls.update).type.toBeCallableWith('x', [{ op: 'remove', path: '/note' }])
  expect(calls.remove).type.toBeCallableWith(1, { caller: undefined })
  expect(calls.remove).type.not.toBeCallableWith(1, { calller: 'ada' })
})

test('queries are typed', () => {
  const calls = app.collection(orders)
  expect(calls.list).type.toBeCallableWith({ filter: { total: 1, 'total.gte': 1, 'address.city.in': ['Rome'] } })
  expect(calls.list).type.toBeCallableWith({ filter: { any: [{ total: 1 }, { not: { note: 'x' } }] }, sort: ['-total'] })
  expect(calls.list).type.not.toBeCallableWith({ filter: { totl: 1 } })
  expect(calls.list).type.not.toBeCallableWith({ filter: { 'total.above': 1 } })
  expect(calls.list).type.not.toBeCallableWith({ sort: ['totl'] })
  expect(calls.list).type.not.toBeCallableWith({ cursor: 'x' })
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
    expect(pair).type.toBe<readonly [StoredItem<Item>, StoredItem<Item>]>()
    const ids: string[] = []
    expect(await transaction.lock(orders, ids)).type.toBe<ReadonlyArray<StoredItem<Item>>>()
    expect(await transaction.lock(app.collection(orders), ids)).type.toBe<ReadonlyArray<StoredItem<Item>>>()
    expect(transaction.lock).type.not.toBeCallableWith(orders, [{}])
  })
  expect(app.collection(orders).create).type.not.toBeCallableWith({ total: 1 }, { transaction: {} })
})
