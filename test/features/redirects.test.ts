import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import collection, { problem } from '../../lib/index.ts'
import { moved } from '../../lib/service/moved.ts'
import type { Definition } from '../../lib/index.ts'
import { redirects } from '../../lib/features/redirects.ts'
import type { NewPlace } from '../../lib/features/redirects.ts'
import { within } from '../../lib/features/within.ts'
import { ada, build, logged, request, users } from '../app.ts'
import { storages } from '../storages.ts'
import { listen, Wire } from '../wire.ts'

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

test('a moved collection returns 301 with the rest of the path and the query, for every method', async (t) => {
  const app = await build(t, users())
  await app.register(moved, { from: '/people', to: '/users' })
  await app.register(moved, { from: '/staff', to: '/users', status: 308, prefix: '/tenants/:tenant' })
  await app.register(moved, { from: '/old/people', to: 'https://example.com/users/' })
  for (const method of app.supportedMethods.filter((method) => method !== 'CONNECT')) {
    const answer = await request(app, `${method} /people/1?a=b&c=%2F`, {
      fields: { 'content-type': 'text/nonsense', expect: 'x' }
    })
    t.equal(answer.statusCode, 301, method)
    t.equal(answer.headers.location, '/users/1?a=b&c=%2F')
    t.equal(answer.headers['content-length'], '0')
    t.equal(answer.headers['cache-control'], method === 'GET' || method === 'HEAD' ? 'no-cache' : 'no-store', method)
  }
  const getLocation = async (path: string) => (await request(app, `GET ${path}`)).headers.location
  t.equal(await getLocation('/people'), '/users')
  t.equal(await getLocation('/people/'), '/users')
  t.equal(await getLocation('/people?q=1'), '/users?q=1')
  t.equal(await getLocation('/people/a/b/c'), '/users/a/b/c')
  t.equal(await getLocation('/tenants/7/staff/1'), '/tenants/7/users/1')
  t.equal(await getLocation('/tenants/a%2Fb/staff'), '/tenants/a%2Fb/users')
  t.equal(await getLocation('/old/people'), 'https://example.com/users')
  t.equal(await getLocation('/old/people/1?a=b'), 'https://example.com/users/1?a=b')
  t.equal((await request(app, 'GET /tenants/7/staff')).statusCode, 308)
  for (const credentials of [{ authorization: 'Basic x' }, { cookie: 'a=b' }]) {
    t.equal((await request(app, 'GET /people', { fields: credentials })).headers['cache-control'], 'no-store')
  }
  t.equal((await request(app, 'GET /peoples')).statusCode, 404)
  t.equal((await request(app, 'GET /users')).statusCode, 200)
})

test('a redirect reads no content and never leads to another host', async (t) => {
  const app = await build(t, users(), { routerOptions: { ignoreDuplicateSlashes: true, ignoreTrailingSlash: true } })
  await app.register(moved, { from: '/people', to: '/users' })
  await app.register(moved, { from: '/people', to: '/users', prefix: '/:tenant' })
  const wire = new Wire(await listen(app))
  t.after(async () => {
    wire.socket.destroy()
  })
  const targets: Array<[string, string]> = [
    ['/people//evil.example', '/users/evil.example'],
    ['//people//evil.example//', '/users/evil.example'],
    ['/people/%2F%2Fevil.example', '/users/%2F%2Fevil.example'],
    ['/people/..%2f..', '/users/..%2f..'],
    ['/people/\\evil.example', '/users/%5Cevil.example'],
    ['/people/x"<>', '/users/x%22%3C%3E'],
    ['/\\evil.example/people/1', '/%5Cevil.example/users/1'],
    ['//evil.example/people', '/evil.example/users'],
    ['/%2Fevil.example/people', '/%2Fevil.example/users'],
    ['http://evil.example/people/1?a=b', '/users/1?a=b'],
    ['https://evil.example//people//1', '/users/1'],
    ['/people/1?next=//evil.example#there', '/users/1?next=//evil.example']
  ]
  for (const [target, location] of targets) {
    const { status, fields } = await wire.ask(`GET ${target}`)
    t.equal(status, 301, target)
    t.equal(fields.location, location, target)
  }
  const unread = new Wire((app.server.address() as { port: number }).port)
  t.after(async () => {
    unread.socket.destroy()
  })
  unread.write(['PUT /people/1', 'Content-Type: application/json', 'Content-Length: 1000000'])
  t.equal((await unread.answer()).status, 301, 'without reading the content')
})

test('hooks of the app run before redirects, and OpenAPI leaves redirects out', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  const documented: string[] = []
  app.addHook('onRoute', ({ url, schema }) => {
    if (schema?.hide !== true) documented.push(url)
  })
  app.addHook('onRequest', async (request) => {
    if (request.headers.authorization === undefined) throw Object.assign(new Error('who?'), { statusCode: 401 })
  })
  await app.register(moved, { from: '/people', to: '/users' })
  t.equal((await request(app, 'GET /people')).statusCode, 401)
  t.equal((await request(app, 'GET /people', { fields: { authorization: 'x' } })).statusCode, 301)
  t.same(documented, [])
})

test('a moved collection with an invalid path fails at boot', async (t) => {
  const loose = moved as unknown as typeof collection
  const checkRefused = async (message: RegExp, ...moves: object[]) => {
    const app = Fastify()
    t.after(() => app.close())
    await app.register(collection, users())
    await t.rejects(
      async () => {
        for (const move of moves) await app.register(loose, move as never)
      },
      { code: 'FST_COLLECTION_BAD_MOVE', message },
      JSON.stringify(moves)
    )
  }
  for (const from of ['people', '/', '', '//evil', '/people/', '/people/*', '/:tenant', '/a b', 5, undefined]) {
    await checkRefused(/from is not a path/, { from, to: '/users' })
  }
  for (const to of [
    'users',
    '/',
    '//evil.example',
    '/\\evil',
    '/users/:id',
    '/..',
    'ftp://example.com',
    'https://',
    'https://example.com/?a=b',
    'https://example.com/#a',
    'https://me@example.com/',
    5,
    undefined
  ]) {
    await checkRefused(/to is .*Use a path/, { from: '/people', to })
  }
  await checkRefused(/status is 302\. Use 301 or 308/, { from: '/people', to: '/users', status: 302 })
  await checkRefused(/redirects to "\/people" again/, { from: '/people', to: '/people' })
  await checkRefused(/redirects to "\/people" again/, { from: '/people', to: '/people/all' })
  await checkRefused(
    /redirects to "\/v1\/b" again/,
    { from: '/a', to: '/b', prefix: '/v1' },
    { from: '/v1/b', to: '/v1/a/x' }
  )
  await checkRefused(/another route already serves \/users/, { from: '/users', to: '/people' })
  await checkRefused(
    /another route already serves \/people/,
    { from: '/people', to: '/users' },
    { from: '/people', to: '/staff' }
  )
  const app = Fastify({ routerOptions: { maxParamLength: 10 } })
  t.after(() => app.close())
  await app.register(moved, { from: '/a', to: '/b' })
  await app.register(moved, { from: '/b', to: '/c' })
  await app.register(moved, { from: '/peoples', to: '/people' })
  app.addHook('onRoute', () => {
    throw new Error('no more routes')
  })
  await t.rejects(async () => app.register(moved, { from: '/x', to: '/y' }), { message: 'no more routes' })
})
