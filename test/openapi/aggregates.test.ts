import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import { aggregates } from '../../lib/features/aggregates.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import collection, { define } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import { relate } from '../../lib/relations/relate.ts'
import { getValidator } from '../../lib/schema/validation.ts'
import { memory } from '../../lib/storage/memory.ts'
import { request } from '../app.ts'

const Order = Type.Object({
  id: Type.String({ format: 'uuid', maxLength: 36 }),
  status: Type.Union([Type.Literal('open'), Type.Literal('paid')]),
  country: Type.Union([Type.String({ maxLength: 2 }), Type.Null()]),
  place: Type.Optional(Type.Union([Type.Object({ city: Type.String({ maxLength: 50 }) }), Type.Null()])),
  customerId: Type.Optional(Type.Integer()),
  total: Type.Integer({ minimum: 0, readOnly: false, default: 0 }),
  weight: Type.Optional(Type.Number()),
  at: Type.String({ format: 'date-time' }),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})

interface Described {
  operationId: string
  summary: string
  parameters: Array<{ name: string, in: string, description?: string, schema: Record<string, unknown> }>
  responses: Record<string, {
    content?: Record<string, { schema: { $ref: string }, example: unknown }>
    headers?: object
  }>
}

for (const openapi of ['3.0.3', '3.1.0', '3.2.0']) {
  test(`OpenAPI ${openapi} describes the parameters, the groups and the problems of an aggregate`, async (t) => {
    const app = Fastify()
    t.after(() => app.close())
    await app.register(swagger, { openapi: { openapi, info: { title: 'Shop', version: '1.0.0' } } })
    await app.register(registry)
    const customers = define({ name: 'customers', schema: Type.Object({ id: Type.Integer() }), id: { generate: 'client' }, storage: memory() })
    const orders = define({ name: 'orders', schema: Order, storage: memory(), list: { search: ['country'] } }).with(
      aggregates({
        by: ['status', 'country', 'place.city', 'at.month'],
        of: { total: ['sum', 'avg', 'max'], weight: ['sum'], country: ['distinct', 'min'] },
        maximum: 50
      }),
      softDelete({ property: 'deletedAt', allow: () => true })
    )
    const related = relate({ orders, customers }, { orders: { customer: { to: 'customers', property: 'customerId' } } })
    await app.register(collection, related.orders)
    await app.register(collection, related.customers)
    await app.ready()
    const document = app.swagger() as unknown as {
      paths: Record<string, Record<string, Described>>
      components: { schemas: Record<string, object> }
    }
    t.strictSame(Object.keys(document.paths['/orders/aggregate']!), ['get'])
    const { get } = document.paths['/orders/aggregate'] as { get: Described }
    t.strictSame([get.operationId, get.summary], ['orders.aggregate', 'Aggregate orders'])
    t.equal(document.paths['/orders']!.get!.operationId, 'orders.list')
    const names = get.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name)
    t.strictSame(names.slice(0, 10), ['by', 'count', 'distinct', 'sum', 'avg', 'min', 'max', 'sort', 'limit', 'deleted'])
    t.ok(names.includes('q'))
    t.ok(names.includes('status'))
    t.ok(names.includes('total.gte'))
    for (const name of ['cursor', 'offset', 'fields', 'expand']) t.notOk(names.includes(name), name)
    t.ok(get.parameters.every(({ description, $ref }: { description?: string, $ref?: string }) => description ?? $ref))
    const find = (name: string) => get.parameters.find((parameter) => parameter.name === name)!.schema
    t.strictSame(find('by'), {
      type: 'array',
      items: { type: 'string', enum: ['status', 'country', 'place.city', 'at.month'] },
      minItems: 1,
      maxItems: 4,
      uniqueItems: true
    })
    t.strictSame((find('sum').items as { enum: string[] }).enum, ['total', 'weight'])
    t.match((find('sort').items as { enum: string[] }).enum, ['status', '-status'])
    t.match(find('limit'), { maximum: 50, default: 50 })
    t.strictSame(
      Object.keys(get.responses),
      ['200', '304', '400', '406', '412', '414', '500', '503']
    )
    t.notOk('X-Total-Count' in get.responses[200]!.headers!)
    const { schema: { $ref }, example } = get.responses[200]!.content!['application/json']!
    t.equal($ref, '#/components/schemas/OrdersGroups')
    t.ok(example)
    if (openapi === '3.0.3') return
    const validate = getValidator(document.components.schemas.OrdersGroups! as never)
    await app.collection(related.orders).create({ status: 'open', country: null, at: '2026-01-01T00:00:00Z', total: 1 })
    await app.collection(related.orders).create({ status: 'paid', country: 'AT', place: { city: 'Graz' }, at: '2026-01-01T00:00:00Z', weight: 0.5 })
    for (const search of [
      '', 'by=status,country,place.city,at.month&sum=total,weight&avg=total&max=total&distinct=country&min=country',
      'by=place.city&count=true&sum=weight', 'sum=weight&country.null=true'
    ]) {
      const answer = await request(app, `GET /orders/aggregate?${search}`)
      t.equal(answer.statusCode, 200)
      t.equal(validate(answer.json()), undefined, search)
    }
    t.ok(validate({ groups: [{ by: { status: 'other' } }], more: false }), 'the schema refuses other values')
    t.ok(validate({ groups: [{ by: {}, sum: { country: 1 } }], more: false }))
  })
}
