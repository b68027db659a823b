import refine from '@refinedev/simple-rest'
import { service } from '../../lib/service/service.ts'
import { withoutPaths } from '../app.ts'
import { Type } from '@sinclair/typebox'
import cors from '@fastify/cors'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import jsonServerProvider from 'ra-data-json-server'
import simpleRestProvider from 'ra-data-simple-rest'
import { setSubmissionErrors } from 'ra-core'
import type { DataProvider } from 'ra-core'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { corsOptions, define, json, problem } from '../../lib/index.ts'
import { hal } from '../../lib/formats/hal.ts'
import type { Definition, Page, Query, Storage } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import * as features from '../../lib/features/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { modified, request } from '../app.ts'
import { listen } from '../wire.ts'

// The published clients, without a browser, against a listening app; and the parameters of their syntaxes.

const Place = Type.Object({ city: Type.String(), zip: Type.Optional(Type.String({ maxLength: 5 })) })

const properties = {
  title: Type.String({ minLength: 1, maxLength: 40 }),
  views: Type.Optional(Type.Integer({ minimum: 0 })),
  status: Type.Union([Type.Literal('draft'), Type.Literal('published')], { default: 'draft' }),
  subtitle: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  author: Type.Optional(Type.Integer()),
  place: Type.Optional(Place),
  secret: Type.Optional(Type.String({ writeOnly: true })),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
}

const Post = Type.Object({ id: Type.Integer({ minimum: 1 }), ...properties })
const PageSchema = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), ...properties })

const count = 33
const seed = Array.from({ length: count }, (_, index) => ({
  title: `Post ${String(index + 1).padStart(2, '0')}`,
  views: (index * 7) % 10,
  status: index % 3 === 0 ? ('published' as const) : ('draft' as const),
  author: index % 4,
  place: { city: index % 2 === 0 ? 'Paris' : 'Rome' },
  updatedAt: '2026-01-01T00:00:00.000Z',
  ...(index < 5 && { subtitle: null })
}))
const uuid = (index: number): string => `01900000-0000-7000-8000-${String(index + 1).padStart(12, '0')}`

const syntaxes = { 'react-admin': features.reactAdmin, 'json-server': features.jsonServer, refine: features.refine }

type ProfileName = keyof typeof syntaxes

const profileNames = Object.keys(syntaxes) as ProfileName[]
const createSyntaxes = (names: readonly ProfileName[]) => names.map((name) => syntaxes[name]())

/** The same posts twice: with integer ids from the storage, and with UUIDs from the library. */
function posts (
  profiles: readonly ProfileName[],
  storage?: (storage: Storage<object>) => Partial<Storage<object>>
): Definition {
  const items = seed.map((item, index) => ({ id: index + 1, ...item }))
  return define({
    name: 'posts',
    schema: Post,
    id: { generate: 'storage' },
    unique: ['title'],
    list: { search: ['title'] },
    storage: storage === undefined ? memory({ items }) : modified(storage)
  }).with(...createSyntaxes(profiles))
}

function pages (profiles: readonly ProfileName[]): Definition {
  return define({
    name: 'pages',
    schema: PageSchema,
    unique: ['title'],
    list: { search: ['title'] },
    storage: memory({ items: seed.map((item, index) => ({ id: uuid(index), ...item })) })
  }).with(...createSyntaxes(profiles))
}

const kinds = [
  { resource: 'posts', id: (index: number): string | number => index + 1, missing: 9999 },
  { resource: 'pages', id: uuid, missing: uuid(9999) }
]

async function build (t: Test, profiles: readonly ProfileName[]): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  await app.register(collection, posts(profiles))
  await app.register(collection, pages(profiles))
  return app
}

async function serve (t: Test, profiles: readonly ProfileName[]): Promise<string> {
  return `http://127.0.0.1:${await listen(await build(t, profiles))}`
}

interface Failed {
  status: number
  message: string
  body: Record<string, unknown> & { errors?: Record<string, string> }
}

async function failure (promise: Promise<unknown>): Promise<Failed> {
  try {
    await promise
  } catch (error) {
    return error as Failed
  }
  throw new Error('it was expected to fail')
}

const reactAdminClients: ReadonlyArray<[ProfileName, string, (url: string) => DataProvider]> = [
  ['react-admin', 'ra-data-simple-rest', (url) => simpleRestProvider(url)],
  [
    'react-admin',
    'ra-data-simple-rest with X-Total-Count',
    (url) => simpleRestProvider(url, undefined, 'X-Total-Count')
  ],
  ['json-server', 'ra-data-json-server', (url) => jsonServerProvider(url)]
]

for (const [profile, client, provider] of reactAdminClients) {
  for (const profiles of [[profile], profileNames]) {
    test(`${client} reads lists and items under ${profiles.join(' and ')}`, async (t) => {
      const api = provider(await serve(t, profiles))
      for (const { resource, id, missing } of kinds) {
        const second = await api.getList(resource, {
          pagination: { page: 2, perPage: 10 },
          sort: { field: 'title', order: 'DESC' },
          filter: {}
        })
        t.equal(second.total, count)
        t.strictSame(
          second.data.map(({ title }) => title),
          seed
            .map(({ title }) => title)
            .reverse()
            .slice(10, 20)
        )
        const last = await api.getList(resource, {
          pagination: { page: 4, perPage: 10 },
          sort: { field: 'id', order: 'ASC' },
          filter: {}
        })
        t.strictSame(
          last.data.map((record) => record.id),
          [id(30), id(31), id(32)]
        )
        const past = await api.getList(resource, {
          pagination: { page: 9, perPage: 10 },
          sort: { field: 'id', order: 'ASC' },
          filter: {}
        })
        t.strictSame(past, { data: [], total: count })

        const found = await api.getList(resource, {
          pagination: { page: 1, perPage: 5 },
          sort: { field: 'views', order: 'ASC' },
          filter: { status: 'draft', place: { city: 'Rome' }, views_gte: 3, q: 'post' }
        })
        const wanted = seed.filter(
          ({ status, place, views }) => status === 'draft' && place.city === 'Rome' && views >= 3
        )
        t.ok(wanted.length > 5)
        t.equal(found.total, wanted.length)
        t.strictSame(
          found.data.map(({ views }) => views),
          wanted
            .map(({ views }) => views)
            .sort()
            .slice(0, 5)
        )
        const several = await api.getList(resource, {
          pagination: { page: 1, perPage: 100 },
          sort: { field: 'id', order: 'ASC' },
          filter: { views: [1, 2] }
        })
        t.strictSame(
          several.data.map(({ views }) => views).sort(),
          seed
            .map(({ views }) => views)
            .filter((views) => views === 1 || views === 2)
            .sort()
        )

        t.match((await api.getOne(resource, { id: id(2) })).data, {
          id: id(2),
          title: 'Post 03',
          place: { city: 'Paris' }
        })
        const ids = Array.from({ length: 25 }, (_, index) => id(index))
        t.strictSame(
          (await api.getMany(resource, { ids })).data.map((record) => record.id),
          ids,
          'all of them, although a page has 20'
        )
        t.strictSame(
          (await api.getMany(resource, { ids: [String(id(3)), String(missing)] })).data.map((record) => record.id),
          [id(3)],
          'ids from a URL are strings, and missing items are left out'
        )

        const referring = await api.getManyReference(resource, {
          target: 'author',
          id: 3,
          pagination: { page: 2, perPage: 5 },
          sort: { field: 'title', order: 'ASC' },
          filter: { status: 'draft' }
        })
        const others = seed.filter(({ author, status }) => author === 3 && status === 'draft')
        t.equal(referring.total, others.length)
        t.strictSame(
          referring.data.map(({ title }) => title),
          others.slice(5, 10).map(({ title }) => title)
        )
      }
    })

    test(`${client} writes items under ${profiles.join(' and ')}`, async (t) => {
      const api = provider(await serve(t, profiles))
      for (const { resource, id } of kinds) {
        const { data: created } = await api.create(resource, {
          data: { title: 'New', views: 1, secret: 'kept', place: { city: 'Oslo' } }
        })
        t.match(created, { title: 'New', status: 'draft', place: { city: 'Oslo' } })
        t.equal(typeof created.id, typeof id(0))
        // As a form sends it: the whole record, and null for an empty input.
        const { data: changed } = await api.update(resource, {
          id: created.id,
          data: { ...created, title: 'Newer', views: null, subtitle: null },
          previousData: created
        })
        t.match(changed, { id: created.id, title: 'Newer', subtitle: null })
        t.notOk('views' in changed)

        const ids = [id(0), id(1)]
        t.strictSame((await api.updateMany(resource, { ids, data: { status: 'published', views: 77 } })).data, ids)
        const {
          data: [first, second]
        } = await api.getMany(resource, { ids })
        t.match(first, { title: 'Post 01', status: 'published', views: 77, place: { city: 'Paris' }, subtitle: null })
        t.match(second, { title: 'Post 02', status: 'published', views: 77, place: { city: 'Rome' } })

        t.match((await api.delete(resource, { id: id(0), previousData: first! })).data, { id: id(0), title: 'Post 01' })
        t.strictSame((await api.deleteMany(resource, { ids: [id(1), id(2)] })).data, [id(1), id(2)])
        t.strictSame(
          (await api.getMany(resource, { ids: [id(0), id(1), id(2), id(3)] })).data.map((record) => record.id),
          [id(3)]
        )
      }
    })

    test(`${client} receives validation errors under ${profiles.join(' and ')}`, async (t) => {
      const api = provider(await serve(t, profiles))
      for (const { resource, id, missing } of kinds) {
        const invalid = await failure(
          api.create(resource, { data: { views: -1, place: { zip: '123456' }, 'sub.title': 'x' } })
        )
        t.match(invalid, {
          status: 422,
          message: /^5 properties are invalid\. \S+ \S+.*\.$/,
          body: { status: 422, code: 'validation-failed', detail: '5 properties are invalid.' }
        })
        t.match(invalid.body.errors, {
          title: 'is required',
          views: 'must be >= 0',
          'place.city': 'is required',
          'place.zip': /5 characters/
        })
        const shown: Record<string, unknown> = {}
        setSubmissionErrors(invalid.body.errors!, (field, error) => {
          shown[field] = error.message
        })
        t.match(
          shown,
          { title: 'is required', views: 'must be >= 0', 'place.city': 'is required' },
          'react-admin shows each message at its input'
        )

        const duplicate = await failure(api.create(resource, { data: { title: 'Post 01' } }))
        t.match(duplicate, {
          status: 409,
          message: 'Another item has this title already.',
          body: { code: 'not-unique', errors: { title: 'must be unique' } }
        })
        const emptied = await failure(
          api.update(resource, { id: id(0), data: { title: null }, previousData: { id: id(0) } })
        )
        t.match(emptied, { status: 422, body: { errors: { title: 'is required' } } })
        const unknown = await failure(
          api.update(resource, { id: id(0), data: { nme: null }, previousData: { id: id(0) } })
        )
        t.match(unknown, { status: 422, body: { errors: { nme: 'is not a known property' } } })
        const whole = await failure(api.update(resource, { id: id(0), data: [] as never, previousData: { id: id(0) } }))
        t.match(whole, {
          status: 422,
          message: /^One property is invalid\. The item must be object\.$/,
          body: { errors: { 'root.serverError': 'must be object' } }
        })

        const title = 'No resource has this path, or it is not visible to the caller.'
        t.match(await failure(api.getOne(resource, { id: missing })), { status: 404, message: title })
        t.match(
          await failure(api.update(resource, { id: missing, data: { title: 'x' }, previousData: { id: missing } })),
          { status: 404, message: title }
        )
        t.match(await failure(api.delete(resource, { id: missing })), { status: 404, message: title })
        t.match(await failure(api.deleteMany(resource, { ids: [id(3), missing] })), { status: 404, message: title })

        const sort = await failure(
          api.getList(resource, {
            pagination: { page: 1, perPage: 10 },
            sort: { field: 'secret', order: 'ASC' },
            filter: {}
          })
        )
        t.match(sort, { status: 400, body: { code: 'invalid-query', parameter: /sort$/ } })
        const filter = await failure(
          api.getList(resource, {
            pagination: { page: 1, perPage: 10 },
            sort: { field: 'id', order: 'ASC' },
            filter: { secret: 'x' }
          })
        )
        t.match(filter, { status: 400, message: /"secret" is (?:not one of them|unknown)/ })
        const page = await failure(
          api.getList(resource, {
            pagination: { page: 1, perPage: 1000 },
            sort: { field: 'id', order: 'ASC' },
            filter: {}
          })
        )
        t.match(page, { status: 400, message: /must be from 1 to 100\.$/ })
      }
    })
  }
}

for (const profiles of [['refine'], profileNames] as const) {
  test(`@refinedev/simple-rest reads and writes under ${profiles.join(' and ')}`, async (t) => {
    const api = refine(await serve(t, profiles))
    for (const { resource, id } of kinds) {
      const second = await api.getList({
        resource,
        pagination: { currentPage: 2, pageSize: 10 },
        sorters: [
          { field: 'views', order: 'desc' },
          { field: 'title', order: 'asc' }
        ]
      })
      const sorted = [...seed].sort((one, other) => other.views - one.views || (one.title < other.title ? -1 : 1))
      t.equal(second.total, count)
      t.strictSame(
        second.data.map(({ title }) => title),
        sorted.slice(10, 20).map(({ title }) => title)
      )
      const found = await api.getList({
        resource,
        pagination: { currentPage: 1, pageSize: 3 },
        filters: [
          { field: 'status', operator: 'eq', value: 'draft' },
          { field: 'views', operator: 'gte', value: 2 },
          { field: 'views', operator: 'lte', value: 8 },
          { field: 'author', operator: 'ne', value: 1 },
          { field: 'title', operator: 'contains', value: '2' },
          { field: 'place.city', operator: 'in', value: ['Rome', 'Oslo'] },
          { field: 'q', operator: 'eq', value: 'POST' }
        ]
      })
      const wanted = seed.filter(
        ({ status, views, author, title, place }) =>
          status === 'draft' && views >= 2 && views <= 8 && author !== 1 && title.includes('2') && place.city === 'Rome'
      )
      t.ok(wanted.length > 1)
      t.equal(found.total, wanted.length)
      t.strictSame(
        found.data.map(({ title }) => title),
        wanted.slice(0, 3).map(({ title }) => title)
      )
      t.equal(
        (
          await api.getList({
            resource,
            filters: [
              { field: 'q', operator: 'eq', value: '' },
              { field: 'title', operator: 'contains', value: '' }
            ]
          })
        ).total,
        count,
        'empty inputs do not filter'
      )
      const all = await api.getList({ resource, pagination: { mode: 'off' } })
      t.match([all.data.length, all.total], [20, count], 'a list without pagination has a total')

      t.match((await api.getOne({ resource, id: id(4) })).data, { id: id(4), title: 'Post 05' })
      const ids = Array.from({ length: 25 }, (_, index) => id(index))
      t.strictSame(
        (await api.getMany({ resource, ids })).data.map((record) => record.id),
        ids
      )
      t.strictSame(
        (await api.getMany({ resource, ids: [id(7)] })).data.map((record) => record.id),
        [id(7)]
      )

      const { data: created } = await api.create({ resource, variables: { title: 'New', views: 1 } })
      t.match(created, { title: 'New', status: 'draft' })
      t.match((await api.update({ resource, id: created.id!, variables: { views: 2 } })).data, {
        id: created.id,
        title: 'New',
        views: 2
      })
      await api.deleteOne({ resource, id: created.id!, variables: { why: 'content on a DELETE' } })
      await api.deleteOne({ resource, id: id(0) })
      t.match(await failure(api.getOne({ resource, id: id(0) })), {
        statusCode: 404,
        message: 'No resource has this path, or it is not visible to the caller.'
      })
    }
  })

  test(`@refinedev/simple-rest receives validation errors under ${profiles.join(' and ')}`, async (t) => {
    const api = refine(await serve(t, profiles))
    for (const { resource, id, missing } of kinds) {
      t.match(await failure(api.create({ resource, variables: { title: '', views: -1 } })), {
        statusCode: 422,
        message:
          /^2 properties are invalid\. (title must have .*, views must be >= 0|views must be >= 0, title must have .*)\.$/
      })
      t.match(await failure(api.update({ resource, id: id(1), variables: { title: 'Post 01' } })), {
        statusCode: 409,
        message: 'Another item has this title already.'
      })
      t.match(await failure(api.update({ resource, id: missing, variables: {} })), { statusCode: 404 })
      t.match(await failure(api.deleteOne({ resource, id: missing })), { statusCode: 404 })
      t.match(await failure(api.getList({ resource, filters: [{ field: 'secret', operator: 'gte', value: 'a' }] })), {
        statusCode: 400,
        message: /"secret_gte" is unknown/
      })
      t.match(await failure(api.getList({ resource, sorters: [{ field: 'secret', order: 'asc' }] })), {
        statusCode: 400,
        message: /^_sort must be properties/
      })
    }
  })
}

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

test('related items are embedded as the client requests', async (t) => {
  const Author = Type.Object({ id: Type.Integer(), name: Type.String() })
  const writers = define({
    name: 'authors',
    schema: Author,
    id: { generate: 'storage' },
    storage: memory({
      items: [
        { id: 1, name: 'Ada' },
        { id: 2, name: 'Alan' }
      ]
    })
  })
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  const items = seed.map((item, index) => ({ id: index + 1, ...item }))
  const { authors, posts } = relate({
    authors: writers,
    posts: define({ name: 'posts', schema: Post, id: { generate: 'storage' }, storage: memory({ items }) })
      .with(...createSyntaxes(profileNames))
  }, {
    posts: { writer: { to: 'authors', property: 'author' }, editor: { to: 'authors', property: 'author' } }
  })
  await app.register(collection, authors)
  await app.register(collection, posts)
  const url = `http://127.0.0.1:${await listen(app)}`
  for (const [profile, client, provider] of reactAdminClients) {
    const api = provider(url)
    const params = { pagination: { page: 1, perPage: 3 }, sort: { field: 'id', order: 'ASC' }, filter: {} } as const
    for (const embed of [['writer', 'editor'], profile === 'react-admin' ? ['writer', 'editor'] : 'writer,editor']) {
      const { data, total } = await api.getList('posts', { ...params, meta: { embed } })
      t.equal(total, count)
      t.strictSame(
        data.map(({ writer, editor }) => [writer?.name, editor?.name]),
        [
          [undefined, undefined],
          ['Ada', 'Ada'],
          ['Alan', 'Alan']
        ],
        client
      )
      t.match((await api.getOne('posts', { id: 2, meta: { embed } })).data, {
        id: 2,
        writer: { id: 1, name: 'Ada' },
        editor: { name: 'Ada' }
      })
    }
    t.match((await api.getMany('posts', { ids: [2, 3], meta: { embed: 'writer' } })).data, [
      { writer: { name: 'Ada' } },
      { writer: { name: 'Alan' } }
    ])
    t.match(await failure(api.getOne('posts', { id: 2, meta: { embed: 'author' } })), {
      status: 400,
      body: { parameter: /embed$/ },
      message: /^_?embed must be .*: writer, editor; not "author"\.$/
    })
  }
  t.match((await request(app, 'GET /posts?embed=[')).json(), { status: 400, parameter: 'embed' })
  t.match((await request(app, 'GET /posts/2?_start=0')).json(), { status: 400, parameter: '_start' })
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
      'retry-after',
      'deprecation',
      'sunset'
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
