import { test } from 'tap'
import { reactAdmin } from '../../lib/client/react-admin.ts'
import type { ReactAdminOptions } from '../../lib/client/react-admin.ts'
import { countries, recordRequests, serveAdmin } from './admin.ts'
import type { Article, StorageKind } from './admin.ts'

// The data provider of react-admin, called as ra-core calls it. test/all/admin.test.ts has ra-core itself.

interface Saved extends Article {
  readonly $tag?: string
  readonly author?: object
  readonly comments?: { readonly items: object[] }
}

const stale = { name: 'HttpError', status: 412, message: /^This record has changed since you opened it/ }
const pageOf = (page: number, perPage: number) => ({ page, perPage })
const sortBy = (field: string, order: 'ASC' | 'DESC' = 'ASC') => ({ field, order })
const getIds = (records: readonly object[]) => records.map((record) => (record as Article).id)
const copy = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value))

async function start (
  t: { after (close: () => Promise<unknown>): void },
  options: ReactAdminOptions & { readonly accept?: string, readonly kind?: StorageKind } = {}
) {
  const { accept, kind, ...rest } = options
  const admin = await serveAdmin(t, kind)
  const recorder = recordRequests(admin.origin, accept)
  const provider = reactAdmin(admin.origin, {
    fetch: recorder.fetch, ...rest, resources: { users: { id: 'login' }, ...rest.resources }
  })
  const read = async (id: number) => (await provider.getOne<Saved>('articles', { id })).data
  return { ...admin, ...recorder, recorder, provider, read }
}

for (const kind of ['memory', 'sqlite'] as const) {
  test(`${kind}: getList takes filters with suffixes, dots, objects, arrays, null and relations`, async (t) => {
    const { provider, articles, comments } = await start(t, { kind })
    const countComments = ({ id }: Article, pattern = ''): number => {
      return comments.filter(({ articleId, text }) => articleId === id && text.startsWith(pattern)).length
    }
    const filters: Array<[filter: object, matches: (article: Article) => boolean]> = [
      [{}, () => true],
      [{ views: 3 }, ({ views }) => views === 3],
      [{ views_gte: 200 }, ({ views }) => views >= 200],
      [{ views_gt: 200 }, ({ views }) => views > 200],
      [{ views_lt: 5 }, ({ views }) => views < 5],
      [{ views_lte: 5 }, ({ views }) => views <= 5],
      [{ authorId_neq: 'ada' }, ({ authorId }) => authorId !== 'ada'],
      [{ title_like: 't 02' }, ({ title }) => title.includes('t 02')],
      [{ title_like: 'T 02' }, () => false],
      [{ title_ilike: 'T 02' }, ({ title }) => title.includes('t 02')],
      [{ title_like: '*' }, () => false],
      [{ 'views.gte': 220 }, ({ views }) => views >= 220],
      [{ views: { gte: 220, lt: 225 } }, ({ views }) => views >= 220 && views < 225],
      [{ id: [3, 5, 7] }, ({ id }) => [3, 5, 7].includes(id)],
      [{ authorId: ['ada', 'bob'] }, ({ authorId }) => authorId !== 'cyd'],
      [{ 'authorId.nin': ['ada', 'bob'] }, ({ authorId }) => authorId === 'cyd'],
      [{ place: { city: 'Rome' } }, ({ place }) => place?.city === 'Rome'],
      [{ note: null }, () => true],
      [{ 'note.null': false }, () => false],
      [{ title: undefined }, () => true],
      [{ author: { country: 'AT' } }, ({ authorId }) => countries[authorId] === 'AT'],
      [{ comments: { some: { 'text.like': 'bad*' } } }, (article) => countComments(article, 'bad') > 0],
      [{ 'comments.count_gte': 5 }, (article) => countComments(article) >= 5],
      [{ 'tags.contains': 'all' }, ({ tags }) => tags.includes('all')],
      [{ tags: { overlaps: ['odd', 'x'] } }, ({ tags }) => tags.includes('odd')],
      [{ q: 'post 01' }, ({ title }) => title.includes('01')],
      [{ q: ' ' }, () => true],
      [{ title: 'a,b' }, () => false],
      [{ title: ['a,b', 'Post 001'] }, ({ title }) => title === 'Post 001'],
      [{ updatedAt_gt: new Date(0) }, () => true],
      [{ any: [{ views: 3 }, { title: 'Post 007' }] }, ({ views }) => views === 3 || views === 7]
    ]
    for (const [filter, matches] of filters) {
      const found = articles.filter(matches).toReversed()
      const sort = sortBy('title', 'DESC')
      const { data, total } = await provider.getList('articles', { pagination: pageOf(1, 40), sort, filter })
      t.strictSame([getIds(data), total], [getIds(found.slice(0, 40)), found.length], JSON.stringify(filter))
      if (found.length <= 7) continue
      const second = await provider.getList('articles', { pagination: pageOf(2, 7), sort, filter })
      t.strictSame([getIds(second.data), second.total], [getIds(found.slice(7, 14)), found.length])
    }
    const range = { pagination: pageOf(1, 5), sort: sortBy('id') }
    await t.rejects(provider.getList('articles', { ...range, filter: { tags: 'all' } }), { status: 400, message: /contains/ })
    await t.rejects(provider.getList('articles', { ...range, filter: { colour: 1 } }), { status: 400, message: /colour/ })
    await t.rejects(provider.getList('articles', { ...range, filter: { logged_in: 1 } }), { message: /logged_in/ })
  })

  test(`${kind}: two saves of one record, and the others`, async (t) => {
    const { provider, read, send, sent } = await start(t, { kind })
    const one = await read(10)
    sent.length = 0
    const first = await provider.update<Saved>('articles', { id: 10, data: { ...one, title: 'Mine' }, previousData: one })
    t.match(first.data, { id: 10, title: 'Mine', $tag: /^"/ })
    t.strictSame(sent, [`PATCH /articles/10 ${one.$tag} 200`])

    // Undoable and optimistic saves: the record of the second one has the tag of before.
    const second = await provider.update<Saved>('articles', {
      id: 10, data: { ...one, title: 'Mine again' }, previousData: { ...one, title: 'Mine' }
    })
    t.match(second.data, { title: 'Mine again' })
    t.equal(sent.at(-1), `PATCH /articles/10 ${first.data.$tag} 200`)
    // As it was: other tags may come back, as digests of rows do.
    await provider.update('articles', { id: 10, data: { title: one.title }, previousData: second.data })

    await send('PATCH', '/articles/10', { views: 999 })
    for (const previousData of [one, first.data, second.data]) {
      const data = { ...previousData, title: 'Lost?' }
      const error = await provider.update('articles', { id: 10, data, previousData }).catch((error: unknown) => error)
      t.match(error, stale)
      t.equal((error as { body: { errors?: object } }).body.errors, undefined, 'the form shows the message')
      await t.rejects(provider.delete('articles', { id: 10, previousData }), stale)
    }
    t.match(await send('GET', '/articles/10'), { title: one.title, views: 999 })

    sent.length = 0
    const now = copy(await read(10))
    t.same((await provider.update('articles', { id: 10, data: { ...now }, previousData: now })).data, now)
    t.equal(sent.length, 1, 'what has not changed is not sent')
    const copied = await provider.update('articles', { id: 10, data: { ...now, title: 'Copied' }, previousData: copy(now) })
    t.match(copied.data, { title: 'Copied', views: 999 })
  })
}

test('getList sorts, includes related items, and turns pages', async (t) => {
  const { provider, articles, sent } = await start(t)
  const list = async (pagination: object, meta = {}, sort = sortBy('id')) => {
    return provider.getList<Saved>('articles', { pagination: pagination as never, sort, filter: {}, meta })
  }
  const byAuthor = await list(pageOf(2, 10), {}, sortBy('author.name', 'DESC'))
  t.ok(byAuthor.data.every(({ authorId }) => authorId === 'cyd'))
  for (const page of [1, 2, 3, 10]) {
    t.strictSame(getIds((await list(pageOf(page, 25))).data), getIds(articles.slice((page - 1) * 25, page * 25)))
  }
  t.strictSame(await list(pageOf(90, 10)), { data: [], total: 230 })
  await t.rejects(list(pageOf(500, 50)), { status: 400, message: /cursor|10000/ })

  const { data } = await list(pageOf(1, 5), { expand: ['author', 'comments'] })
  t.match(data[0], { $tag: /^"/, author: { login: 'ada' }, comments: { items: Array } })
  const chosen = await list(pageOf(1, 5), { fields: ['title'] })
  t.strictSame(Object.keys(chosen.data[0]!).sort(), ['$tag', 'id', 'title'])
  const users = await provider.getList('users', { pagination: pageOf(1, 5), sort: sortBy('id', 'DESC'), filter: {} })
  t.strictSame(users.data.map(({ id, login }) => [id, login]), [['cyd', 'cyd'], ['bob', 'bob'], ['ada', 'ada']])

  sent.length = 0
  const exported = await list(pageOf(1, 1000))
  t.strictSame([getIds(exported.data), exported.total], [getIds(articles), 230])
  t.ok(exported.data.every((record) => !('$tag' in record)), 'columns of an export are properties')
  t.equal(sent.length, 3)
  t.equal((await list(pageOf(1, 1000), {}, sortBy('title'))).data.length, 230)
})

test('prefetch puts related items into the cache', async (t) => {
  const { provider } = await start(t)
  const params = { pagination: pageOf(1, 10), sort: sortBy('id'), filter: {}, meta: { prefetch: { author: 'users' } } }
  const { meta } = await provider.getList('articles', params)
  const { users } = (meta as { prefetched: { users: object[] } }).prefetched
  t.strictSame(users.map((user) => Object(user).id).toSorted(), ['ada', 'bob', 'cyd'])
  t.match(users[0], { login: 'ada', name: 'Ada' })
})

test('by cursors, pages have no total, and a page further on reads those before it', async (t) => {
  const { provider, articles, sent } = await start(t, { resources: { articles: { pages: 'cursor' } } })
  const list = async (page: number) => {
    return provider.getList('articles', { pagination: pageOf(page, 30), sort: sortBy('id'), filter: {} })
  }
  const third = await list(3)
  t.strictSame(getIds(third.data), getIds(articles.slice(60, 90)))
  t.strictSame([third.total, third.pageInfo], [undefined, { hasNextPage: true, hasPreviousPage: true }])
  t.equal(sent.length, 3)
  const last = await list(8)
  t.strictSame([getIds(last.data), last.pageInfo?.hasNextPage], [getIds(articles.slice(210)), false])
  t.strictSame((await list(10)).data, [])
  sent.length = 0
  await list(2)
  t.equal(sent.length, 1)
})

test('getMany and getManyReference', async (t) => {
  const { provider, articles, sent } = await start(t)
  const many = await provider.getMany('articles', { ids: getIds(articles) })
  t.strictSame([getIds(many.data), sent.length], [getIds(articles), 3])
  t.notOk(sent.some((request) => request.includes('count')))
  t.strictSame(getIds((await provider.getMany('users', { ids: ['ada', 'none', 'ada', 'bob'] })).data), ['ada', 'bob'])
  const long = Array.from({ length: 99 }, (_, index) => 'x'.repeat(70) + index)
  t.strictSame(getIds((await provider.getMany('users', { ids: [...long, 'cyd'] })).data), ['cyd'])
  t.match(sent.at(-1), /^QUERY \/users /, 'too long for a URI')

  const refer = async (target: string, id: string, page: number, filter = {}) => {
    const params = { target, id, filter, pagination: pageOf(page, 10), sort: sortBy('id', 'DESC') }
    const { data, total } = await provider.getManyReference('articles', params)
    return [getIds(data), total]
  }
  const own = articles.filter(({ authorId }) => authorId === 'ada').toReversed()
  t.strictSame(await refer('authorId', 'ada', 3), [getIds(own.slice(20, 30)), 77])
  t.strictSame(await refer('authorId', 'ada', 1, { views_lt: 10 }), [getIds(own.slice(-4)), 4])
  t.strictSame(await refer('author.country', 'AT', 1), [getIds(own.slice(0, 10)), 77])
})

test('getOne and create', async (t) => {
  const { provider, sent } = await start(t, { resources: { comments: { expand: ['article'], path: '/comments' } } })
  t.match((await provider.getOne('articles', { id: 1 })).data, { title: 'Post 000', $tag: /^"/ })
  await t.rejects(provider.getOne('articles', { id: 4444 }), { name: 'HttpError', status: 404, body: { code: 'not-found' } })
  const { data } = await provider.getOne<Saved>('articles', { id: 1, meta: { expand: ['author'] } })
  t.match(data, { author: { name: 'Ada' }, $tag: /^"/ })
  t.match((await provider.getOne('comments', { id: 1 })).data, { article: { id: 1 } })

  // An input that is empty is null in a form, and a cloned record has the tag of the other one.
  const made = await provider.create('articles', {
    data: { title: 'New one', slug: 'new-one', authorId: 'ada', note: null, place: { city: null }, $tag: '"1"' }
  })
  t.match(made.data, { id: 231, title: 'New one', $tag: /^"/ })
  const user = await provider.create('users', { data: { login: 'dee', name: 'Dee', country: 'DE' } })
  t.match(user.data, { id: 'dee', login: 'dee' })
  const article = { title: 'Other', slug: 'other', authorId: 'ada' }
  for (const [changed, status, errors] of [
    [{ title: 'N', place: { city: 5 } }, 422, { title: /at least 3/, 'place.city': 'must be string' }],
    [{ slug: 'post-3' }, 409, { slug: 'must be unique' }],
    [{ authorId: 'none' }, 422, { authorId: String }]
  ] as const) {
    const error = await provider.create('articles', { data: { ...article, ...changed } }).catch((error: unknown) => error)
    t.match(error, { name: 'HttpError', status, body: { errors } })
    for (const [name, message] of Object.entries((error as { body: { errors: object } }).body.errors)) {
      t.ok((error as Error).message.includes(`${name} ${message}.`), 'also for those who show only the message')
    }
  }
  const before = sent.length
  const signal = AbortSignal.abort()
  const params = { filter: {}, pagination: pageOf(1, 5), sort: sortBy('id'), signal }
  await t.rejects(provider.getList('articles', params), { name: 'AbortError' })
  t.equal(sent.length, before)
})

test('update sends the difference from previousData, whatever else the form has', async (t) => {
  const { provider, read, sent, send } = await start(t)
  const params = { filter: {}, pagination: pageOf(1, 25), sort: sortBy('id'), meta: { expand: ['author', 'comments'] } }
  const listed = (await provider.getList<Saved>('articles', params)).data
  const row = listed[11]!
  const changed = { ...row, title: 'Of a list', note: null, place: { city: null } }
  t.match((await provider.update('articles', { id: 12, data: changed, previousData: row })).data, { title: 'Of a list' })
  await send('PATCH', '/articles/14', { views: 5000 })
  await t.rejects(provider.update('articles', { id: 14, data: { title: 'Lost?' }, previousData: listed[13]! }), stale)

  const two = await read(16)
  for (const [change, status, errors] of [
    [{ title: 'x', views: -1 }, 422, { title: String, views: String }],
    [{ slug: 'post-1' }, 409, { slug: 'must be unique' }]
  ] as const) {
    const refused = provider.update('articles', { id: 16, data: { ...two, ...change }, previousData: two })
    await t.rejects(refused, { name: 'HttpError', status, body: { errors } })
  }
  const noted = await provider.update<Saved>('articles', { id: 16, data: { ...two, note: 'x' }, previousData: two })
  const emptied = await provider.update('articles', { id: 16, data: { ...noted.data, note: null }, previousData: noted.data })
  t.notOk('note' in emptied.data)
  const nested = { place: { city: 'Graz' }, tags: ['a'] }
  t.match((await provider.update('articles', { id: 16, data: nested, previousData: emptied.data })).data, nested)
  const dee = (await provider.getOne('users', { id: 'bob' })).data
  const renamed = await provider.update('users', { id: 'bob', data: { ...dee, name: 'Bobby' }, previousData: dee })
  t.match(renamed.data, { id: 'bob', login: 'bob', name: 'Bobby' })
  t.match(sent.at(-1), /^PATCH \/users\/bob "/)
})

test('without a tag, a record is read and compared, and without previousData it is refused', async (t) => {
  for (const accept of [undefined, 'application/json']) {
    const { provider, read, send, sent } = await start(t, { ...accept && { accept } })
    const { $tag, ...untagged } = await read(15)
    t.ok($tag)
    sent.length = 0
    const data = { ...untagged, title: 'Compared' }
    t.match((await provider.update('articles', { id: 15, data, previousData: untagged })).data, { title: 'Compared' })
    t.strictSame(sent.map((request) => request.split(' ')[0]), ['GET', 'PATCH'])
    t.match(sent[1], /^PATCH \/articles\/15 "/)
    await t.rejects(provider.update('articles', { id: 15, data: { title: 'Lost?' }, previousData: untagged }), stale)
    await t.rejects(provider.delete('articles', { id: 15, previousData: untagged }), stale)
    await send('DELETE', '/articles/15')
    await t.rejects(provider.update('articles', { id: 15, data: { title: 'Lost?' }, previousData: untagged }), { name: 'HttpError', status: 404 })

    sent.length = 0
    const unknown = { status: 428, message: /Pass previousData, or meta: \{ tag: record\.\$tag \}/ }
    await t.rejects(provider.update('articles', { id: 17, data: { title: 'Lost?' } }), unknown)
    await t.rejects(provider.delete('articles', { id: 17 }), unknown)
    t.strictSame(sent, [])
    const any = await provider.update('articles', { id: 17, data: { title: 'Any' }, meta: { tag: '*' } })
    t.match(any.data, { title: 'Any' })
    t.equal(sent[0], 'PATCH /articles/17 * 200')
    await send('PATCH', '/articles/17', { views: 1 })
    await provider.update('articles', { id: 17, data: { title: 'Any again' }, meta: { tag: '*' } })
    t.equal(sent.at(-1), 'PATCH /articles/17 * 200')
    await provider.update('articles', { id: 18, data: await read(18).then((record) => ({ ...record, title: 'With $tag' })) })
    t.match(sent.at(-1), /^PATCH \/articles\/18 "/)
  }
})

test('delete takes the tag of the record', async (t) => {
  const { provider, read, send, sent } = await start(t)
  const doomed = await read(20)
  await send('PATCH', '/articles/20', { views: 1 })
  await t.rejects(provider.delete('articles', { id: 20, previousData: doomed }), stale)
  const again = await read(20)
  t.equal((await provider.delete('articles', { id: 20, previousData: again })).data, again)
  t.equal(sent.at(-1), `DELETE /articles/20 ${again.$tag} 204`)
  await t.rejects(provider.delete('articles', { id: 20, previousData: again }), { name: 'HttpError', status: 404 })
  const ada = (await provider.getOne('users', { id: 'ada' })).data
  const referred = provider.delete('users', { id: 'ada', previousData: ada })
  await t.rejects(referred, { name: 'HttpError', status: 409, body: { errors: undefined } })
})

test('writes of many are sent one by one, at most six at a time, and say which failed', async (t) => {
  const { provider, recorder, sent, send } = await start(t)
  const list = async () => provider.getList('articles', { filter: {}, pagination: pageOf(1, 50), sort: sortBy('id') })
  await list()
  recorder.most = 0
  sent.length = 0
  const ids = Array.from({ length: 20 }, (_, index) => index + 1)
  t.strictSame(await provider.updateMany('articles', { ids, data: { authorId: 'bob' } }), { data: ids })
  t.equal(sent.filter((request) => /^PATCH \/articles\/\d+ "\S+" 200$/.test(request)).length, 20)
  t.equal(recorder.most, 6)

  const invalid = await provider.updateMany('articles', { ids: [1, 2], data: { views: -1 } }).catch((error: unknown) => error)
  t.match(invalid, { status: 422, message: /^2 of 2 failed \(1, 2\)\. / })
  t.equal((invalid as { body: { errors?: object } }).body.errors, undefined)
  await send('PATCH', '/articles/30', { views: 777 })
  await send('DELETE', '/articles/31')
  const changed = provider.deleteMany('articles', { ids: [29, 30] })
  await t.rejects(changed, { status: 412, message: /^1 of 2 failed \(30\)\. This record has changed/, body: { failed: [30] } })
  await t.rejects(provider.deleteMany('articles', { ids: [31, 32] }), { status: 404, message: /^1 of 2 failed \(31\)\. / })
  await t.rejects(provider.deleteMany('articles', { ids: [30] }), stale)
  t.match(await send('GET', '/articles/30'), { views: 777 })

  const unlisted = { status: 428, message: /^2 of 2 failed \(150, 151\)\. .*meta: \{ tag: "\*" \}/ }
  await t.rejects(provider.deleteMany('articles', { ids: [150, 151] }), unlisted)
  t.strictSame(await provider.deleteMany('articles', { ids: [150, 151], meta: { tag: '*' } }), { data: [150, 151] })
  await list()
  await provider.deleteMany('articles', { ids: [30] })
  t.strictSame(await provider.deleteMany('articles', { ids: [] }), { data: [] })
})

test('without a URI, as the feature of that name had none, the error says what it is', async (t) => {
  t.throws(() => reactAdmin(undefined as never), { name: 'TypeError', message: /reactAdmin\('\/api'\).*remove it from with\(\)/ })
})

test('the message for a stale record can be another one, and other errors stay as they are', async (t) => {
  const { origin, send } = await serveAdmin(t)
  const provider = reactAdmin(origin, { staleMessage: 'Veraltet.', headers: { 'x-own': '1' } })
  const { data } = await provider.getOne('articles', { id: 1 })
  await send('PATCH', '/articles/1', { views: 1000 })
  await t.rejects(provider.update('articles', { id: 1, data: { title: 'Lost?' }, previousData: data }), { message: 'Veraltet.' })
  const offline = reactAdmin(origin, { fetch: async () => { throw new TypeError('fetch failed') } })
  await t.rejects(offline.getOne('articles', { id: 1 }), { name: 'TypeError', message: 'fetch failed' })
  const many = offline.deleteMany('articles', { ids: [1, 2], meta: { tag: '*' } })
  await t.rejects(many, { name: 'Error', message: '2 of 2 failed (1, 2). fetch failed' })
})
