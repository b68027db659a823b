import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { define, problem } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import { redirects } from '../../lib/features/redirects.ts'
import type { NewPlace } from '../../lib/features/redirects.ts'
import { timeout } from '../../lib/features/timeout.ts'
import { within } from '../../lib/features/within.ts'
import { memory } from '../../lib/storage/memory.ts'
import { ada, build, logged, request, users } from '../app.ts'
import { storages } from '../storages.ts'

const Page = Type.Object({
  slug: Type.String({ maxLength: 300 }),
  title: Type.String(),
  book: Type.Optional(Type.String())
})
const changes = { PUT: { content: { title: 'x' } }, PATCH: { content: { title: 'x' } }, DELETE: {}, GET: {}, HEAD: {} }

/** Pages, some of which have moved. */
function pages (moved: Record<string, NewPlace>, options: object = {}): Definition {
  return users({
    name: 'pages',
    schema: Page,
    unique: [],
    id: { property: 'slug', generate: 'client' },
    ...options
  } as object).with(redirects({ to: async ({ id: slug }) => moved[slug] }))
}

for (const { name, skip, open } of storages) {
  test(`an item that moved returns 301 with its new URI for every method: ${name}`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const definition = pages(
      { old: 'new', older: 'old', 'a b/c': 'ü/%' },
      { storage, cache: 'max-age=60', etag: { required: true } }
    )
    await prepare(definition)
    const app = await build(t, { ...definition, prefix: '/v1' })
    for (const slug of ['new', 'ü/%']) {
      t.equal((await request(app, 'POST /v1/pages', { content: { slug, title: 'New' } })).statusCode, 201)
    }
    const steps: Array<[string, string]> = [
      ['/v1/pages/old', '/v1/pages/new'],
      ['/v1/pages/older', '/v1/pages/new'],
      ['/v1/pages/a%20b%2Fc', '/v1/pages/%C3%BC%2F%25']
    ]
    for (const [from, to] of steps) {
      for (const [method, parts] of Object.entries(changes)) {
        const answer = await request(app, `${method} ${from}`, { ...parts, fields: { 'if-match': '"other"' } })
        t.equal(answer.statusCode, 301, `${method} ${from}: before preconditions (RFC 9110, section 13.2.1)`)
        t.equal(answer.headers.location, to)
        t.equal(answer.payload, '')
        t.equal(answer.headers['content-length'], '0')
        t.equal(answer.headers['content-type'], undefined)
        const safe = method === 'GET' || method === 'HEAD'
        t.equal(answer.headers['cache-control'], safe ? 'no-cache' : 'no-store')
        t.equal(answer.headers['cache-group-invalidation'], undefined, 'nothing was written')
        t.equal(answer.headers['cache-groups'] !== undefined, safe)
        t.equal((await request(app, `HEAD ${to}`)).statusCode, 200)
      }
    }
    t.equal(
      (await request(app, 'GET /v1/pages/old?fields=title')).headers.location,
      '/v1/pages/new?fields=title',
      'the query is kept'
    )
    t.equal((await request(app, 'GET /v1/pages/old?colour=red')).statusCode, 400)
    t.equal(
      (await request(app, 'GET /v1/pages/old', { fields: { authorization: 'Bearer x' } })).headers['cache-control'],
      'no-store'
    )
    t.equal((await request(app, 'GET /v1/pages/other')).statusCode, 404)
    t.equal((await request(app, 'OPTIONS /v1/pages/old')).statusCode, 204)
    t.equal((await request(app, 'POST /v1/pages', { content: { slug: 'old', title: 'Old' } })).statusCode, 201)
    t.equal((await request(app, 'GET /v1/pages/old')).statusCode, 200, 'moved() is called only if no item is found')
  })
}

test('with put.create, PUT creates an item that has moved instead', async (t) => {
  const app = await build(t, pages({ old: 'new' }, { put: { create: true } }))
  t.equal((await request(app, 'POST /pages', { content: { slug: 'new', title: 'New' } })).statusCode, 201)
  t.equal((await request(app, 'GET /pages/old')).statusCode, 301)
  t.equal((await request(app, 'PUT /pages/old', { content: { title: 'Old' } })).statusCode, 201)
  t.equal((await request(app, 'GET /pages/old')).json().title, 'Old')
})

test('a call of `to` that never returns does not hold up later writes', async (t) => {
  const definition = define({
    name: 'slow',
    schema: Page,
    id: { property: 'slug', generate: 'client' },
    storage: memory()
  }).with(redirects({ to: () => new Promise(() => {}) }), timeout(1500))
  const slow = await build(t, definition)
  t.equal((await request(slow, 'PATCH /slow/x', { content: {} })).statusCode, 503)
  t.equal((await request(slow, 'POST /slow', { content: { slug: 'x', title: 'X' } })).statusCode, 201)
  t.equal((await request(slow, 'PATCH /slow/x', { content: { title: 'Y' } })).statusCode, 200)
})

test('a redirect in a circle, to itself or to a missing item returns 404', async (t) => {
  const app = await build(
    t,
    pages({
      self: 'self',
      a: 'b',
      b: 'c',
      c: 'a',
      lost: 'nowhere',
      dots: '..',
      long: 'x'.repeat(400),
      here: { href: '/pages/here' },
      again: { href: 'http://localhost:80/pages/again?x=1' },
      relative: { href: 'relative' }
    })
  )
  for (const slug of ['self', 'a', 'b', 'c', 'lost', 'dots', 'long', 'here', 'again', 'relative']) {
    for (const [method, parts] of Object.entries(changes)) {
      t.equal((await request(app, `${method} /pages/${slug}`, parts)).statusCode, 404, `${method} ${slug}`)
    }
  }
})

test('an item can redirect to any URI', async (t) => {
  const app = await build(
    t,
    pages({
      far: { href: 'https://example.com/pages/far' },
      url: new URL('https://example.com/a b?c=1'),
      near: { href: '/books/1' },
      sibling: { href: 'other' },
      odd: { href: '/books/\\evil.example/"\r\nx: y\u{1f600}\ud800' },
      part: { href: '/books/1#part' },
      broken: { href: 'http://' }
    })
  )
  const getLocation = async (path: string) => (await request(app, `GET /pages/${path}`)).headers.location
  t.equal(await getLocation('far'), 'https://example.com/pages/far')
  t.equal(await getLocation('far?fields=title'), 'https://example.com/pages/far?fields=title')
  t.equal(
    await getLocation('url?fields=title'),
    'https://example.com/a%20b?c=1',
    'a query in the new URL is not extended'
  )
  t.equal(await getLocation('near'), '/books/1')
  t.equal(await getLocation('sibling'), 'other')
  t.equal(await getLocation('part?fields=title'), '/books/1#part')
  t.equal(
    await getLocation('odd'),
    '/books/%5Cevil.example/%22%0D%0Ax:%20y%F0%9F%98%80%EF%BF%BD',
    'the header value is escaped'
  )
  t.equal((await request(app, 'GET /pages/broken')).statusCode, 500)
})

test('redirects support status 308, ids that cannot exist, and errors thrown by the function', async (t) => {
  const id = '01900000-0000-7000-8000-000000000001'
  const long = 'x'.repeat(200)
  const { lines, logger } = logged()
  const app = await build(
    t,
    users({
      put: { create: true }
    }).with(
      redirects({
        status: 308,
        to: ({ id: segment, request }) => {
          if (segment === 'burnt') throw problem('gone')
          if (segment === 'teapot') throw Object.assign(new Error('short and stout'), { statusCode: 418 })
          if (segment === 'broken') throw new Error('secret')
          if (segment === 'mine') return String(request?.headers['x-me'])
          return segment === 'ada' || segment === long ? id : undefined
        }
      })
    ),
    { logger }
  )
  t.equal((await request(app, 'GET /users/ada')).statusCode, 404, 'the item does not exist yet')
  t.equal((await request(app, `PUT /users/${id}`, { content: ada })).statusCode, 201)
  for (const segment of ['ada', long]) {
    t.match(await request(app, `GET /users/${segment}`), { statusCode: 308, headers: { location: `/users/${id}` } })
  }
  t.match(await request(app, 'PATCH /users/mine', { content: {}, fields: { 'x-me': id.toUpperCase() } }), {
    statusCode: 308,
    headers: { location: `/users/${id}` }
  })
  t.match((await request(app, 'GET /users/burnt')).json(), { status: 410, code: 'gone' })
  t.match((await request(app, 'GET /users/teapot')).json(), { status: 418, detail: 'short and stout' })
  const broken = await request(app, 'DELETE /users/broken')
  t.equal(broken.statusCode, 500)
  t.notMatch(broken.payload, 'secret')
  t.equal(lines.length, 1)
  t.equal((await request(app, 'GET /users/x/y')).json().code, undefined, 'deeper paths belong to the app')
})

test('in a nested collection, an item redirects only to items of the same parent', async (t) => {
  const books = users({
    name: 'books',
    schema: Type.Object({ id: Type.String(), name: Type.String() }),
    unique: [],
    id: { generate: 'client' }
  } as object)
  const inner = pages({ old: 'new' })
  const app = await build(t, [
    books,
    (inner as Definition<{ book: string }>).with(within(books, 'book'))
  ])
  for (const id of ['one', 'two']) await request(app, 'POST /books', { content: { id, name: id } })
  await request(app, 'POST /books/one/pages', { content: { slug: 'new', title: 'New' } })
  t.match(await request(app, 'GET /books/one/pages/old'), {
    statusCode: 301,
    headers: { location: '/books/one/pages/new' }
  })
  t.equal((await request(app, 'GET /books/two/pages/old')).statusCode, 404)
  t.equal((await request(app, 'GET /books/none/pages/old')).statusCode, 404)
})

test('redirects without a function fail at boot', async (t) => {
  for (const options of [
    '/elsewhere',
    { to: '/elsewhere' },
    { status: 308 },
    { to: () => 'x', status: 302 },
    { to: () => 'x', code: 301 }
  ]) {
    t.throws(
      () => users().with(redirects(options as never)),
      { code: 'FST_COLLECTION_BAD_OPTION', message: /redirects/ },
      JSON.stringify(options)
    )
  }
})
