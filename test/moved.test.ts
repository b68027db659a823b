import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { define, problem, within } from '../lib/index.ts'
import type { Collection, MovedTo } from '../lib/index.ts'
import { ada, ask, build, logged, users } from './app.ts'
import { kept } from './kept.ts'

const Page = Type.Object({ slug: Type.String({ maxLength: 300 }), title: Type.String(), book: Type.Optional(Type.String()) })
const changes = { PUT: { content: { title: 'x' } }, PATCH: { content: { title: 'x' } }, DELETE: {}, GET: {}, HEAD: {} }

/** Pages, of which some were called otherwise before. */
function pages (moved: Record<string, MovedTo>, options: object = {}): Collection {
  return users({ name: 'pages', schema: Page, unique: [], id: { member: 'slug', by: 'client' }, moved: async (slug: string) => moved[slug], ...options } as object)
}

for (const { name, skip, open } of kept) {
  test(`an item that moved is 301 with its new URI, for every method: ${name}`, { skip }, async t => {
    const { storage, prepare } = await open(t)
    const definition = pages({ old: 'new', older: 'old', 'a b/c': 'ü/%' }, { storage, cache: 'max-age=60', precondition: 'required' })
    await prepare(definition)
    const app = await build(t, { ...definition, prefix: '/v1' } as Collection)
    for (const slug of ['new', 'ü/%']) t.equal((await ask(app, 'POST /v1/pages', { content: { slug, title: 'New' } })).statusCode, 201)
    const steps: Array<[string, string]> = [
      ['/v1/pages/old', '/v1/pages/new'],
      ['/v1/pages/older', '/v1/pages/new'],
      ['/v1/pages/a%20b%2Fc', '/v1/pages/%C3%BC%2F%25']
    ]
    for (const [from, to] of steps) {
      for (const [method, parts] of Object.entries(changes)) {
        const answer = await ask(app, `${method} ${from}`, { ...parts, fields: { 'if-match': '"other"' } })
        t.equal(answer.statusCode, 301, `${method} ${from}: ahead of every precondition (RFC 9110 section 13.2.1)`)
        t.equal(answer.headers.location, to)
        t.equal(answer.payload, '')
        t.equal(answer.headers['content-length'], '0')
        t.equal(answer.headers['content-type'], undefined)
        const safe = method === 'GET' || method === 'HEAD'
        t.equal(answer.headers['cache-control'], safe ? 'no-cache' : 'no-store')
        t.equal(answer.headers['cache-group-invalidation'], undefined, 'nothing was written')
        t.equal(answer.headers['cache-groups'] !== undefined, safe)
        t.equal((await ask(app, `HEAD ${to}`)).statusCode, 200)
      }
    }
    t.equal((await ask(app, 'GET /v1/pages/old?fields=title')).headers.location, '/v1/pages/new?fields=title', 'the query goes along')
    t.equal((await ask(app, 'GET /v1/pages/old?colour=red')).statusCode, 400)
    t.equal((await ask(app, 'GET /v1/pages/old', { fields: { authorization: 'Bearer x' } })).headers['cache-control'], 'no-store')
    t.equal((await ask(app, 'GET /v1/pages/other')).statusCode, 404)
    t.equal((await ask(app, 'OPTIONS /v1/pages/old')).statusCode, 204)
    t.equal((await ask(app, 'POST /v1/pages', { content: { slug: 'old', title: 'Old' } })).statusCode, 201)
    t.equal((await ask(app, 'GET /v1/pages/old')).statusCode, 200, 'only a miss is asked about')
  })
}

test('nobody is led in a circle, to itself, or to where nothing is', async t => {
  const app = await build(t, pages({
    self: 'self', a: 'b', b: 'c', c: 'a', lost: 'nowhere', dots: '..', long: 'x'.repeat(400), here: { href: '/pages/here' }, again: { href: 'http://localhost:80/pages/again?x=1' }, relative: { href: 'relative' }
  }))
  for (const slug of ['self', 'a', 'b', 'c', 'lost', 'dots', 'long', 'here', 'again', 'relative']) {
    for (const [method, parts] of Object.entries(changes)) t.equal((await ask(app, `${method} /pages/${slug}`, parts)).statusCode, 404, `${method} ${slug}`)
  }
})

test('an item can have gone to any URI', async t => {
  const app = await build(t, pages({
    far: { href: 'https://example.com/pages/far' },
    url: new URL('https://example.com/a b?c=1'),
    near: { href: '/books/1' },
    sibling: { href: 'other' },
    odd: { href: '/books/\\evil.example/"\r\nx: y\u{1f600}\ud800' },
    part: { href: '/books/1#part' },
    broken: { href: 'http://' }
  }))
  const to = async (path: string) => (await ask(app, `GET /pages/${path}`)).headers.location
  t.equal(await to('far'), 'https://example.com/pages/far')
  t.equal(await to('far?fields=title'), 'https://example.com/pages/far?fields=title')
  t.equal(await to('url?fields=title'), 'https://example.com/a%20b?c=1', 'a query of its own stays alone')
  t.equal(await to('near'), '/books/1')
  t.equal(await to('sibling'), 'other')
  t.equal(await to('part?fields=title'), '/books/1#part')
  t.equal(await to('odd'), '/books/%5Cevil.example/%22%0D%0Ax:%20y%F0%9F%98%80%EF%BF%BD', 'nothing gets out of the field')
  t.equal((await ask(app, 'GET /pages/broken')).statusCode, 500)
})

test('308, ids that cannot exist, and what the hook throws', async t => {
  const id = '01900000-0000-7000-8000-000000000001'
  const long = 'x'.repeat(200)
  const { lines, logger } = logged()
  const app = await build(t, users({
    moved: {
      status: 308,
      to: (segment, request) => {
        if (segment === 'burnt') throw problem('gone')
        if (segment === 'teapot') throw Object.assign(new Error('short and stout'), { statusCode: 418 })
        if (segment === 'broken') throw new Error('secret')
        if (segment === 'mine') return String(request.headers['x-me'])
        return segment === 'ada' || segment === long ? id : undefined
      }
    },
    replace: { creates: true }
  }), { logger })
  t.equal((await ask(app, 'GET /users/ada')).statusCode, 404, 'she is not there yet')
  t.equal((await ask(app, `PUT /users/${id}`, { content: ada })).statusCode, 201)
  for (const segment of ['ada', long]) t.match(await ask(app, `GET /users/${segment}`), { statusCode: 308, headers: { location: `/users/${id}` } })
  t.match(await ask(app, 'PATCH /users/mine', { content: {}, fields: { 'x-me': id.toUpperCase() } }), { statusCode: 308, headers: { location: `/users/${id}` } })
  t.match((await ask(app, 'GET /users/burnt')).json(), { status: 410, code: 'gone' })
  t.match((await ask(app, 'GET /users/teapot')).json(), { status: 418, detail: 'short and stout' })
  const broken = await ask(app, 'DELETE /users/broken')
  t.equal(broken.statusCode, 500)
  t.notMatch(broken.payload, 'secret')
  t.equal(lines.length, 1)
  t.equal((await ask(app, 'GET /users/x/y')).json().code, undefined, 'what lies deeper is the app\'s')
})

test('within a parent, an item is led to only where it lies in the same', async t => {
  const books = users({ name: 'books', schema: Type.Object({ id: Type.String(), name: Type.String() }), unique: [], id: { by: 'client' } } as object)
  const inner = pages({ old: 'new' })
  const app = await build(t, [books, within(books, inner as Collection<{ book: string }>, 'book')] as Collection[])
  for (const id of ['one', 'two']) await ask(app, 'POST /books', { content: { id, name: id } })
  await ask(app, 'POST /books/one/pages', { content: { slug: 'new', title: 'New' } })
  t.match(await ask(app, 'GET /books/one/pages/old'), { statusCode: 301, headers: { location: '/books/one/pages/new' } })
  t.equal((await ask(app, 'GET /books/two/pages/old')).statusCode, 404)
  t.equal((await ask(app, 'GET /books/none/pages/old')).statusCode, 404)
})

test('moved that is no function is refused at boot', async t => {
  const loose = define as unknown as (options: object) => unknown
  const base = { name: 'pages', schema: Page, id: { member: 'slug', by: 'client' }, storage: kept[0]!.open }
  for (const moved of ['/elsewhere', { to: '/elsewhere' }, { status: 308 }, { to: () => 'x', status: 302 }, { to: () => 'x', code: 301 }]) {
    t.throws(() => loose({ ...base, storage: () => ({ supports: { filter: true, order: true } }), moved }), { code: 'FST_COLLECTION_BAD_OPTION', message: /moved/ }, JSON.stringify(moved))
  }
})
