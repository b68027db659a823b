import fc from 'fast-check'
import { test } from 'tap'
import { defineShop, readAll, sendBatch, serveShop } from './shop.ts'

// Whatever a client sends, the response is a result or a problem of the client, and never a half-written batch.

const words = fc.constantFrom(
  'o', 'p', '/orders', '/orders/{o#/id}', '/stock/a', '/stock/{o#/id}', '/lines?orderId={o#/id}', 'o#/id', 'o#', 'o#/tags/0',
  '/customer', '/tags/-', '', '/', '//', '/{', '/%2F', '/stock/%00', '/stock/..', '/orders/sum', 'GET', 'POST', 'PUT', 'PATCH',
  'DELETE', '*', '"x"', '__proto__', '/__proto__', 'constructor', 'toString', '/toString'
)
const values = fc.oneof(
  { weight: 5, arbitrary: words },
  { weight: 2, arbitrary: fc.constantFrom({ customer: 1 }, { customer: 1, tags: ['a'] }, { id: 'a', left: 1 }, { left: 2 }) },
  fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text) as unknown)
)
const content = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom({ customer: 1 }, { customer: 1, tags: ['a'] }, { id: 'a', left: 1 }, { left: 2 }) },
  values
)
const part = fc.record({
  method: fc.oneof({ weight: 40, arbitrary: fc.constantFrom('GET', 'POST', 'POST', 'PUT', 'PATCH', 'DELETE') }, values),
  path: fc.oneof({ weight: 20, arbitrary: fc.constantFrom('/orders', '/stock', '/stock/a', '/orders/{o#/id}') }, words),
  content,
  refs: fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(undefined, { '/customer': 'o#/customer' }, { '/tags/-': 'o#/id', '/x/y': 'o#' }) },
    fc.dictionary(words, words),
    values
  ),
  ifMatch: fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, words),
  ifNoneMatch: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, words)
}, { requiredKeys: ['method', 'path'] }).map((given) => {
  const { content, refs, ...rest } = given
  return given.method === 'GET' || given.method === 'DELETE' ? rest : given
})
const first = { id: 'o', method: 'POST', path: '/orders', content: { customer: 1, tags: ['a'] } }
const batches = fc.oneof(
  { weight: 9, arbitrary: fc.array(part, { maxLength: 3 }).map((parts) => [first, ...parts.map(toLater)]) },
  values
)

/** Its id would be that of the first part. */
function toLater (given: object, index: number): object {
  return { ...given, id: `p${index}` }
}

test('random input never fails, and a refused batch writes nothing', async (t) => {
  const shop = defineShop()
  const app = await serveShop(t, shop)
  const readState = async () => JSON.stringify([await readAll(app, shop.orders), await readAll(app, shop.stock)])
  const statuses = new Map<number, number>()
  await fc.assert(fc.asyncProperty(batches, async (given) => {
    const before = await readState()
    const { statusCode, body } = await sendBatch(app, JSON.stringify(given) ?? 'null')
    statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
    if (statusCode >= 500) throw new Error(body)
    if (statusCode !== 200 && before !== await readState()) throw new Error(`half written: ${body}`)
  }), { numRuns: 500 })
  t.ok(statuses.size > 2, JSON.stringify([...statuses]))
})
