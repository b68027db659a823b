import { test } from 'tap'
import { refine } from '../../lib/client/refine.ts'
import type { RefineOptions } from '../../lib/client/refine.ts'
import { countries, recordRequests, serveAdmin } from './admin.ts'
import type { Article, StorageKind } from './admin.ts'

// The data provider of refine, called as @refinedev/core calls it. test/all/admin.test.ts has that package itself.

interface Saved extends Article {
  readonly $tag?: string
  readonly author?: object
}

const stale = { statusCode: 412, message: /^This record has changed since you opened it/ }
const resource = 'articles'
const byId = [{ field: 'id', order: 'asc' }] as const
const getIds = (records: readonly object[]) => records.map((record) => (record as Article).id)

async function start (
  t: { after (close: () => Promise<unknown>): void },
  options: RefineOptions & { readonly accept?: string, readonly kind?: StorageKind } = {}
) {
  const { accept, kind, ...rest } = options
  const admin = await serveAdmin(t, kind)
  const recorder = recordRequests(admin.origin, accept)
  const provider = refine(admin.origin, { fetch: recorder.fetch, resources: { users: { id: 'login' } }, ...rest })
  const read = async (id: number) => (await provider.getOne<Saved>({ resource, id })).data
  const list = async (id: number) => (await provider.getList<Saved>({
    resource, filters: [{ field: 'id', operator: 'eq', value: id }]
  })).data[0]!
  return { ...admin, ...recorder, recorder, provider, read, list }
}

type Filter = readonly [operator: string, field: string, value: unknown, matches: (article: Article) => boolean]

for (const kind of ['memory', 'sqlite'] as const) {
  test(`${kind}: getList has all operators of refine`, async (t) => {
    const { provider, articles } = await start(t, { kind })
    const texts = ['', 's'].flatMap((suffix): Filter[] => [
      [`contains${suffix}`, 'title', 'st 02', ({ title }) => title.includes('st 02')],
      [`ncontains${suffix}`, 'title', 'st 02', ({ title }) => !title.includes('st 02')],
      [`startswith${suffix}`, 'title', 'Post 1', ({ title }) => title.startsWith('Post 1')],
      [`nstartswith${suffix}`, 'title', 'Post 1', ({ title }) => !title.startsWith('Post 1')],
      [`endswith${suffix}`, 'title', '7', ({ title }) => title.endsWith('7')],
      [`nendswith${suffix}`, 'title', '7', ({ title }) => !title.endsWith('7')]
    ])
    const eq = (field: string, value: unknown) => ({ field, operator: 'eq', value })
    const filters: Filter[] = [
      ...texts,
      ['eq', 'views', 3, ({ views }) => views === 3],
      ['eqs', 'authorId', 'ada', ({ authorId }) => authorId === 'ada'],
      ['ne', 'authorId', 'ada', ({ authorId }) => authorId !== 'ada'],
      ['nes', 'authorId', 'ada', ({ authorId }) => authorId !== 'ada'],
      ['lt', 'views', 4, ({ views }) => views < 4],
      ['lte', 'views', 4, ({ views }) => views <= 4],
      ['gt', 'views', 220, ({ views }) => views > 220],
      ['gte', 'views', 220, ({ views }) => views >= 220],
      ['in', 'authorId', ['ada', 'bob'], ({ authorId }) => authorId !== 'cyd'],
      ['nin', 'authorId', ['ada', 'bob'], ({ authorId }) => authorId === 'cyd'],
      ['ina', 'tags', ['even', 'all'], ({ tags }) => tags.includes('all')],
      ['nina', 'tags', ['odd'], ({ tags }) => !tags.includes('odd')],
      ['between', 'views', [5, 9], ({ views }) => views >= 5 && views <= 9],
      ['nbetween', 'views', [5, 220], ({ views }) => views < 5 || views > 220],
      ['null', 'place.city', true, ({ place }) => place === undefined],
      ['nnull', 'place.city', true, ({ place }) => place !== undefined],
      ['eq', 'place.city', null, ({ place }) => place === undefined],
      ['ne', 'place.city', null, ({ place }) => place !== undefined],
      ['contains', 'title', '', () => true],
      ['contains', 'title', 'ST 02', ({ title }) => title.includes('st 02')],
      ['containss', 'title', 'ST 02', () => false],
      ['gte', 'views', undefined, () => true],
      ['or', '', [eq('views', 3), eq('author.country', 'CH')], ({ views, authorId }) => views === 3 || countries[authorId] === 'CH'],
      ['or', '', [], () => true],
      ['or', '', [{ field: 'title', operator: 'contains', value: '' }], () => true],
      [
        'and', '',
        [{ field: 'views', operator: 'gte', value: 3 }, { operator: 'or', value: [eq('views', 7), eq('views', 8)] }],
        ({ views }) => views === 7 || views === 8
      ]
    ]
    for (const [operator, field, value, matches] of filters) {
      const found = articles.filter(matches)
      const filters = [field === '' ? { operator, value } : { field, operator, value }]
      const list = async (currentPage: number, pageSize: number) => {
        const { data, total } = await provider.getList<Saved>({
          resource, filters, sorters: byId, pagination: { currentPage, pageSize }, meta: { expand: ['author'] }
        })
        t.ok(data.every(({ author, $tag }) => author && $tag))
        return [getIds(data), total]
      }
      t.strictSame(await list(1, 50), [getIds(found.slice(0, 50)), found.length], `${operator} ${field}`)
      if (found.length > 4) t.strictSame(await list(2, 3), [getIds(found.slice(3, 6)), found.length])
    }
    await t.rejects(provider.getList({ resource, filters: [{ field: 'title', operator: 'close', value: 1 }] }), {
      name: 'TypeError',
      message: /operator close is unknown/
    })
    await t.rejects(provider.getList({ resource, filters: [eq('colour', 1)] }), { statusCode: 400, message: /colour/ })
  })

  test(`${kind}: update takes the tag of meta, of the values, or of the last getOne`, async (t) => {
    const { provider, read, list, send, sent } = await start(t, { kind })
    const update = async (id: number, variables: object, meta = {}) => {
      return provider.update({ resource, id, variables, meta })
    }

    const first = await read(100)
    sent.length = 0
    t.match((await update(100, { title: 'Of refine' })).data, { title: 'Of refine', $tag: /^"/ })
    t.match((await update(100, { title: 'Of refine 2', $tag: first.$tag })).data, { title: 'Of refine 2' })
    t.equal(sent[0], `PATCH /articles/100 ${first.$tag} 200`)
    await send('PATCH', '/articles/100', { views: 4242 })
    await t.rejects(update(100, { title: 'Lost?' }), stale)
    await t.rejects(update(100, { title: 'Lost?', $tag: first.$tag }), stale)

    // A refetch under an open form: only a tag in the values is that with which the form was opened.
    const form = await read(101)
    await send('PATCH', '/articles/101', { views: 1 })
    await read(101)
    const error = await update(101, { title: 'Lost?', $tag: form.$tag }).catch((error: unknown) => error)
    t.match(error, stale)
    t.notOk('errors' in (error as object))
    t.match((await update(101, { title: 'From now on' })).data, { title: 'From now on' })

    await list(103)
    const unread = { statusCode: 428, message: /not read with getOne\. Pass meta: \{ tag: record\.\$tag \}/ }
    await t.rejects(update(103, { title: 'Lost?' }), unread)
    t.match((await update(103, { title: 'Row' }, { tag: (await list(103)).$tag })).data, { title: 'Row' })
    t.match((await update(104, { title: 'Any' }, { tag: '*' })).data, { title: 'Any' })

    await read(105)
    await t.rejects(update(105, { title: 'x', views: -1 }), { name: 'Error', statusCode: 422, errors: { title: String, views: String } })
    await t.rejects(update(105, { slug: 'post-1' }), { name: 'Error', statusCode: 409, errors: { slug: 'must be unique' } })
  })
}

test('without a URI, as the feature of that name had none, the error says what it is', async (t) => {
  t.throws(() => refine(undefined as never), { name: 'TypeError', message: /refine\('\/api'\).*remove it from with\(\)/ })
})

test('getList sorts, searches, and reads all without pagination', async (t) => {
  const { provider, articles } = await start(t)
  const range = (operator: string, value: number) => ({ field: 'views', operator, value })
  const both = await provider.getList({ resource, filters: [range('gte', 50), range('lt', 55), range('gte', 52)] })
  t.equal(both.total, 3)
  const all = await provider.getList({ resource, pagination: { mode: 'off' }, sorters: byId })
  t.strictSame([getIds(all.data), all.total], [getIds(articles), 230])
  const long = await provider.getList({ resource, pagination: { currentPage: 2, pageSize: 120 }, sorters: byId })
  t.strictSame(getIds(long.data), getIds(articles.slice(120)))
  const found = await provider.getList({ resource, filters: [{ field: 'q', operator: 'contains', value: 'post 01' }] })
  t.equal(found.total, articles.filter(({ title }) => title.includes('01')).length)
  const sorters = [{ field: 'author.name', order: 'desc' }, { field: 'views', order: 'desc' }] as const
  t.match((await provider.getList({ resource, sorters })).data[0], { authorId: 'cyd', views: 227 })
  const chosen = await provider.getList({ resource, meta: { fields: ['title'] } })
  t.strictSame(Object.keys(chosen.data[0]!).toSorted(), ['$tag', 'id', 'title'])
  const aborted = { queryContext: { signal: AbortSignal.abort() } }
  await t.rejects(provider.getList({ resource, meta: aborted }), { name: 'AbortError' })
  await t.rejects(provider.getOne({ resource, id: 1, meta: aborted }), { name: 'AbortError' })
})

test('getOne, getMany, create and custom', async (t) => {
  const { provider, articles, read, sent, origin } = await start(t, { headers: async () => ({ 'x-own': '1' }) })
  t.equal(provider.getApiUrl(), origin)
  t.match(await read(1), { title: 'Post 000', $tag: /^"/ })
  t.match((await provider.getOne({ resource, id: 1, meta: { expand: ['author'] } })).data, { author: { name: 'Ada' } })
  await t.rejects(provider.getOne({ resource, id: 4444 }), { name: 'Error', statusCode: 404 })
  sent.length = 0
  t.strictSame(getIds((await provider.getMany({ resource, ids: getIds(articles) })).data), getIds(articles))
  t.equal(sent.length, 3)
  const variables = { title: 'Other', slug: 'other', authorId: 'ada', $tag: '"1"' }
  const { data } = await provider.create<Saved>({ resource, variables })
  t.match(data, { id: 231, title: 'Other', $tag: /^"/ })
  t.match((await provider.update({ resource, id: 231, variables: { title: 'Others' } })).data, { title: 'Others' })
  await t.rejects(provider.create({ resource, variables: { ...variables, slug: 'post-3' } }), {
    name: 'Error',
    statusCode: 409,
    errors: { slug: 'must be unique' }
  })
  const users = [{ login: 'xa', name: 'X', country: 'AT' }, { login: 'xb', name: 'X', country: 'AT' }]
  t.match(await provider.createMany({ resource: 'users', variables: users }), { data: [{ id: 'xa' }, { id: 'xb' }] })
  const again = provider.createMany({ resource: 'users', variables: [...users, { login: 'xc', name: 'X', country: 'AT' }] })
  await t.rejects(again, { statusCode: 409, message: /^2 of 3 failed \(1, 2\)\. / })

  const custom = await provider.custom({ url: '/articles/1', method: 'get', query: { expand: 'author' } })
  t.match(custom.data, { author: { name: 'Ada' } })
  const posted = await provider.custom({
    url: `${origin}/comments`, method: 'post', payload: { text: 'x', articleId: 1 }, headers: { prefer: 'return=minimal' }
  })
  t.equal(posted.data, undefined)
  await t.rejects(provider.custom({ url: '/none', method: 'get' }), { name: 'Error', statusCode: 404 })
})

test('deletes take the tag of the last getOne or list', async (t) => {
  const { provider, read, list, send, sent } = await start(t)
  await list(105)
  await send('PATCH', '/articles/105', { views: 7 })
  await t.rejects(provider.deleteOne({ resource, id: 105 }), stale)
  const { $tag } = await list(105)
  t.strictSame(await provider.deleteOne({ resource, id: 105 }), { data: { id: 105 } })
  t.equal(sent.at(-1), `DELETE /articles/105 ${$tag} 204`)
  await t.rejects(provider.deleteOne({ resource, id: 106 }), { name: 'Error', statusCode: 428 })
  await read(106)
  await provider.deleteOne({ resource, id: 106 })
  await t.rejects(provider.deleteOne({ resource: 'users', id: 'ada', meta: { tag: '*' } }), { name: 'Error', statusCode: 409 })
})

test('writes of many are sent one by one, at most six at a time, and say which failed', async (t) => {
  const { provider, recorder, sent, send } = await start(t)
  const ids = Array.from({ length: 20 }, (_, index) => index + 1)
  await t.rejects(provider.updateMany({ resource, ids: [1, 2], variables: { views: 1 } }), {
    statusCode: 428,
    message: /^2 of 2 failed \(1, 2\)\. The record has no entity tag/
  })
  t.strictSame(sent, [])
  await provider.getList({ resource, sorters: byId, pagination: { pageSize: 50 } })
  const { data } = await provider.updateMany({ resource, ids, variables: { views: 1 } })
  t.strictSame(getIds(data), ids)
  t.equal(sent.filter((request) => /^PATCH \/articles\/\d+ "\S+" 200$/.test(request)).length, 20)
  t.equal(recorder.most, 6)
  const refused = provider.updateMany({ resource, ids: [1, 2], variables: { views: -1 } })
  const invalid = await refused.catch((error: unknown) => error)
  t.match(invalid, { statusCode: 422, message: /^2 of 2 failed \(1, 2\)/ })
  t.notOk('errors' in (invalid as object))
  await send('PATCH', '/articles/30', { views: 777 })
  await t.rejects(provider.deleteMany({ resource, ids: [29, 30] }), {
    statusCode: 412,
    message: /^1 of 2 failed \(30\)\. This record has changed/,
    content: { failed: [30] }
  })
  t.strictSame(await provider.deleteMany({ resource, ids: [1, 31] }), { data: [{ id: 1 }, { id: 31 }] })
})

test('without entries, the tag of getOne is that of the header, and rows have none', async (t) => {
  const { provider, read, list, send } = await start(t, { accept: 'application/json' })
  t.match(await read(1), { $tag: /^"/ })
  await send('PATCH', '/articles/1', { views: 1000 })
  await t.rejects(provider.update({ resource, id: 1, variables: { title: 'Lost?' } }), stale)
  t.equal((await list(2)).$tag, undefined)
  await t.rejects(provider.deleteOne({ resource, id: 2 }), { name: 'Error', statusCode: 428 })
})
