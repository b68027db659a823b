import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import type { LightMyRequestResponse } from 'fastify'
import { test } from 'tap'
import collection from '../../lib/index.ts'
import type { Query, Storage } from '../../lib/storage/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, modified, request } from '../app.ts'
import { get, Good, goods, getIds, items, links, without } from './goods.ts'
import { define } from '../define.ts'

// Query strings of lists. QUERY is in listing/query.test.ts, walks are in listing/walks.test.ts.

const filters: Readonly<Record<string, string>> = {
  'name=apple': '1',
  'name.eq=apple': '1',
  'name.ne=apple': '2345',
  'name.lt=apple': '3',
  'name.lte=apple': '13',
  'name.gt=apple': '245',
  'name.gte=apple%20pie': '245',
  'name.like=apple*': '14',
  'name.like=*p*': '124',
  'name.ilike=*P*': '124',
  'name.like=apple': '1',
  'name.like=a%5C%5C*': '3',
  'name.like=*%5C**': '3',
  'name.like=': '',
  'name=': '',
  'name.in=apple,%F0%9F%98%80': '15',
  'name.in=%C3%84pfel%5C,+rot,none': '2',
  'name.in=a%5C%5Cb*c': '3',
  'name.in=': '',
  'name.nin=': '12345',
  'name.nin=apple,apple+pie': '235',
  'name.null=false': '12345',
  'price=2.5': '14',
  'price=25e-1': '14',
  'price.ne=2.5': '235',
  'price.lt=2.5': '3',
  'price.lte=2.5': '134',
  'price.gt=-1': '14',
  'price.gte=-1&price.lt=2.5': '3',
  'price.in=-1,2.5': '134',
  'price.nin=2.5': '235',
  'price.null=true': '25',
  'price.null=false': '134',
  'stock=3': '45',
  'stock.gte=3&stock.lte=3': '45',
  'stock.in=0,10': '12',
  'stock.null=true': '3',
  'sold=true': '15',
  'sold.eq=false': '2',
  'sold.ne=true': '234',
  'sold.in=true,false': '125',
  'sold.nin=true': '234',
  'sold.null=true': '34',
  'status=draft': '14',
  'status.in=draft,published': '124',
  'status.ne=draft': '235',
  'status.like=p*': '2',
  'status.gt=draft': '2',
  'since=2024-02-29': '1',
  'since.gte=2024-01-01': '1',
  'since.like=2023-*': '3',
  'place.city=Rome': '1',
  'place.city.like=*o*': '12',
  'place.floor.null=true': '2345',
  'place.floor.gte=1': '1',
  'place.in=x': '1',
  'place.in.in=x,y': '1',
  'owner.name=Grace': '4',
  'owner.name.null=true': '235',
  'limit.eq=2': '2',
  'limit.gte=1&limit=1': '1',
  'all=true': '1',
  'e=3': '3',
  'id=2': '2',
  'id.in=5,1': '15',
  'id.gt=2&status=draft&sold.null=true': '4'
}

test('every operator compares by the type of the property, and a missing value is null', async (t) => {
  const app = await build(t, goods())
  for (const [query, expected] of Object.entries(filters)) t.equal(await get(app, query), expected, query)
})

test('an invalid filter value returns 400 with the parameter and the expected value', async (t) => {
  const app = await build(t, goods())
  for (const [query, parameter, detail] of [
    ['price=cheap', 'price', 'price must be a number.'],
    ['price=', 'price', 'price must be a number.'],
    ['price=1e999', 'price', 'price must be a number.'],
    ['price=0x10', 'price', 'price must be a number.'],
    ['price=%201', 'price', 'price must be a number.'],
    ['stock=9007199254740993', 'stock', 'stock must be a whole number from -9007199254740991 to 9007199254740991.'],
    ['stock.gte=1.5', 'stock.gte', 'stock.gte must be a whole number from -9007199254740991 to 9007199254740991.'],
    [
      'stock.in=1,x',
      'stock.in',
      'stock.in must be up to 1000 values, each a whole number from -9007199254740991 to 9007199254740991.'
    ],
    [
      `stock.in=${'1,'.repeat(1000)}1`,
      'stock.in',
      'stock.in must be up to 1000 values, each a whole number from -9007199254740991 to 9007199254740991.'
    ],
    [
      'stock.in=1,',
      'stock.in',
      'stock.in must be up to 1000 values, each a whole number from -9007199254740991 to 9007199254740991.'
    ],
    ['sold=1', 'sold', 'sold must be true or false.'],
    ['sold=TRUE', 'sold', 'sold must be true or false.'],
    ['price.null=', 'price.null', 'price.null must be true or false.'],
    ['status=gone', 'status', 'status must be one of draft, published.'],
    ['status.in=draft,gone', 'status.in', 'status.in must be up to 1000 values, each one of draft, published.'],
    ['since=yesterday', 'since', 'since must be text of the format date from 0001-01-01 to 9999-12-31.'],
    ['name=%00', 'name', 'name must be text.'],
    [
      'name.like=%00',
      'name.like',
      'name.like must be text of up to 200 characters, in which * stands for any characters, up to 5 times.'
    ],
    [
      'name=a&name=b',
      'name',
      'name must be given once; several values go into one list, as in status.in=draft,published.'
    ],
    [
      'sort=name&sort=price',
      'sort',
      'sort must be given once; several values go into one list, as in status.in=draft,published.'
    ]
  ] as const) {
    const answer = await request(app, `GET /goods?${query}`)
    t.equal(answer.statusCode, 400, query.slice(0, 50))
    t.match(answer.json(), { code: 'invalid-query', parameter, detail })
  }
})

const known =
  'id, name, price, stock, sold, status, since, limit, all, e, place.city, place.floor, place.in, owner.name'

test('an unknown key returns 400 and lists the available keys', async (t) => {
  const app = await build(t, goods())
  for (const name of [
    'colour',
    'Name',
    'eq',
    'name..eq',
    '.eq',
    'name.',
    'place',
    'place.',
    'owner',
    'owner.eq',
    'mixed',
    'mixed.eq',
    'shapes.a',
    'shapes.b',
    'nothing',
    'nothing.null',
    'dotted.name',
    '__proto__',
    'constructor',
    'name.constructor.eq',
    'toString'
  ]) {
    const answer = await request(app, `GET /goods?${name}=1`)
    t.equal(answer.statusCode, 400, name)
    t.match(answer.json(), {
      code: 'invalid-query',
      parameter: name,
      detail: /^The query parameter .* is unknown\. Available: limit, cursor, offset, sort, fields, count, q\. /
    })
    if (!name.startsWith('name.')) t.ok(answer.json().detail.endsWith(`A list can be filtered by: ${known}, tags.`), name)
  }
  for (const [name, operators] of [
    ['name.between', '.eq, .ne, .lt, .lte, .gt, .gte, .in, .nin, .like, .ilike, .null'],
    ['name.constructor', '.eq, .ne, .lt, .lte, .gt, .gte, .in, .nin, .like, .ilike, .null'],
    ['price.like', '.eq, .ne, .lt, .lte, .gt, .gte, .in, .nin, .null'],
    ['tags.in', '.null, .contains, .overlaps'],
    ['sold.lt', '.eq, .ne, .in, .nin, .null'],
    ['sold.like', '.eq, .ne, .in, .nin, .null']
  ] as const) {
    const { detail } = (await request(app, `GET /goods?${name}=1`)).json()
    t.ok(detail.endsWith(`${name.slice(0, name.indexOf('.'))} can be followed by: ${operators}.`), detail)
  }
})

const secrets = ['secret', 'hidden', 'vault', 'vault.key', 'place.code', 'owner.pin']

test('lists cannot be filtered, sorted, selected or searched by writeOnly properties, at any depth', async (t) => {
  const app = await build(t, goods())
  for (const name of secrets) {
    for (const query of [
      `${name}=s1`,
      `${name}.eq=s1`,
      `${name}.gte=a`,
      `${name}.like=*`,
      `${name}.null=false`,
      `sort=${name}`,
      `sort=-${name}`,
      `fields=${name}`
    ]) {
      t.equal((await request(app, `GET /goods?${query}`)).statusCode, 400, query)
    }
    t.equal((await request(app, 'QUERY /goods', { content: { filter: { [name]: 's1' } } })).statusCode, 422, name)
    t.equal((await request(app, `GET /goods/1?fields=${name}`)).statusCode, 400)
    for (const option of ['filter', 'sort', 'search'] as const) {
      t.throws(() => goods({ [option]: [name] }), { code: 'FST_COLLECTION_BAD_OPTION' }, `${option}: ${name}`)
    }
  }
  t.equal(await get(app, 'q=s1'), '')
  t.notMatch((await request(app, 'GET /goods?fields=place,owner')).payload, /code|pin/)
  t.notMatch((await request(app, 'GET /goods?colour=1')).json().detail, /secret|hidden|vault|code|pin/)
})

test('the definition can restrict the properties for filters and sorting', async (t) => {
  const app = await build(t, goods({ list: { filter: ['status', 'place.city'], sort: ['price'], order: ['-name'] } }))
  t.equal(await get(app, 'status=draft&place.city=Rome'), '1')
  t.equal(await get(app, 'sort=price&limit=2'), '31')
  t.equal(await get(app, ''), '52413', 'the order of the definition is not narrowed')
  t.match((await request(app, 'GET /goods?name=a')).json(), {
    parameter: 'name',
    detail: /A list can be filtered by: status, place\.city\.$/
  })
  t.match((await request(app, 'GET /goods?sort=name')).json(), { parameter: 'sort', detail: /: price; not "name"\.$/ })
  t.equal((await request(app, 'GET /goods?sort=id')).statusCode, 400)
  const query = await request(app, 'QUERY /goods', { content: { sort: ['price'], limit: 2 } })
  t.equal(query.headers['content-location'], '/goods?sort=price&limit=2', 'the id is the implicit last key')
  t.equal((await request(app, `GET ${query.headers['content-location']}`)).payload, query.payload)
  const none = await build(t, goods({ list: { filter: [], sort: [], search: [] } }))
  t.match((await request(none, 'GET /goods?name=a')).json(), {
    detail:
      'The query parameter "name" is unknown. Available: limit, cursor, offset, fields, count. A list can be filtered by: nothing.'
  })
  for (const query of ['sort=name', 'q=a']) t.equal((await request(none, `GET /goods?${query}`)).statusCode, 400)
})

test('sorting breaks ties by the id, and puts null last in both directions', async (t) => {
  const app = await build(t, goods())
  for (const [sort, expected] of [
    ['name', '31425'],
    ['-name', '52413'],
    ['price', '31425'],
    ['-price', '25143'],
    ['stock', '24513'],
    ['-stock', '31452'],
    ['price,-stock', '31452'],
    ['-price,stock', '25413'],
    ['price,-id', '34152'],
    ['sold,-name', '25143'],
    ['-sold', '34152'],
    ['status,-price,name', '14253'],
    ['place.city,id', '21345'],
    ['owner.name', '14235'],
    ['limit', '12345'],
    ['id', '12345'],
    ['-id', '54321'],
    ['-id,name', '54321'],
    ['id,name,-price', '12345']
  ] as const) {
    t.equal(await get(app, `sort=${sort}`), expected, sort)
  }
  for (const [sort, wrong] of [
    ['', '""'],
    [',', '""'],
    ['name,', '""'],
    ['colour', '"colour"'],
    ['--name', '"-name"'],
    ['+name', '" name"'],
    ['name,name', '"name" twice'],
    ['name,-name', '"name" twice'],
    ['tags', '"tags"'],
    ['place', '"place"'],
    ['name;price', '"name;price"'],
    ['__proto__', '"__proto__"'],
    ['x'.repeat(60), `"${'x'.repeat(50)}"`]
  ] as const) {
    const answer = await request(app, `GET /goods?sort=${sort}`)
    t.equal(answer.statusCode, 400, sort)
    t.match(answer.json(), {
      code: 'invalid-query',
      parameter: 'sort',
      detail: `sort must be properties separated by commas, each once, with - in front for descending order: ${known}; ` +
        `not ${wrong}.`
    })
  }
})

test('the default order can have properties that clients cannot sort by', async (t) => {
  const app = await build(t, goods({ list: { order: ['-mixed'] } }))
  for (const [id, mixed] of [
    [2, 'x'],
    [3, 7],
    [4, 'x']
  ] as const) {
    await request(app, `PATCH /goods/${id}`, { content: { mixed } })
  }
  const seen: number[] = []
  let at: string | undefined = '/goods?limit=1'
  for (let count = 0; at !== undefined && count < 9; count++) {
    const page: LightMyRequestResponse = await request(app, `GET ${at}`)
    seen.push(...getIds(page))
    at = links(page).next
  }
  t.equal(seen.join(''), '15243')
})

test('the storage gets an order that ends with the id, and only the required properties', async (t) => {
  const queries: Query[] = []
  const spying = modified((storage) => ({
    list: async (query, context) => {
      queries.push(query)
      return storage.list(query, context)
    }
  }))
  const app = await build(t, goods({ storage: spying as never }))
  await request(app, 'GET /goods?sort=id,name')
  await request(app, 'GET /goods?fields=name,stock&sort=-place.city')
  await request(app, 'GET /goods')
  t.strictSame(
    queries.map(({ order, properties }) => [order.map(({ property }) => property), properties]),
    [
      [['id'], undefined],
      [
        ['place.city', 'id'],
        ['name', 'stock', 'id', 'place']
      ],
      [['id'], undefined]
    ]
  )
  queries.length = 0
  const linked = await build(
    t,
    goods({ storage: spying as never, links: ({ item: { name } }) => ({ about: { href: `/about/${name.length}` } }) })
  )
  await request(linked, 'GET /goods?fields=id')
  t.equal(queries[0]!.properties, undefined, 'links may use any property')
})

test('fields returns only the selected properties, with an ETag of its own', async (t) => {
  const app = await build(t, goods())
  const whole = await request(app, 'GET /goods?limit=2')
  const some = await request(app, 'GET /goods?limit=2&fields=name,id')
  t.strictSame(some.json(), [
    { id: 1, name: 'apple' },
    { id: 2, name: 'Äpfel, rot' }
  ])
  t.not(some.headers.etag, whole.headers.etag)
  t.equal(
    (await request(app, 'GET /goods?limit=2&fields=id,name,name')).headers.etag,
    some.headers.etag,
    'the same selection in another notation'
  )
  t.equal(
    (await request(app, 'GET /goods?limit=2&fields=id,name', { fields: { 'if-none-match': String(some.headers.etag) } }))
      .statusCode,
    304
  )
  t.equal(
    (await request(app, 'GET /goods?limit=2', { fields: { 'if-none-match': String(some.headers.etag) } })).statusCode,
    200
  )
  t.strictSame((await request(app, 'GET /goods?fields=price&limit=1')).json(), [{ price: 2.5 }])
  t.strictSame((await request(app, 'GET /goods?fields=place&limit=1')).json(), [
    { place: { city: 'Rome', floor: 1, in: 'x' } }
  ])
  t.match(links(await request(app, 'GET /goods?limit=1&fields=name')), { next: /^\/goods\?limit=1&fields=name&cursor=/ })
  const item = await request(app, 'GET /goods/1?fields=name')
  t.equal(item.payload, '{"name":"apple"}')
  t.not(item.headers.etag, (await request(app, 'GET /goods/1')).headers.etag)
  t.match(item.headers, { link: '</goods>; rel="collection"', 'content-type': 'application/json' })
  const same = await request(app, 'GET /goods/1?fields=name', { fields: { 'if-none-match': String(item.headers.etag) } })
  t.equal(same.statusCode, 304)
  t.equal(same.headers.etag, item.headers.etag)
  t.equal((await request(app, 'GET /goods/1', { fields: { 'if-none-match': String(item.headers.etag) } })).statusCode, 200)
  const head = await request(app, 'HEAD /goods/1?fields=name')
  t.equal(head.headers['content-length'], String(Buffer.byteLength(item.payload)))
  for (const target of [
    '/goods?fields=',
    '/goods?fields=name,',
    '/goods?fields=colour',
    '/goods?fields=place.city',
    '/goods?fields=name&fields=id',
    '/goods/1?fields=',
    '/goods/1?fields=colour',
    '/goods/1?fields=name&fields=id'
  ]) {
    t.match(
      (await request(app, `GET ${target}`)).json(),
      {
        status: 400,
        parameter: 'fields',
        detail: target.includes('&')
          ? /given once/
          : /^fields must be properties separated by commas: id, name, price, /
      },
      target
    )
  }
})

test('fields works in HAL and XML, with all links', async (t) => {
  const app = await build(t, goods({ links: ({ item: { place } }) => ({ city: { href: `/cities/${place?.city}` } }) }))
  const hal = { accept: 'application/hal+json' }
  const _links = { self: { href: '/goods/1' }, collection: { href: '/goods' }, city: { href: '/cities/Rome' } }
  t.strictSame((await request(app, 'GET /goods/1?fields=name', { fields: hal })).json(), { _links, name: 'apple' })
  const list = (await request(app, 'GET /goods?fields=name&limit=1', { fields: hal })).json()
  t.strictSame(list._embedded, { items: [{ _links, name: 'apple' }] })
  t.equal(list._links.self.href, '/goods?fields=name&limit=1')
  t.match(
    (await request(app, 'GET /goods/1?fields=name', { fields: { accept: 'application/xml' } })).payload,
    /<item><name>apple<\/name><\/item>$/
  )
  t.match(
    (await request(app, 'GET /goods?fields=name&limit=1', { fields: { accept: 'application/xml' } })).payload,
    /<items><item><name>apple<\/name><\/item><\/items>$/
  )
})

test('X-Total-Count is sent on request, by parameter or by preference (RFC 7240)', async (t) => {
  const app = await build(t, goods())
  const plain = await request(app, 'GET /goods?limit=2')
  t.notOk('x-total-count' in plain.headers)
  const counted = await request(app, 'GET /goods?limit=2&count=true&status=draft')
  t.equal(counted.headers['x-total-count'], '2')
  t.match((await request(app, 'GET /goods?count=1')).json(), {
    status: 400,
    parameter: 'count',
    detail: 'count must be true or false.'
  })
})

test('q finds the items that contain all words in the searched properties, in any letter case', async (t) => {
  const app = await build(t, goods())
  for (const [text, expected] of [
    ['apple', '14'],
    ['APPLE', '14'],
    ['pie app', '4'],
    ['ÄPFEL', '2'],
    ['apple rome', '1'],
    ['ome', '1'],
    ['draft', ''],
    ['ada', ''],
    ['*', '3'],
    ['\\', '3'],
    ['😀', '5']
  ] as const) {
    t.equal(await get(app, `q=${encodeURIComponent(text)}`), expected, text)
  }
  t.equal(await get(app, 'q=apple&price=2.5&sort=-id&limit=1'), '4')
  t.equal((await request(app, 'GET /goods?q=apple&count=true')).headers['x-total-count'], '2')
  for (const text of ['', '%20', '%00', 'a'.repeat(201)]) {
    t.match((await request(app, `GET /goods?q=${text}`)).json(), {
      status: 400,
      parameter: 'q',
      detail: 'q must be text of up to 200 characters and 10 different words.'
    })
  }
  const closed = await build(t, goods({ list: { search: [] } }))
  t.match((await request(closed, 'GET /goods?q=a')).json(), { status: 400, parameter: 'q' })
})

test('a cursor is valid only for the sort, filter and search that it was created for', async (t) => {
  const app = await build(t, goods({ list: { order: ['name'] } }))
  const cursor = async (query: string) =>
    new URL(links(await request(app, `GET /goods?${query}&limit=1`)).next!, 'http://x').searchParams.get('cursor')!
  const questions = [
    '',
    'sort=price',
    'sort=-price',
    'sort=price,-id',
    'status=draft',
    'status.ne=draft',
    'status.in=draft,published',
    'status=draft&price=2.5',
    'q=apple',
    'q=app',
    'q=apple&status=draft'
  ]
  const cursors = await Promise.all(questions.map(cursor))
  t.equal(new Set(cursors).size, questions.length)
  for (const [index, query] of questions.entries()) {
    for (const [other, given] of cursors.entries()) {
      const { statusCode, payload } = await request(app, `GET /goods?${query}&cursor=${given}`)
      t.equal(statusCode, index === other ? 200 : 400, `${query} with the cursor of ${questions[other]}`)
      if (index !== other) t.match(JSON.parse(payload), { code: 'invalid-query', parameter: 'cursor' })
    }
  }
  const [plain] = cursors
  for (const query of ['limit=2', 'fields=name', 'count=true', 'sort=name', 'sort=name,id']) {
    t.equal((await request(app, `GET /goods?${query}&cursor=${plain}`)).statusCode, 200, `${query} requests the same list`)
  }
})

test('parameters that the storage does not support return 400 and are not listed', async (t) => {
  const app = await build(
    t,
    goods({ storage: without('filter', 'order', 'search', 'count'), list: { search: undefined as never } })
  )
  for (const [query, parameter] of [
    ['name=a', 'name'],
    ['sort=id', 'sort'],
    ['sort=name', 'sort'],
    ['q=a', 'q'],
    ['count=true', 'count']
  ] as const) {
    t.match((await request(app, `GET /goods?${query}`)).json(), {
      status: 400,
      parameter,
      detail: /Available: limit, cursor, offset, fields\. A list can be filtered by: nothing\.$/
    })
  }
  t.match(
    (await request(app, 'QUERY /goods', { content: { filter: { name: 'a' }, sort: ['id'], q: 'a', count: true } })).json()
      .errors,
    [{ pointer: '/filter/name' }, { pointer: '/sort' }, { pointer: '/q' }, { pointer: '/count' }]
  )
})

test('list options with unsupported properties fail at boot', async (t) => {
  for (const option of ['filter', 'sort', 'search'] as const) {
    for (const name of ['colour', 'shapes', 'place', 'place.colour', 'secret', 'mixed', '']) {
      t.throws(() => goods({ list: { [option]: ['name', name] } }), {
        code: 'FST_COLLECTION_BAD_OPTION',
        message: new RegExp(`list\\.${option} contains "${name}".*Available properties: .*name`)
      })
    }
    t.throws(() => goods({ list: { [option]: 'name' as never } }), {
      code: 'FST_COLLECTION_BAD_OPTION',
      message: /an array/
    })
  }
  t.throws(() => goods({ list: { search: ['price' as 'name'] } }), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /list\.search contains "price", which is not a string/
  })
  for (const [need, options] of [
    ['filter', { list: { filter: ['name'] } }],
    ['order', { list: { sort: ['name'] } }],
    ['search', { list: { search: ['name'] } }]
  ] as const) {
    t.throws(
      () => goods({ storage: without(need), list: { search: undefined as never, ...options.list } }),
      { code: 'FST_COLLECTION_UNSUPPORTED', message: /memory/ },
      need
    )
  }
})

test('every key is a parameter in the query schema of OpenAPI', async (t) => {
  const app = await build(t, [])
  await app.register(swagger, { openapi: { openapi: '3.1.0' } })
  await app.register(
    collection,
    goods({ list: { filter: ['name', 'price', 'sold', 'status', 'limit', 'place.city'], sort: ['name', 'price'] } })
  )
  await app.ready()
  const paths = (
    app.swagger() as unknown as {
      paths: Record<
        string,
        Record<
          string,
          {
            parameters: Array<{
              name: string
              in: string
              schema: Record<string, unknown>
              style?: string
              explode?: boolean
              description?: string
            }>
          }
        >
      >
    }
  ).paths
  const parameters = paths['/goods']!.get!.parameters.filter((parameter) => parameter.in === 'query')
  const findParameter = (name: string) => parameters.find((parameter) => parameter.name === name)
  const text = ['', '.ne', '.lt', '.lte', '.gt', '.gte', '.in', '.nin', '.like', '.ilike', '.null']
  const expected = [
    'limit',
    'cursor',
    'offset',
    'sort',
    'fields',
    'count',
    'q',
    ...text.map((end) => `name${end}`),
    ...text.filter((end) => !end.endsWith('like')).map((end) => `price${end}`),
    ...['', '.ne', '.in', '.nin', '.null'].map((end) => `sold${end}`),
    ...text.map((end) => `status${end}`),
    ...text.filter((end) => !end.endsWith('like')).map((end) => `limit${end || '.eq'}`),
    ...text.map((end) => `place.city${end}`)
  ]
  t.strictSame(
    parameters.map(({ name }) => name).sort(),
    expected.sort()
  )
  t.match(findParameter('limit')?.schema, { type: 'integer', minimum: 1, maximum: 100, default: 20 })
  t.match(findParameter('limit.eq')?.schema, { type: 'integer' })
  t.match(findParameter('status')?.schema, { type: 'string', enum: ['draft', 'published'] })
  t.match(findParameter('price.gte')?.schema, { type: 'number' })
  t.match(findParameter('price.null')?.schema, { type: 'boolean' })
  t.equal(findParameter('name')?.description, 'Only items whose name equals this value. What it is called')
  t.match(findParameter('status.in'), {
    style: 'form',
    explode: false,
    schema: { type: 'array', maxItems: 1000, items: { enum: ['draft', 'published'] } }
  })
  t.match(findParameter('sort')?.description, /: name, price$/)
  t.match(findParameter('q')?.description, /name, place\.city$/)
  t.strictSame(
    paths['/goods/{id}']!.get!.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name),
    ['fields']
  )
  for (const name of expected) {
    t.not((await request(app, `GET /goods?${name}=%00`)).json().detail?.includes('is not known'), true, name)
  }
})

test('properties can be filtered in any form of nullable, constant and enum schema', async (t) => {
  const Odd = Type.Object({
    id: Type.String(),
    nullable: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    constant: Type.Literal('c'),
    bare: Type.Unsafe<string>({ const: 'b' }),
    listed: Type.Unsafe<string | null>({ type: ['string', 'null'], enum: ['x', 'y', null] }),
    mixed: Type.Unsafe<string | number>({ anyOf: [{ const: 'x' }, { const: 1 }] }),
    several: Type.Unsafe<string | number>({ type: ['string', 'number'] }),
    parts: Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })])
  })
  const app = await build(t, [])
  await app.register(
    collection,
    define({
      name: 'odd',
      schema: Odd,
      storage: memory({
        items: [
          {
            id: 'i',
            nullable: null,
            constant: 'c',
            bare: 'b',
            listed: 'x',
            mixed: 'x',
            several: 1,
            parts: { a: '', b: '' }
          }
        ] as never
      }),
      id: { generate: 'client' }
    })
  )
  for (const query of ['nullable.null=true', 'constant=c', 'bare=b', 'listed=x', 'listed.in=x,y', 'id=i']) {
    t.equal((await request(app, `GET /odd?${query}`)).json().length, 1, query)
  }
  t.match((await request(app, 'GET /odd?listed=z')).json(), { detail: 'listed must be one of x, y.' })
  for (const name of ['mixed', 'several', 'parts.a']) {
    t.equal((await request(app, `GET /odd?${name}=x`)).statusCode, 400, name)
  }
})

test('a storage error returns 500 also if only some properties are selected', async (t) => {
  const app = await build(
    t,
    goods({
      storage: modified((): Partial<Storage<object>> => ({
        list: async () => {
          throw new Error('down')
        }
      })) as never
    })
  )
  t.equal((await request(app, 'GET /goods?fields=id')).statusCode, 500)
  t.equal(getIds(await request(await build(t, goods({ schema: Good })), 'GET /goods')).length, items.length)
})
