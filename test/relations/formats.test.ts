import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { test } from 'tap'
import collection, { define, json } from '../../lib/index.ts'
import { within } from '../../lib/features/within.ts'
import { hal } from '../../lib/formats/hal.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { defineBlog, serveBlog } from './blog.ts'

interface Link {
  href: string
}

interface Resource extends Record<string, unknown> {
  _links: Record<string, Link>
  _embedded: { items: Resource[], [relation: string]: Resource | Resource[] }
}

/** Returns what a resource embeds for a relation. */
function getEmbedded ({ _embedded }: Resource, relation: string): Resource {
  return _embedded[relation] as Resource
}

async function getHal (app: FastifyInstance, url: string, user?: string): Promise<Resource> {
  const headers = { accept: 'application/hal+json', ...user !== undefined && { 'x-user': user } }
  const response = await app.inject({ url, headers })
  if (response.statusCode !== 200) throw new Error(`${url}: ${response.body}`)
  return response.json()
}

/** Collects the links of a resource and of all resources that it embeds. */
function collectLinks ({ _links, _embedded }: Resource): string[] {
  const inner = Object.values(_embedded ?? {}).flat().flatMap(collectLinks)
  return [...Object.values(_links).map(({ href }) => href), ...inner]
}

test('HAL embeds included items and lists with their links, and JSON does not change', async (t) => {
  const app = await serveBlog(t)
  const url = '/articles/a1?expand=author.manager,editor,comments.author&expand.comments.limit=2&expand.comments.count=true'
  const article = await getHal(app, url)
  t.notOk('author' in article || 'comments' in article, 'only in _embedded')
  t.strictSame(Object.keys(article._embedded), ['author', 'editor', 'comments'])
  const [author, comments] = [getEmbedded(article, 'author'), getEmbedded(article, 'comments')]
  t.match(author, { id: 'u1', name: 'Ada', _links: { self: { href: '/users/u1' }, manager: { href: '/users/u2' } } })
  t.match(author._embedded.manager, { name: 'Bob', _links: { self: { href: '/users/u2' } } })
  t.equal(comments.total, 10)
  t.equal(comments._links.self!.href, '/comments?articleId=a1&expand=author&limit=2')
  t.match(comments._links.next!.href, /^\/comments\?articleId=a1&expand=author&limit=2&cursor=/)
  t.match(comments._embedded.items, [
    { text: 'c2', _links: { self: { href: '/comments/2' } }, _embedded: { author: { name: 'Bob' } } },
    { text: 'c3', _links: { self: { href: '/comments/3' } }, _embedded: { author: { name: 'Ada' } } }
  ])
  for (const href of new Set(collectLinks(article))) t.equal((await app.inject(href)).statusCode, 200, href)
  const next = await getHal(app, comments._links.next!.href)
  t.match(next._embedded.items, [{ id: 5, _embedded: { author: { id: 'u1' } } }, { id: 6 }])

  const plain = (await app.inject(url)).json() as { author: object, comments: { items: object[], total: number } }
  t.match(plain, { author: { name: 'Ada', manager: { name: 'Bob' } }, comments: { total: 10 } })
  t.notOk('_links' in plain.author || '_links' in plain.comments)
})

test('HAL lists embed what each item includes, and leave out what does not exist', async (t) => {
  const app = await serveBlog(t)
  const { _embedded: { items } } = await getHal(app, '/articles?expand=author,comments&expand.comments.limit=0')
  t.strictSame(items.map(({ _embedded }) => Object.keys(_embedded)), [
    ['author', 'comments'], ['author', 'comments'], ['comments'], ['comments']
  ])
  const comments = getEmbedded(items[0]!, 'comments')
  t.strictSame(comments, { _links: { self: { href: '/comments?articleId=a1' } }, total: 10, _embedded: { items: [] } })
  t.equal((await app.inject(comments._links.self!.href)).statusCode, 200)
})

test('HAL links items to what they are related to, without expand', async (t) => {
  const app = await serveBlog(t)
  const { _links, ...rest } = await getHal(app, '/articles/a1')
  t.strictSame(_links, {
    self: { href: '/articles/a1' },
    collection: { href: '/articles' },
    author: { href: '/users/u1' },
    editor: { href: '/users/u2' },
    comments: { href: '/comments?articleId=a1' }
  })
  t.notOk('_embedded' in rest)
  const { _embedded: { items } } = await getHal(app, '/articles')
  t.strictSame(items.map(({ _links: { author, editor } }) => [author?.href, editor?.href]), [
    ['/users/u1', '/users/u2'], ['/users/u2', undefined], [undefined, undefined], ['/users/nobody', undefined]
  ])
  const selected = await getHal(app, '/articles/a1?fields=title')
  t.strictSame(Object.keys(selected._links), ['self', 'collection', 'comments'], 'no id of an author that is left out')
})

test('links of relations escape ids, and follow nested collections and prefixes', async (t) => {
  const one = memory()
  const id = { generate: 'client' } as const
  const formats = [json, hal]
  const { teams, members, badges } = relate({
    teams: define({ name: 'teams', schema: Type.Object({ id: Type.String() }), id, storage: one, formats }),
    members: define({
      name: 'members',
      schema: Type.Object({ id: Type.String(), teamId: Type.String(), limit: Type.Optional(Type.String()) }),
      id,
      storage: one,
      formats
    }),
    badges: define({
      name: 'badges',
      schema: Type.Object({ id: Type.String(), limit: Type.String() }),
      id,
      storage: one,
      formats
    })
  }, {
    teams: { people: { to: 'members', by: 'teamId' }, self: { to: 'badges', by: 'limit' }, badges: { to: 'badges', by: 'limit' } },
    members: { team: { to: 'teams', property: 'teamId' } },
    badges: { team: { to: 'teams', property: 'limit' } }
  })
  const app = Fastify()
  t.after(() => app.close())
  await app.register(async (context) => {
    await context.register(collection, teams)
    await context.register(collection, members.with(within(teams, 'teamId')))
    await context.register(collection, badges)
  }, { prefix: '/of/:tenant' })
  await app.ready()
  const name = 'a/b?&"<x>'
  const at = encodeURIComponent(name)
  await app.inject({ method: 'POST', url: '/of/7/teams', payload: { id: name } })
  await app.inject({ method: 'POST', url: `/of/7/teams/${at}/members`, payload: { id: 'm1' } })
  await app.inject({ method: 'POST', url: '/of/7/badges', payload: { id: 'b1', limit: name } })

  const team = await getHal(app, `/of/7/teams/${at}?expand=people,badges`)
  t.strictSame(team._links, {
    self: { href: `/of/7/teams/${at}` },
    collection: { href: '/of/7/teams' },
    members: { href: `/of/7/teams/${at}/members` },
    people: { href: `/of/7/teams/${at}/members` },
    badges: { href: `/of/7/badges?limit.eq=${at}` }
  })
  const [people, given] = [getEmbedded(team, 'people'), getEmbedded(team, 'badges')]
  t.match(people._embedded.items, [{ _links: { self: { href: `/of/7/teams/${at}/members/m1` }, team: { href: `/of/7/teams/${at}` } } }])
  t.match(given._embedded.items, [{ _links: { self: { href: '/of/7/badges/b1' } } }])
  for (const href of collectLinks(team)) t.equal((await app.inject(href)).statusCode, 200, href)
})

test('links of relations have the order of the definition, in items, lists and what is included', async (t) => {
  const id = { generate: 'storage' } as const
  const formats = [json, hal]
  const Author = Type.Object({ id: Type.Integer(), name: Type.String() })
  const Article = Type.Object({ id: Type.Integer(), authorId: Type.Integer() })
  const Comment = Type.Object({ id: Type.Integer(), articleId: Type.Integer() })
  const articles = define({ name: 'articles', schema: Article, id, formats, storage: memory({ items: [{ id: 1, authorId: 1 }] }) })
  const related = relate({
    authors: define({ name: 'authors', schema: Author, id, formats, storage: memory({ items: [{ id: 1, name: 'Ada' }] }) }),
    articles,
    // Items of articles link to it, because it is nested in them.
    comments: define({ name: 'comments', schema: Comment, id, formats, storage: memory() }).with(within(articles, 'articleId'))
  }, {
    authors: { articles: { to: 'articles', by: 'authorId' } },
    articles: { author: { to: 'authors', property: 'authorId' }, comments: { to: 'comments', by: 'articleId' } }
  })
  const app = Fastify()
  t.after(() => app.close())
  for (const definition of Object.values(related)) await app.register(collection, definition)
  const item = await getHal(app, '/articles/1')
  const list = await getHal(app, '/articles')
  const included = getEmbedded(await getHal(app, '/authors/1?expand=articles'), 'articles')
  for (const { _links } of [item, list._embedded.items[0]!, included._embedded.items[0]!]) {
    t.strictSame(Object.keys(_links), ['self', 'collection', 'author', 'comments'])
    t.equal(_links.comments!.href, '/articles/1/comments')
  }
})

test('HAL shows nothing that the caller may not read', async (t) => {
  const app = await serveBlog(t, defineBlog({ hasRules: true }))
  const url = '/articles/a1?expand=author,comments&expand.comments.limit=10'
  const anonymous = await getHal(app, url)
  t.strictSame(Object.keys(anonymous._embedded), ['comments'], 'no users')
  const ids = (resource: Resource) => getEmbedded(resource, 'comments')._embedded.items.map(({ id }) => id)
  t.notOk(ids(anonymous).includes(5), 'no spam')
  const signedIn = await getHal(app, url, 'ada')
  t.match(signedIn._embedded.author, { name: 'Ada' })
  t.notOk('email' in getEmbedded(signedIn, 'author'))
  const root = await getHal(app, url, 'root')
  t.match(root._embedded.author, { email: 'ada@example.com' })
  t.ok(ids(root).includes(5))
})

test('the entity tag of HAL changes with what is embedded, and 304 works', async (t) => {
  const app = await serveBlog(t)
  const accept = 'application/hal+json'
  const get = async (headers: Record<string, string> = {}) => {
    return app.inject({ url: '/articles/a1?expand=author', headers: { accept, ...headers } })
  }
  const etag = String((await get()).headers.etag)
  t.equal((await get({ 'if-none-match': etag })).statusCode, 304)
  await app.inject({
    method: 'PATCH',
    url: '/users/u1',
    headers: { 'content-type': 'application/merge-patch+json' },
    payload: { name: 'Ada L' }
  })
  const changed = await get({ 'if-none-match': etag })
  t.equal(changed.statusCode, 200)
  t.match(changed.json(), { _embedded: { author: { name: 'Ada L' } } })
})

test('the entity tag of a list changes with the values of related items that its links contain', async (t) => {
  const app = await serveBlog(t)
  const urls = [
    ['/articles?sort=author.name&limit=1', 'application/hal+json'],
    ['/articles/a1?expand=comments&expand.comments.sort=author.name&expand.comments.limit=1', 'application/hal+json'],
    ['/articles/a1?expand=comments&expand.comments.sort=author.name&expand.comments.limit=1', 'application/json']
  ] as const
  for (const [index, [url, accept]] of urls.entries()) {
    const before = await app.inject({ url, headers: { accept } })
    const headers = { accept, 'if-none-match': String(before.headers.etag) }
    t.equal((await app.inject({ url, headers })).statusCode, 304, url)
    // The order stays the same.
    const payload = { name: `Ad${index}` }
    for (const id of ['u1', 'u2']) t.equal((await app.inject({ method: 'PATCH', url: `/users/${id}`, payload })).statusCode, 200)
    const after = await app.inject({ url, headers })
    t.equal(after.statusCode, 200, url)
    t.not(after.body, before.body, 'the link to the next page')
  }
})

test('the entity tag of HAL tells apart who may list related items, even if there are none', async (t) => {
  const id = { generate: 'client' } as const
  const formats = [json, hal]
  const authenticate = ({ request }: { request: FastifyRequest }) => request.headers['x-user']?.toString()
  const one = memory({ items: [] })
  const Note = Type.Object({ id: Type.String(), userId: Type.String(), rank: Type.Integer() })
  const related = relate({
    users: define({
      name: 'users', schema: Type.Object({ id: Type.String() }), id, formats, storage: memory({ items: [{ id: 'u1' }] })
    }),
    notes: define({
      name: 'notes',
      schema: Note,
      id,
      formats,
      storage: one,
      access: {
        authenticate,
        allow: { all: 'public', list: 'authenticated' },
        visible: { rank: ({ caller }) => caller === 'root' }
      }
    })
  }, { users: { notes: { to: 'notes', by: 'userId', order: ['-rank'] } } })
  const app: FastifyInstance = Fastify()
  t.after(() => app.close())
  for (const definition of Object.values(related)) await app.register(collection, definition)
  const bodies = new Map<unknown, string>()
  for (const user of ['root', 'ada', undefined]) {
    const headers = { accept: 'application/hal+json', ...user !== undefined && { 'x-user': user } }
    const { headers: { etag }, body } = await app.inject({ url: '/users/u1?expand=notes', headers })
    t.notOk(bodies.has(etag), body)
    bodies.set(etag, body)
  }
  t.equal(new Set(bodies.values()).size, 3, 'the links of the list differ')
})

async function getPage (app: FastifyInstance, url: string, user?: string): Promise<string> {
  const headers = { accept: 'text/html', ...user !== undefined && { 'x-user': user } }
  const response = await app.inject({ url, headers })
  if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode}`)
  return response.body
}

test('pages link the ids of related items to their pages, and to related lists', async (t) => {
  const app = await serveBlog(t)
  const article = await getPage(app, '/articles/a1')
  t.match(article, '<dt>authorId</dt><dd><a href="/users/u1"><bdi>u1</bdi></a></dd>')
  t.match(article, '<ul><li><a href="/comments?articleId=a1" rel="comments">comments</a></li></ul>')
  t.notMatch(article, 'rel="author"', 'the id is the link to the author')
  const list = await getPage(app, '/articles')
  t.match(list, '<td><a href="/users/u1"><bdi>u1</bdi></a></td>')
  t.notMatch(list + article, /Ada|Bob/, 'related items are read only if they are included')
})

test('pages show included items with links to their pages', async (t) => {
  const app = await serveBlog(t)
  const article = await getPage(app, '/articles/a1?expand=author,comments.author&expand.comments.limit=2')
  t.match(article, '<dt>author</dt><dd><ul><li><a href="/users/u1"><bdi>Ada</bdi></a></li></ul><pre tabindex="0">{\n  &quot;id&quot;: &quot;u1&quot;')
  t.match(article, /<dt>comments<\/dt><dd><ul><li><a href="\/comments\/2">.*<\/li><li><a href="\/comments\/3">.*rel="next">More<\/a>/)
  t.match(article, '&quot;name&quot;: &quot;Bob&quot;', 'what included items include')
  t.notMatch(article, '_links')
  const list = await getPage(app, '/articles?expand=author,comments&expand.comments.limit=4')
  t.match(list, '<td><a href="/comments/2"><bdi>2</bdi></a>, <a href="/comments/3"><bdi>3</bdi></a>, <a href="/comments/5"><bdi>5</bdi></a>, …</td>')
  t.match(list, '<td><span class="none">none</span></td>')
})

test('pages escape names and ids, and their forms have the entity tag of the item', async (t) => {
  const app = await serveBlog(t)
  const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } } as const
  const id = '"><script>/?#&'
  await app.inject({
    method: 'POST',
    url: '/users',
    payload: { id, name: '<img src=x onerror=alert(1)>', country: 'AT' }
  })
  await app.inject({ ...patch, url: '/articles/a1', payload: { authorId: id } })
  for (const url of ['/articles', '/articles/a1', '/articles/a1?expand=author', '/articles?expand=author']) {
    const page = await getPage(app, url)
    t.notMatch(page, /<img src=x|"><script>/, url)
    t.match(page, `<a href="/users/${encodeURIComponent(id)}"><bdi>&quot;&gt;&lt;script&gt;/?#&amp;`)
  }
  const [, tag] = /data-tag="([^"]*)"/.exec(await getPage(app, '/articles/a1'))!
  const headers = { ...patch.headers, 'if-match': tag!.replaceAll('&quot;', '"') }
  t.equal((await app.inject({ ...patch, headers, url: '/articles/a1', payload: { title: 'Changed' } })).statusCode, 200)
})

test('what no id can be is no link', async (t) => {
  const app = await serveBlog(t)
  const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } } as const
  for (const authorId of ['..', '.', '']) {
    t.equal((await app.inject({ ...patch, url: '/articles/a1', payload: { authorId } })).statusCode, 200)
    const { _links } = await getHal(app, '/articles/a1')
    t.strictSame(Object.keys(_links).filter((name) => name === 'author' || name === 'editor'), ['editor'], authorId)
    t.notMatch(await getPage(app, '/articles/a1'), `href="/users/${authorId}"`)
    t.notMatch(await getPage(app, '/articles'), `href="/users/${authorId}"`)
  }
})
