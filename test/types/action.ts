import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { Type as Type1 } from 'typebox'
import { define, defineWith } from '../../lib/index.ts'
import type { Entry, Transaction } from '../../lib/index.ts'
import { client } from '../../lib/client/client.ts'
import type { Entry as ClientEntry } from '../../lib/client/client.ts'
import { action } from '../../lib/features/action.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { memory } from '../../lib/storage/memory.ts'
import { expect, test } from './expect.ts'

declare const app: FastifyInstance

const Order = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  status: Type.String(),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})
interface Item {
  id: string
  status: string
  deletedAt?: string
}
const base = define({ name: 'orders', schema: Order, storage: memory() })

const orders = base
  .with(idempotency(), softDelete({ property: 'deletedAt' }), bulk())
  .with(
    action('cancel', {
      input: Type.Object({ reason: Type.String() }),
      when: ({ item }) => {
        expect(item).type.toBe<Readonly<Item>>()
        return item.status === 'open'
      },
      run ({ item, input, id, transaction, signal }) {
        expect(item).type.toBe<Item>()
        expect(input).type.toBe<{ reason: string }>()
        expect(id).type.toBe<string | number>()
        expect(transaction).type.toBe<Transaction>()
        expect(signal).type.toBe<AbortSignal>()
        return { ...item, status: input.reason }
      }
    }),
    action('ship', {
      input: Type1.Object({ carrier: Type1.Optional(Type1.String()) }),
      output: Type.Object({ parcel: Type.String() }),
      run: ({ item, input }) => ({ item, output: { parcel: input.carrier ?? 'post' } })
    }),
    action('import', {
      on: 'collection',
      input: Type.Object({ count: Type.Integer() }),
      run (context) {
        expect(context).type.not.toHaveProperty('item')
      }
    }),
    action('touch', { run () {} })
  )

test('calls from code have a method for each custom action', () => {
  const calls = app.collection(orders)
  expect(calls.cancel('x', { reason: 'late' })).type.toBe<Promise<Entry<Item>>>()
  expect(calls.cancel).type.toBeCallableWith('x', { reason: 'late' }, { ifMatch: '"x"', caller: 'ann' })
  // @ts-expect-error Expected 2-3 arguments, but got 1
  calls.cancel('x')
  // @ts-expect-error Type 'number' is not assignable
  calls.cancel('x', { reason: 1 })
  // @ts-expect-error 'ifMtch' does not exist in type
  calls.cancel('x', { reason: 'late' }, { ifMtch: '"x"' })
  expect(calls.ship('x')).type.toBe<Promise<{ parcel: string }>>()
  expect(calls.ship).type.toBeCallableWith('x', { carrier: 'ship' })
  expect(calls.import({ count: 1 })).type.toBe<Promise<void>>()
  expect(calls.touch('x')).type.toBe<Promise<Entry<Item>>>()
  expect(calls).type.not.toHaveProperty('refund')
  expect(app.collection(base)).type.not.toHaveProperty('cancel')
})

test('the typed client has a method for each custom action', () => {
  const remote = client<typeof orders>('/orders')
  expect(remote.cancel('x', { reason: 'late' })).type.toBe<Promise<ClientEntry<Readonly<Omit<Item, never>>>>>()
  const entry = { id: 'x', tag: '"1"', item: { id: 'x', status: 'open' } }
  expect(remote.cancel).type.toBeCallableWith(entry, { reason: 'late' })
  expect(remote.cancel).type.toBeCallableWith('x', { reason: 'late' }, { ifMatch: '"1"' })
  // @ts-expect-error 'status' does not exist in type
  remote.cancel({ id: 'x', status: 'open' }, { reason: 'late' })
  // @ts-expect-error 'ifMatch' does not exist in type
  remote.import({ count: 1 }, { ifMatch: '"1"' })
  // @ts-expect-error Expected 2-3 arguments, but got 1
  remote.cancel('x')
  expect(remote.ship('x')).type.toBe<Promise<{ parcel: string }>>()
  expect(remote.import({ count: 1 })).type.toBe<Promise<void>>()
  expect(remote).type.not.toHaveProperty('refund')
})

test('run returns the item, nothing, or an object with the output', () => {
  const output = Type.Object({ parcel: Type.String() })
  expect(base.with).type.toBeCallableWith(action('touch', { run: async () => {} }))
  base.with(
    // @ts-expect-error is not assignable
    action('touch', { run: () => ({ status: 1 }) }),
    // @ts-expect-error Type '{ parcel: string; }' is not assignable
    action('ship', { output, run: () => ({ parcel: 'post' }) }),
    // @ts-expect-error Property 'item' does not exist
    action('import', { on: 'collection', run: ({ item }) => item })
  )
})

test('any number of features is typed, and those that are undefined add nothing', () => {
  const many = base.with(
    idempotency(),
    action('a', { run: ({ item }) => ({ ...item, status: 'a' }) }),
    action('b', { run: ({ item }) => ({ ...item, status: 'b' }) }),
    undefined,
    action('c', { run: ({ item }) => ({ ...item, status: 'c' }) }),
    action('d', { run: ({ item }) => ({ ...item, status: 'd' }) }),
    { name: 'own', setup () {} },
    action('e', { run: ({ item }) => ({ ...item, status: 'e' }) }),
    bulk(),
    action('f', { input: Type.Object({ reason: Type.String() }), run: ({ item }) => item })
  )
  const calls = app.collection(many)
  expect(calls.a('x')).type.toBe<Promise<Entry<Item>>>()
  expect(calls.e('x')).type.toBe<Promise<Entry<Item>>>()
  expect(calls.createMany).type.toBeCallableWith([{ status: 'x' }])
  expect(calls.f).type.toBeCallableWith('x', { reason: 'late' })
  // @ts-expect-error Expected 2-3 arguments, but got 1
  calls.f('x')
  expect(calls).type.not.toHaveProperty('g')
  expect(base.with()).type.toBe<typeof base>()
  expect(base.with(undefined)).type.toBe<typeof base>()
  // @ts-expect-error Property 'setup' is missing in type
  base.with({ name: 'own' })
})

test('the features of defineWith are typed as well', () => {
  const defineOne = defineWith(
    { storage: memory() },
    bulk(),
    action('a', { run () {} }),
    action('b', { input: Type.Object({ reason: Type.String() }), run () {} })
  )
  const calls = app.collection(defineOne({ name: 'orders', schema: Order }))
  expect(calls.a('x')).type.toBe<Promise<Entry<Item>>>()
  expect(calls.b).type.toBeCallableWith('x', { reason: 'late' })
  // @ts-expect-error Expected 2-3 arguments, but got 1
  calls.b('x')
  expect(calls.createMany).type.toBeCallableWith([{ status: 'x' }])
})

test('run gets the typed calls of other collections', () => {
  const Product = Type.Object({ id: Type.Integer(), name: Type.String() })
  const products = define({ name: 'products', schema: Product, storage: memory() })
    .with(action('sell', { run () {} }))
  base.with(action('price', {
    safe: true,
    async run ({ getCollection, caller }) {
      const calls = getCollection(products)
      expect((await calls.read(1, { caller })).item).type.toBe<Readonly<{ id: number, name: string }>>()
      expect(calls).type.toHaveProperty('sell')
    }
  }))
})
