import { test } from 'tap'
import { batchClient, ResponseError } from '../../lib/client/client.ts'
import { defineShop, readAll, serveShop } from '../doors/batch/shop.ts'

type Shop = ReturnType<typeof defineShop>

interface Collections {
  '/orders': Shop['orders']
  '/lines': Shop['lines']
  '/stock': Shop['stock']
}

test('the client sends batches and previews, with typed results', async (t) => {
  const shop = defineShop()
  const app = await serveShop(t, shop)
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const seen: Array<string | undefined> = []
  const { batch, preview } = batchClient<Collections>(`${origin}/batch`, {
    headers: () => ({ 'x-trace': '1' }),
    fetch: (input, init) => {
      seen.push((init?.headers as Record<string, string>)['x-trace'])
      return fetch(input, init)
    }
  })
  const [rehearsed] = await preview([{ method: 'POST', path: '/stock', content: { id: 'A1', left: 5 } }])
  t.equal(rehearsed.content.left, 5)
  t.strictSame(await readAll(app, shop.stock), [])

  const call = { headers: { 'idempotency-key': '"1"' } }
  const send = () => batch([
    { id: 'o', method: 'POST', path: '/orders', content: { customer: 7 } },
    { method: 'POST', path: '/lines', content: { sku: 'A1', quantity: 2 }, refs: { '/orderId': 'o#/id' } },
    { method: 'GET', path: '/lines?orderId={o#/id}' },
    { method: 'POST', path: '/orders/{o#/id}/submit' },
    { method: 'POST', path: '/orders/sum' }
  ], call)
  const [order, line, list, submitted, sum] = await send()
  t.equal(order.status, 201)
  t.equal(line.content.orderId, order.content.id)
  t.strictSame(list.content, [line.content])
  t.equal(submitted.content.status, 'submitted')
  t.strictSame(sum.content, { count: 1 })
  t.strictSame(await send(), [order, line, list, submitted, sum])

  const path = `/orders/${order.content.id}` as const
  const error = await batch([
    { method: 'DELETE', path: `/lines/${line.content.id}` },
    { id: 'late', method: 'PATCH', path, ifMatch: order.etag, content: { status: 'open' } }
  ]).catch((error: unknown) => error)
  t.ok(error instanceof ResponseError)
  t.match(error, {
    status: 409,
    code: 'batch-failed',
    content: { part: { index: 1, id: 'late' }, problem: { code: 'precondition-failed' } }
  })
  t.equal((await readAll(app, shop.lines)).length, 1)
  t.strictSame(seen, ['1', '1', '1', '1'])
})
