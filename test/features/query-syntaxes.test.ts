import { service } from '../../lib/service/service.ts'
import { withoutPaths } from '../app.ts'
import { Type } from '@sinclair/typebox'
import cors from '@fastify/cors'
import Fastify from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { corsOptions, define, json, problem } from '../../lib/index.ts'
import { hal } from '../../lib/formats/hal.ts'
import type { Definition, Page, Query } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import * as features from './all.ts'
import { modified, request } from '../app.ts'
import { listen } from '../wire.ts'
import {
  Post, build, count, createSyntaxes, pages, posts, profileNames, properties, seed, syntaxes, uuid
} from './posts.ts'
import type { ProfileName } from './posts.ts'

// The parameters of query syntaxes. test/all/clients.test.ts has the published clients.

const reading: Readonly<Record<string, readonly ProfileName[]>> = {
  ra: ['react-admin'],
  us: ['json-server'],
  all: profileNames
}

/** Serves posts from a storage that has as many as are requested, and records its queries. */
async function record (t: Test, profiles: readonly ProfileName[]) {
  const queries: Query[] = []
  const app = Fastify()
  t.after(() => app.close())
  const list = async (query: Query): Promise<Page<object>> => {
    queries.push(query)
    const entries = Array.from({ length: query.limit }, (_, id) => ({ id, item: { id, ...seed[0] }, version: 'v' }))
    return { entries, more: true }
  }
  await app.register(collection, posts(profiles, () => ({ list })))
  return async (text: string) => {
    queries.length = 0
    const response = await request(app, `GET /posts?${new URLSearchParams(text)}`)
    return { response, queries: [...queries] }
  }
}

interface Listed extends Partial<Query> {
  /** How many items are skipped. */
  offset?: number
}

const byId = { property: 'id', descending: false }
const plain: Listed = {
  filter: undefined,
  search: undefined,
  order: [byId],
  limit: 20,
  count: false,
  offset: 0
}

test('a query syntax is translated into a query, and its parameters can be combined with native ones', async (t) => {
  const table: Array<[keyof typeof reading, string, Listed]> = [
    ['ra', '', {}],
    [
      'ra',
      'limit=3&sort=-title&views.gte=2',
      {
        limit: 3,
        order: [{ property: 'title', descending: true }, byId],
        filter: { property: 'views', is: 'gte', value: 2 }
      }
    ],
    ['ra', 'sort=["title","DESC"]', { order: [{ property: 'title', descending: true }, byId] }],
    ['ra', 'sort=["id","ASC"]', { order: [byId] }],
    ['ra', 'range=[0,24]', { offset: 0, limit: 25, count: true }],
    ['ra', 'range=[10000,10099]', { offset: 10_000, limit: 100, count: true }],
    ['ra', 'filter={}', {}],
    ['ra', 'filter={"views":3}', { filter: { property: 'views', is: 'eq', value: 3 } }],
    ['ra', 'filter={"views":"3"}', { filter: { property: 'views', is: 'eq', value: 3 } }],
    ['ra', 'filter={"title":"**"}', { filter: { property: 'title', is: 'eq', value: '**' } }],
    ['ra', 'filter={"id":[1,"2"]}', { filter: { property: 'id', is: 'in', value: [1, 2] }, limit: 2 }],
    ['ra', 'filter={"id":[]}', { filter: { property: 'id', is: 'in', value: [] }, limit: 1 }],
    [
      'ra',
      'filter={"id":[1,2]}&range=[0,9]',
      { filter: { property: 'id', is: 'in', value: [1, 2] }, offset: 0, limit: 10, count: true }
    ],
    ['ra', 'filter={"subtitle":null}', { filter: { property: 'subtitle', is: 'null', value: true } }],
    ['ra', 'filter={"place":{"city":"Rome"}}', { filter: { property: 'place.city', is: 'eq', value: 'Rome' } }],
    [
      'ra',
      'filter={"views":{"gte":1},"views.lt":5}',
      {
        filter: {
          all: [
            { property: 'views', is: 'gte', value: 1 },
            { property: 'views', is: 'lt', value: 5 }
          ]
        }
      }
    ],
    [
      'ra',
      'filter={"views_gt":1,"views_neq":5}',
      {
        filter: {
          all: [
            { property: 'views', is: 'gt', value: 1 },
            { property: 'views', is: 'ne', value: 5 }
          ]
        }
      }
    ],
    [
      'ra',
      'filter={"status.in":"draft,published"}',
      { filter: { property: 'status', is: 'in', value: ['draft', 'published'] } }
    ],
    ['ra', 'filter={"q":"x"}', { search: { words: ['x'], properties: ['title'] } }],
    ['ra', 'filter={"q":" "}', {}],
    ['us', '', { count: true }],
    ['us', '_start=20&_end=40', { count: true, offset: 20, limit: 20 }],
    ['us', '_end=5', { count: true, offset: 0, limit: 5 }],
    ['us', '_start=5', { count: true, offset: 5 }],
    ['us', '_sort=title', { count: true, order: [{ property: 'title', descending: false }, byId] }],
    [
      'us',
      '_sort=views,title&_order=DESC,asc',
      { count: true, order: [{ property: 'views', descending: true }, { property: 'title', descending: false }, byId] }
    ],
    ['us', '_sort=views,id&_order=desc', { count: true, order: [{ property: 'views', descending: true }, byId] }],
    ['us', 'id=1', { count: true, filter: { property: 'id', is: 'eq', value: 1 } }],
    [
      'us',
      'id=1&id=2&status=draft',
      {
        count: true,
        filter: {
          all: [
            { property: 'status', is: 'eq', value: 'draft' },
            { property: 'id', is: 'in', value: [1, 2] }
          ]
        },
        limit: 2
      }
    ],
    [
      'us',
      'status=draft&status=published&views_ne=3',
      {
        count: true,
        filter: {
          all: [
            { property: 'status', is: 'in', value: ['draft', 'published'] },
            { property: 'views', is: 'ne', value: 3 }
          ]
        }
      }
    ],
    ['us', 'title_like=a*b\\', { count: true, filter: { property: 'title', is: 'like', value: '*a\\*b\\\\*' } }],
    ['us', 'title_like=&q=', { count: true }],
    [
      'all',
      'filter={"views":1}&views_lte=3&_start=0&_end=2&status=draft',
      {
        count: true,
        offset: 0,
        limit: 2,
        filter: {
          all: [
            { property: 'status', is: 'eq', value: 'draft' },
            { property: 'views', is: 'lte', value: 3 },
            { property: 'views', is: 'eq', value: 1 }
          ]
        }
      }
    ]
  ]
  for (const [profiles, query, expected] of table) {
    const { response, queries } = await (await record(t, reading[profiles]!))(query)
    t.equal(response.statusCode, 200, `${profiles} ${query}`)
    const skipped = queries.slice(0, -1)
    const { filter, search, order, limit, count } = queries.at(-1)!
    const offset = skipped.reduce((sum, { limit }) => sum + limit, 0)
    t.strictSame({ filter, search, order, limit, count, offset }, { ...plain, ...expected }, `${profiles} ${query}`)
  }
})

test('a parameter that neither a query syntax nor the library knows returns 400 and is named', async (t) => {
  const table: Array<[keyof typeof reading, string, string]> = [
    ['ra', '_start=0', '_start'],
    ['us', 'secret_like=', 'secret_like'],
    ['us', 'x_y=1', 'x_y'],
    ['us', 'x_gte=1', 'x_gte'],
    ['us', 'limit=1&limit=2', 'limit'],
    ['us', 'range=[0,1]', 'range'],
    ['us', 'sort=["id","ASC"]', 'sort']
  ]
  for (const [profiles, query, parameter] of table) {
    const { response, queries } = await (await record(t, reading[profiles]!))(query)
    t.match(response.json(), { status: 400, code: 'invalid-query', parameter }, `${profiles} ${query}`)
    t.strictSame(queries, [])
  }
})

test('an invalid parameter of a syntax returns 400 and is named', async (t) => {
  const table: Array<[keyof typeof reading, string, string, RegExp]> = [
    [
      'ra',
      'sort=["title"',
      'sort',
      /^sort must be \["property","ASC"\] or \["property","DESC"\], with one of: id, title,/
    ],
    ['ra', 'sort=["title","UP"]', 'sort', /^sort must/],
    ['ra', 'sort=["title","ASC","x"]', 'sort', /^sort must/],
    ['ra', 'sort=[1,"ASC"]', 'sort', /^sort must/],
    ['ra', 'sort=["-title","ASC"]', 'sort', /^sort must/],
    ['ra', 'range=[0,', 'range', /^range must be the positions of the first and the last item, such as \[0,24\]\.$/],
    ['ra', 'range={}', 'range', /^range must/],
    ['ra', 'range=[0,1]&range=[0,1]', 'range', /^range must/],
    ['ra', 'range=[-1,3]', 'range', /^range must/],
    ['ra', 'range=[0,1.5]', 'range', /^range must/],
    ['ra', 'range=[0,1,2]', 'range', /^range must/],
    ['ra', 'range=["0","1"]', 'range', /^range must/],
    ['ra', 'range=[5,4]', 'range', /^The number of items up to range must be from 1 to 100\.$/],
    ['ra', 'range=[0,100]', 'range', /^The number of items up to range/],
    [
      'ra',
      'range=[10001,10002]',
      'range',
      /^The number of items that range skips must be at most 10000\. To go further, use limit=100 and follow the cursor/
    ],
    ['ra', 'filter={', 'filter', /^filter must be a JSON object/],
    ['ra', 'filter=[]', 'filter', /^filter must be a JSON object/],
    [
      'ra',
      'filter={"x":1}',
      'filter',
      /^filter must be an object of filterable properties: id, title,.*\. "x" is not one of them\.$/
    ],
    ['ra', 'filter={"__proto__":1}', 'filter', /"__proto__" is not one of them/],
    ['ra', 'filter={"limit":1}', 'filter', /"limit" is not one of them/],
    [
      'ra',
      'filter={"views":"x"}',
      'filter',
      /^filter, by views, must be a whole number from -9007199254740991 to 9007199254740991\.$/
    ],
    [
      'ra',
      'filter={"views":[1,"x"]}',
      'filter',
      /^filter, by views, must be up to 1000 values, each a whole number from -9007199254740991 to 9007199254740991\.$/
    ],
    ['ra', 'filter={"status_gte":[1]}', 'filter', /^filter, by status_gte, must be one of draft, published\.$/],
    ['ra', 'filter={"title_like":7}', 'filter', /^filter, by title_like, must be text/],
    ['ra', 'filter={"q":7}', 'filter', /^filter, by q, must be text of up to 200 characters and 10 different words\.$/],
    ['us', '_start=x', '_start', /^_start must be a whole number\.$/],
    ['us', '_start=1&_start=2', '_start', /^_start must/],
    ['us', '_end=-1', '_end', /^_end must/],
    ['us', '_start=5&_end=5', '_end', /^The number of items up to _end/],
    ['us', '_start=10001&_end=10002', '_start', /^The number of items that _start skips/],
    ['us', '_order=asc', '_sort', /^_sort must be given once, as must _order/],
    ['us', '_sort=id&_sort=title', '_sort', /^_sort must be given once/],
    ['us', '_sort=id&_order=up', '_order', /^_order must be asc or desc/],
    ['us', '_sort=id&_order=asc,desc', '_order', /^_order must/],
    ['us', '_sort=id&_order=toString', '_order', /^_order must/],
    ['us', '_sort=-title', '_sort', /^_sort must be properties/],
    ['us', '_sort=title,title', '_sort', /^_sort must be properties/],
    ['us', '_sort=secret', '_sort', /^_sort must be properties separated by commas, each once: id, title,/],
    [
      'us',
      'views=1&views=x',
      'views',
      /^views must be up to 1000 values, each a whole number from -9007199254740991 to 9007199254740991\.$/
    ],
    [
      'us',
      'views_gte=x',
      'views_gte',
      /^views_gte must be a whole number from -9007199254740991 to 9007199254740991\.$/
    ]
  ]
  for (const [profiles, query, parameter, detail] of table) {
    const { response, queries } = await (await record(t, reading[profiles]!))(query)
    t.match(response.json(), { status: 400, code: 'invalid-query', detail, parameter }, `${profiles} ${query}`)
    t.strictSame(queries, [])
  }
})

test('native query parameters and preferences work beside a query syntax', async (t) => {
  const app = await build(t, profileNames)
  const plain = await request(app, 'GET /posts')
  t.equal(plain.json().length, 20)
  t.match(plain.headers, { 'x-total-count': String(count), link: /rel="next"/ })
  t.notOk('content-range' in plain.headers, 'a response without the query syntax has no Content-Range')
  const own = await request(app, 'GET /posts?limit=2&sort=-title&status=draft&views.gte=2&fields=title&count=false')
  t.strictSame(Object.keys(own.json()[0]), ['title'])
  t.notOk('x-total-count' in own.headers)
  t.match((await request(app, 'GET /posts/4?embed="author"')).json(), { status: 400, parameter: 'embed' })
  t.match((await request(app, 'GET /posts?embed=["author"]')).json(), { status: 400, parameter: 'embed' })
  t.match((await request(app, 'GET /posts?_embed=author')).json(), { status: 400, parameter: '_embed' })
  t.match((await request(app, 'GET /posts?limit=1&limit=2')).json(), { status: 400, parameter: 'limit' })
  t.equal((await request(app, 'DELETE /posts/1', { fields: { prefer: 'return=minimal' } })).statusCode, 204)
  const shown = await request(app, 'DELETE /posts/2', { fields: { prefer: 'return=representation' } })
  t.match([shown.statusCode, shown.headers['preference-applied'], shown.json().id], [200, 'return=representation', 2])
  const removed = await request(app, 'DELETE /posts/3')
  t.match([removed.statusCode, removed.json().id], [200, 3])
  t.notOk('preference-applied' in removed.headers)
})

test('a react-admin list requested by range has Content-Range, also on 304 (RFC 9110, section 14.4)', async (t) => {
  const app = await build(t, ['react-admin'])
  const target = `/posts?range=${encodeURIComponent('[30,39]')}`
  const list = await request(app, `GET ${target}`)
  t.match(list.headers, { 'content-range': 'posts 30-32/33', 'x-total-count': '33' })
  t.equal((await request(app, `HEAD ${target}`)).headers['content-range'], 'posts 30-32/33')
  const unmodified = await request(app, `GET ${target}`, { fields: { 'if-none-match': String(list.headers.etag) } })
  t.match([unmodified.statusCode, unmodified.headers['content-range']], [304, 'posts 30-32/33'])
  t.equal((await request(app, `GET ${target}&count=false`)).headers['content-range'], undefined)
  t.equal((await request(app, 'GET /posts?range=[90,99]')).headers['content-range'], 'posts */33')
  t.notOk('x-total-count' in (await request(app, 'GET /posts')).headers)
})

test('numbered pages follow the cursors of the storage up to a limit, and return no cursor', async (t) => {
  const queries: Array<{ limit: number; properties: readonly string[] | undefined; count: boolean }> = []
  const items = Array.from({ length: 2600 }, (_, index) => ({
    id: index + 1,
    title: `Post ${index}`,
    status: 'draft' as const,
    updatedAt: '2026-01-01T00:00:00.000Z',
    views: index % 5
  }))
  const definition = define({
    name: 'posts',
    schema: Post,
    id: { generate: 'storage' },
    storage: (shape) => {
      const storage = memory({ items })(shape)
      return {
        ...storage,
        list: (query, context) => {
          queries.push(query)
          return storage.list(query, context)
        }
      }
    }
  }).with(features.refine())
  const app = Fastify()
  t.after(() => app.close())
  await app.register(collection, definition)
  const answer = await request(app, 'GET /posts?_start=2500&_end=2503&_sort=views&_order=desc')
  const sorted = [...items].sort((one, other) => other.views - one.views || one.id - other.id)
  t.strictSame(
    answer.json().map(({ id }: { id: number }) => id),
    sorted.slice(2500, 2503).map(({ id }) => id)
  )
  t.strictSame(
    queries.map(({ limit, count }) => [limit, count]),
    [
      [1000, false],
      [1000, false],
      [500, false],
      [3, true]
    ]
  )
  t.strictSame(queries[0]!.properties, ['views', 'id'])
  t.notOk('link' in answer.headers)
  queries.length = 0
  t.strictSame((await request(app, 'GET /posts?_start=9000&_end=9010')).json(), [])
  t.equal(queries.length, 4, 'the walk ends with the list')
  const beyond = await request(app, 'GET /posts?_start=20000&_end=20010')
  t.match(beyond.json(), { status: 400, parameter: '_start', detail: /follow the cursor/ })
  const cursor = /cursor=([\w-]+)/.exec(String((await request(app, 'GET /posts')).headers.link))![1]
  t.match((await request(app, `GET /posts?_start=10&cursor=${cursor}`)).json(), { status: 400, parameter: 'cursor' })
})

test('an empty list has empty pages', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(
    collection,
    posts(['json-server'], () => ({}))
  )
  const answer = await request(app, 'GET /posts?_start=10&_end=20')
  t.match([answer.statusCode, answer.payload, answer.headers['x-total-count']], [200, '[]', '0'])
})

test('QUERY returns counts too, and Content-Location only for an equal GET (RFC 10008, section 2.4)', async (t) => {
  const app = await build(t, profileNames)
  const plain = await request(app, 'QUERY /posts', { content: { filter: { views: 3 } } })
  t.match(
    [plain.statusCode, plain.headers['x-total-count']],
    [200, String(seed.filter(({ views }) => views === 3).length)]
  )
  t.ok('content-location' in plain.headers)
  const numbered = await request(app, 'QUERY /posts?_start=1&_end=2', { content: {} })
  t.equal(numbered.json().length, 1)
  t.notOk('content-location' in numbered.headers)
  const ids = Array.from({ length: 101 }, (_, index) => `id=${index + 1}`).join('&')
  const many = await request(app, `QUERY /posts?${ids}`, { content: {} })
  t.equal(many.json().length, count)
  t.notOk('content-location' in many.headers)
})

test('a problem has the properties that the client reads, beside those of RFC 9457', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(service, { ...withoutPaths, problems: 'https://example.com/' })
  const thrown: unknown[] = []
  for (const name of profileNames) {
    const definition = define({
      name,
      schema: Post,
      id: { generate: 'storage' },
      storage: memory(),
      hooks: {
        beforeValidation: () => {
          throw thrown.at(-1)
        }
      }
    }).with(syntaxes[name]())
    await app.register(collection, definition)
  }
  const answers: Array<[unknown, object, object]> = [
    [
      problem('forbidden', { detail: 'Not you.' }),
      { type: 'https://example.com/forbidden', detail: 'Not you.', message: 'Not you.' },
      {}
    ],
    [problem('conflict'), { message: 'The request conflicts with the state of the resource' }, {}],
    [Object.assign(new Error('short'), { statusCode: 418 }), { type: 'about:blank', message: 'short' }, {}],
    [Object.assign(new Error('hidden'), { statusCode: 599 }), { message: 'Unknown' }, {}],
    [Object.assign(new Error('hidden'), { statusCode: 502 }), { message: 'Bad Gateway' }, {}],
    [
      problem('validation-failed', {
        properties: { errors: [{ pointer: '/a/b~1c/0', message: 'is wrong' }, { pointer: 'x', message: 'is bad' }, null] }
      }),
      { errors: [{ pointer: '/a/b~1c/0', message: 'is wrong' }, { pointer: 'x', message: 'is bad' }, null] },
      { errors: { 'a.b/c.0': 'is wrong', 'root.serverError': 'undefined' } }
    ],
    [
      problem('validation-failed', { detail: 'No.', properties: { errors: { own: 'words' } } }),
      { message: 'No.', errors: { own: 'words' } },
      { errors: { own: 'words' } }
    ]
  ]
  for (const [error, common, ofReactAdmin] of answers) {
    thrown.push(error)
    for (const name of profileNames) {
      const answer = (await request(app, `POST /${name}`, { content: { title: 'x' } })).json()
      t.match(answer, name === 'refine' ? common : { ...common, ...ofReactAdmin }, name)
    }
  }
})

test('PUT merges the content under react-admin, and replaces the item without a query syntax', async (t) => {
  const app = await build(t, ['react-admin'])
  await app.register(collection, { ...pages([]), prefix: '/plain' })
  const before = (await request(app, 'GET /posts/1')).json()
  const merged = await request(app, 'PUT /posts/1', { content: { views: 5, place: { city: 'Oslo' } } })
  const { updatedAt, ...rest } = merged.json()
  t.not(updatedAt, before.updatedAt)
  t.strictSame({ ...rest, updatedAt: before.updatedAt }, { ...before, views: 5, place: { city: 'Oslo' } })
  t.match((await request(app, 'PUT /posts/9', { content: { subtitle: null } })).json(), {
    title: 'Post 09',
    subtitle: null
  })
  t.notOk('x-total-count' in (await request(app, 'GET /plain/pages')).headers)
  t.match((await request(app, `PUT /plain/pages/${uuid(0)}`, { content: { views: 5 } })).json(), {
    status: 422,
    errors: [{ pointer: '/title', message: 'is required' }]
  })
  t.equal((await request(app, `DELETE /plain/pages/${uuid(0)}`)).statusCode, 204)
})

test('syntaxes that the definition does not support fail at boot', async (t) => {
  const right = { name: 'posts', schema: Post, id: { generate: 'storage' }, storage: memory() }
  const loose = (options: object): Definition => (define as (options: object) => Definition)({ ...right, ...options })
  const lacking = (feature: string) => modified((storage) => ({ supports: { ...storage.supports, [feature]: false } }))
  const Slug = Type.Object({ slug: Type.String(), ...properties })
  const { refine } = features
  t.throws(() => loose({ schema: Slug, id: { property: 'slug', generate: 'client' } }).with(refine()), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /id\.property is "slug"/
  })
  t.throws(() => loose({ list: { filter: ['title'] } }).with(refine()), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /filter does not contain "id"/
  })
  t.throws(() => loose({ formats: [hal, json] }).with(refine()), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /JSON is not the first of formats/
  })
  for (const feature of ['count', 'filter', 'order']) {
    t.throws(() => loose({ storage: lacking(feature) }).with(refine()), { code: 'FST_COLLECTION_UNSUPPORTED' }, feature)
  }
  t.doesNotThrow(() =>
    loose({ list: { filter: ['id', 'title'] }, formats: [json, hal] }).with(...createSyntaxes(profileNames))
  )
})

test('corsOptions allows all requests of these clients from another origin', async (t) => {
  const origin = 'https://admin.example'
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  await app.register(cors, { origin: [origin], ...corsOptions() })
  await app.register(collection, posts(profileNames))
  const url = `http://127.0.0.1:${await listen(app)}/posts`
  const preflights: Array<[string, string, string]> = [
    ['GET', '', 'range'],
    ['PUT', '/1', 'content-type'],
    ['PATCH', '/1', 'content-type,if-match'],
    ['DELETE', '/1', 'if-match,prefer'],
    ['POST', '', 'content-type'],
    ['QUERY', '', 'content-type'],
    ['HEAD', '', 'if-none-match']
  ]
  for (const [method, path, headerNames] of preflights) {
    const { status, headers } = await fetch(url + path, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': headerNames }
    })
    t.equal(status, 204, method)
    t.equal(headers.get('access-control-allow-origin'), origin)
    t.ok(headers.get('access-control-allow-methods')!.split(', ').includes(method), method)
    t.equal(headers.get('access-control-allow-headers'), headerNames)
  }
  t.equal((await fetch(url, { method: 'OPTIONS' })).status, 204, 'OPTIONS that is not a preflight')

  const checkExposed = async (target: string, init: RequestInit = {}): Promise<void> => {
    const { headers } = await fetch(target, {
      ...init,
      headers: { origin, 'content-type': 'application/json', ...init.headers }
    })
    const names = new Set(headers.get('access-control-expose-headers')!.toLowerCase().split(', '))
    // https://fetch.spec.whatwg.org/#cors-safelisted-response-header-name, and headers that scripts do not need.
    const ignored =
      /^(?:access-control-.*|cache-control|content-(?:language|length|type)|expires|last-modified|pragma|connection|keep-alive|date|vary|transfer-encoding|x-content-type-options)$/
    t.strictSame(
      [...headers.keys()].filter((name) => !ignored.test(name) && !names.has(name)),
      [],
      `${init.method ?? 'GET'} ${target}`
    )
    for (const name of [
      'etag',
      'location',
      'link',
      'x-total-count',
      'content-range',
      'retry-after'
    ]) {
      t.ok(names.has(name), name)
    }
  }
  await checkExposed(`${url}?range=[0,1]`)
  await checkExposed(url)
  await checkExposed(url, { method: 'POST', body: '{"title":"New"}', headers: { prefer: 'return=representation' } })
  await checkExposed(`${url}/1`)
  await checkExposed(`${url}/1`, { method: 'PATCH', body: '<>', headers: { 'content-type': 'text/html' } })
  await checkExposed(url, { method: 'QUERY', body: '{}' })
  await checkExposed(url, { method: 'DELETE' })
})
