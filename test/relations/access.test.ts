import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { test } from 'tap'
import { define, json } from '../../lib/index.ts'
import { batch } from '../../lib/doors/batch/batch.ts'
import { aggregates } from '../../lib/features/aggregates.ts'
import { html } from '../../lib/formats/html.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, request as send } from '../app.ts'
import { defineBlog, serveBlog } from './blog.ts'

// What a caller may not read is neither included, nor counted, nor can lists be filtered or sorted by it.

test('a caller gets of related items what it may read', async (t) => {
  const app = await serveBlog(t, defineBlog({ hasRules: true }))
  const read = async (url: string, user?: string) => {
    return (await send(app, `GET ${url}`, { fields: user === undefined ? {} : { 'x-user': user } })).json()
  }
  t.equal((await read('/articles/a1?expand=author')).author, null, 'anonymous callers may not read users')
  t.match((await read('/articles/a1?expand=author', 'ada')).author, { name: 'Ada' })
  t.notOk('email' in (await read('/articles/a1?expand=author', 'ada')).author, 'a hidden property')
  t.equal((await read('/articles/a1?expand=author', 'root')).author.email, 'ada@example.com')
  const total = async (user?: string) => (await read('/articles/a1?expand=comments&expand.comments.limit=0', user)).comments.total
  t.strictSame([await total(), await total('root')], [9, 10], 'rows outside of the scope are not counted')
  t.strictSame(
    (await read('/articles/a1?expand=comments')).comments.items.map(({ id }: { id: number }) => id),
    [2, 3, 6]
  )
  t.strictSame((await read('/users/u1?expand=articles', 'ada')).articles.items.map(({ id }: { id: string }) => id), ['a1'])
})

test('filters and sorts through relations follow the rules of the other collection', async (t) => {
  const app = await serveBlog(t, defineBlog({ hasRules: true }))
  const request = async (query: string, user?: string) => {
    return send(app, `GET /articles?${query}`, { fields: user === undefined ? {} : { 'x-user': user } })
  }
  const ids = async (query: string, user?: string) => {
    return (await request(query, user)).json().map(({ id }: { id: string }) => id)
  }
  t.strictSame(await ids('author.name=Ada', 'ada'), ['a1'])
  t.equal((await request('author.email=ada@example.com', 'ada')).statusCode, 400)
  t.strictSame(await ids('author.email=ada@example.com', 'root'), ['a1'])
  t.equal((await request('sort=author.email', 'ada')).statusCode, 400)
  t.strictSame(await ids('comments.some.text=c5'), [], 'spam does not exist for this caller')
  t.strictSame(await ids('comments.some.text=c5', 'root'), ['a1'])
  t.strictSame(await ids('comments.count=9'), ['a1'])
  t.strictSame(await ids('comments.count=10', 'root'), ['a1'])
  const refused = await request('author.name=Ada')
  const unknown = await request('author.nothing=Ada')
  t.strictSame([refused.statusCode, unknown.statusCode], [400, 400], 'users may not be read')
  t.equal((await request('sort=author.name')).statusCode, 400)
})

test('a hidden property cannot be told from one that does not exist', async (t) => {
  const app = await serveBlog(t, defineBlog({ hasRules: true }))
  const read = async (name: string) => {
    const { statusCode, body } = await send(app, `GET /articles?author.${name}=x`, { fields: { 'x-user': 'ada' } })
    return [statusCode, body.replaceAll(name, '_')]
  }
  t.strictSame(await read('email'), await read('nobod'))
})

test('a hidden relation cannot be told from one that does not exist, wherever a query names it', async (t) => {
  const Doc = Type.Object({ id: Type.String(), ownerId: Type.String(), placeId: Type.String() })
  const Place = Type.Object({ id: Type.String(), name: Type.String() })
  const access = { allow: 'public', visible: { ownerId: () => false } } as const
  const related = relate({
    tasks: define({ name: 'tasks', schema: Doc, storage: memory(), access }),
    docs: define({ name: 'docs', schema: Doc, storage: memory(), access }),
    places: define({ name: 'places', schema: Place, storage: memory() })
  }, {
    tasks: { doc: { to: 'docs', property: 'placeId' } },
    docs: { secret: { to: 'places', property: 'ownerId' }, place: { to: 'places', property: 'placeId' } },
    places: { docs: { to: 'docs', by: 'placeId' }, sorted: { to: 'docs', by: 'ownerId' } }
  })
  const app = await build(t, Object.values(related))
  const queries = [
    '/docs?secret.name=x', '/docs?secret.name.like=x', '/docs?sort=secret.name', '/docs?expand=secret',
    '/docs?expand=place,secret', '/docs?expand=secret&expand.secret.fields=name', '/docs?expand=secret&expand.secret.limit=0',
    '/docs?expand.secret.limit=10', '/tasks?doc.secret.name=x', '/tasks?expand=doc.secret&expand.doc.secret.limit=0',
    '/tasks?expand=doc.secret&expand.doc.secret.fields=name', '/places?docs.some.secret.name=x',
    '/places?expand=docs.secret&expand.docs.secret.limit=0', '/places?expand=docs.secret&expand.docs.secret.name=x',
    '/places?expand=docs&expand.docs.secret.name=x', '/places?expand=docs&expand.docs.sort=secret.name'
  ]
  for (const query of queries) {
    const read = async (name: string) => {
      const { statusCode, body } = await send(app, `GET ${query.replaceAll('secret', name)}`)
      return [statusCode, body.replaceAll(name, '_')]
    }
    const [status, body] = await read('secret')
    t.equal(status, 400, query)
    t.strictSame([status, body], await read('nowhere'), query)
  }
  const contents = [
    { filter: { secret: { name: 'x' } } }, { filter: { 'secret.name': 'x' } }, { sort: ['secret.name'] },
    { expand: ['secret'] }, { expand: { secret: { fields: ['name'] } } },
    { expand: { place: { expand: { docs: { expand: { secret: { limit: 0 } } } } } } }
  ]
  for (const content of contents) {
    const read = async (name: string) => {
      const { statusCode, body } = await send(app, 'QUERY /docs', JSON.parse(JSON.stringify(content).replaceAll('secret', name)))
      return [statusCode, body.replaceAll(name, '_')]
    }
    const [status, body] = await read('secret')
    t.ok(Number(status) >= 400, JSON.stringify(content))
    t.strictSame([status, body], await read('nowhere'), JSON.stringify(content))
  }
})

test('responses that depend on the caller are not stored by shared caches, and have different tags', async (t) => {
  const app = await serveBlog(t, defineBlog({ hasRules: true }))
  const tags = new Set<unknown>()
  for (const user of ['ada', 'root']) {
    const { headers } = await send(app, 'GET /articles/a1?expand=author', { fields: { 'x-user': user } })
    t.notMatch(headers['cache-control'], /public/)
    tags.add(headers.etag)
  }
  t.equal(tags.size, 2)
})

test('code for a caller sees what the caller may see', async (t) => {
  const blog = defineBlog({ hasRules: true })
  const app = await serveBlog(t, blog)
  const { item } = await app.collection(blog.articles)
    .read('a1', { caller: 'ada', expand: { author: true, comments: { limit: 0 } } } as never)
  t.match(item, { author: { name: 'Ada' }, comments: { total: 9 } })
  t.notOk('email' in Object((item as { author?: unknown }).author))
})

const authenticate = ({ request }: { request: FastifyRequest }) => request.headers['x-user']?.toString()

const User = Type.Object({ id: Type.String(), name: Type.String(), teamId: Type.Optional(Type.String()) })
const Team = Type.Object({ id: Type.String(), ownerId: Type.String(), auditorId: Type.Optional(Type.String()) })
const id = { generate: 'client' } as const

test('a response depends on the caller if one of two rules of a related collection does', async (t) => {
  const ada = { id: 'ada', name: 'Ada', teamId: 'a' }
  const app = await build(t, Object.values(relate({
    users: define({
      name: 'users',
      schema: User,
      id,
      storage: memory({ items: [ada] }),
      access: { authenticate, allow: { all: 'public', read: 'authenticated' } },
      cache: { list: 'public, max-age=60' }
    }),
    teams: define({
      name: 'teams',
      schema: Team,
      id,
      storage: memory({ items: [{ id: 'a', ownerId: 'ada' }] }),
      cache: 'public, max-age=60'
    })
  }, {
    teams: { owner: { to: 'users', property: 'ownerId' }, members: { to: 'users', by: 'teamId' } }
  })))
  const read = async (query: string) => {
    const { headers } = await send(app, `GET /teams?${query}`, { fields: { 'x-user': 'ada' } })
    return headers['cache-control']
  }
  t.equal(await read('expand=members'), 'public, max-age=60', 'everyone may list users')
  for (const query of ['expand=owner', 'expand=owner,members', 'owner.name=Ada&members.count=1', 'sort=owner.name']) {
    t.equal(await read(query), 'no-store', query)
  }
})

test('a related collection has its own rules, even if another one has the same name', async (t) => {
  const { people, auditors, teams } = relate({
    people: define({ name: 'users', schema: User, id, storage: memory({ items: [{ id: 'ada', name: 'Ada' }] }) }),
    auditors: define({
      name: 'users',
      schema: User,
      id,
      storage: memory({ items: [{ id: 'eve', name: 'Eve' }] }),
      access: { authenticate, allow: 'authenticated' }
    }),
    teams: define({
      name: 'teams',
      schema: Team,
      id,
      storage: memory({ items: [{ id: 'a', ownerId: 'ada', auditorId: 'eve' }] })
    })
  }, {
    teams: { owner: { to: 'people', property: 'ownerId' }, auditor: { to: 'auditors', property: 'auditorId' } }
  })
  const app = await build(t, [people, { ...auditors, prefix: '/internal' }, teams])
  for (const expand of ['owner,auditor', 'auditor,owner']) {
    const { owner, auditor } = (await send(app, `GET /teams/a?expand=${expand}`)).json()
    t.strictSame([owner.name, auditor], ['Ada', null], expand)
    const { body } = await send(app, `GET /teams/a?expand=${expand}`, { fields: { 'x-user': 'root' } })
    t.match(JSON.parse(body), { owner: { name: 'Ada' }, auditor: { name: 'Eve' } })
  }
})

test('a response varies by what identifies the caller to related collections', async (t) => {
  const id = { generate: 'client' } as const
  const rules = (header: string) => ({
    authenticate: ({ request }: { request: FastifyRequest }) => request.headers[header]?.toString(),
    vary: [header],
    allow: 'authenticated'
  } as const)
  const cache = { list: 'private, max-age=60', read: 'private, max-age=60' } as const
  const Author = Type.Object({ id: Type.String() })
  const Article = Type.Object({ id: Type.String(), authorId: Type.String() })
  const { authors, articles } = relate({
    authors: define({ name: 'authors', schema: Author, id, storage: memory({ items: [{ id: 'ada' }] }), access: rules('x-key'), cache }),
    articles: define({
      name: 'articles', schema: Article, id, storage: memory({ items: [{ id: '1', authorId: 'ada' }] }), access: rules('x-user'), cache
    })
  }, { articles: { author: { to: 'authors', property: 'authorId' } } })
  const app = await build(t, [authors, articles])
  const vary = async (url: string) => {
    const { headers } = await send(app, `GET ${url}`, { fields: { 'x-user': 'ada', 'x-key': '1' } })
    t.equal(headers['cache-control'], 'private, max-age=60')
    return String(headers['vary']).toLowerCase().split(', ')
  }
  t.notOk((await vary('/articles/1')).includes('x-key'))
  t.ok((await vary('/articles/1?expand=author')).includes('x-key'))
  t.ok((await vary('/articles?expand=author')).includes('x-user'))
  t.ok((await vary('/articles?expand=author')).includes('x-key'))
})

test('the strictest policy of all collections that a response depends on is sent', async (t) => {
  const id = { generate: 'client' } as const
  const one = memory()
  const formats = [json, html]
  const open = 'public, max-age=60'
  const Author = Type.Object({ id: Type.String(), name: Type.String(), teamId: Type.String() })
  const News = Type.Object({ id: Type.String({ maxLength: 5 }), authorId: Type.String() })
  const Comment = Type.Object({ id: Type.String(), newsId: Type.String() })
  const related = relate({
    teams: define({ name: 'teams', schema: Type.Object({ id: Type.String() }), id, storage: one, cache: 'public, max-age=10' }),
    authors: define({ name: 'authors', schema: Author, id, storage: one, cache: 'no-store' }),
    news: define({ name: 'news', schema: News, id, storage: one, formats, cache: open }).with(aggregates({ by: ['authorId'] })),
    comments: define({ name: 'comments', schema: Comment, id, storage: one, cache: { list: 'private, max-age=30', read: open } }),
    // With the default policy.
    tags: define({ name: 'tags', schema: Comment, id, storage: one })
  }, {
    authors: { team: { to: 'teams', property: 'teamId' } },
    news: {
      author: { to: 'authors', property: 'authorId' },
      comments: { to: 'comments', by: 'newsId' },
      tags: { to: 'tags', by: 'newsId' }
    },
    comments: { news: { to: 'news', property: 'newsId' } }
  })
  const app = await build(t, Object.values(related))
  await app.register(batch, { collections: Object.values(related) })
  for (const [path, content] of [
    ['teams', { id: 't' }],
    ['authors', { id: 'a', name: 'Ada', teamId: 't' }],
    ['news', { id: 'n', authorId: 'a' }],
    ['comments', { id: 'c', newsId: 'n' }]
  ] as const) t.equal((await send(app, `POST /${path}`, { content })).statusCode, 201)
  for (const [url, policy, withCredentials = policy] of [
    ['/news', open],
    ['/news/n', open],
    ['/news/n?expand=author', 'no-store'],
    ['/news?expand=author', 'no-store'],
    ['/news?author.name=Ada', 'no-store'],
    ['/news?sort=author.name', 'no-store'],
    ['/news?comments.count.gte=1', 'private, max-age=30'],
    ['/news/n?expand=comments', 'private, max-age=30'],
    ['/news/n?expand=comments,author', 'no-store'],
    ['/news/n?expand=tags', 'no-cache', 'no-store'],
    ['/news/aggregate?count=true&by=authorId', open],
    ['/news/aggregate?count=true&author.name=Ada', 'no-store'],
    ['/comments?expand=news', 'private, max-age=30'],
    ['/comments/c?expand=news', open],
    ['/comments/c?expand=news.author', 'no-store'],
    ['/authors/a?expand=team', 'no-store']
  ] as const) {
    const read = async (fields: Record<string, string> = {}) => (await send(app, `GET ${url}`, { fields })).headers
    const { etag, 'cache-control': sent } = await read()
    t.equal(sent, policy, url)
    t.equal((await read({ cookie: 'session=1' }))['cache-control'], withCredentials, url)
    t.equal((await read({ 'if-none-match': String(etag) }))['cache-control'], policy, `${url}: 304`)
  }
  const page = await send(app, 'GET /news/n?expand=author', { fields: { accept: 'text/html' } })
  t.equal(page.headers['cache-control'], 'no-store')
  const parts = [{ method: 'GET', path: '/news/n?expand=author' }]
  const { statusCode, headers } = await send(app, 'POST /batch', { content: parts })
  t.strictSame([statusCode, headers['cache-control']], [200, 'no-store'], 'a batch')
})
