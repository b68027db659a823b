import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { define } from '../../lib/index.ts'
import type { MatchedItems, Entry } from '../../lib/index.ts'
import { client } from '../../lib/client/client.ts'
import type { Entry as ClientEntry, MatchedItems as MatchedByClient } from '../../lib/client/client.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { memory } from '../../lib/storage/memory.ts'
import { expect, test } from './expect.ts'

declare const app: FastifyInstance

const Order = Type.Object({ id: Type.Integer(), status: Type.String(), note: Type.Optional(Type.String()) })
interface Item {
  id: number
  status: string
  note?: string
}
const base = define({ name: 'orders', schema: Order, storage: memory() })

const definition = base.with(idempotency(), bulk({ update: true, remove: true, maximum: 5 }))

test('calls from code have the methods that bulk adds', () => {
  const calls = app.collection(definition)
  expect(calls.createMany([{ status: 'open' }])).type.toBe<Promise<ReadonlyArray<Entry<Item>>>>()
  // @ts-expect-error 'stats' does not exist in type
  calls.createMany([{ stats: 'open' }])
  // @ts-expect-error 'status' does not exist in type
  calls.createMany({ status: 'open' })
  expect(calls.updateMany({ filter: { status: 'open' } }, { note: null })).type.toBe<Promise<MatchedItems>>()
  expect(calls.updateMany).type.toBeCallableWith({ filter: { 'id.in': [1] }, q: 'x' }, { status: 'x' }, { caller: 'ada' })
  // @ts-expect-error 'stats' does not exist in type
  calls.updateMany({ filter: { stats: 'open' } }, { note: null })
  // @ts-expect-error 'limit' does not exist in type
  calls.updateMany({ filter: {}, limit: 1 }, { note: null })
  // @ts-expect-error Type 'number' is not assignable
  calls.updateMany({ filter: { status: 'open' } }, { status: 1 })
  // @ts-expect-error 'ifMatch' does not exist in type
  calls.updateMany({ filter: { status: 'open' } }, {}, { ifMatch: '"a"' })
  expect(calls.removeMany({ q: 'x' })).type.toBe<Promise<MatchedItems>>()
})

test('calls from code have no methods that bulk does not add', () => {
  expect(app.collection(base)).type.not.toHaveProperty('createMany')
  const creating = app.collection(base.with(bulk()))
  expect(creating).type.toHaveProperty('createMany')
  expect(creating).type.not.toHaveProperty('updateMany')
  const removing = app.collection(base.with(bulk({ remove: true, update: false })))
  expect(removing).type.toHaveProperty('removeMany')
  expect(removing).type.not.toHaveProperty('updateMany')
  // @ts-expect-error 'updates' does not exist in type
  bulk({ updates: true })
})

test('the typed client has the methods that bulk adds', () => {
  const orders = client<typeof definition>('/orders')
  expect(orders.createMany([{ status: 'open' }])).type.toBe<Promise<ReadonlyArray<ClientEntry<Readonly<Omit<Item, never>>>>>>()
  expect(orders.updateMany({ filter: { status: 'open' } }, { note: null })).type.toBe<Promise<MatchedByClient>>()
  expect(orders.updateMany).type.toBeCallableWith({ filter: { 'id.in': [1, 2] }, q: 'x' }, { status: 'x' }, { ids: true })
  // @ts-expect-error Type 'number' is not assignable
  orders.updateMany({ filter: { status: 'open' } }, { status: 1 })
  // @ts-expect-error 'stats' does not exist in type
  orders.updateMany({ filter: { stats: 'open' } }, { status: 'x' })
  // @ts-expect-error 'status' does not exist in type
  orders.updateMany({ status: 'open' }, { status: 'x' })
  // @ts-expect-error 'limit' does not exist in type
  orders.removeMany({ filter: { status: 'open' }, limit: 1 })
  expect(client<typeof base>('/orders')).type.not.toHaveProperty('createMany')
})
