import { Type } from '@sinclair/typebox'
import { action } from '../../lib/features/action.ts'
import { define } from '../../lib/index.ts'
import { batchClient } from '../../lib/client/client.ts'
import { memory } from '../../lib/storage/memory.ts'
import { expect, test } from './expect.ts'

// The parts of a batch and their results have the types of the collections.

export const orders = define({
  name: 'orders',
  schema: Type.Object({ id: Type.String({ format: 'uuid' }), customer: Type.Integer(), status: Type.String() }),
  storage: memory()
}).with(
  action('submit', { input: Type.Object({ urgent: Type.Boolean() }), run: ({ item }) => item }),
  action('count', { on: 'collection', output: Type.Object({ count: Type.Integer() }), run: () => ({ output: { count: 1 } }) })
)
export const lines = define({
  name: 'lines',
  schema: Type.Object({ id: Type.String({ format: 'uuid' }), orderId: Type.String(), quantity: Type.Integer() }),
  storage: memory()
})

interface Shop {
  '/orders': typeof orders
  '/lines': typeof lines
}

const shop = batchClient<Shop>('/batch')
declare const id: string

test('results have the types of their parts', async () => {
  const [created, line, list, read, removed, submitted, counted] = await shop.batch([
    { id: 'o', method: 'POST', path: '/orders', content: { customer: 7 } },
    { method: 'POST', path: '/lines', content: { quantity: 2 }, refs: { '/orderId': 'o#/id' } },
    { method: 'GET', path: '/lines?orderId={o#/id}' },
    { method: 'GET', path: '/orders/{o#/id}', ifMatch: '*' },
    { method: 'DELETE', path: `/lines/${id}` },
    { method: 'POST', path: '/orders/{o#/id}/submit', content: { urgent: true } },
    { method: 'POST', path: '/orders/count' }
  ])
  expect(created.content.customer).type.toBe<number>()
  expect(line.content.orderId).type.toBe<string>()
  expect(list.content[0]!.quantity).type.toBe<number>()
  expect(read.content.status).type.toBe<string>()
  expect(removed.content).type.toBe<undefined>()
  expect(submitted.content.status).type.toBe<string>()
  expect(counted.content).type.toBe<{ count: number }>()
  expect(created.etag).type.toBe<string | undefined>()
})

test('parts are checked', () => {
  // @ts-expect-error Type 'string' is not assignable
  shop.batch([{ method: 'POST', path: '/orders', content: { customer: 'x' } }])
  // @ts-expect-error 'other' does not exist in type
  shop.batch([{ method: 'POST', path: '/orders', content: { other: 1 } }])
  // @ts-expect-error Type '"/unknown"' is not assignable
  shop.batch([{ method: 'POST', path: '/unknown', content: {} }])
  // @ts-expect-error Type '"HEAD"' is not assignable
  shop.batch([{ method: 'HEAD', path: '/orders' }])
  // @ts-expect-error Type '{ method: "POST"; path: "/orders/1/unknown"; }' is not assignable
  shop.batch([{ method: 'POST', path: '/orders/1/unknown' }])
  // @ts-expect-error Type '"b"' is not assignable
  shop.batch([{ method: 'POST', path: '/orders', refs: { '/a': 'b' } }])
  expect(shop.preview).type.toBeCallableWith([{ method: 'PATCH', path: '/orders/1', content: { status: 'x' } }])
})
