import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { define } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { build, created, modified, request } from '../app.ts'
import { controlClock } from '../clock.ts'
import { defineBlog, serveBlog } from './blog.ts'

// What `expand` includes. Bad input is in bad-input.test.ts, and what callers may see is in access.test.ts.

interface Named { readonly name: string }
interface Included {
  readonly items: ReadonlyArray<Record<string, unknown>>
  readonly total?: number
  readonly next?: string
}

const ada = {
  id: 'u1',
  name: 'Ada',
  country: 'AT',
  email: 'ada@example.com',
  managerId: 'u2',
  updatedAt: '2026-01-01T00:00:00.000Z'
}

test('a related item is included without hidden properties; it is null if there is none', async (t) => {
  const app = await serveBlog(t)
  const items: Array<{ author: unknown, editor: Named | null }> = (
    await request(app, 'GET /articles?expand=author,editor')
  ).json()
  t.strictSame(items.map(({ author }) => (author as Named | null)?.name), ['Ada', 'Bob', undefined, undefined])
  t.strictSame(items[0]!.author, ada)
  t.strictSame([items[2]!.author, items[3]!.author], [null, null], 'no id, and an id that does not exist')
  t.strictSame(items.map(({ editor }) => editor?.name), ['Bob', undefined, undefined, undefined])
  t.equal((await request(app, 'GET /articles/a3?expand=author')).json().author, null)
  t.strictSame((await request(app, 'GET /articles/a1?expand=author&fields=title')).json(), { title: 'One', author: ada })
  t.strictSame((await request(app, 'GET /articles?expand=author&fields=title&limit=1')).json(), [
    { title: 'One', author: ada }
  ])
})

test('an included list is a page with a URL that continues it', async (t) => {
  const app = await serveBlog(t)
  const { comments }: { comments: Included } = (await request(app, 'GET /articles/a1?expand=comments')).json()
  t.strictSame(comments.items.map(({ id }) => id), [2, 3, 5])
  t.notOk('total' in comments)
  const ids: unknown[] = []
  for (let url = comments.next; url !== undefined;) {
    const answer = await request(app, `GET ${url}`)
    t.equal(answer.statusCode, 200)
    ids.push(...answer.json().map(({ id }: { id: number }) => id))
    url = /<([^>]*)>; rel="next"/.exec(String(answer.headers.link ?? ''))?.[1]
  }
  t.strictSame(ids, [6, 8, 9, 11, 12, 14, 15], 'with the limit of the relation')
  const articles = (await request(app, 'GET /articles?expand=comments')).json()
  t.strictSame(articles.map(({ comments }: { comments: Included }) => comments.items.length), [3, 3, 0, 0])
  t.strictSame(articles.map(({ comments }: { comments: Included }) => 'next' in comments), [true, true, false, false])
})

test('an included list has its own limit, order, fields, filter and count', async (t) => {
  const app = await serveBlog(t)
  const read = async (options: string): Promise<Included> => {
    const answer = await request(app, `GET /articles/a1?expand=comments&${options}`)
    return answer.json().comments
  }
  t.strictSame((await read('expand.comments.limit=2&expand.comments.sort=-id')).items.map(({ id }) => id), [15, 14])
  t.strictSame((await read('expand.comments.fields=id&expand.comments.limit=1')).items, [{ id: 2 }])
  const counted = await read('expand.comments.count=true&expand.comments.limit=1&expand.comments.id.gte=9')
  t.match(counted, { items: [{ id: 9 }], total: 5 })
  t.match((await request(app, `GET ${counted.next!}`)).json(), [{ id: 11 }], 'the next page has the same filter')
  t.strictSame(await read('expand.comments.limit=0'), { items: [], total: 10 }, 'a count without rows')
  const ofBob = await read('expand.comments.author.name=Bob&expand.comments.limit=100')
  t.strictSame(ofBob.items.map(({ id }) => id), [2, 6, 8, 12, 14])
  t.notOk('next' in ofBob)
  t.strictSame(
    (await read('expand.comments.sort=-author.name,id&expand.comments.limit=2')).items.map(({ id }) => id),
    [2, 6]
  )
  t.strictSame(
    (await request(app, 'GET /articles/a1?expand=author&expand.author.fields=name')).json().author,
    { name: 'Ada' }
  )
})

test('three levels are included, and a path includes what leads to it', async (t) => {
  const app = await serveBlog(t)
  const [first] = (await request(app, 'GET /articles?expand=comments.author.manager,author&limit=1')).json()
  t.match(first.comments.items[0], { id: 2, author: { name: 'Bob', manager: { name: 'Cleo' } } })
  t.equal(first.author.name, 'Ada')
  t.notOk('manager' in first.author)
  const { manager } = (await request(app, 'GET /users/u1?expand=manager.manager.manager')).json()
  t.strictSame(manager.manager.manager, null, 'a relation to the collection itself')
  const next: string = first.comments.next
  t.match((await request(app, `GET ${next}`)).json(), [{ author: { manager: { name: 'Cleo' } } }], 'the next page, too')
})

test('QUERY includes with an object or an array, and the equivalent GET says the same', async (t) => {
  const app = await serveBlog(t)
  const content = {
    filter: { title: 'One' },
    expand: { comments: { limit: 2, sort: ['-id'], filter: { 'id.lt': 15 }, expand: { author: { fields: ['name'] } } } }
  }
  const queried = await request(app, 'QUERY /articles', { content })
  t.match(queried.json(), [
    { id: 'a1', comments: { items: [{ id: 14, author: { name: 'Bob' } }, { id: 12, author: { name: 'Bob' } }] } }
  ])
  const location = String(queried.headers['content-location'])
  t.strictSame((await request(app, `GET ${location}`)).json(), queried.json())
  const inner = await request(app, 'QUERY /articles', { content: { expand: { comments: { expand: ['author'] } } } })
  t.match(inner.json()[0].comments.items[0].author, { name: 'Bob' })
  const paths = await request(app, 'QUERY /articles', { content: { expand: ['author'], filter: { title: 'One' } } })
  t.strictSame(paths.json()[0].author, ada)
  t.equal(paths.headers['content-location'], '/articles?title=One&expand=author')
  const any = { comments: { filter: { any: [{ id: 2 }, { text: 'c3' }] } } }
  const inexpressible = await request(app, 'QUERY /articles', { content: { expand: any } })
  t.strictSame(inexpressible.json()[0].comments.items.map(({ id }: { id: number }) => id), [2, 3])
  t.notOk('content-location' in inexpressible.headers, 'no query string has "any"')
})

test('code includes related items, with one level in another', async (t) => {
  const blog = defineBlog()
  const app = await serveBlog(t, blog)
  const { item } = await app.collection(blog.articles).read('a1', { expand: ['author', 'comments.author'] } as never)
  t.match(item, { title: 'One', author: { name: 'Ada', password: 'secret' }, comments: { items: [{ author: {} }] } })
  const titles: unknown[] = []
  const query = { expand: { comments: { limit: 1 } }, filter: { author: { country: 'AT' } }, sort: ['author.name'] }
  for await (const { item } of app.collection(blog.articles).list(query as never)) titles.push(item)
  t.match(titles, [{ title: 'One', comments: { items: [{ id: 2 }] } }])
  await t.rejects(app.collection(blog.articles).read('a1', { expand: ['nobody'] } as never), {
    code: 'validation-failed',
    errors: [{ pointer: '/expand', message: /author, editor, comments/ }]
  })
})

test('the entity tag covers what is included, and Last-Modified is omitted', async (t) => {
  const clock = controlClock(t)
  const app = await serveBlog(t)
  clock.advance(120_000)
  const changes: Array<[url: string, change: string, content: object | undefined]> = [
    ['/articles/a1?expand=author', 'PATCH /users/u1', { name: 'Ann' }],
    ['/articles?expand=author', 'PATCH /users/u2', { name: 'Ben' }],
    ['/articles/a1?expand=comments', 'PATCH /comments/2', { text: 'changed' }],
    ['/articles?expand=comments.author', 'PATCH /users/u2', { name: 'Bill' }],
    ['/articles/a1?expand=comments', 'DELETE /comments/2', undefined],
    ['/articles/a1?expand=comments&expand.comments.limit=0', 'DELETE /comments/3', undefined],
    ['/users/u2?expand=articles', 'DELETE /articles/a2', undefined]
  ]
  for (const [url, change, content] of changes) {
    const before = await request(app, `GET ${url}`)
    t.notOk('last-modified' in before.headers, url)
    const fields = { 'if-none-match': String(before.headers.etag) }
    t.equal((await request(app, `GET ${url}`, { fields })).statusCode, 304, url)
    const modifiedSince = { 'if-modified-since': new Date().toUTCString() }
    t.equal((await request(app, `GET ${url}`, { fields: modifiedSince })).statusCode, 200, url)
    t.ok((await request(app, change, content && { content })).statusCode < 300, change)
    t.equal((await request(app, `GET ${url}`, { fields })).statusCode, 200, `${url} after ${change}`)
  }
})

test('an entity tag is short, and tells included items with the same version apart', async (t) => {
  // As in a storage that counts the versions of each row.
  const counting = modified((storage) => ({
    async listBy (...args) {
      const pages = await storage.listBy!(...args)
      return pages.map((page) => ({ ...page, entries: page.entries.map((entry) => ({ ...entry, version: '1' })) }))
    }
  }))
  const User = Type.Object({ id: Type.Integer() })
  const Note = Type.Object({ id: Type.Integer(), userId: Type.Integer() })
  const id = { generate: 'client' } as const
  const app = await build(t, Object.values(relate({
    users: define({ name: 'users', schema: User, id, storage: modified(() => ({})) }),
    notes: define({ name: 'notes', schema: Note, id, storage: counting })
  }, { users: { notes: { to: 'notes', by: 'userId', limit: 100 } } })))
  await request(app, 'POST /users', { content: { id: 1 } })
  for (let note = 1; note <= 100; note++) await request(app, 'POST /notes', { content: { id: note, userId: 1 } })
  const getTag = async () => String((await request(app, 'GET /users/1?expand=notes')).headers.etag)
  const before = await getTag()
  t.ok(before.length < 100, before)
  await request(app, 'DELETE /notes/1')
  await request(app, 'POST /notes', { content: { id: 101, userId: 1 } })
  t.not(await getTag(), before)
})

test('the entity tag of another form of the item does not satisfy If-Match, and 412 says so', async (t) => {
  const blog = defineBlog()
  const app = await serveBlog(t, blog)
  const detail = /belongs to another form of the item\. Read the item without expand and fields/
  for (const query of ['expand=author', 'expand=comments', 'fields=title', 'expand=author&fields=title']) {
    const tag = String((await request(app, `GET /articles/a1?${query}`)).headers.etag)
    for (const match of [tag, `"x", ${tag}`, `W/${tag}`]) {
      const answer = await request(app, 'PATCH /articles/a1', {
        content: { title: 'Changed' },
        fields: { 'if-match': match }
      })
      t.match([answer.statusCode, answer.json()], [412, { code: 'precondition-failed', detail }], match)
    }
    await t.rejects(app.collection(blog.articles).update('a1', { title: 'x' }, { ifMatch: tag }), { message: detail })
    t.equal((await request(app, 'DELETE /articles/a1', { fields: { 'if-match': tag } })).statusCode, 412)
  }
  const stale = String((await request(app, 'GET /articles/a1?expand=author')).headers.etag)
  const { etag } = (await request(app, 'GET /articles/a1')).headers
  const fields = { 'if-match': String(etag) }
  t.equal((await request(app, 'PATCH /articles/a1', { content: { title: 'New' }, fields })).statusCode, 200)
  t.match((await request(app, 'PATCH /articles/a1', { content: { title: 'x' }, fields: { 'if-match': stale } })).json(), {
    status: 412,
    detail: /has changed/
  })
})

test('Cache-Groups name the collections that a response depends on', async (t) => {
  const app = await serveBlog(t)
  const readGroups = async (url: string) => (await request(app, `GET ${url}`)).headers['cache-groups']
  t.equal(await readGroups('/articles'), await readGroups('/articles?sort=title'))
  for (const url of ['/articles?expand=author', '/articles?author.name=Ada', '/articles?sort=author.name']) {
    t.match(await readGroups(url), /users/, url)
  }
  t.match(await readGroups('/articles?expand=comments.author'), /comments.*users|users.*comments/)
})

test('a relation is read once, however many items there are', async (t) => {
  const calls: unknown[] = []
  const note = (name: string) => modified(({ list, listBy }) => ({
    list: (query, context) => {
      calls.push([name, query.filter])
      return list(query, context)
    },
    listBy: (group, query, context) => {
      calls.push([name, group])
      return listBy!(group, query, context)
    }
  }))
  const Person = Type.Object({ id: Type.String(), name: Type.String(), leaderId: Type.Optional(Type.String()) })
  const people = define({ name: 'people', schema: Person, id: { generate: 'client' }, storage: note('people') })
  const related = relate({ people }, {
    people: { leader: { to: 'people', property: 'leaderId' }, team: { to: 'people', by: 'leaderId' } }
  })
  const app = await build(t, related.people)
  for (const content of [{ id: 'a' }, { id: 'b', leaderId: 'a' }, { id: 'c', leaderId: 'a' }, { id: 'd', leaderId: 'b' }]) {
    await created(app, '/people', { name: content.id, ...content })
  }
  await request(app, 'GET /people?expand=leader,team')
  t.strictSame(calls.splice(0), [
    ['people', undefined],
    ['people', { property: 'id', is: 'in', value: ['a', 'b'] }],
    ['people', { property: 'leaderId', values: ['a', 'b', 'c', 'd'] }]
  ])
  t.equal((await request(app, 'GET /people/a?expand=leader')).json().leader, null)
  t.strictSame(calls, [], 'nothing is read if there is no id')
})

test('a default of the document means the same as leaving it out', async (t) => {
  const app = await serveBlog(t, defineBlog({ hasRules: true }))
  const defaults = 'expand.comments.limit=3&expand.comments.count=false'
  for (const [path, query] of [
    ['/articles', ''],
    ['/articles/a1', ''],
    ['/articles', 'limit=2&sort=-id'],
    ['/articles/a1', 'expand=author'],
    ['/articles/a1', 'expand=comments'],
    ['/articles', 'expand=comments.author&expand.comments.sort=-id'],
    ['/articles?title=One', '']
  ] as const) {
    const join = path.includes('?') ? '&' : '?'
    const plain = await request(app, `GET ${path}${join}${query}`)
    const answer = await request(app, `GET ${path}${join}${query}&${defaults}`)
    const { etag, vary, 'cache-control': policy, 'cache-groups': groups } = plain.headers
    t.strictSame([answer.statusCode, answer.body], [200, plain.body], query)
    t.match(answer.headers, { etag, vary, 'cache-control': policy, 'cache-groups': groups }, query)
  }
  for (const other of ['expand.comments.limit=4', 'expand.comments.count=true', 'expand.author.limit=3', 'expand.nothing.limit=3']) {
    t.equal((await request(app, `GET /articles?${other}`)).statusCode, 400, other)
  }
  const query = await request(app, `QUERY /articles?${defaults}`, { content: {} })
  t.strictSame([query.statusCode, query.headers['content-location']], [200, '/articles'], query.body)
})
