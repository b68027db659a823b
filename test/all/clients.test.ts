import refine from '@refinedev/simple-rest'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import jsonServerProvider from 'ra-data-json-server'
import simpleRestProvider from 'ra-data-simple-rest'
import { setSubmissionErrors } from 'ra-core'
import type { DataProvider } from 'ra-core'
import { test } from 'tap'
import collection, { define } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { relate } from '../../lib/relations/relate.ts'
import { request } from '../app.ts'
import { Post, count, createSyntaxes, failure, kinds, profileNames, seed, serve } from '../features/posts.ts'
import type { ProfileName } from '../features/posts.ts'
import { listen } from '../wire.ts'

// The published clients of react-admin, json-server and refine, without a browser, against a listening app.

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
