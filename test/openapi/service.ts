import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import rateLimit from '@fastify/rate-limit'
import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import collection, { json } from '../../lib/index.ts'
import { html } from '../../lib/formats/html.ts'
import { memory } from '../../lib/storage/memory.ts'
import { action } from '../../lib/features/action.ts'
import { aggregates } from '../../lib/features/aggregates.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { relate } from '../../lib/relations/relate.ts'
import { within } from '../../lib/features/within.ts'
import { define } from '../define.ts'

// Four collections that use most features, in an app that documents what only it can know.

const stamp = Type.String({ format: 'date-time', maxLength: 30, readOnly: true })
const uuid = { format: 'uuid', maxLength: 36 }
const line = (maxLength: number) => ({ minLength: 1, maxLength, pattern: '^[^\\u0000]*$' })

const allUsers = define({
  name: 'users',
  schema: Type.Object(
    {
      id: Type.String({ ...uuid, readOnly: true }),
      email: Type.String({ format: 'email', maxLength: 254 }),
      name: Type.String(line(100)),
      role: Type.Union([Type.Literal('reader'), Type.Literal('author')], { default: 'reader' }),
      password: Type.Optional(Type.String({ ...line(100), writeOnly: true })),
      nickname: Type.Optional(Type.Union([Type.String(line(20)), Type.Null()])),
      createdAt: stamp,
      updatedAt: stamp
    },
    { title: 'User', description: 'Who reads and writes' }
  ),
  unique: ['email'],
  cache: 'max-age=60',
  storage: memory()
}).with(
  aggregates({ by: ['role', 'nickname', 'createdAt.month'], of: { name: ['min', 'distinct'] }, maximum: 100 }),
  action('rename', {
    input: Type.Object({ name: Type.String(line(100)) }),
    when: ({ item }) => item.role === 'author' || 'Only authors can be renamed.',
    run: ({ item, input }) => ({ ...item, ...input })
  }),
  action('summary', {
    on: 'collection',
    safe: true,
    description: 'Returns how many users there are.',
    input: Type.Object({ role: Type.Optional(Type.String(line(10))) }),
    output: Type.Object({ count: Type.Integer({ format: 'int32', minimum: 0, maximum: 1000 }) }),
    run: () => ({ output: { count: 1 } })
  })
)

const Place = Type.Object({
  city: Type.String(line(80)),
  at: Type.Optional(
    Type.Tuple([Type.Number({ minimum: -90, maximum: 90 }), Type.Number({ minimum: -180, maximum: 180 })])
  )
})

const allArticles = define({
  name: 'articles',
  schema: Type.Object({
    id: Type.String({ ...uuid, readOnly: true }),
    author: Type.String({ ...uuid, immutable: true }),
    slug: Type.String({ maxLength: 80, pattern: '^[a-z0-9]+(-[a-z0-9]+)*$' }),
    title: Type.String(line(200)),
    tags: Type.Array(Type.String(line(30)), { maxItems: 10, uniqueItems: true, default: [] }),
    written: Type.Optional(Place),
    kind: Type.Literal('article'),
    updatedAt: stamp
  }),
  list: { search: ['title'] },
  storage: memory()
})

export const { users, articles } = relate(
  { users: allUsers, articles: allArticles },
  { articles: { writer: { to: 'users', property: 'author' } } }
)

export const products = define({
  name: 'products',
  schema: Type.Object(
    {
      sku: Type.String({ maxLength: 8, pattern: '^[A-Z]{3}-\\d{4}$', description: 'What it is ordered by' }),
      name: Type.String(line(100)),
      price: Type.String({ maxLength: 12, pattern: '^\\d+\\.\\d{2}$' }),
      stock: Type.Integer({ format: 'int32', minimum: 0, maximum: 1_000_000 }),
      weight: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1000 })),
      sizes: Type.Optional(
        Type.Array(
          Type.Object({
            label: Type.String(line(10)),
            stock: Type.Integer({ format: 'int32', minimum: 0, maximum: 1000 })
          }),
          { maxItems: 20 }
        )
      )
    },
    { $id: 'Product' }
  ),
  id: { property: 'sku', generate: 'client' },
  put: { create: true },
  etag: { required: true },
  storage: memory()
}).with(bulk({ maximum: 50 }))

export const goods = define({
  name: 'goods',
  formats: [json, html],
  schema: Type.Object({ id: Type.String({ ...uuid, readOnly: true }), label: Type.String(line(100)) }),
  storage: memory()
})

interface Described {
  headers?: Record<string, unknown>
}

/**
 * What only the app knows: where it runs, who may call it, how often, and from which origins. docs/openapi.md
 * shows the same.
 */
export async function service (version = '3.1.0'): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  await app.register(rateLimit, { global: false })
  await app.register(swagger, {
    openapi: {
      openapi: version,
      info: {
        title: 'Example',
        version: '1.0.0',
        description: 'Users, articles and products',
        contact: { name: 'Ada', email: 'ada@example.com', url: 'https://example.com/' },
        license: { name: 'MIT', url: 'https://example.org/license' }
      },
      servers: [{ url: 'https://api.example.org', description: 'Production', 'x-internal': false } as { url: string }],
      security: [{ token: [] }],
      components: {
        securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'An opaque token' } },
        headers: {
          'Access-Control-Allow-Origin': {
            description: 'The pages that may read the answer',
            schema: { type: 'string', maxLength: 100, format: 'uri' }
          },
          RateLimit: {
            description: 'How often one may still ask',
            schema: { type: 'string', maxLength: 100, pattern: '^[ -~]*$' }
          }
        }
      }
    },
    transformObject: (generated) => {
      if (!('openapiObject' in generated)) return generated.swaggerObject
      const { openapiObject: document } = generated
      const shared = {
        'Access-Control-Allow-Origin': { $ref: '#/components/headers/Access-Control-Allow-Origin' },
        RateLimit: { $ref: '#/components/headers/RateLimit' }
      }
      const operations = Object.values(document.paths ?? {}).flatMap(
        (item) => Object.values(item ?? {}) as Array<{ responses: Record<string, Described> }>
      )
      for (const answer of [
        ...(Object.values(document.components?.responses ?? {}) as Described[]),
        ...operations.flatMap(({ responses }) => Object.values(responses))
      ]) {
        if (!('$ref' in answer)) answer.headers = { ...answer.headers, ...shared }
      }
      return document
    }
  })
  for (const each of [users, articles.with(within(users, 'author')), articles, products, goods]) {
    await app.register(collection, each)
  }
  return app
}
