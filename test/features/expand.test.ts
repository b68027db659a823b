import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import type { Test } from 'tap'
import { memory } from '../../lib/storage/memory.ts'
import { expand } from '../../lib/features/expand.ts'
import { build, modified, request } from '../app.ts'
import { controlClock } from '../clock.ts'
import { define } from '../define.ts'

const Author = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  password: Type.String({ writeOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})
const Article = Type.Object({
  id: Type.Integer(),
  authorId: Type.Union([Type.Integer(), Type.Null()]),
  editorId: Type.Optional(Type.Integer()),
  title: Type.String(),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})
const updatedAt = '2026-01-01T00:00:00.000Z'

async function open (t: Test) {
  const filters: unknown[] = []
  const storage = modified(({ list, insert }) => {
    for (const [id, name] of [
      [1, 'Ann'],
      [2, 'Bob']
    ] as const) {
      insert({ id, name, password: 'secret', updatedAt }, { signal: new AbortController().signal, scope: undefined })
    }
    return {
      list: (query, context) => {
        filters.push(query.filter)
        if (context.signal.aborted) throw new Error('gone')
        return list(query, context)
      }
    }
  })
  const authors = define({ name: 'authors', schema: Author, id: { generate: 'storage' }, storage })
  const articles = define({
    name: 'articles',
    schema: Article,
    id: { generate: 'storage' },
    storage: memory({
      items: [
        { id: 1, authorId: 1, editorId: 2, title: 'A', updatedAt },
        { id: 2, authorId: 1, title: 'B', updatedAt },
        { id: 3, authorId: null, title: 'C', updatedAt },
        { id: 4, authorId: 9, title: 'D', updatedAt }
      ]
    })
  }).with(
    expand({
      author: { collection: authors, property: 'authorId' },
      editor: { collection: authors, property: 'editorId' }
    })
  )
  return { app: await build(t, [authors, articles]), filters }
}

const ann = { id: 1, name: 'Ann', updatedAt }

test('expand embeds related items without hidden properties, with one query per relation', async (t) => {
  const { app, filters } = await open(t)
  const items = (await request(app, 'GET /articles?expand=author,editor')).json()
  t.strictSame(
    items.map(({ author }: { author: unknown }) => author),
    [ann, ann, null, null]
  )
  t.strictSame(
    items.map(({ editor }: { editor: { name: string } | null }) => editor?.name),
    ['Bob', undefined, undefined, undefined]
  )
  t.strictSame(filters, [
    { property: 'id', is: 'in', value: [1, 9] },
    { property: 'id', is: 'in', value: [2] }
  ])
  t.strictSame((await request(app, 'GET /articles/3?expand=author')).json().author, null)
  t.equal(filters.length, 2, 'without references, no list is read')
  t.strictSame((await request(app, 'GET /articles/1?expand=author&fields=title')).json(), { title: 'A', author: ann })
  t.strictSame((await request(app, 'GET /articles?expand=author&fields=title&limit=1')).json(), [
    { title: 'A', author: ann }
  ])
  t.strictSame(
    (await request(app, 'GET /articles/1?expand=author', { fields: { accept: 'application/hal+json' } })).json().author,
    ann
  )
  const query = await request(app, 'QUERY /articles', { content: { expand: ['author'], filter: { title: 'B' } } })
  t.strictSame(query.json()[0].author, ann)
  t.equal(query.headers['content-location'], '/articles?title=B&expand=author')
})

test('the ETag of an expanded item changes with the related item, and Last-Modified is omitted', async (t) => {
  const clock = controlClock(t)
  const { app } = await open(t)
  clock.advance(120_000)
  for (const url of ['/articles/1?expand=author', '/articles?expand=author']) {
    const before = await request(app, `GET ${url}`)
    t.notOk('last-modified' in before.headers, url)
    const fields = { 'if-none-match': String(before.headers.etag) }
    t.equal((await request(app, `GET ${url}`, { fields })).statusCode, 304)
    t.equal(
      (await request(app, `GET ${url}`, { fields: { 'if-modified-since': new Date().toUTCString() } })).statusCode,
      200
    )
    t.equal((await request(app, 'PATCH /authors/1', { content: { name: `Ann of ${url}` } })).statusCode, 200)
    t.equal((await request(app, `GET ${url}`, { fields })).statusCode, 200)
  }
  const selected = await request(app, 'GET /articles/1?fields=title')
  t.ok('last-modified' in selected.headers)
  t.equal(
    (await request(app, 'GET /articles/1?fields=title', { fields: { 'if-none-match': String(selected.headers.etag) } }))
      .statusCode,
    304
  )
  t.not(selected.headers.etag, (await request(app, 'GET /articles/1')).headers.etag)
})

test('an unknown relation or parameter returns 400 and is named', async (t) => {
  const { app } = await open(t)
  for (const url of ['/articles?expand=nobody', '/articles/1?expand=nobody', '/articles?expand=']) {
    t.match(
      (await request(app, `GET ${url}`)).json(),
      { status: 400, parameter: 'expand', detail: 'expand must be relations separated by commas: author, editor.' },
      url
    )
  }
  t.match((await request(app, 'QUERY /articles', { content: { expand: 'author' } })).json(), {
    status: 422,
    errors: [{ pointer: '/expand' }]
  })
  t.match((await request(app, 'GET /articles/1?limit=1')).json(), {
    status: 400,
    detail: 'The query parameter "limit" is unknown. Available: fields, expand.'
  })
  t.match((await request(app, 'GET /authors/1?expand=author')).json(), {
    status: 400,
    detail: 'The query parameter "expand" is unknown. Available: fields.'
  })
})

test('invalid relations fail at boot', async (t) => {
  const authors = define({ name: 'authors', schema: Author, id: { generate: 'storage' }, storage: memory() })
  const article = { name: 'articles', schema: Article, id: { generate: 'storage' }, storage: memory() } as const
  const hidden = define({
    name: 'authors',
    schema: Author,
    id: { generate: 'storage' },
    storage: memory(),
    actions: ['list']
  })
  const unfiltered = define({
    name: 'authors',
    schema: Author,
    id: { generate: 'storage' },
    storage: modified(({ supports }) => ({ supports: { ...supports, filter: false } }))
  })
  t.throws(() => define({ ...article }).with(expand({ title: { collection: authors, property: 'authorId' } })), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /has the name of a property/
  })
  // @ts-expect-error a property that is not in the schema
  t.throws(() => define({ ...article }).with(expand({ author: { collection: authors, property: 'writerId' } })), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /Available properties/
  })
  t.throws(() => define({ ...article }).with(expand({ author: { collection: hidden, property: 'authorId' } })), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /cannot be read/
  })
  t.throws(() => define({ ...article }).with(expand({ author: { collection: unfiltered, property: 'authorId' } })), {
    code: 'FST_COLLECTION_UNSUPPORTED'
  })
})
