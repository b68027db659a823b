import { Type } from '@sinclair/typebox'
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { test } from 'tap'
import collection, { json } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import { batch } from '../../lib/doors/batch/batch.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { xml } from '../../lib/formats/xml.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { request as send } from '../app.ts'
import { define } from '../define.ts'

// An item that was read with its related items can be sent back as it is: the names of relations are ignored.

const Author = Type.Object({ id: Type.String(), name: Type.String() })
const Article = Type.Object({
  id: Type.String(),
  title: Type.String(),
  authorId: Type.Union([Type.String(), Type.Null()]),
  editorId: Type.Optional(Type.String()),
  createdAt: Type.String({ format: 'date-time', readOnly: true })
})
const Comment = Type.Object({ id: Type.String(), text: Type.String(), articleId: Type.String() })

const isEditor = ({ request }: { request: FastifyRequest | undefined }) => request?.headers['x-editor'] !== undefined

interface Closing {
  after (close: () => Promise<unknown>): void
}

async function serve (t: Closing) {
  const one = memory()
  const options = { id: { generate: 'client' }, storage: one, formats: [json, xml] } as const
  const definitions = relate({
    authors: define({ name: 'authors', schema: Author, ...options }),
    articles: define({
      name: 'articles',
      schema: Article,
      ...options,
      put: { create: true },
      access: { allow: 'public', visible: { editorId: isEditor } }
    }).with(bulk({ update: true })),
    comments: define({ name: 'comments', schema: Comment, ...options })
  }, {
    articles: {
      author: { to: 'authors', property: 'authorId' },
      editor: { to: 'authors', property: 'editorId' },
      comments: { to: 'comments', by: 'articleId', limit: 1 }
    }
  })
  const app: FastifyInstance = Fastify()
  t.after(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Articles', version: '1.0.0' } } })
  await app.register(registry)
  for (const definition of Object.values(definitions)) await app.register(collection, definition)
  await app.register(batch, { collections: Object.values(definitions) })
  for (const [line, content] of [
    ['POST /authors', { id: 'ada', name: 'Ada' }],
    ['POST /articles', { id: 'a', title: 'One', authorId: 'ada', editorId: 'ada' }],
    ['POST /articles', { id: 'b', title: 'Two', authorId: null }],
    ['POST /comments', { id: 'c', text: 'First', articleId: 'a' }],
    ['POST /comments', { id: 'd', text: 'Second', articleId: 'a' }]
  ] as const) {
    const fields = { 'x-editor': '1' }
    const { statusCode, body } = await send(app, line, { content, fields })
    if (statusCode !== 201) throw new Error(body)
  }
  return { app, definitions }
}

const expanded = '/articles/a?expand=author,comments&expand.comments.count=true'

/** Reads the article with its related items. */
async function readExpanded (app: FastifyInstance): Promise<Record<string, unknown>> {
  return (await send(app, `GET ${expanded}`)).json()
}

test('what was read with expand can be sent back with PUT, PATCH, POST and JSON Patch', async (t) => {
  const { app } = await serve(t)
  const item = await readExpanded(app)
  t.match(item, { author: { name: 'Ada' }, comments: { items: [{ id: 'c' }], total: 2 } })
  const { author, comments } = item
  for (const [line, content, type, status] of [
    ['PUT /articles/a', { ...item, title: 'Put' }, 'application/json', 200],
    ['PUT /articles/new', { ...item, id: 'new', title: 'Put' }, 'application/json', 201],
    ['PATCH /articles/a', { ...item, title: 'Merged' }, 'application/merge-patch+json', 200],
    ['PATCH /articles/a', { title: 'Null', author: null, comments: null }, 'application/json', 200],
    ['PATCH /articles/a', [
      { op: 'add', path: '/author', value: author },
      { op: 'replace', path: '/author/name', value: 'Eve' },
      { op: 'replace', path: '/title', value: 'Patched' },
      { op: 'add', path: '/comments', value: comments }
    ], 'application/json-patch+json', 200],
    ['POST /articles', { ...item, id: 'posted' }, 'application/json', 201]
  ] as const) {
    const { statusCode, body } = await send(app, line, { content, type })
    t.equal(statusCode, status, `${line}: ${body}`)
    const stored = JSON.parse(body) as Record<string, unknown>
    t.strictSame([stored.author, stored.comments, stored.title], [undefined, undefined, Reflect.get(content, 'title') ?? 'Patched'])
    t.equal(stored.authorId, 'ada')
  }
  t.strictSame((await send(app, 'GET /authors')).json(), [{ id: 'ada', name: 'Ada' }], 'no related item is written')

  const many = await send(app, 'POST /articles', { content: [{ ...item, id: 'm1' }, { ...item, id: 'm2' }] })
  t.equal(many.statusCode, 201, many.body)
  const matching = await send(app, 'PATCH /articles?id.in=m1,m2', { content: { title: 'All', author } })
  t.equal(matching.statusCode, 200, matching.body)
})

test('what was read as XML with expand can be sent back', async (t) => {
  const { app } = await serve(t)
  const type = 'application/xml'
  const { body } = await send(app, `GET ${expanded}`, { fields: { accept: type } })
  t.match(body, /<author type="object">.*<name>Ada<\/name>.*<comments type="object"><items/)
  const put = await send(app, 'PUT /articles/a', { content: body.replace('One', 'Put'), type })
  t.match([put.statusCode, put.json()], [200, { title: 'Put', authorId: 'ada' }])
})

test('calls from code and parts of a batch ignore the names of relations as well', async (t) => {
  const { app, definitions } = await serve(t)
  const articles = app.collection(definitions.articles)
  const { item } = await articles.read('a', { expand: { author: true, comments: true } })
  t.match(item, { author: { name: 'Ada' } })
  const patched = await articles.update('a', { ...item, title: 'Code' } as object)
  t.strictSame([patched.item.title, 'author' in patched.item], ['Code', false])
  const replaced = await articles.replace('a', { ...item, title: 'Again' })
  t.strictSame([replaced.item.title, 'comments' in replaced.item], ['Again', false])
  const created = await articles.createMany([{ ...item, id: 'x' }, { ...item, id: 'y' }])
  t.strictSame(created.map(({ item }) => 'author' in item), [false, false])

  const content = { ...await readExpanded(app), title: 'Batch' }
  const parts = [
    { method: 'PUT', path: '/articles/a', content },
    { method: 'PATCH', path: '/articles/a', content },
    { method: 'POST', path: '/articles', content: { ...content, id: 'z' } }
  ]
  const { statusCode, body } = await send(app, 'POST /batch', { content: parts })
  t.equal(statusCode, 200, body)
  t.strictSame((await send(app, 'GET /articles/a')).json().title, 'Batch')
})

test('all other names are unknown, and so are relations that the caller does not see', async (t) => {
  const { app } = await serve(t)
  const item = await readExpanded(app)
  const editor = { id: 'ada', name: 'Ada' }
  for (const [added, fields, pointers] of [
    [{ authors: {} }, {}, ['/authors']],
    [{ comment: {} }, {}, ['/comment']],
    [{ editor }, {}, ['/editor']],
    [{ editor }, { 'x-editor': '1' }, undefined]
  ] as const) {
    for (const method of ['PUT', 'PATCH']) {
      const answer = await send(app, `${method} /articles/a`, { content: { ...item, ...added }, fields: { ...fields } })
      t.equal(answer.statusCode, pointers === undefined ? 200 : 422, answer.body)
      const { errors } = answer.json()
      t.strictSame(errors?.map(({ pointer }: { pointer: string }) => pointer), pointers, method)
    }
  }
})

test('a patch keeps a stored property that has the name of a relation, if the schema accepts any', async (t) => {
  const one = memory()
  const options = { id: { generate: 'client' }, storage: one } as const
  const notes = define({
    name: 'notes', schema: Type.Object({ id: Type.String(), userId: Type.String() }, { additionalProperties: true }), ...options
  })
  const app: FastifyInstance = Fastify()
  t.after(() => app.close())
  await app.register(collection, notes)
  await send(app, 'POST /notes', { content: { id: 'n', userId: 'u', user: 'stored' } })
  const users = define({ name: 'users', schema: Author, ...options })
  const later: FastifyInstance = Fastify()
  t.after(() => later.close())
  for (const definition of Object.values(relate({ users, notes }, { notes: { user: { to: 'users', property: 'userId' } } }))) {
    await later.register(collection, definition)
  }
  const patched = await send(later, 'PATCH /notes/n', { content: { user: { id: 'u' }, more: 1 } })
  t.strictSame(patched.json(), { id: 'n', userId: 'u', user: 'stored', more: 1 })
})

test('the schemas of requests in OpenAPI have no related items, as they have no readOnly properties', async (t) => {
  const { app } = await serve(t)
  await app.ready()
  const { components } = app.swagger() as unknown as {
    components: { schemas: Record<string, { properties?: Record<string, unknown> }> }
  }
  const names = (schema: string) => Object.keys(components.schemas[schema]?.properties ?? {})
  for (const kind of ['Create', 'Replace', 'Patch']) {
    t.strictSame(names(`Articles${kind}`), ['id', 'title', 'authorId', 'editorId'], kind)
  }
})
