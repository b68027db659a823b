import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import type { Test } from 'tap'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import collection from '../../lib/index.ts'
import type { ActionName } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { within } from '../../lib/features/within.ts'
import { relate } from '../../lib/relations/relate.ts'
import type { Feature } from '../../lib/features/index.ts'
import { build, modified, request } from '../app.ts'
import { define } from '../define.ts'

const Author = Type.Object({ id: Type.String({ format: 'uuid' }), name: Type.String() })
const Article = Type.Object({
  id: Type.String({ format: 'uuid' }),
  authorId: Type.Optional(Type.String({ format: 'uuid' })),
  title: Type.String()
})

async function open (t: Test) {
  const authors = define({
    name: 'authors',
    schema: Author,
    storage: modified(({ find }) => ({
      find: (id, context) => {
        if (context.signal.aborted) throw new Error('gone')
        return find(id, context)
      }
    }))
  })
  const articles = define({ name: 'articles', schema: Article, storage: memory(), cache: 'no-cache' })
  const app = await build(t, [authors, articles, articles.with(within(authors, 'authorId'))])
  const [ann, bob] = await Promise.all(
    ['Ann', 'Bob'].map(async (name) => (await request(app, 'POST /authors', { content: { name } })).json().id as string)
  )
  return { app, ann: ann!, bob: bob! }
}

test('a nested collection lists, creates and finds only items of its parent', async (t) => {
  const { app, ann, bob } = await open(t)
  const posted = await request(app, `POST /authors/${ann}/articles`, { content: { title: 'One' } })
  t.equal(posted.statusCode, 201)
  const { id, authorId } = posted.json()
  t.equal(authorId, ann)
  t.equal(posted.headers.location, `/authors/${ann}/articles/${id}`)
  t.equal((await request(app, `GET ${String(posted.headers.location)}`)).json().title, 'One')
  t.equal((await request(app, `GET /articles/${id}`)).json().authorId, ann, 'also available at its own path')
  t.equal((await request(app, `GET /authors/${bob}/articles/${id}`)).statusCode, 404, 'not found under another parent')
  t.strictSame((await request(app, `GET /authors/${bob}/articles`)).json(), [])
  t.equal((await request(app, `GET /authors/${ann}/articles?count=true`)).headers['x-total-count'], '1')
  t.equal((await request(app, 'GET /articles?count=true')).headers['x-total-count'], '1')
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    t.equal(
      (
        await request(
          app,
          `${method} /authors/${bob}/articles/${id}`,
          method === 'DELETE' ? {} : { content: { title: 'Two' } }
        )
      ).statusCode,
      404,
      method
    )
  }
  t.equal((await request(app, `PATCH /authors/${ann}/articles/${id}`, { content: { title: 'Two' } })).json().title, 'Two')
  t.equal((await request(app, `PUT /authors/${ann}/articles/${id}`, { content: { title: 'Three' } })).json().authorId, ann)
  t.equal((await request(app, `DELETE /authors/${ann}/articles/${id}`)).statusCode, 204)
  t.equal((await request(app, `GET /articles/${id}`)).statusCode, 404)
})

test('a nested collection of a missing parent returns 404 for GET, POST and QUERY', async (t) => {
  const { app } = await open(t)
  for (const parent of ['01a1dd33-5198-7307-a7d7-07b2d2bf2da3', 'nobody']) {
    for (const target of ['GET', 'POST', 'QUERY']) {
      t.equal(
        (await request(app, `${target} /authors/${parent}/articles`, target === 'GET' ? {} : { content: { title: 'x' } }))
          .statusCode,
        404,
        `${target} ${parent}`
      )
    }
  }
  t.equal((await request(app, 'OPTIONS /authors/nobody/articles')).statusCode, 204)
  t.equal((await request(app, 'PUT /authors/nobody/articles')).statusCode, 405)
})

test('a write cannot set a parent other than the one in the URI', async (t) => {
  const { app, ann, bob } = await open(t)
  const contradiction = {
    statusCode: 422,
    errors: [{ pointer: '/authorId', message: `differs from the URI, which has "${ann}"` }]
  }
  const at = `/authors/${ann}/articles`
  const { id } = (await request(app, `POST ${at}`, { content: { title: 'One', authorId: ann } })).json()
  const wrong: Array<[string, object]> = [
    [`POST ${at}`, { title: 'x', authorId: bob }],
    [`PUT ${at}/${id}`, { title: 'x', authorId: bob }],
    [`PATCH ${at}/${id}`, { authorId: bob }],
    [`PATCH ${at}/${id}`, { authorId: null }]
  ]
  for (const [target, content] of wrong) {
    const answer = await request(app, target, { content })
    t.strictSame(
      { statusCode: answer.statusCode, errors: answer.json().errors },
      contradiction,
      `${target} ${JSON.stringify(content)}`
    )
  }
  t.equal((await request(app, `PATCH ${at}/${id}`, { content: { authorId: ann, title: 'y' } })).statusCode, 200)
  t.equal(
    (await request(app, `PATCH /articles/${id}`, { content: { authorId: bob } })).statusCode,
    200,
    'the parent can change at its own path'
  )
  t.equal((await request(app, `GET ${at}/${id}`)).statusCode, 404)
})

test('a parent and its nested items link to each other (RFC 8288)', async (t) => {
  const { app, ann } = await open(t)
  const fields = { accept: 'application/hal+json' }
  t.strictSame((await request(app, `GET /authors/${ann}`, { fields })).json()._links, {
    self: { href: `/authors/${ann}` },
    collection: { href: '/authors' },
    articles: { href: `/authors/${ann}/articles` }
  })
  const { id } = (await request(app, `POST /authors/${ann}/articles`, { content: { title: 'One' } })).json()
  t.strictSame((await request(app, `GET /authors/${ann}/articles/${id}`, { fields })).json()._links, {
    self: { href: `/authors/${ann}/articles/${id}` },
    collection: { href: `/authors/${ann}/articles` },
    up: { href: `/authors/${ann}` }
  })
  t.notOk('up' in (await request(app, `GET /articles/${id}`, { fields })).json()._links)
})

test('within() throws for collections that cannot be nested', async (t) => {
  const authors = define({ name: 'authors', schema: Author, storage: memory() })
  const articles = define({ name: 'articles', schema: Article, storage: memory() })
  const unfiltered = define({
    name: 'articles',
    schema: Article,
    storage: modified(({ supports }) => ({ supports: { ...supports, filter: false } }))
  })
  // @ts-expect-error a property that is not in the schema
  t.throws(() => articles.with(within(authors, 'writerId')), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /Available properties: id, authorId, title/
  })
  t.throws(() => unfiltered.with(within(authors, 'authorId')), { code: 'FST_COLLECTION_UNSUPPORTED' })
  const nested = articles.with(within(authors, 'authorId'))
  const Comment = Type.Object({ id: Type.String({ format: 'uuid' }), articleId: Type.String() })
  const comments = define({ name: 'comments', schema: Comment, storage: memory() })
  t.throws(() => comments.with(within(nested, 'articleId')), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: 'Collection comments: within() names articles, which is nested in authors itself. ' +
      'The rules of authors would not apply. If the access of articles alone decides who may read its items, ' +
      'pass the definition of articles that has no within().'
  })
  t.doesNotThrow(() => comments.with(within(articles, 'articleId')))
})

test('HAL links lead only to collections that the app serves, in any order of registration', async (t) => {
  const authors = () => define({ name: 'authors', schema: Author, storage: memory() })
  const articles = (options: { actions?: readonly ActionName[] } = {}) =>
    define({ name: 'articles', schema: Article, storage: memory(), ...options })
  const links = async (app: FastifyInstance, prefix = '') => {
    const { location } = (await request(app, `POST ${prefix}/authors`, { content: { name: 'Ann' } })).headers
    const read = async () =>
      (await request(app, `GET ${String(location)}`, { fields: { accept: 'application/hal+json' } })).json()._links
    await read()
    // The second read uses the cached representation.
    for (const link of Object.values(await read()) as Array<{ href: string }>) {
      t.equal((await request(app, `GET ${link.href}`)).statusCode, 200, link.href)
    }
    return Object.keys(await read())
  }

  const parent = authors()
  const child = articles().with(within(parent, 'authorId'))
  t.ok(Object.isFrozen(parent))
  t.strictSame(await links(await build(t, parent)), ['self', 'collection'], 'within() alone adds no route')
  t.strictSame(await links(await build(t, [parent, child])), ['self', 'collection', 'articles'])
  t.strictSame(await links(await build(t, [child, parent])), ['self', 'collection', 'articles'])
  t.strictSame(await links(await build(t, parent)), ['self', 'collection'], 'another app of the same process')

  const prefixed = Fastify()
  t.after(() => prefixed.close())
  await prefixed.register(collection, { ...parent, prefix: '/v1' })
  await prefixed.register(collection, { ...child, prefix: '/v2' })
  t.strictSame(await links(prefixed, '/v1'), ['self', 'collection'], 'under another prefix')

  const unlisted = authors()
  t.strictSame(
    await links(
      await build(t, [unlisted, articles({ actions: ['create', 'read'] }).with(within(unlisted, 'authorId'))])
    ),
    ['self', 'collection'],
    'the list is not served'
  )
})

test('a nested item has an up link only if the app serves the parent', async (t) => {
  const authors = define({ name: 'authors', schema: Author, storage: memory() })
  const articles = define({ name: 'articles', schema: Article, storage: memory() })
  const both = await build(t, [authors, articles.with(within(authors, 'authorId'))])
  const { id } = (await request(both, 'POST /authors', { content: { name: 'Ann' } })).json()
  const { location } = (await request(both, `POST /authors/${id}/articles`, { content: { title: 'One' } })).headers
  const links = async (app: FastifyInstance) =>
    Object.keys(
      (await request(app, `GET ${String(location)}`, { fields: { accept: 'application/hal+json' } })).json()._links
    )
  t.strictSame(await links(both), ['self', 'collection', 'up'])
  t.strictSame(await links(await build(t, articles.with(within(authors, 'authorId')))), [
    'self',
    'collection'
  ])
})

test('a nested collection is not cached for longer than its parent allows', async (t) => {
  const Parent = Type.Object({ id: Type.String() })
  const Child = Type.Object({ id: Type.String(), parentId: Type.String() })
  const open = 'public, max-age=60'
  for (const [cache, policy] of [
    ['no-store', 'no-store'],
    ['public, max-age=10', 'public, max-age=10'],
    [undefined, 'no-cache'],
    ['public, max-age=3600', open]
  ] as const) {
    const parents = define({
      name: 'parents',
      schema: Parent,
      id: { generate: 'client' },
      storage: memory({ items: [{ id: 'p' }] }),
      ...cache !== undefined && { cache }
    })
    const children = define({
      name: 'children',
      schema: Child,
      id: { generate: 'client' },
      storage: memory({ items: [{ id: 'c', parentId: 'p' }] }),
      cache: open
    })
    const app = await build(t, parents)
    await app.register(collection, children.with(within(parents, 'parentId')))
    await app.register(collection, children)
    for (const [url, expected] of [
      ['/parents/p/children', policy],
      ['/parents/p/children/c', policy],
      ['/children/c', open]
    ] as const) {
      const { statusCode, headers } = await app.inject(url)
      t.strictSame([statusCode, headers['cache-control']], [200, expected], `${cache}: ${url}`)
    }
  }
})

test('within() takes the parent and the property from a relation', async (t) => {
  const schema = Type.Object({ id: Type.String(), ownerId: Type.Optional(Type.String()) })
  const storage = memory()
  const options = { schema, storage, id: { generate: 'client' } } as const
  const { owners, things } = relate({
    owners: define({ name: 'owners', ...options }),
    things: define({ name: 'things', ...options })
  }, {
    owners: { things: { to: 'things', by: 'ownerId' } },
    things: { owner: { to: 'owners', property: 'ownerId' } }
  })
  const app = await build(t, [owners, things.with(within('owner'))])
  await request(app, 'POST /owners', { content: { id: 'ada' } })
  const { json } = await request(app, 'POST /owners/ada/things', { content: { id: 'pen' } })
  t.strictSame(json(), { id: 'pen', ownerId: 'ada' })
  t.equal((await request(app, 'GET /owners/ada/things?expand=owner')).json()[0].owner.id, 'ada')
  t.equal((await request(app, 'GET /owners/bob/things')).statusCode, 404)
  t.equal((await request(app, 'GET /things')).statusCode, 404)
  for (const [make, message] of [
    [() => things.with(within('owners')), /the relation "owners", but the definition has only owner to one item/],
    [() => owners.with(within('things')), /the relation "things", but the definition has none to one item/],
    [() => things.with((within as (...given: string[]) => Feature<object>)('owner', 'ownerId')), /Remove "ownerId"/]
  ] as const) t.throws(make, { message })
})
