import { test } from 'tap'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import collection, { json } from '../../../lib/index.ts'
import { bulk } from '../../../lib/features/bulk.ts'
import { hal } from '../../../lib/formats/hal.ts'
import { html } from '../../../lib/formats/html.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { build, created, notes, request } from '../../app.ts'
import { define } from '../../define.ts'

// The query of a list: limit, cursor, and unknown parameters.

const Book = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  title: Type.String(),
  year: Type.Optional(Type.Integer()),
  shelf: Type.Optional(Type.Union([Type.String(), Type.Null()]))
})

const items = Array.from({ length: 25 }, (_, index) => ({
  id: index + 1,
  title: `T${index % 3}`,
  ...(index % 4 !== 0 && { year: 1900 + (index % 7) }),
  ...(index % 5 === 0 && { shelf: null })
}))

function books (name: string, order: ReadonlyArray<'title' | '-year' | '-id' | 'shelf'> = []) {
  return define({ name, schema: Book, storage: memory({ items }), id: { generate: 'storage' }, list: { order } })
}

function links (field: unknown): Record<string, string> {
  return Object.fromEntries(
    [...String(field ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, href, rel]) => [rel, href])
  )
}

async function walk (app: FastifyInstance, from: string, relation: string): Promise<number[][]> {
  const pages: number[][] = []
  let url: string | undefined = from
  while (url !== undefined && pages.length < 30) {
    const answer = await request(app, `GET ${url}`)
    if (answer.statusCode !== 200) throw new Error(answer.payload)
    pages.push(answer.json().map(({ id }: { id: number }) => id))
    url = links(answer.headers.link)[relation]
  }
  return pages
}

async function findLast (app: FastifyInstance, from: string): Promise<string> {
  let url = from
  for (let count = 0; count < 30; count++) {
    const next = links((await request(app, `GET ${url}`)).headers.link).next
    if (next === undefined) return url
    url = next
  }
  throw new Error('the walk does not end')
}

test('Link next, prev and first lead through a list in both directions, in any order (RFC 8288)', async (t) => {
  const app = await build(t, [])
  const orders = {
    plain: [],
    reverse: ['-id'],
    titles: ['title'],
    years: ['-year', 'title'],
    shelves: ['shelf', '-id']
  } as const
  for (const [name, order] of Object.entries(orders)) await app.register(collection, books(name, order))
  for (const name of Object.keys(orders)) {
    for (const limit of [1, 4, 5, 24, 25, 100]) {
      const start = `/${name}?limit=${limit}`
      const forward = await walk(app, start, 'next')
      const all = forward.flat()
      t.equal(forward.length, Math.ceil(25 / limit), `${start} has no empty page at its end`)
      t.equal(new Set(all).size, 25, `${start} lists each item once`)
      t.strictSame(
        all,
        (await request(app, `GET /${name}?limit=100`)).json().map(({ id }: { id: number }) => id)
      )
      const last = await findLast(app, start)
      const back = await walk(app, last, 'prev')
      const [nearest = [], ...others] = back
      t.strictSame([...others.reverse().flat(), ...nearest], all, `${start} backward`)
      if (limit < 25) t.equal(links((await request(app, `GET ${last}`)).headers.link).first, start)
    }
  }
})

test('Link keeps the other parameters and contains only pages that exist', async (t) => {
  const app = await build(t, [])
  await app.register(collection, books('books'))
  const whole = await request(app, 'GET /books?limit=25')
  t.notOk('link' in whole.headers)
  t.strictSame(Object.keys(links((await request(app, 'GET /books?limit=24')).headers.link)), ['next', 'first'])
  const standard = links((await request(app, 'GET /books')).headers.link)
  t.match(standard, { first: '/books', next: /^\/books\?cursor=[\w-]+$/ })
  const second = await request(app, `GET ${standard.next}`)
  t.strictSame(Object.keys(links(second.headers.link)), ['prev', 'first'])
})

test('parameters are equal in any encoding, and empty ones are ignored (URL Standard, section 5.1)', async (t) => {
  const app = await build(t, [])
  await app.register(collection, books('books'))
  const { next } = links((await request(app, 'GET /books?&%6cimit=2&')).headers.link)
  const second = await request(app, `GET ${next!.replace('cursor=', '%63ursor=')}`)
  t.strictSame(
    second.json().map(({ id }: { id: number }) => id),
    [3, 4]
  )
  const third = links(second.headers.link).next!
  t.strictSame(
    (await request(app, `GET ${third}`)).json().map(({ id }: { id: number }) => id),
    [5, 6]
  )
})

test('the first page has no prev link, and an empty page links to the first page', async (t) => {
  const app = await build(t, [])
  await app.register(collection, books('books'))
  const { next } = links((await request(app, 'GET /books?limit=1')).headers.link)
  const { prev } = links((await request(app, `GET ${next}`)).headers.link)
  const { prev: before, next: again } = links((await request(app, `GET ${prev}`)).headers.link)
  t.equal(before, undefined)
  t.strictSame((await request(app, `GET ${again}`)).json()[0].id, 2)
  for (const { id } of items.slice(0, 25)) await request(app, `DELETE /books/${id}`)
  const empty = await request(app, `GET ${next}`)
  t.equal(empty.payload, '[]')
  t.strictSame(links(empty.headers.link), { first: '/books?limit=1' })
})

test('limit must be an integer from 1 to the maximum, and anything else returns 400', async (t) => {
  const app = await build(t, [])
  await app.register(collection, books('books'))
  await app.register(
    collection,
    define({
      name: 'small',
      schema: Book,
      storage: memory({ items }),
      id: { generate: 'storage' },
      list: { limit: { default: 2, maximum: 3 } }
    })
  )
  t.equal((await request(app, 'GET /books')).json().length, 20)
  t.equal((await request(app, 'GET /small')).json().length, 2)
  t.equal((await request(app, 'GET /small?limit=3')).json().length, 3)
  t.equal((await request(app, 'GET /small?limit=03')).json().length, 3)
  for (const [path, limits] of [
    [
      'books',
      ['0', '101', '-1', '1.5', '1e1', '', 'ten', '0x1', '%31%00', '99999999999', 'Infinity', '1&limit=2']
    ],
    ['small', ['4']]
  ] as const) {
    for (const limit of limits) {
      const answer = await request(app, `GET /${path}?limit=${limit}`)
      t.equal(answer.statusCode, 400, limit)
      t.match(answer.json(), {
        code: 'invalid-query',
        parameter: 'limit',
        detail: limit.includes('&') ? /^limit must be given once/ : /^limit must be a whole number from 1 to (100|3)\.$/
      })
    }
  }
})

test('an unknown query parameter returns 400', async (t) => {
  const app = await build(t, notes())
  const { at } = await created(app, '/notes', { text: 'a' })
  for (const [target, name] of [
    ['GET /notes?page=2', 'page'],
    ['HEAD /notes?page=2', 'page'],
    ['GET /notes?limit=1&Limit=2', 'Limit'],
    ['GET /notes?__proto__=1', '__proto__'],
    ['GET /notes?=', ''],
    ['POST /notes?limit=1', 'limit'],
    [`GET ${at}?properties=a`, 'properties'],
    [`PUT ${at}?x`, 'x'],
    [`PATCH ${at}?x`, 'x'],
    [`DELETE ${at}?x`, 'x']
  ] as const) {
    const content = /^P/.test(target) ? { text: 'b' } : undefined
    const strict = await request(app, target, { content })
    t.equal(strict.statusCode, 400, target)
    if (!target.startsWith('HEAD')) t.match(strict.json(), { code: 'invalid-query', parameter: name })
    const lenient = await request(app, target, { content, fields: { prefer: 'handling=lenient' } })
    t.equal(lenient.statusCode, 400, 'whatever the client prefers')
  }
  t.equal((await request(app, 'GET /notes?')).statusCode, 200)
})

test('a cursor that this list has not created returns 400', async (t) => {
  const app = await build(t, [])
  await app.register(collection, books('books'))
  await app.register(collection, books('others'))
  await app.register(collection, books('titles', ['title']))
  await app.register(collection, notes())
  const cursor = async (path: string): Promise<string> =>
    new URL(links((await request(app, `GET ${path}`)).headers.link).next!, 'http://x').searchParams.get('cursor')!
  const own = await cursor('/books?limit=2')
  t.equal((await request(app, `GET /books?cursor=${own}`)).json()[0].id, 3)
  const bytes = Buffer.from(own, 'base64url')
  const tampered = Array.from(bytes, (byte, index) =>
    Buffer.from(bytes.map((other, at) => (at === index ? byte ^ 1 : other))).toString('base64url')
  )
  const foreign = [await cursor('/others?limit=2'), await cursor('/titles?limit=2')]
  const forged = [
    '',
    'x',
    '%00',
    own.slice(1),
    own.slice(0, -1),
    own + own,
    `${own}&cursor=${own}`,
    'null',
    Buffer.from('{"after":[1]}').toString('base64url'),
    Buffer.from([0xff, 0xfe]).toString('base64url'),
    'é',
    'a'.repeat(5000)
  ]
  for (const given of [...tampered, ...foreign, ...forged]) {
    const answer = await request(app, `GET /books?cursor=${given}`)
    t.equal(answer.statusCode, 400, given)
    t.match(answer.json(), { code: 'invalid-query', parameter: 'cursor' })
  }
})

/** The seal of a cursor has no secret, so that any client can create one. */
function seal (name: string, order: readonly string[], content: string): string {
  let hash = 0x811c9dc5
  for (const text of [name, ...order, content]) {
    for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return Buffer.from((hash >>> 0).toString(36).padStart(7, '0') + content).toString('base64url')
}

test('a forged cursor with a valid checksum returns 400 unless its values match the schema', async (t) => {
  const app = await build(t, [])
  await app.register(collection, books('titles', ['title']))
  const get = (content: string) => request(app, `GET /titles?cursor=${seal('titles', ['title+', 'id+'], content)}`)
  t.equal((await get('["after","T1",3]')).statusCode, 200, 'the seal is valid')
  t.equal((await get('["before",null,3]')).statusCode, 200)
  for (const content of [
    '',
    '{',
    'null',
    '1',
    '{}',
    '[]',
    '["after"]',
    '["after","T1"]',
    '["after","T1",3,4]',
    '["beside","T1",3]',
    '["__proto__","T1",3]',
    '["after",1,3]',
    '["after","T1","3"]',
    '["after","T1",1.5]',
    '["after","T1",1e999]',
    '["after","T1",9007199254740993]',
    '["after","T1",{}]',
    '["after","\\u0000",3]',
    '["after","\\ud800",3]',
    '["after",["T1"],3]'
  ]) {
    const answer = await get(content)
    t.equal(answer.statusCode, 400, content)
    t.match(answer.json(), { code: 'invalid-query', parameter: 'cursor' })
  }
})

test('every response links to the description of the service (RFC 8631, section 4.1)', async (t) => {
  const app = await build(t, notes({ formats: [json, html] }).with(bulk()), {
    service: { description: '/openapi.json' }
  })
  t.equal((await request(app, 'GET /notes')).headers.link, '</openapi.json>; rel="service-desc"')
  const { at } = await created(app, '/notes', { text: 'a' })
  t.equal((await request(app, `GET ${at}`)).headers.link, '</notes>; rel="collection", </openapi.json>; rel="service-desc"')
  const only = '</openapi.json>; rel="service-desc"'
  const page = { accept: 'text/html' }
  for (const [target, status, options] of [
    ['GET /notes', 200, { fields: page }],
    ['QUERY /notes', 200, { content: {} }],
    ['GET /notes?limit=0', 400, {}],
    ['GET /notes?limit=0', 400, { fields: page }],
    ['GET /notes', 406, { fields: { accept: 'text/csv' } }],
    ['GET /notes/none', 404, {}],
    ['OPTIONS /notes', 204, {}],
    ['PUT /notes', 405, {}],
    ['POST /notes', 201, { content: [{ text: 'a' }] }],
    ['POST /notes', 415, { content: 'a', type: 'text/plain' }],
    ['POST /notes', 422, { content: {} }],
    [`PATCH ${at}`, 412, { content: {}, fields: { 'if-match': '"other"' } }],
    [`DELETE ${at}`, 204, {}]
  ] as const) {
    const response = await request(app, target, options)
    t.strictSame([response.statusCode, response.headers.link], [status, only], target)
  }
})

test('responses do not link to a description if the service has none', async (t) => {
  const app = await build(t, notes(), { service: {} })
  for (const target of ['GET /notes', 'GET /notes/none', 'OPTIONS /notes']) {
    t.notOk('link' in (await request(app, target)).headers, target)
  }
})

test('no item is skipped or repeated if items are added or removed between two pages', async (t) => {
  const app = await build(t, notes())
  const ids: string[] = []
  for (let index = 0; index < 6; index++) {
    ids.push(String((await created(app, '/notes', { text: String(index) })).item.id))
  }
  const first = await request(app, 'GET /notes?limit=3')
  await request(app, `DELETE /notes/${ids[0]}`)
  await request(app, `DELETE /notes/${ids[2]}`)
  const added = (await created(app, '/notes', { text: 'late' })).item.id
  const { next } = links(first.headers.link)
  t.strictSame(
    (await request(app, `GET ${next!.replace('limit=3', 'limit=9')}`)).json().map(({ id }: { id: string }) => id),
    [...ids.slice(3), added]
  )
})

test('HAL contains the links of the page and of each item', async (t) => {
  const app = await build(t, [])
  const definition = define({
    name: 'books',
    schema: Book,
    storage: memory({ items }),
    id: { generate: 'storage' },
    links: ({ item: { title } }) => ({ author: { href: `/authors/${title}`, title } })
  })
  await app.register(collection, { ...definition, prefix: '/v1' })
  const list = await request(app, 'GET /v1/books?limit=2', { fields: { accept: 'application/hal+json' } })
  t.equal(list.headers['content-type'], 'application/hal+json')
  const { _links, _embedded } = list.json()
  t.match(_links, {
    self: { href: '/v1/books' },
    next: { href: /^\/v1\/books\?limit=2&cursor=/ },
    first: { href: '/v1/books?limit=2' }
  })
  t.strictSame(_embedded.items[1]._links, {
    self: { href: '/v1/books/2' },
    collection: { href: '/v1/books' },
    author: { href: '/authors/T1', title: 'T1' }
  })
  const item = await request(app, 'GET /v1/books/2', { fields: { accept: 'application/hal+json' } })
  t.strictSame(item.json(), _embedded.items[1])
})

test('an id that is not a UUID is encoded in a link, regardless of the schema of ids', async (t) => {
  const app = Fastify()
  const schema = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }) })
  app.register(
    collection,
    define({ name: 'notes', schema, formats: [hal], storage: memory({ items: [{ id: 'a b/c' }] }) })
  )
  t.equal((await app.inject('/notes')).json()._embedded.items[0]._links.self.href, '/notes/a%20b%2Fc')
})
