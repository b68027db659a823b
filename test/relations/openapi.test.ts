import { Type } from '@sinclair/typebox'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { test } from 'tap'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { define } from '../define.ts'
import { defineBlog, serveBlog } from './blog.ts'
import { buildDocument } from './document.ts'
import type { Document, Json, Operation, Parameter, Schema } from './document.ts'
import { defineRental } from './rental.ts'

/** Returns a function that validates values by a schema of the document. */
function createValidator (document: Document): (schema: Schema, value: unknown) => string[] {
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }))
  const id = 'https://example.com/document'
  ajv.addSchema({ $id: id, components: document.components })
  return (schema, value) => {
    const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', `"${id}#/`)) as Json)
    return validate(value) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
}

function getParameters ({ parameters }: Operation): Map<string, Parameter> {
  // Those of headers are components.
  return new Map(parameters.filter(({ name }) => name !== undefined).map((parameter) => [parameter.name, parameter]))
}

/** A value that the schema of a parameter allows. */
function buildValue ({ type, format, items, enum: choices }: Schema): string {
  if (items !== undefined) return buildValue(items)
  if (choices !== undefined) return String(choices[0])
  if (format === 'date-time') return '2026-01-01T00:00:00Z'
  return type === 'string' ? 'a' : type === 'boolean' ? 'true' : '1'
}

test('operations document expand, what it includes, and filters and orders by related items', async (t) => {
  const document = await buildDocument(t, defineBlog())
  const list = document.paths['/articles']!.get!
  const parameters = getParameters(list)
  const paths = parameters.get('expand')!.schema.items!.enum!
  t.ok(['author', 'comments.author', 'comments.author.manager', 'author.articles.comments'].every((path) => paths.includes(path)))
  t.notOk(paths.some((path) => String(path).split('.').length > 3), 'three levels')
  t.match(parameters.get('expand')!.description, /author, editor, comments/)

  const included = [...parameters.keys()].filter((name) => name.startsWith('expand.'))
  t.strictSame(included, [
    'expand.author.fields', 'expand.editor.fields',
    'expand.comments.limit', 'expand.comments.sort', 'expand.comments.fields', 'expand.comments.count'
  ])
  t.match(parameters.get('expand.comments.limit')!.schema, { minimum: 0, maximum: 100, default: 3 })
  t.ok(parameters.get('expand.comments.sort')!.schema.items!.enum!.includes('-author.name'))

  const conditions = [...parameters.keys()].filter((name) => /^(?:author|editor|comments)\./.test(name))
  t.strictSame(conditions, [
    'author.name', 'author.country', 'author.email', 'author.managerId', 'author.updatedAt',
    'editor.name', 'editor.country', 'editor.email', 'editor.managerId', 'editor.updatedAt',
    'comments.some.id', 'comments.some.text', 'comments.some.authorId', 'comments.some.isSpam',
    'comments.count', 'comments.count.gte'
  ])
  t.equal(parameters.get('comments.some.text')!.description, 'Only items with some comments whose text equals this value')
  t.equal(parameters.get('comments.count.gte')!.description, 'Only items with at least this many comments')
  t.match(list.description, new RegExp('can be about any of their properties, have operators, such as author\\.name\\.in, ' +
    'use none instead of some, such as comments\\.none\\.id, and follow further relations, up to 3 levels\\.$'))
  const plain = [...parameters.keys()].findIndex((name) => name === 'id.ne')
  t.ok([...parameters.keys()].slice(plain).every((name) => /^\w+\.(?:ne|lte?|gte?|n?in|i?like|null)$/.test(name)), 'operators are last')
  const orders = parameters.get('sort')!.schema.items!.enum!
  t.ok(orders.includes('author.name') && orders.includes('-author.name') && !orders.includes('comments.id'))

  const read = getParameters(document.paths['/articles/{id}']!.get!)
  t.ok(read.has('expand') && read.has('expand.comments.limit') && !read.has('author.country') && !read.has('sort'))
  for (const method of ['put', 'patch', 'delete']) {
    t.notOk(getParameters(document.paths['/articles/{id}']![method]!).has('expand'), method)
  }
})

test('every documented path, condition and order is accepted', async (t) => {
  const app = await serveBlog(t)
  const document = await buildDocument(t, defineBlog())
  for (const path of ['/users', '/articles', '/comments']) {
    const parameters = getParameters(document.paths[path]!.get!)
    for (const name of ['expand', 'sort']) {
      for (const choice of parameters.get(name)!.schema.items!.enum!) {
        const { statusCode, body } = await app.inject({ url: path, query: { [name]: String(choice), limit: '1' } })
        t.equal(statusCode, 200, `${path} ${name}=${choice}: ${statusCode === 200 ? '' : body}`)
      }
    }
    for (const { name, schema } of parameters.values()) {
      if (!/^\w+\.(?!eq|ne|lt|lte|gt|gte|in|nin|like|null)\w/.test(name)) continue
      const [, relation] = /^expand\.(\w+)\./.exec(name) ?? []
      const query = { [name]: buildValue(schema), ...relation !== undefined && { expand: relation } }
      const { statusCode, body } = await app.inject({ url: path, query })
      t.equal(statusCode, 200, `${path} ${name}: ${statusCode === 200 ? '' : body}`)
    }
  }
})

test('responses with included items match the schemas of the document', async (t) => {
  const app = await serveBlog(t)
  const document = await buildDocument(t, defineBlog())
  const validate = createValidator(document)
  const expand = 'author.manager,editor,comments.author.articles'
  const options = 'expand.comments.limit=2&expand.comments.count=true'
  for (const [path, url] of [
    ['/articles', `/articles?expand=${expand}&${options}&limit=3`],
    ['/articles/{id}', `/articles/a1?expand=${expand}&${options}`],
    ['/articles/{id}', '/articles/a1']
  ] as const) {
    const schemas = document.paths[path]!.get!.responses['200']!.content
    for (const accept of ['application/json', 'application/hal+json']) {
      const content = (await app.inject({ url, headers: { accept } })).json() as unknown
      t.strictSame(validate(schemas[accept]!.schema, content), [], `${accept} ${url}`)
    }
  }
  const { schema } = document.paths['/articles/{id}']!.get!.responses['200']!.content['application/json']!
  const article = (await app.inject(`/articles/a1?expand=${expand}`)).json() as Json
  const { author, comments } = article as { author: Json, comments: { items: Json[] } }
  t.strictNotSame(validate(schema, { ...article, author: { ...author, name: 1 } }), [], 'the schema is that of the user')
  t.strictNotSame(validate(schema, { ...article, comments: comments.items }), [], 'a list is a page')
  const embedding = document.paths['/articles/{id}']!.get!.responses['200']!.content['application/hal+json']!.schema
  const { _embedded, ...resource } = (await app.inject({
    url: `/articles/a1?expand=${expand}`,
    headers: { accept: 'application/hal+json' }
  })).json() as Json
  t.strictSame(validate(embedding, { ...resource, _embedded }), [])
  t.strictNotSame(validate(embedding, { ...resource, _embedded: { author } }), [], 'an embedded item has links')
  t.strictNotSame(validate(schema, { ...article, comments: { items: [{ ...comments.items[0], author: 1 }] } }), [], 'deeper')
})

test('the content of QUERY is described with nested filters and options of what is included', async (t) => {
  const app = await serveBlog(t)
  const document = await buildDocument(t, defineBlog())
  const validate = createValidator(document)
  const { schema } = document.paths['/articles']!.query!.requestBody!.content['application/json']!
  const queries: Array<[content: object, isValid: boolean]> = [
    [{ filter: { author: { country: 'AT', manager: { name: 'Bob' } } } }, true],
    [{ filter: { 'author.country': 'AT', comments: { some: { 'text.like': 'c*', author: { country: 'AT' } } } } }, true],
    [{ filter: { any: [{ comments: { 'count.gte': 3 } }, { not: { comments: { none: { isSpam: true } } } }] } }, true],
    [{ expand: ['author', 'comments.author'], sort: ['-author.name'] }, true],
    [{ expand: { author: true, comments: { limit: 1, filter: { isSpam: false }, expand: { author: { fields: ['name'] } } } } }, true],
    [{ filter: { author: { nme: 'Ada' } } }, false],
    [{ filter: { comments: { every: { isSpam: true } } } }, false],
    [{ filter: { comments: { text: 'c1' } } }, false],
    [{ expand: { writer: true } }, false],
    [{ expand: { comments: { limit: 'all' } } }, false],
    [{ expand: ['writer'] }, false],
    [{ sort: ['comments.text'] }, false]
  ]
  for (const [content, isValid] of queries) {
    const text = JSON.stringify(content)
    t.equal(validate(schema, content).length === 0, isValid, text)
    const headers = { 'content-type': 'application/json' }
    const { statusCode } = await app.inject({ method: 'QUERY' as 'POST', url: '/articles', headers, payload: text })
    t.equal(statusCode, isValid ? 200 : 422, text)
  }
})

test('a document grows with the number of relations, not of paths', async (t) => {
  const one = memory()
  const rental = await buildDocument(t, defineRental(() => one))
  t.ok(JSON.stringify(rental).length < 1_500_000, `15 collections: ${JSON.stringify(rental).length} characters`)
  const expand = getParameters(rental.paths['/rentals']!.get!).get('expand')!.schema.items!
  t.equal(expand.enum, undefined, 'too many paths to list them')
  const pattern = new RegExp(expand.pattern!, 'u')
  t.ok(pattern.test('customer') && pattern.test('customer.store.manager'))
  t.notOk(pattern.test('client') || pattern.test('customer.store.manager.store'))

  // Each collection refers to all others, and has many properties.
  const names = Array.from({ length: 12 }, (_, index) => `c${index}`)
  const keys = names.map((name) => `${name}Id`)
  const extra = Array.from({ length: 20 }, (_, index) => `p${index}`)
  const properties = Object.fromEntries(['id', ...keys, ...extra].map((name) => [name, Type.String()]))
  const definitions = Object.fromEntries(names.map((name) => {
    return [name, define({ name, schema: Type.Object(properties), id: { generate: 'client' }, storage: one })]
  }))
  const relations = Object.fromEntries(names.map((name) => {
    return [name, Object.fromEntries(names.map((other) => [`${other}One`, { to: other, property: `${other}Id` }]))]
  }))
  const dense = await buildDocument(t, relate(definitions, relations as Parameters<typeof relate>[1]))
  const parameters = [...getParameters(dense.paths['/c0']!.get!).values()]
  t.ok(parameters.filter(({ name }) => /^c\d+One\./.test(name)).length <= 240, 'conditions about related items')
  const sort = parameters.find(({ name }) => name === 'sort')!.schema.items!
  const sortPattern = new RegExp(sort.pattern!, 'u')
  t.ok(['p0', '-p0', 'c3One.p1', '-c3One.p1'].every((name) => sortPattern.test(name)))
  t.notOk(sortPattern.test('p99') || sortPattern.test('other.p1'))
  t.ok(parameters.every(({ schema }) => (schema.items?.enum?.length ?? 0) <= 100), 'choices')
  t.ok(JSON.stringify(dense).length < 3_500_000, `12 collections with 144 relations: ${JSON.stringify(dense).length} characters`)
})

test('OpenAPI 3.0 describes a related item that can be null in a way that generators understand', async (t) => {
  const { components: { schemas } } = await buildDocument(t, defineBlog(), '3.0.3')
  t.strictSame(schemas.ArticlesItem!.properties!.author, {
    type: 'object', nullable: true, allOf: [{ $ref: '#/components/schemas/UsersItem' }]
  })
  t.notMatch(JSON.stringify(schemas), '"enum":[null]')
  const { components: newer } = await buildDocument(t, defineBlog(), '3.1.0')
  t.strictSame(newer.schemas.ArticlesItem!.properties!.author, {
    anyOf: [{ $ref: '#/components/schemas/UsersItem' }, { type: 'null' }]
  })
})
