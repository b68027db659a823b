import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { test, type Test } from 'tap'
import { batch } from '../../lib/doors/batch/batch.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import collection, { define, ProblemError } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Definition } from '../../lib/index.ts'
import type { Shape, Storage } from '../../lib/storage/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { databases } from '../storage/databases.ts'

const User = Type.Object({
  id: Type.String(),
  name: Type.String(),
  team: Type.String(),
  managerId: Type.Optional(Type.Union([Type.String(), Type.Null()]))
})
const Article = Type.Object({
  id: Type.String(),
  title: Type.String(),
  authorId: Type.String(),
  editorId: Type.Optional(Type.String()),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})

const access = {
  authenticate: ({ request }: { request: FastifyRequest }) => request.headers.authorization,
  allow: { all: 'public' }
} as const

interface Opened {
  storage (): <Item extends object>(shape: Shape) => Storage<Item>
  prepare (definitions: readonly Definition[]): Promise<void>
  end (): Promise<void>
}

const storages: ReadonlyArray<{ name: string, skip: string | false, open: () => Promise<Opened> }> = [
  {
    name: 'memory',
    skip: false,
    open: async () => ({ storage: () => memory(), prepare: async () => {}, end: async () => {} })
  },
  ...databases.map(({ name, skip, open }) => ({
    name,
    skip,
    async open () {
      const database = await open()
      return {
        storage: () => database.adapter(),
        async prepare (definitions: readonly Definition[]) {
          for (const definition of definitions) await database.adapter().createTable(definition)
        },
        end: () => database.end()
      }
    }
  }))
]

async function build (t: Test, open: () => Promise<Opened>) {
  const { storage, prepare, end } = await open()
  const id = { generate: 'client' } as const
  const { users, articles } = relate({
    users: define({
      name: 'users',
      schema: User,
      id,
      storage: storage(),
      access: {
        ...access,
        scope: ({ caller }) => caller === undefined ? undefined : { values: { team: String(caller) } }
      }
    }).with(bulk({ remove: true })),
    articles: define({ name: 'articles', schema: Article, id, storage: storage(), access })
      .with(bulk({ update: true }), softDelete({ property: 'deletedAt' }))
  }, {
    users: { manager: { to: 'users', property: 'managerId', references: true } },
    articles: {
      author: { to: 'users', property: 'authorId', references: true },
      editor: { to: 'users', property: 'editorId', references: true }
    }
  })
  await prepare([users, articles])
  const app = Fastify()
  t.teardown(async () => {
    await app.close()
    await end()
  })
  await app.register(registry)
  await app.register(collection, users)
  await app.register(collection, articles)
  await app.register(batch, { collections: [users, articles] })
  return { app, users, articles }
}

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

function send (app: FastifyInstance, method: Method, url: string, payload?: object, team?: string) {
  return app.inject({
    method,
    url,
    ...payload && { payload },
    headers: {
      ...method === 'PATCH' && { 'content-type': 'application/merge-patch+json' },
      ...team !== undefined && { authorization: team }
    }
  })
}

for (const { name, skip, open } of storages) {
  test(`${name}: what a reference leads to has to exist for the caller`, { skip }, async (t) => {
    const { app, users, articles } = await build(t, open)
    await send(app, 'POST', '/users', { id: 'ada', name: 'Ada', team: 'a' })
    await send(app, 'POST', '/users', { id: 'bob', name: 'Bob', team: 'b' })

    const created = await send(app, 'POST', '/articles', { id: '1', title: 'One', authorId: 'ada' })
    t.equal(created.statusCode, 201)
    const missing = await send(app, 'POST', '/articles', { id: '2', title: 'Two', authorId: 'eve' })
    t.equal(missing.statusCode, 422)
    t.match(missing.json(), { errors: [{ pointer: '/authorId', message: 'must refer to an existing item' }] })
    const foreign = await send(app, 'POST', '/articles', { id: '2', title: 'Two', authorId: 'bob' }, 'a')
    t.equal(foreign.statusCode, 422)
    t.equal(foreign.body, missing.body, 'an item that the caller cannot see looks like one that does not exist')
    t.equal((await send(app, 'POST', '/articles', { id: '2', title: 'Two', authorId: 'bob' }, 'b')).statusCode, 201)

    t.equal((await send(app, 'PATCH', '/articles/1', { authorId: 'eve' })).statusCode, 422)
    t.equal((await send(app, 'PATCH', '/articles/1', { title: 'Uno' })).statusCode, 200)
    t.equal((await send(app, 'PUT', '/articles/1', { id: '1', title: 'One', authorId: 'eve' })).statusCode, 422)
    t.equal((await app.inject('/articles/1')).json().authorId, 'ada')

    const many = await send(app, 'POST', '/articles', [
      { id: '3', title: 'Three', authorId: 'ada' },
      { id: '4', title: 'Four', authorId: 'eve' }
    ])
    t.equal(many.statusCode, 422)
    t.match(many.json(), { errors: [{ pointer: '/1/authorId' }] })
    t.equal((await app.inject('/articles/3')).statusCode, 404, 'nothing was created')

    await t.rejects(app.collection(articles).create({ id: '5', title: 'Five', authorId: 'eve' }), ProblemError)
    await app.collection(users).transaction(async (transaction) => {
      await transaction.collection(users).create({ id: 'new', name: 'New', team: 'a' })
      await transaction.collection(articles).create({ id: '6', title: 'Six', authorId: 'new' })
    })
    t.equal((await app.inject('/articles/6')).statusCode, 200)
  })

  test(`${name}: all references that lead to nothing are reported at once`, { skip }, async (t) => {
    const { app, articles } = await build(t, open)
    await send(app, 'POST', '/users', { id: 'ada', name: 'Ada', team: 'a' })
    await send(app, 'POST', '/articles', { id: '1', title: 'One', authorId: 'ada' })
    const message = 'must refer to an existing item'
    const errors = [{ pointer: '/authorId', message }, { pointer: '/editorId', message }]
    const both = { authorId: 'eve', editorId: 'eva' }
    const detail = 'authorId and editorId refer to items that do not exist.'

    const item = { id: '2', title: 'Two', ...both }
    const post = await send(app, 'POST', '/articles', item)
    t.equal(post.statusCode, 422)
    t.match(post.json(), { detail, errors })
    t.strictSame(post.json().errors, errors)
    t.strictSame((await send(app, 'PATCH', '/articles/1', both)).json().errors, errors)
    t.strictSame((await send(app, 'PUT', '/articles/1', { ...item, id: '1' })).json().errors, errors)
    const matching = await send(app, 'PATCH', '/articles?title=One', both)
    t.equal(matching.statusCode, 422)
    t.strictSame(matching.json().errors, errors)

    const many = await send(app, 'POST', '/articles', [
      { id: '3', title: 'Three', authorId: 'eve' },
      { id: '4', title: 'Four', authorId: 'ada' },
      { id: '5', title: 'Five', ...both }
    ])
    t.equal(many.statusCode, 422)
    t.equal(many.json().detail, 'No item was created.')
    t.strictSame(many.json().errors, ['/0/authorId', '/2/authorId', '/2/editorId'].map((pointer) => ({ pointer, message })))

    const batched = await send(app, 'POST', '/batch', [{ method: 'POST', path: '/articles', content: item }])
    t.equal(batched.statusCode, 409)
    t.match(batched.json(), { problem: { errors } })
    await t.rejects(app.collection(articles).create(item), { errors })
    t.equal((await app.inject('/articles')).json().length, 1, 'nothing was created')
  })

  test(`${name}: what is referred to cannot be removed`, { skip }, async (t) => {
    const { app } = await build(t, open)
    await send(app, 'POST', '/users', { id: 'ada', name: 'Ada', team: 'a', managerId: null })
    await send(app, 'POST', '/users', { id: 'bob', name: 'Bob', team: 'a', managerId: 'ada' })
    await send(app, 'POST', '/articles', { id: '1', title: 'One', authorId: 'bob' })

    const managed = await send(app, 'DELETE', '/users/ada')
    t.equal(managed.statusCode, 409)
    t.match(managed.json().detail, /^Items of users refer to this item/)
    const referred = await send(app, 'DELETE', '/users/bob')
    t.equal(referred.statusCode, 409)
    t.match(referred.json().detail, /^Items of articles refer to this item/)
    t.equal((await send(app, 'DELETE', '/articles/1')).statusCode, 204)
    t.equal((await send(app, 'DELETE', '/users/bob')).statusCode, 409, 'a deleted article still refers to its author')

    await send(app, 'POST', '/users', { id: 'eve', name: 'Eve', team: 'c' })
    t.equal((await send(app, 'PATCH', '/users/eve', { managerId: 'eve' })).statusCode, 200)
    t.equal((await send(app, 'DELETE', '/users/eve')).statusCode, 204, 'an item may refer to itself')

    await send(app, 'POST', '/users', { id: 'x', name: 'X', team: 'c' })
    await send(app, 'POST', '/users', { id: 'y', name: 'Y', team: 'c', managerId: 'x' })
    t.equal((await send(app, 'DELETE', '/users?id=x')).statusCode, 409)
    t.equal((await send(app, 'DELETE', '/users?team=c')).statusCode, 200, 'both are removed together')
  })

  test(`${name}: an item is restored only if what it refers to exists`, { skip }, async (t) => {
    const { storage, prepare, end } = await open()
    t.teardown(end)
    const id = { generate: 'client' } as const
    const mark = softDelete({ property: 'deletedAt', allow: () => true })
    const Author = Type.Pick(Article, ['id', 'deletedAt'])
    const { authors, articles } = relate({
      authors: define({ name: 'authors', schema: Author, id, storage: storage() }).with(mark),
      articles: define({ name: 'articles', schema: Article, id, storage: storage() }).with(mark)
    }, { articles: { author: { to: 'authors', property: 'authorId', references: true } } })
    await prepare([authors, articles])
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(collection, authors)
    await app.register(collection, articles)
    await send(app, 'POST', '/authors', { id: 'ada' })
    await send(app, 'POST', '/articles', { id: '1', title: 'One', authorId: 'ada' })

    t.equal((await send(app, 'DELETE', '/authors/ada')).statusCode, 409)
    t.equal((await send(app, 'DELETE', '/articles/1')).statusCode, 204)
    t.equal((await send(app, 'DELETE', '/authors/ada')).statusCode, 204, 'only a deleted article refers to it')
    const dangling = await send(app, 'PATCH', '/articles/1', { deletedAt: null })
    t.equal(dangling.statusCode, 422)
    t.match(dangling.json(), { errors: [{ pointer: '/authorId', message: 'must refer to an existing item' }] })
    t.equal((await send(app, 'PATCH', '/authors/ada', { deletedAt: null })).statusCode, 200)
    t.equal((await send(app, 'PATCH', '/articles/1', { deletedAt: null })).statusCode, 200)
  })

  test(`${name}: a batch can create what it refers to`, { skip }, async (t) => {
    const { app } = await build(t, open)
    const parts = (authorId: string) => [
      { method: 'POST', path: '/users', content: { id: 'ada', name: 'Ada', team: 'a' } },
      { method: 'POST', path: '/articles', content: { id: '1', title: 'One', authorId } }
    ]
    const refused = await send(app, 'POST', '/batch', parts('eve'))
    t.equal(refused.statusCode, 409)
    t.match(refused.body, '/authorId')
    t.equal((await app.inject('/users/ada')).statusCode, 404)
    t.equal((await send(app, 'POST', '/batch', parts('ada'))).statusCode, 200)
    t.equal((await app.inject('/articles/1')).statusCode, 200)
  })

  test(`${name}: a removal and a new reference never both succeed`, { skip }, async (t) => {
    const { app } = await build(t, open)
    for (let round = 0; round < 30; round++) {
      const id = `user-${round}`
      await send(app, 'POST', '/users', { id, name: 'Ada', team: 'a' })
      const [removed, created] = await Promise.all([
        send(app, 'DELETE', `/users/${id}`),
        send(app, 'POST', '/articles', { id: String(round), title: 'One', authorId: id })
      ])
      const statuses = `${removed.statusCode} ${created.statusCode}`
      t.ok(['204 422', '409 201'].includes(statuses), statuses)
    }
  })
}

test('the 409 for an item that others refer to names only collections that the caller may read', async (t) => {
  const id = { generate: 'client' } as const
  const Note = Type.Object({ id: Type.String(), userId: Type.String() })
  const options = { schema: Note, id, storage: memory(), access }
  const isAdmin = ({ caller }: { caller: unknown }) => caller === 'admin'
  const refuse = async () => { throw new Error('refused') }
  const user = { to: 'users', property: 'userId', references: true } as const
  const related = relate({
    users: define({ name: 'users', schema: Type.Pick(User, ['id']), id, storage: memory(), access })
      .with(bulk({ remove: true })),
    posts: define({ ...options, name: 'posts' }),
    reports: define({ ...options, name: 'reports', access: { ...access, allow: { all: isAdmin, create: 'public' } } }),
    replies: define({ ...options, name: 'replies', access: { ...access, allow: { all: 'public', list: isAdmin } } }),
    forms: define({ ...options, name: 'forms', actions: ['create'] }),
    audits: define({
      name: 'audits',
      schema: Note,
      id,
      storage: memory(),
      routes: { list: { onRequest: refuse }, read: { onRequest: refuse } }
    })
  }, { posts: { user }, reports: { user }, replies: { user }, forms: { user }, audits: { user } })
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registry)
  for (const definition of Object.values(related)) await app.register(collection, definition)
  const other = 'Other items refer to this item. Delete or change them first.'
  const details = {
    posts: ['Items of posts refer to this item. Delete or change them first.'],
    reports: [other, 'Items of reports refer to this item. Delete or change them first.'],
    replies: ['Items of replies refer to this item. Delete or change them first.'],
    forms: [other],
    audits: [other]
  }
  for (const [name, [detail, forAdmin = detail]] of Object.entries(details)) {
    await send(app, 'POST', '/users', { id: name })
    t.equal((await send(app, 'POST', `/${name}`, { id: '1', userId: name })).statusCode, 201, name)
    for (const url of [`/users/${name}`, `/users?id=${name}`]) {
      t.match((await send(app, 'DELETE', url)).json(), { code: 'conflict', detail }, `${url}, anonymous`)
      t.match((await send(app, 'DELETE', url, undefined, 'admin')).json(), { detail: forAdmin }, `${url}, admin`)
    }
    const named = { message: new RegExp(`Items of ${name} refer to this item`) }
    await t.rejects(app.collection(related.users).remove(name), named, `${name}, the app`)
    const anonymous = { caller: undefined }
    const error: unknown = await app.collection(related.users).remove(name, anonymous).catch((thrown) => thrown)
    t.match(error, { statusCode: 409 })
    t.notMatch(JSON.stringify(error), /sources/, 'an app can log it as JSON')
  }
  await send(app, 'POST', '/reports', { id: '2', userId: 'posts' })
  t.match((await send(app, 'DELETE', '/users/posts')).json(), {
    detail: 'Items of posts, and others, refer to this item. Delete or change them first.'
  })
  t.match((await send(app, 'DELETE', '/users/posts', undefined, 'admin')).json(), {
    detail: 'Items of posts and reports refer to this item. Delete or change them first.'
  })
})
