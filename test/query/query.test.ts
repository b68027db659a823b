import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { build, request } from '../app.ts'
import { goods, getIds, links } from './goods.ts'

// QUERY (RFC 10008): everything that a query string supports, and more, in the content.

const query = (app: FastifyInstance, content: unknown, fields: Record<string, string> = {}, at = '/goods') =>
  request(app, `QUERY ${at}`, { content, fields })

const trees: ReadonlyArray<readonly [content: object, expected: string]> = [
  [{}, '12345'],
  [{ filter: {} }, '12345'],
  [{ filter: { name: 'apple' } }, '1'],
  [{ filter: { 'price.gte': -1, 'price.lt': 2.5 } }, '3'],
  [{ filter: { 'name.in': ['apple', 'Äpfel, rot', 'a\\b*c'] } }, '123'],
  [{ filter: { 'name.in': [] } }, ''],
  [{ filter: { 'name.nin': [] } }, '12345'],
  [{ filter: { 'id.in': Array.from({ length: 1000 }, (_, index) => index + 4) } }, '45'],
  [{ filter: { all: [] } }, '12345'],
  [{ filter: { any: [] } }, ''],
  [{ filter: { not: {} } }, ''],
  [{ filter: { any: [{}] } }, '12345'],
  [{ filter: { any: [{ status: 'draft' }, { 'stock.lte': 3 }] } }, '1245'],
  [{ filter: { all: [{ status: 'draft' }, { 'stock.lte': 3 }] } }, '4'],
  [{ filter: { all: [{ status: 'draft', sold: true }, { price: 2.5 }] } }, '1'],
  [{ filter: { not: { status: 'draft' } } }, '235'],
  [{ filter: { not: { any: [{ 'price.null': true }, { not: { 'stock.null': true } }] } } }, '3'],
  [
    {
      filter: {
        status: 'draft',
        any: [{ sold: true }, { all: [{ 'owner.name': 'Grace' }, { not: { sold: true } }] }],
        not: { id: 1 }
      }
    },
    '4'
  ],
  [{ filter: { 'all.eq': true } }, '1'],
  [{ filter: { limit: 2 } }, '2'],
  [{ filter: { limit: 2, 'limit.eq': 2 } }, '2'],
  [{ filter: { 'place.city.like': 'R*' }, sort: ['-name'], limit: 1, fields: ['id'], count: true }, '1'],
  [{ q: 'apple', sort: ['-id'] }, '41'],
  [{ sort: ['-price', 'stock'], limit: 3 }, '254']
]

test('QUERY filters by trees of conditions (RFC 10008, section 2)', async (t) => {
  const app = await build(t, goods())
  for (const [content, expected] of trees) {
    t.equal(getIds(await query(app, content)).join(''), expected, JSON.stringify(content).slice(0, 100))
  }
})

test('Content-Location is the equal GET, with the same content, ETag and pages, in every format', async (t) => {
  const app = await build(t, goods())
  for (const [content] of trees) {
    for (const accept of ['application/json', 'application/hal+json', 'application/xml']) {
      const answer = await query(app, content, { accept })
      const { 'content-location': location } = answer.headers
      if (location === undefined) continue
      const same = await request(app, `GET ${location}`, { fields: { accept } })
      t.equal(same.payload, answer.payload, String(location).slice(0, 100))
      for (const field of ['etag', 'link', 'content-type', 'x-total-count']) {
        t.equal(same.headers[field], answer.headers[field])
      }
    }
  }
  const location = async (content: object, at?: string) =>
    (await query(app, content, {}, at)).headers['content-location']
  t.equal(await location({}), '/goods')
  t.equal(await location({ filter: { all: [{}, { all: [] }] } }), '/goods')
  t.equal(await location({ filter: { name: 'a b&c' } }), '/goods?name=a+b%26c')
  t.equal(
    await location({ filter: { limit: 1, all: [{ 'limit.gte': 1 }] }, limit: 5 }),
    '/goods?limit.eq=1&limit.gte=1&limit=5'
  )
  t.equal(await location({ filter: { 'name.in': ['a,b', 'c\\d'] } }), '/goods?name.in=a%5C%2Cb%2Cc%5C%5Cd')
  t.equal(
    await location({ sort: ['-price'], fields: ['name', 'id'], count: true, q: 'a' }),
    '/goods?sort=-price&fields=id%2Cname&count=true&q=a'
  )
  t.equal(await location({ sort: ['price', '-id'] }), '/goods?sort=price%2C-id')
  t.equal(await location({ sort: ['id'] }), '/goods?sort=id')
  t.equal(await location({ filter: { 'price.gte': 1 } }, '/goods?status=draft'), '/goods?status=draft&price.gte=1')
  t.equal(await location({ filter: { status: 'draft' } }, '/goods?status=draft'), '/goods?status=draft')
})

test('QUERY has no Content-Location if no GET is equal', async (t) => {
  const app = await build(t, goods())
  for (const filter of [
    { any: [] },
    { any: [{ name: 'a' }] },
    { not: { name: 'a' } },
    { all: [{ name: 'a' }, { name: 'b' }] },
    { 'name.in': [''] },
    { name: 'a'.repeat(2000) },
    { 'id.in': Array.from({ length: 999 }, (_, index) => index) }
  ]) {
    const answer = await query(app, { filter })
    t.equal(answer.statusCode, 200)
    t.notOk('content-location' in answer.headers, JSON.stringify(filter).slice(0, 80))
  }
  t.notOk('content-location' in (await query(app, { filter: { name: 'b' } }, {}, '/goods?name=a')).headers)
})

test('QUERY supports preconditions as GET does (RFC 10008, section 2.6; RFC 9110, section 13)', async (t) => {
  const app = await build(t, goods())
  let stock = 70
  for (const content of [{ filter: { status: 'draft' } }, { filter: { not: { status: 'draft' } } }]) {
    const first = await query(app, content)
    const { etag } = first.headers
    const again = await query(app, content, { 'if-none-match': String(etag) })
    t.equal(again.statusCode, 304)
    t.equal(again.payload, '')
    t.equal(again.headers.etag, etag)
    t.equal(again.headers['content-location'], first.headers['content-location'])
    t.equal(again.headers['cache-control'], 'no-cache')
    t.equal((await query(app, content, { 'if-match': '"other"' })).statusCode, 412)
    t.equal((await query(app, content, { 'if-match': String(etag) })).statusCode, 200)
    stock++
    await request(app, 'PATCH /goods/4', { content: { stock } })
    await request(app, 'PATCH /goods/5', { content: { stock } })
    t.equal((await query(app, content, { 'if-none-match': String(etag) })).statusCode, 200)
  }
})

test('the pages of a QUERY can be followed by the same QUERY, and by GET if one is equal', async (t) => {
  const app = await build(t, goods())
  for (const [content, expected] of trees.filter(([content]) => !('limit' in content))) {
    const start = await query(app, content, {}, '/goods?limit=1')
    const follows = {
      QUERY: (at: string) => query(app, content, {}, at),
      ...('content-location' in start.headers && { GET: (at: string) => request(app, `GET ${at}`) })
    }
    for (const [method, follow] of Object.entries(follows)) {
      let page = start
      const seen = getIds(page)
      for (let count = 0; links(page).next !== undefined && count < 10; count++) {
        page = await follow(links(page).next!)
        seen.push(...getIds(page))
      }
      t.equal(seen.join(''), expected, `${method} ${JSON.stringify(content).slice(0, 80)}`)
      if (expected.length > 1) t.equal(getIds(await follow(links(page).prev!)).join(''), expected.at(-2))
    }
  }
})

test('a cursor in the content applies until a link has the next one', async (t) => {
  const app = await build(t, goods())
  const filter = { not: { id: 3 } }
  const first = await query(app, { filter, limit: 1 })
  const cursor = new URL(links(first).next!, 'http://x').searchParams.get('cursor')
  const second = await query(app, { filter, limit: 1, cursor })
  t.strictSame(getIds(second), [2])
  t.strictSame(getIds(await query(app, { filter, limit: 1, cursor }, {}, links(second).next)), [4])
})

test('cursors of GET and QUERY depend on the filter, not on the method', async (t) => {
  const app = await build(t, goods())
  const getCursor = async (content: object) =>
    new URL(links(await query(app, { ...content, limit: 1 })).next!, 'http://x').searchParams.get('cursor')!
  const flat = await getCursor({ filter: { all: [{ 'stock.gte': 3, 'id.gt': 0 }, { 'stock.gte': 3 }] } })
  t.equal(getIds(await request(app, `GET /goods?stock.gte=3&id.gt=0&cursor=${flat}`)).join(''), '45')
  t.equal((await request(app, `GET /goods?stock.gte=3&cursor=${flat}`)).statusCode, 400)
  const tree = await getCursor({ filter: { not: { 'stock.null': true } } })
  for (const search of ['', 'stock.null=false&']) {
    t.match((await request(app, `GET /goods?${search}cursor=${tree}`)).json(), { status: 400, parameter: 'cursor' })
  }
  const other = await query(app, { filter: { not: { 'stock.null': false } }, cursor: tree })
  t.equal(other.statusCode, 400)
  t.match(other.json(), { code: 'invalid-query', parameter: 'cursor' })
})

test('all errors in a query are reported together, each with a JSON Pointer', async (t) => {
  const app = await build(t, goods())
  const content = {
    filter: {
      colour: 1,
      'price.like': 'x',
      name: 3,
      any: [{ status: 'gone' }, 7, { 'stock.in': ['1'] }],
      all: {},
      not: [],
      'a/b~c': 1,
      'name.null': 'true',
      secret: 'a'
    },
    sort: ['colour'],
    fields: 'name',
    limit: 0,
    cursor: 1,
    count: 'true',
    q: '',
    page: 2
  }
  const answer = await query(app, content)
  t.equal(answer.statusCode, 422)
  t.match(answer.json(), { code: 'validation-failed', detail: 'The query is invalid.' })
  t.match(answer.json().errors, [
    { pointer: '/filter/colour', message: /^is not a known property\. A list can be filtered by: id, name/ },
    {
      pointer: '/filter/price.like',
      message: 'is not a known property. price can be followed by: .eq, .ne, .lt, .lte, .gt, .gte, .in, .nin, .null.'
    },
    { pointer: '/filter/name', message: 'must be text' },
    { pointer: '/filter/any/0/status', message: 'must be one of draft, published' },
    { pointer: '/filter/any/1', message: 'must be an object' },
    {
      pointer: '/filter/any/2/stock.in',
      message: 'must be up to 1000 values, each a whole number from -9007199254740991 to 9007199254740991'
    },
    { pointer: '/filter/all', message: 'must be an array of filters' },
    { pointer: '/filter/not', message: 'must be an object' },
    { pointer: '/filter/a~1b~0c', message: /^is not a known property/ },
    { pointer: '/filter/name.null', message: 'must be true or false' },
    { pointer: '/filter/secret', message: /^is not a known property/ },
    { pointer: '/sort', message: /^must be properties/ },
    { pointer: '/fields', message: /^must be an array of these names: id, name/ },
    { pointer: '/limit', message: 'must be a whole number from 1 to 100' },
    { pointer: '/cursor', message: 'must be text' },
    { pointer: '/count', message: 'must be true or false' },
    { pointer: '/q', message: 'must be text of up to 200 characters' },
    {
      pointer: '/page',
      message: 'is not a known property. A query can have: filter, limit, cursor, offset, sort, fields, count, q.'
    }
  ])
  t.equal(answer.json().errors.length, 18)
  for (const whole of [[], 'x', 1, null, true]) {
    t.match((await query(app, JSON.stringify(whole))).json(), {
      status: 422,
      errors: [{ pointer: '', message: 'must be an object' }]
    })
  }
  for (const part of [
    { sort: [] },
    { sort: [1] },
    { fields: [] },
    { fields: ['name', 1] },
    { limit: '5' },
    { limit: 1.5 },
    { limit: null },
    { filter: null },
    { list: { filter: [] } },
    { filter: { __proto__x: 1 } }
  ]) {
    t.equal((await query(app, part)).statusCode, 422, JSON.stringify(part))
  }
  t.equal((await query(app, '{ "filter": { "__proto__": { "name": "a" } } }')).statusCode, 400)
})

test('a query has limits on depth, conditions, values and reported errors', async (t) => {
  const app = await build(t, goods())
  const deep = (levels: number): object => (levels === 1 ? { id: 1 } : { not: deep(levels - 1) })
  t.equal((await query(app, { filter: deep(16) })).statusCode, 200)
  t.match((await query(app, { filter: deep(17) })).json(), {
    status: 422,
    errors: [{ pointer: `/filter${'/not'.repeat(16)}`, message: 'is nested deeper than 16 levels' }]
  })
  const wide = (count: number) => ({ filter: { any: Array.from({ length: count }, (_, id) => ({ id })) } })
  const message =
    'is too large: a filter can have at most 100 conditions, each like or ilike counting as 20 or more, and 1000 values in all its lists'
  t.equal((await query(app, wide(100))).statusCode, 200)
  const isSmall = (letter: string) => letter.toUpperCase().length === 1 && letter.toUpperCase().toLowerCase() === letter
  const letters = Array.from({ length: 500 }, (_, index) => String.fromCodePoint(0xe0 + index))
    .filter((letter) => letter !== letter.toUpperCase() && isSmall(letter))
  const ilike = (count: number) => ({ filter: { 'name.ilike': letters.slice(0, count).join('') } })
  t.equal((await query(app, ilike(80))).statusCode, 200)
  t.strictSame((await query(app, ilike(81))).json().errors, [{ pointer: '/filter/name.ilike', message }])
  t.strictSame((await query(app, wide(50_000))).json().errors, [{ pointer: '/filter/any/100/id', message }])
  for (const nothing of [{}, { any: [] }, { not: {} }]) {
    t.equal((await query(app, { filter: { any: Array(100).fill(nothing) } })).statusCode, 200)
    t.match((await query(app, { filter: { any: Array(101).fill(nothing) } })).json(), {
      status: 422,
      errors: [{ message }]
    })
  }
  const list = Array.from({ length: 1000 }, (_, id) => id)
  t.equal(
    (await query(app, { filter: { any: list.slice(0, 4).map(() => ({ 'id.in': list.slice(0, 250) })) } })).statusCode,
    200
  )
  t.match((await query(app, { filter: { any: [{ 'id.in': list }, { 'id.in': [1] }] } })).json(), {
    errors: [{ pointer: '/filter/any/1/id.in', message }]
  })
  t.match((await query(app, { filter: { 'id.in': [...list, 1] } })).json(), {
    errors: [{ pointer: '/filter/id.in', message }]
  })
  t.equal(
    (await query(app, { filter: { any: Array.from({ length: 500 }, () => ({ colour: 1 })) } })).json().errors.length,
    100
  )
})

test('Accept-Query is sent with OPTIONS, 415 and a missing Content-Type (RFC 10008, sections 2 and 3)', async (t) => {
  const app = await build(t, goods())
  t.match((await request(app, 'OPTIONS /goods')).headers, {
    allow: 'GET, HEAD, POST, QUERY, OPTIONS',
    'accept-query': 'application/json'
  })
  const other = await request(app, 'QUERY /goods', { content: 'name=apple', type: 'application/x-www-form-urlencoded' })
  t.equal(other.statusCode, 415)
  t.equal(other.headers['accept-query'], 'application/json')
  t.notOk('accept' in other.headers)
  const untyped = await app.inject({ method: 'QUERY', url: '/goods', payload: Buffer.from('{}') })
  t.equal(untyped.statusCode, 400)
  t.equal(untyped.headers['accept-query'], 'application/json')
  t.match(untyped.json(), {
    code: 'malformed-content',
    detail: 'A query needs content and a Content-Type. Supported: application/json.'
  })
  t.match((await request(app, 'QUERY /goods')).json(), {
    status: 400,
    code: 'malformed-content',
    detail: 'A query needs content and a Content-Type. Supported: application/json.'
  })
  for (const content of ['', '{', '{"limit":1,"limit":2}', '{"limit":1e400}']) {
    t.match((await query(app, content)).json(), { status: 400, code: 'malformed-content' }, content)
  }
  t.equal((await query(app, {}, { accept: 'image/png' })).statusCode, 406)
  t.match((await query(app, {}, {}, '/goods?colour=red')).json(), { status: 400, parameter: 'colour' })
  t.equal((await request(app, 'QUERY /goods/1', { content: {} })).statusCode, 405)
  t.equal((await request(await build(t, goods({ actions: ['read'] })), 'QUERY /goods', { content: {} })).statusCode, 405)
})

test('hooks of the list action run for QUERY, which is cached like GET and invalidates nothing', async (t) => {
  const seen: string[] = []
  const app = await build(
    t,
    goods({
      cache: 'max-age=60',
      routes: {
        list: {
          onRequest: async ({ method }) => {
            seen.push(method)
          }
        }
      }
    })
  )
  const answer = await query(app, {})
  t.strictSame(seen, ['QUERY'])
  t.equal(answer.headers['cache-control'], 'max-age=60')
  t.ok('cache-groups' in answer.headers)
  t.notOk('cache-group-invalidation' in answer.headers)
})
