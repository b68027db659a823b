import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { test } from 'tap'
import collection, { define, json, problem } from '../../lib/index.ts'
import { action } from '../../lib/features/action.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { relate } from '../../lib/relations/relate.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { xml } from '../../lib/formats/xml.ts'
import { convertSchema } from '../../lib/schema/standard-schema.ts'
import type { ObjectSchema } from '../../lib/schema/static.ts'
import { memory } from '../../lib/storage/memory.ts'
import { root } from '../example.ts'
import * as libraries from './starters.ts'

// The collections of the starters articles, users and products, with schemas of each library. The requests and what
// they lead to are the same, and so is the OpenAPI document.

type Schemas = Readonly<Record<keyof typeof libraries.typebox, ObjectSchema>>

/** The options of the starters, apart from those that do not concern the schema. */
function defineStarters (schemas: Schemas) {
  const writers = define({ name: 'authors', schema: schemas.Author, storage: memory(), formats: [json, xml] })
  const unrelated = define({
    name: 'articles',
    schema: schemas.Article,
    unique: ['slug'],
    storage: memory(),
    formats: [json, xml],
    list: { order: ['-createdAt'], search: ['title', 'text'] },
    hooks: {
      beforeValidation: ({ item }) => {
        const slug = String(item.title).toLowerCase().replace(/[^a-z0-9]+/g, '-')
        return { ...item, slug, publishedAt: item.publishedAt ?? null }
      }
    }
  }).with(action('publish', {
    when: ({ item }) => item.status === 'draft' || 'The article is published already.',
    run: ({ item }) => ({ ...item, status: 'published', publishedAt: '2026-01-31T12:00:00Z' })
  }))
  const { authors, articles } = relate(
    { authors: writers, articles: unrelated },
    { articles: { author: { to: 'authors', property: 'authorId' } } }
  )
  const users = define({
    name: 'users',
    schema: schemas.User,
    unique: ['email'],
    storage: memory(),
    formats: [json, xml],
    list: { search: ['name', 'email'] },
    access: {
      authenticate: ({ request }) => String(request.headers.authorization ?? 'anonymous'),
      allow: 'public',
      visible: { email: ({ caller }) => caller !== 'stranger' }
    },
    hooks: {
      beforeValidation: ({ item, before }) => {
        const password = item.password === before?.password ? item.password : `hash of ${String(item.password)}`
        return { ...item, email: String(item.email).toLowerCase(), password }
      }
    }
  }).with(action('grant', {
    description: 'Changes the role of a user.',
    input: schemas.Grant,
    run: ({ item, input }) => ({ ...item, role: input.role })
  }))
  const products = define({
    name: 'products',
    schema: schemas.Product,
    id: { property: 'sku', generate: 'client' },
    storage: memory(),
    formats: [json, xml],
    put: { create: true },
    list: { search: ['name'] }
  })
    .with(bulk({ maximum: 500 }), idempotency())
    .with(action('purchase', {
      input: schemas.Purchase,
      output: schemas.Receipt,
      run ({ item, input }) {
        const quantity = Number(input.quantity)
        const left = Number(item.stock) - quantity
        if (left < 0) throw problem('conflict', { detail: 'The stock is not sufficient.' })
        return { item: { ...item, stock: left }, output: { sku: item.sku, quantity, total: '1.00', left } }
      }
    }))
  return [authors, articles, users, products]
}

async function build (schemas: Schemas): Promise<FastifyInstance> {
  const app = Fastify({ routerOptions: { maxParamLength: 300 } })
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Starters', version: '1' } } })
  for (const definition of defineStarters(schemas)) await app.register(collection, definition)
  await app.ready()
  return app
}

/** `{author}` in a URL or in content is the id of the item that was created with that name. */
interface Probe extends InjectOptions {
  readonly as?: string
}

const article = { authorId: '{ada}', title: 'On engines' }
const user = { email: 'Ada@example.com', name: 'Ada', password: 'correct horse' }
const product = { sku: 'pen-1', name: 'Pen', price: '1.50' }
const uuid = '0199a8f0-5c1e-7b3a-9d42-6f1e2a3b4c5d'
const patch = (url: string, payload: object, headers: object = {}): Probe => (
  { method: 'PATCH', url, payload, headers: { 'content-type': 'application/merge-patch+json', ...headers } }
)

const probes: readonly Probe[] = [
  // Authors: an optional property, and unknown ones.
  { method: 'POST', url: '/authors', payload: { name: 'Ada' }, as: 'ada' },
  { method: 'POST', url: '/authors', payload: { name: 'Ada', about: 'x'.repeat(2001), nme: 1 } },
  { method: 'POST', url: '/authors', payload: {} },
  { method: 'POST', url: '/authors', payload: { name: null, about: null } },
  { method: 'POST', url: '/authors', payload: [] },
  { method: 'POST', url: '/authors', payload: 'text', headers: { 'content-type': 'application/json' } },
  { method: 'POST', url: '/authors', payload: { id: 'mine', name: 'Own id' }, as: 'own' },
  patch('/authors/{ada}', { about: 'Wrote a program.' }),
  patch('/authors/{ada}', { about: null }),
  patch('/authors/{ada}', { name: null }),
  patch('/authors/{ada}', { id: uuid }),
  { method: 'PUT', url: '/authors/{ada}', payload: { id: '{ada}', name: 'Ada L.' } },
  { method: 'PUT', url: '/authors/{ada}', payload: { id: uuid, name: 'Ada L.' } },
  { method: 'GET', url: '/authors/not-a-uuid' },
  { method: 'GET', url: `/authors/${uuid}` },
  // Articles: read-only properties that hooks and actions set, a default, an enumeration, a nullable date.
  { method: 'POST', url: '/articles', payload: article, as: 'article' },
  { method: 'POST', url: '/articles', payload: { ...article, title: '', text: 1, authorId: 'nobody' } },
  { method: 'POST', url: '/articles', payload: { ...article, title: 'Other', status: 'published', publishedAt: 'now' } },
  { method: 'POST', url: '/articles', payload: article },
  { method: 'GET', url: '/articles?status=draft&sort=title' },
  { method: 'GET', url: '/articles?status=nonsense' },
  { method: 'GET', url: '/articles?createdAt.gte=2020-01-01T00:00:00%2B01:00&sort=title&fields=title,text' },
  { method: 'GET', url: '/articles?createdAt.gte=yesterday' },
  { method: 'GET', url: '/articles?publishedAt.null=true&q=engines&expand=author&sort=title' },
  { method: 'GET', url: '/articles?authorId=nobody' },
  { method: 'GET', url: '/articles?unknown=1' },
  patch('/articles/{article}', { title: 'On analytical engines' }),
  patch('/articles/{article}', { status: 'published' }),
  patch('/articles/{article}', { text: null }),
  { method: 'PUT', url: '/articles/{article}', payload: { ...article, title: 'On looms' } },
  { method: 'POST', url: '/articles/{article}/publish' },
  { method: 'POST', url: '/articles/{article}/publish' },
  { method: 'GET', url: '/articles/{article}', headers: { accept: 'application/xml' } },
  { method: 'GET', url: '/articles?publishedAt=2026-01-31T13:00:00%2B01:00' },
  // Users: formats, a write-only password, properties that some callers do not see, an action with input.
  { method: 'POST', url: '/users', payload: user, as: 'user' },
  { method: 'POST', url: '/users', payload: { ...user, email: 'not an address', password: 'short', role: 'admin' } },
  { method: 'POST', url: '/users', payload: { ...user, email: `${'a'.repeat(200)}@example.com` } },
  { method: 'POST', url: '/users', payload: { ...user, email: 1, name: 2, password: 3 } },
  { method: 'POST', url: '/users', payload: user },
  { method: 'POST', url: '/users', payload: user, headers: { authorization: 'stranger' } },
  { method: 'GET', url: '/users/{user}' },
  { method: 'GET', url: '/users/{user}', headers: { authorization: 'stranger' } },
  { method: 'GET', url: '/users?password=x' },
  { method: 'GET', url: '/users?email=a', headers: { authorization: 'stranger' } },
  patch('/users/{user}', { name: 'Ada L.' }),
  patch('/users/{user}', { name: '' }, { authorization: 'stranger' }),
  patch('/users/{user}', { name: 'Countess' }, { authorization: 'stranger' }),
  patch('/users/{user}', { email: 'b@example.com' }, { authorization: 'stranger' }),
  patch('/users/{user}', { password: 'short' }),
  patch('/users/{user}', { createdAt: '2020-01-01T00:00:00Z' }),
  { method: 'PUT', url: '/users/{user}', payload: { email: 'ada@example.com', name: 'Ada' } },
  { method: 'POST', url: '/users/{user}/grant', payload: { role: 'admin' } },
  { method: 'POST', url: '/users/{user}/grant', payload: { role: 'owner' } },
  { method: 'POST', url: '/users/{user}/grant', payload: { role: 1, more: true } },
  { method: 'POST', url: '/users/{user}/grant' },
  // Products: ids of clients, a pattern, decimals as strings, integers, several items, input and output of an action.
  { method: 'POST', url: '/products', payload: product },
  { method: 'POST', url: '/products', payload: product },
  { method: 'POST', url: '/products', payload: { ...product, sku: 'No spaces', price: '1.5', stock: -1 } },
  { method: 'POST', url: '/products', payload: { ...product, sku: 'x'.repeat(51), price: 1.5, stock: 1.5 } },
  { method: 'POST', url: '/products', payload: { ...product, sku: 'pen-2', stock: 1_000_001 } },
  { method: 'POST', url: '/products', payload: [{ ...product, sku: 'a' }, { ...product, sku: 'b', stock: 5 }] },
  { method: 'POST', url: '/products', payload: [{ ...product, sku: 'c' }, { ...product, sku: 'D' }, {}] },
  { method: 'PUT', url: '/products/cup', payload: { name: 'Cup', price: '9.90', stock: 10 } },
  { method: 'PUT', url: '/products/cup', payload: { sku: 'mug', name: 'Cup', price: '9.90' } },
  { method: 'PUT', url: '/products/cup', payload: { name: 'Cup', price: '9.90', stock: 10 } },
  patch('/products/cup', { sku: 'mug' }),
  patch('/products/cup', { price: '10.00', stock: 3 }),
  patch('/products/cup', { stock: '3' }),
  patch('/products/cup', { stock: null }),
  { method: 'GET', url: '/products?stock.gte=1&sort=-stock&limit=1&count=true' },
  { method: 'GET', url: '/products?stock=many' },
  { method: 'POST', url: '/products/cup/purchase' },
  { method: 'POST', url: '/products/cup/purchase', payload: { quantity: 2 } },
  { method: 'POST', url: '/products/cup/purchase', payload: { quantity: 2 } },
  { method: 'POST', url: '/products/cup/purchase', payload: { quantity: 0 } },
  { method: 'POST', url: '/products/cup/purchase', payload: { quantity: 'two', more: 1 } },
  { method: 'DELETE', url: '/products/cup' },
  { method: 'OPTIONS', url: '/products' }
]

/** What changes with each run: ids, times and entity tags. */
function normalize (text: string, ids: ReadonlyMap<string, string>): string {
  let result = text
  for (const [name, id] of ids) result = result.replaceAll(id, `{${name}}`)
  return result
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g, '{uuid}')
    .replace(/20\d\d-\d\d-\d\dT[\d:.]+Z/g, '{time}')
    .replace(/cursor=[\w-]+/g, 'cursor={cursor}')
}

const headerNames = ['content-type', 'location', 'allow', 'accept-patch', 'link', 'vary', 'cache-control']

/** Sends all requests, and returns what the responses say. */
async function probe (app: FastifyInstance): Promise<string[]> {
  const ids = new Map<string, string>()
  const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (whole, name: string) => ids.get(name) ?? whole)
  const seen: string[] = []
  for (const { as, ...request } of probes) {
    const payload = typeof request.payload === 'object' ? JSON.parse(fill(JSON.stringify(request.payload))) : undefined
    const url = fill(String(request.url))
    const response = await app.inject({ ...request, url, payload: payload ?? request.payload } as InjectOptions)
    if (as !== undefined) ids.set(as, String(response.json<{ id: string }>().id))
    const headers = headerNames.filter((name) => name in response.headers)
    const described = headers.map((name) => `${name}: ${String(response.headers[name])}`)
    const etag = 'etag' in response.headers ? 'etag' : 'no etag'
    const lines = [`${request.method} ${request.url}`, response.statusCode, ...described, etag, response.body]
    seen.push(normalize(lines.join('\n'), ids))
  }
  return seen
}

/** The order of the names of properties in an object, and in `required`, says nothing. */
function sortKeys (value: unknown, key?: string): unknown {
  if (Array.isArray(value)) return key === 'required' ? value.toSorted() : value.map((element) => sortKeys(element))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1)
  return Object.fromEntries(entries.map(([name, inner]) => [name, sortKeys(inner, name)]))
}

/** The schemas of TypeBox, with their properties in the order of another library: arktype sorts them. */
function orderLike (theirs: Schemas): Schemas {
  const ordered = Object.entries(libraries.typebox).map(([name, schema]) => {
    const names = Object.keys({ ...convertSchema(name, theirs[name as keyof Schemas]).schema.properties })
    const own = new Map(Object.entries<object>(schema.properties))
    const properties = Object.fromEntries(names.map((key) => [key, own.get(key)]))
    return [name, { ...schema, properties, required: names.filter((key) => schema.required?.includes(key as never)) }]
  })
  return Object.fromEntries(ordered)
}

test('the starters respond in the same way, whatever the library of their schemas is', async (t) => {
  const { typebox, ...others } = libraries
  for (const [library, schemas] of Object.entries(others)) {
    const reference = await build(orderLike(schemas))
    t.after(() => reference.close())
    const app = await build(schemas)
    t.after(() => app.close())
    const expected = await probe(reference)
    const found = await probe(app)
    const statuses = new Set(found.map((lines) => lines.split('\n')[1]))
    t.strictSame([...statuses].sort(), ['200', '201', '204', '400', '404', '409', '422'], 'the probe covers these')
    for (const [index, lines] of found.entries()) t.equal(lines, expected[index], `${library}: ${lines.split('\n')[0]}`)
    t.strictSame(sortKeys(app.swagger()), sortKeys(reference.swagger()), `${library}: the OpenAPI document`)
  }
})

/** The schemas of a file of a starter, which has dependencies of its own. */
function readSchemas (file: string): Record<string, object> {
  const paragraphs = readFileSync(join(root, 'examples', file), 'utf8').split('\n\n')
  const schemas = paragraphs.filter((paragraph) => /^const \w+ = Type\./.test(paragraph))
  const names = schemas.map((paragraph) => /\w+(?= =)/.exec(paragraph)![0])
  // eslint-disable-next-line no-new-func
  return new Function('Type', `${schemas.join('\n')}\nreturn { ${names.join()} }`)(Type)
}

test('the schemas are those of the starters', async (t) => {
  const { Article, Author, User, Product, Purchase, Receipt } = libraries.typebox
  t.strictSame(readSchemas('articles/src/articles.ts'), { Article })
  t.strictSame(readSchemas('articles/src/authors.ts'), { Author })
  t.strictSame(readSchemas('users/src/account.ts').User, User)
  t.strictSame(readSchemas('products/src/products.ts'), { Product, Purchase, Receipt })
})
