import Fastify from 'fastify'
import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { client } from '../../lib/client/client.ts'
import { define } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { listen } from '../wire.ts'

export const { articles: definition } = relate({
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
  readonly ifNoneMatch: string | undefined
}

/** Starts a service whose items have other entity tags with `expand`, and records the requests that it receives. */
async function start (t: { after (close: () => Promise<unknown>): void }) {
  const requests: SentRequest[] = []
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  app.addHook('onRequest', async ({ method, url, headers }) => {
    const query = decodeURIComponent(url.split('?')[1] ?? '')
    requests.push({ method, query, ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] })
  })
  app.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, async (_: unknown, text: string) => {
    return JSON.parse(text) as unknown
  })
  const item = { id: '1', title: 'x', authorId: '2' }
  const author = { id: '2', name: 'Ada', country: 'AT' }
  app.get('/articles', async () => [{ ...item, author }])
  app.get('/articles/1', async ({ query }, reply) => {
    const isExpanded = 'expand' in Object(query)
    reply.header('etag', isExpanded ? '"1-author"' : '"1"')
    return isExpanded ? { ...item, author } : item
  })
  app.patch('/articles/1', async (request, reply) => {
    reply.header('etag', '"2"')
    return { ...item, ...Object(request.body) }
  })
  const articles = client<typeof definition>(`http://127.0.0.1:${await listen(app)}/articles`)
  return { articles, requests }
}

test('expand with paths is one parameter, next to flat filters', async (t) => {
  const { articles, requests } = await start(t)
  const query = {
    expand: ['author', 'comments.author'],
    'author.country': 'AT',
    'comments.some.text.like': '*x*',
    'comments.count.gte': 3,
    sort: ['author.name', '-title']
  } as const
  for await (const article of articles.list(query)) t.equal(article.author?.name, 'Ada')
  t.equal(
    requests[0]?.query,
    'author.country=AT&comments.some.text.like=*x*&comments.count.gte=3&sort=author.name,-title' +
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
        filter: { 'text.like': '*x*', 'limit.eq': 1, 'id.in': ['a,b', 'c'], 'author.country': 'AT' },
        expand: { author: { fields: ['name'] } }
      }
    }
  })
  for await (const { items } of pages) t.equal(items.length, 1)
  t.strictSame(requests[0]?.query.split('&'), [
    'limit=2',
    'expand=author,comments,comments.author',
    'expand.comments.limit=5',
    'expand.comments.sort=-id,text',
    'expand.comments.fields=id,text',
    'expand.comments.count=true',
    'expand.comments.text.like=*x*',
    'expand.comments.limit.eq=1',
    'expand.comments.id.in=a\\,b,c',
    'expand.comments.author.country=AT',
    'expand.comments.author.fields=name'
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

test('a write of an item that was read with others uses the entity tag of the item alone', async (t) => {
  const { articles, requests } = await start(t)
  const expanded = await articles.read('1', { expand: ['author'] })
  t.equal(expanded.author?.name, 'Ada')
  t.match(requests[0], { method: 'GET', query: 'expand=author' })
  await articles.update(expanded, { title: 'y' })
  t.match(requests.slice(1), [{ method: 'GET', query: '' }, { method: 'PATCH', ifMatch: '"1"' }])
})

test('an item is read with others although it has not changed', async (t) => {
  const { articles, requests } = await start(t)
  const alone = await articles.read('1')
  t.equal((await articles.read(alone, { expand: ['author'] })).author?.name, 'Ada')
  t.equal(requests[1]?.ifNoneMatch, undefined)
})
