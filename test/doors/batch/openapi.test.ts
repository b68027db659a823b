import swagger from '@fastify/swagger'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import Fastify from 'fastify'
import { test } from 'tap'
import { batch } from '../../../lib/doors/batch/batch.ts'
import collection from '../../../lib/index.ts'
import type { Definition } from '../../../lib/index.ts'
import { defineShop, sendBatch } from './shop.ts'

type Json = Record<string, any>

test('the document describes the batch, and its responses match', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Shop', version: '1' } } })
  const { orders, lines, stock } = defineShop({ access: { authenticate: () => 'ada' } })
  for (const definition of [orders, lines, stock] as Definition[]) await app.register(collection, definition)
  await app.register(batch, { collections: [orders, lines], maximum: 7, prefix: '/v1' })
  await app.register(batch, { collections: [stock], path: '/stock-changes' })
  await app.register(batch, { collections: [orders], path: '/strict', idempotency: { required: true } })
  await app.ready()
  const document = app.swagger() as Json
  const { post } = document.paths['/v1/batch']
  t.equal(post.operationId, 'v1.batch')
  t.strictSame(post.tags, ['batch'])
  t.match(post.description, /at \/orders, \/lines\./)
  t.equal(post.requestBody.content['application/json'].schema.maxItems, 7)
  t.strictSame(Object.keys(post.responses).sort(), [
    '200', '400', '401', '403', '406', '409', '413', '415', '422', '500', '503'
  ])
  const getParameters = (path: string) => document.paths[path].post.parameters.map((parameter: Json) => {
    return parameter.name ?? parameter.$ref.split('/').at(-1)
  })
  t.strictSame(getParameters('/v1/batch'), ['dryRun', 'IdempotencyKey'])
  t.strictSame(getParameters('/stock-changes'), ['dryRun'])
  t.strictSame(getParameters('/strict'), ['dryRun', 'IdempotencyKeyRequired'])
  t.notMatch(document.components.responses.Conflict.description, /batch-failed/)
  t.equal(document.paths['/stock-changes'].post.operationId, 'stock.changes')
  t.strictSame(Object.keys(document.paths['/v1/batch']), ['post'])

  const ajv = addFormats.default(new Ajv2020({ strict: false }))
  ajv.addSchema({ $id: 'https://example.com/document', components: document.components })
  const check = (schema: object, value: unknown) => {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"https://example.com/document#/components')
    const validate = ajv.compile(JSON.parse(text))
    t.ok(validate(value), JSON.stringify(validate.errors))
  }
  const parts = [
    { id: 'o', method: 'POST', path: '/orders', content: { customer: 1 } },
    { method: 'POST', path: '/lines', content: { sku: 'a', quantity: 1 }, refs: { '/orderId': 'o#/id' } },
    { method: 'GET', path: '/lines?orderId={o#/id}&count=true' }
  ]
  check(post.requestBody.content['application/json'].schema, parts)
  const done = await sendBatch(app, parts, { url: '/v1/batch' })
  t.equal(done.statusCode, 200)
  check(post.responses['200'].content['application/json'].schema, done.json())
  const refused = await sendBatch(app, [{ ...parts[0], content: {} }], { url: '/v1/batch' })
  t.equal(refused.statusCode, 409)
  check(document.components.responses.BatchFailed.content['application/problem+json'].schema, refused.json())
})
