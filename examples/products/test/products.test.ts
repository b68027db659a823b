import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { build } from '../src/app.ts'
import { config } from '../src/config.ts'
import { createTestDatabase } from './database.ts'

async function service (t: TestContext, limit = 10_000) {
  const database = await createTestDatabase()
  const settings = { ...config(), ...database.settings, RATE_LIMIT: limit }
  const app = await build(settings)
  const editor = { authorization: `Bearer ${settings.EDITOR_KEY}` }
  const prefix = `test-${process.pid}-${Math.random().toString(36).slice(2, 8)}`
  t.after(async () => {
    await app.close()
    await database.remove()
  })
  const post = async (url: string, payload: object, headers = {}) =>
    app.inject({ method: 'POST', url, payload, headers: { ...editor, ...headers } })
  const purchase = async (sku: string, payload: object = {}, headers = {}) =>
    app.inject({ method: 'POST', url: `/products/${sku}/purchase`, payload, headers })
  const product = (name: string, stock: number) => ({ sku: `${prefix}-${name}`, name, price: '19.90', stock })
  return { app, editor, post, purchase, product, prefix }
}

test('prices are decimals, exact to the cent', async (t) => {
  const { app, post, purchase, product } = await service(t)
  const loom = product('loom', 7)
  assert.equal((await post('/products', loom)).statusCode, 201)
  assert.equal((await app.inject(`/products/${loom.sku}`)).json().price, '19.90')
  const { total, left } = (await purchase(loom.sku, { quantity: 3 })).json()
  assert.deepEqual({ total, left }, { total: '59.70', left: 4 })
  assert.equal((await post('/products', { ...product('lamp', 1), price: 19.9 })).statusCode, 422)
})

test('everyone reads and buys; other writes require the key of an editor', async (t) => {
  const { app, post, purchase, product } = await service(t)
  const loom = product('loom', 7)
  const url = `/products/${loom.sku}`
  assert.equal((await app.inject({ method: 'POST', url: '/products', payload: loom })).statusCode, 401)
  await post('/products', loom)
  for (const headers of [{}, { authorization: 'Bearer guessed' }]) {
    assert.equal((await app.inject({ method: 'PATCH', url, headers, payload: { price: '0.01' } })).statusCode, 401)
    assert.equal((await app.inject({ method: 'PUT', url, headers, payload: loom })).statusCode, 401)
    assert.equal((await app.inject({ method: 'DELETE', url, headers })).statusCode, 401)
  }
  assert.equal((await app.inject(url)).json().price, '19.90')
  assert.equal((await purchase(loom.sku)).statusCode, 200)
})

test('PATCH requires If-Match, and returns 412 after a purchase', async (t) => {
  const { app, editor, post, purchase, product } = await service(t)
  const { sku } = product('loom', 7)
  const created = await post('/products', product('loom', 7))
  const patch = async (headers: object) =>
    app.inject({ method: 'PATCH', url: `/products/${sku}`, headers: { ...editor, ...headers }, payload: { stock: 8 } })
  assert.equal((await patch({})).statusCode, 428)
  await purchase(sku)
  assert.equal((await patch({ 'if-match': String(created.headers.etag) })).statusCode, 412)
  const { headers } = await app.inject(`/products/${sku}`)
  assert.equal((await patch({ 'if-match': String(headers.etag) })).json().stock, 8)
})

test('of a hundred concurrent buyers, as many succeed as there are pieces', async (t) => {
  const { app, post, purchase, product } = await service(t)
  const { sku } = product('loom', 30)
  await post('/products', product('loom', 30))
  const buyers = await Promise.all(Array.from({ length: 100 }, async () => purchase(sku)))
  assert.equal(buyers.filter(({ statusCode }) => statusCode === 200).length, 30)
  assert.equal(buyers.filter(({ statusCode }) => statusCode === 409).length, 70)
  assert.equal((await app.inject(`/products/${sku}`)).json().stock, 0)
})

test('concurrent purchases and edits lose no update', async (t) => {
  const { app, editor, post, purchase, product } = await service(t)
  const { sku } = product('loom', 0)
  await post('/products', product('loom', 0))
  // Adds one piece to the stock that it has read, and reads again if another write came first.
  const add = async () => {
    for (let attempt = 1; attempt <= 200; attempt++) {
      const seen = await app.inject(`/products/${sku}`)
      const { statusCode } = await app.inject({
        method: 'PATCH',
        url: `/products/${sku}`,
        headers: { ...editor, 'if-match': String(seen.headers.etag) },
        payload: { stock: seen.json().stock + 1 }
      })
      if (statusCode === 200) return
    }
    throw new Error('Other writes always came first.')
  }
  const [sold] = await Promise.all([
    Promise.all(Array.from({ length: 40 }, async () => purchase(sku))),
    Promise.all(Array.from({ length: 10 }, add))
  ])
  const pieces = sold.filter(({ statusCode }) => statusCode === 200).length
  assert.equal((await app.inject(`/products/${sku}`)).json().stock, 10 - pieces)
})

test('a purchase that is sent twice with a key happens once', async (t) => {
  const { app, post, purchase, product, prefix } = await service(t)
  const { sku } = product('loom', 5)
  await post('/products', product('loom', 5))
  const headers = { 'idempotency-key': `"${prefix}-purchase"` }
  const first = await purchase(sku, { quantity: 2 }, headers)
  const again = await purchase(sku, { quantity: 2 }, headers)
  assert.deepEqual(again.json(), first.json())
  assert.equal((await app.inject(`/products/${sku}`)).json().stock, 3)
})

test('a repeated import creates no product twice', async (t) => {
  const { app, post, product, prefix } = await service(t)
  const batch = [product('loom', 1), product('lamp', 2)]
  const headers = { 'idempotency-key': `"${prefix}"` }
  const [first, again] = [await post('/products', batch, headers), await post('/products', batch, headers)]
  assert.deepEqual([first.statusCode, again.statusCode, again.headers['idempotent-replayed']], [201, 201, 'true'])
  assert.equal((await post('/products', batch)).statusCode, 409, 'without the key it is a new request')
  assert.equal((await app.inject(`/products?sku.like=${prefix}*`)).json().length, 2)
})

test('the import script can be run again', async (t) => {
  const { app, prefix } = await service(t)
  const folder = await mkdtemp(join(tmpdir(), 'products-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'products.csv')
  await writeFile(
    file,
    Array.from(
      { length: 1200 },
      (_, number) => `${prefix}-${number},Part ${number},${number}.50,${number % 10}\n`
    ).join('')
  )
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  for (let run = 0; run < 2; run++) {
    const { stderr } = await promisify(execFile)(process.execPath, [
      '--no-warnings',
      'scripts/import.ts',
      file,
      address
    ])
    assert.equal(stderr, '1200 of 1200 products\n')
  }
  const { headers } = await app.inject(`/products?sku.like=${prefix}*&count=true&limit=1`)
  assert.equal(headers['x-total-count'], '1200')
})

test('requests above the rate limit get 429 with Retry-After', async (t) => {
  const { app } = await service(t, 3)
  for (let count = 0; count < 3; count++) assert.equal((await app.inject('/products')).statusCode, 200)
  const { statusCode, headers } = await app.inject('/products')
  assert.equal(statusCode, 429)
  assert.equal(headers['content-type'], 'application/problem+json')
  assert.ok(Number(headers['retry-after']) > 0)
})
