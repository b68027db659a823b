import Fastify from 'fastify'
import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { client, StaleError } from '../../lib/client/client.ts'
import collection, { define } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { listen } from '../wire.ts'

export const blog = relate({
  users: define({
    name: 'users',
    schema: Type.Object({ id: Type.String(), name: Type.String(), country: Type.String() }),
    storage: memory()
  }),
  articles: define({
    name: 'articles',
    schema: Type.Object({ id: Type.String(), title: Type.String(), authorId: Type.String() }),
    storage: memory()
  }),
  comments: define({
    name: 'comments',
    schema: Type.Object({
      id: Type.String(),
      text: Type.String(),
      limit: Type.Integer(),
      articleId: Type.String(),
      authorId: Type.String()
    }),
    storage: memory()
  })
}, {
  articles: {
    author: { to: 'users', property: 'authorId' },
    comments: { to: 'comments', by: 'articleId' }
  },
  comments: { author: { to: 'users', property: 'authorId' } }
})

interface SentRequest {
  readonly method: string
  /** The query string, decoded. */
  readonly query: string
  readonly ifMatch: string | undefined
  readonly body: unknown
}

/** Starts a service whose items have other entity tags with `expand`, and records the requests that it receives. */
async function start (t: { after (close: () => Promise<unknown>): void }) {
  const requests: SentRequest[] = []
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  app.addHttpMethod('QUERY', { hasBody: true, overrideExisting: true })
  app.addHook('preHandler', async ({ method, url, headers, body }) => {
    const query = decodeURIComponent(url.split('?')[1] ?? '')
    requests.push({ method, query, ifMatch: headers['if-match'], body })
  })
  app.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, async (_: unknown, text: string) => {
    return JSON.parse(text) as unknown
  })
  const item = { id: '1', title: 'x', authorId: '2' }
  const author = { id: '2', name: 'Ada', country: 'AT' }
  app.route({ method: ['GET', 'QUERY'], url: '/articles', handler: async () => [{ ...item, author }] })
  app.get('/articles/1', async ({ query }, reply) => {
    const isExpanded = 'expand' in Object(query)
    reply.header('etag', isExpanded ? '"1-author"' : '"1"')
    return isExpanded ? { ...item, author } : item
  })
  app.patch('/articles/1', async (request, reply) => {
    reply.header('etag', '"2"')
    return { ...item, ...Object(request.body) }
  })
  const articles = client<typeof blog.articles>(`http://127.0.0.1:${await listen(app)}/articles`)
  return { articles, requests }
}

test('expand with paths is one parameter, next to the filters of relations', async (t) => {
  const { articles, requests } = await start(t)
  const query = {
    expand: ['author', 'comments.author'],
    filter: { author: { country: 'AT' }, comments: { some: { 'text.like': '*x*' }, 'count.gte': 3 } },
    sort: ['author.name', '-title']
  } as const
  for await (const { item } of articles.list(query)) t.equal(item.author?.name, 'Ada')
  t.equal(
    requests[0]?.query,
    'sort=author.name,-title&author.country=AT&comments.some.text.like=*x*&comments.count.gte=3' +
      '&expand=author,comments.author'
  )
})

test('expand with an object is the paths, and a parameter for each option', async (t) => {
  const { articles, requests } = await start(t)
  const pages = articles.pages({
    limit: 2,
    expand: {
      author: true,
      comments: {
        limit: 5,
        sort: ['-id', 'text'],
        fields: ['id', 'text'],
        count: true,
        filter: { 'text.like': '*x*', limit: 1, 'id.in': ['a,b', 'c'], author: { country: 'AT' } },
        expand: { author: { fields: ['name'] } }
      }
    }
  })
  for await (const { entries } of pages) t.equal(entries.length, 1)
  t.strictSame(requests[0]?.query.split('&'), [
    'limit=2',
    'expand.comments.limit=5',
    'expand.comments.sort=-id,text',
    'expand.comments.fields=id,text',
    'expand.comments.count=true',
    'expand.comments.text.like=*x*',
    'expand.comments.limit.eq=1',
    'expand.comments.id.in=a\\,b,c',
    'expand.comments.author.country=AT',
    'expand.comments.author.fields=name',
    'expand=author,comments,comments.author'
  ])
})

test('an expansion that names nothing is left out', async (t) => {
  const { articles, requests } = await start(t)
  await articles.list({ expand: [] }).next()
  await articles.list({ expand: {} }).next()
  await articles.read('1', { expand: {} })
  // Without exactOptionalPropertyTypes, an option can be undefined.
  await articles.read('1', { expand: { author: undefined } as unknown as Record<never, never> })
  t.strictSame(requests.map(({ query }) => query), ['', '', '', ''])
})

test('what a query string cannot express is sent with QUERY, with the objects of expand', async (t) => {
  const { articles, requests } = await start(t)
  const expand = { comments: { filter: { not: { text: 'x' } } } } as const
  const filter = { comments: { none: {} } }
  await articles.list({ expand, filter, limit: 2 }).next()
  t.match(requests[0], { method: 'QUERY', query: '', body: { expand, filter, limit: 2 } })
  await t.rejects(articles.read('1', { expand }), { name: 'TypeError', message: /^The filter of expand must be one/ })
  const twice = { author: { country: 'AT' }, 'author.country': 'CH' }
  await articles.list({ filter: twice }).next()
  t.match(requests[1], { method: 'QUERY', body: { filter: twice } })
  t.equal(requests.length, 2)
})

test('a server without entries has another tag with expand, so such an item is read and compared', async (t) => {
  const { articles, requests } = await start(t)
  const expanded = await articles.read('1', { expand: ['author'] })
  t.match(expanded, { id: '1', tag: undefined, item: { author: { name: 'Ada' } } })
  t.match(requests[0], { method: 'GET', query: 'expand=author' })
  await articles.update(expanded, { title: 'y' })
  t.match(requests.slice(1), [{ method: 'GET', query: '' }, { method: 'PATCH', ifMatch: '"1"' }])
})

test('with entries, an item that was read with others has the tag of the item alone', async (t) => {
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  for (const each of Object.values(blog)) await app.register(collection, each)
  const origin = `http://127.0.0.1:${await listen(app)}`
  const users = client<typeof blog.users>(`${origin}/users`)
  const articles = client<typeof blog.articles>(`${origin}/articles`)
  const ada = await users.create({ name: 'Ada', country: 'AT' })
  const alone = await articles.create({ title: 'x', authorId: ada.item.id })
  const expanded = await articles.read(alone, { expand: ['author'] })
  t.equal(expanded.item.author?.name, 'Ada')
  t.equal(expanded.tag, alone.tag)
  for (const filter of [{ author: { country: 'AT' } }, { any: [{ author: { country: 'AT' } }] }]) {
    const { value } = await articles.list({ filter, expand: { author: { fields: ['name'] } } }).next()
    t.match(value, { tag: alone.tag, item: { title: 'x', author: { name: 'Ada' } } })
  }
  t.match(await articles.update(expanded, { title: 'y' }), { item: { title: 'y' } })
  await t.rejects(articles.update(alone, { title: 'z' }), StaleError)
})
