import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import helmet from '@fastify/helmet'
import compress from '@fastify/compress'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import { html } from '../../lib/formats/html.ts'
import { escapeHtml, getSafeHref, markup } from '../../lib/formats/html/markup.ts'
import { getKind } from '../../lib/formats/html/kind.ts'
import { script } from '../../lib/formats/html/script.ts'
import { style } from '../../lib/formats/html/style.ts'
import collection, { define, json } from '../../lib/index.ts'
import { hal } from '../../lib/formats/hal.ts'
import { xml } from '../../lib/formats/xml.ts'
import type { Format } from '../../lib/formats/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { action } from '../../lib/features/action.ts'
import { aggregates } from '../../lib/features/aggregates.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { relate } from '../../lib/relations/relate.ts'
import { within } from '../../lib/features/within.ts'
import { ada, build, created, notes, request, users } from '../app.ts'
import { nativeCompiler, root, runProgram, scratch } from '../example.ts'

const formats = [json, html]
const accept = 'text/html'
const browsers = {
  Chrome:
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
  Firefox: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  Safari: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
}

test('a browser gets the HTML page, and every other client the same format as before', async (t) => {
  const app = await build(t, users({ formats: [json, hal, xml, html] }))
  const { at } = await created(app, '/users', ada)
  for (const url of ['/users', at]) {
    for (const [browser, accept] of Object.entries(browsers)) {
      const { headers, payload } = await request(app, `GET ${url}`, { fields: { accept } })
      t.equal(headers['content-type'], 'text/html; charset=utf-8', browser)
      t.match(payload, /^<!DOCTYPE html>\n<html lang="en">/)
      t.match(headers.vary, /Accept/)
      t.equal(headers['x-content-type-options'], 'nosniff')
      t.equal(headers['cache-control'], 'no-cache')
    }
    for (const accept of [
      '*/*',
      'application/json',
      'application/json, text/plain, */*',
      'text/*;q=0.1, application/json'
    ]) {
      t.equal(
        (await request(app, `GET ${url}`, { fields: { accept } })).headers['content-type'],
        'application/json',
        accept
      )
    }
    t.equal((await request(app, `GET ${url}`)).headers['content-type'], 'application/json')
    t.equal(
      (await request(app, `GET ${url}`, { fields: { accept: 'application/xml' } })).headers['content-type'],
      'application/xml'
    )
  }
  const without = await build(t, users())
  t.equal(
    (await request(without, 'GET /users', { fields: { accept } })).statusCode,
    406,
    'it is off unless it is registered'
  )
  t.equal(
    (await request(app, 'POST /users', { content: '<p>', type: 'text/html' })).statusCode,
    415,
    'HTML is not accepted as content'
  )
})

test('the Content-Security-Policy allows only the script and the style of the library', async (t) => {
  const app = await build(t, users({ formats }))
  const { at } = await created(app, '/users', ada)
  for (const url of ['/users', at, '/users/none']) {
    const { headers, payload } = await request(app, `GET ${url}`, { fields: { accept } })
    const policy = String(headers['content-security-policy'])
    const [, styled = ''] = /<style>([^]*?)<\/style>/.exec(payload)!
    const [, run = ''] = /<script>([^]*?)<\/script>/.exec(payload)!
    const digest = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
    t.equal(
      policy,
      `default-src 'none'; style-src ${digest(styled)}; script-src ${digest(run)}; require-trusted-types-for 'script'; img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`
    )
    t.notMatch(payload, / (style|on\w+)="/, 'no styles or handlers in attributes')
    t.equal(headers['referrer-policy'], 'same-origin')
  }
})

test('the page replaces the Content-Security-Policy of @fastify/helmet, also in a 304', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(helmet)
  await app.register(collection, users({ formats }))
  const page = await request(app, 'GET /users', { fields: { accept } })
  const known = await request(app, 'GET /users', { fields: { accept, 'if-none-match': String(page.headers.etag) } })
  t.equal(known.statusCode, 304)
  t.match(page.headers['content-security-policy'], /^default-src 'none'/)
  t.equal(known.headers['content-security-policy'], page.headers['content-security-policy'])
  t.equal(known.headers['content-type'], undefined)
})

test('the ETag of a page changes with anything on the page (RFC 9110, section 8.8.3)', async (t) => {
  const storage = memory({
    items: [
      {
        id: '01900000-0000-7000-8000-000000000001',
        role: 'reader',
        createdAt: '2026-01-01T00:00:00Z',
        updatedAt: '2026-01-01T00:00:00Z',
        ...ada
      }
    ]
  })
  const at = '/users/01900000-0000-7000-8000-000000000001'
  const app = await build(t, users({ formats, storage }))
  const getTag = async (url: string, given = app): Promise<string> =>
    String((await request(given, `GET ${url}`, { fields: { accept } })).headers.etag)
  t.match(await getTag(at), /^"[^"]+\.html-[0-9a-f]{16}"$/)
  t.equal(await getTag(at), await getTag(at))
  const other = await build(t, users({ formats, storage, actions: ['list', 'read'] }))
  t.not(await getTag(at), await getTag(at, other), 'other actions, another tag')
  t.not(await getTag('/users'), await getTag('/users', other))
  t.not(await getTag('/users'), await getTag('/users?count=true'))
  t.not(await getTag(at), String((await request(app, `GET ${at}`)).headers.etag))
})

test('a page supports conditional requests by its ETag, and has no Last-Modified', async (t) => {
  const app = await build(t, users({ formats }))
  const { at, tag: ofJson } = await created(app, '/users', ada)
  const page = await request(app, `GET ${at}`, { fields: { accept } })
  const tag = String(page.headers.etag)
  t.equal(page.headers['last-modified'], undefined)
  t.equal(
    (await request(app, `GET ${at}`, { fields: { accept, 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' } }))
      .statusCode,
    200
  )
  t.equal((await request(app, `GET ${at}`, { fields: { accept, 'if-none-match': tag } })).statusCode, 304)
  t.equal((await request(app, `HEAD ${at}`, { fields: { accept, 'if-none-match': `W/${tag}` } })).statusCode, 304)
  t.equal((await request(app, `GET ${at}`, { fields: { accept, 'if-none-match': ofJson } })).statusCode, 200)
  t.equal((await request(app, `GET ${at}`, { fields: { 'if-none-match': tag } })).statusCode, 200)
  t.equal((await request(app, `GET ${at}`, { fields: { accept, 'if-match': tag } })).statusCode, 200)
  t.equal((await request(app, `GET ${at}`, { fields: { accept, 'if-match': '"other"' } })).statusCode, 412)
  const head = await request(app, `HEAD ${at}`, { fields: { accept } })
  t.equal(head.headers['content-length'], String(Buffer.byteLength(page.payload)))
  t.equal(head.headers.etag, tag)
  t.equal(head.payload, '')
})

test('If-Match accepts the ETag of a page, plain or compressed, until the item changes', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(compress, { threshold: 10 })
  await app.register(collection, users({ formats }))
  const { at } = await created(app, '/users', ada)
  for (const coding of ['identity', 'gzip']) {
    const { headers } = await request(app, `GET ${at}`, { fields: { accept, 'accept-encoding': coding } })
    const tag = String(headers.etag)
    t.equal(tag.endsWith('-gzip"'), coding === 'gzip')
    t.equal(
      (await request(app, `GET ${at}`, { fields: { accept, 'accept-encoding': coding, 'if-none-match': tag } })).statusCode,
      304
    )
    t.equal((await request(app, `DELETE ${at}`, { fields: { 'if-none-match': tag } })).statusCode, 412)
    t.equal((await request(app, `PATCH ${at}`, { content: { name: coding }, fields: { 'if-match': tag } })).statusCode, 200)
    t.equal((await request(app, `PATCH ${at}`, { content: { name: 'late' }, fields: { 'if-match': tag } })).statusCode, 412)
  }
})

test('a write with Accept: text/html returns the page of the item', async (t) => {
  const app = await build(t, users({ formats }).with(bulk()))
  const posted = await request(app, 'POST /users', { content: ada, fields: { accept } })
  t.equal(posted.statusCode, 201)
  t.match(posted.payload, /<h1><bdi>Ada<\/bdi><\/h1>/)
  const at = String(posted.headers.location)
  const changed = await request(app, `PATCH ${at}`, { content: { name: 'Ada King' }, fields: { accept } })
  t.match(changed.payload, /<h1><bdi>Ada King<\/bdi><\/h1>/)
  t.equal(changed.headers.etag, (await request(app, `GET ${at}`, { fields: { accept } })).headers.etag)
  const minimal = await request(app, `PATCH ${at}`, {
    content: { name: 'A. K.' },
    fields: { accept, prefer: 'return=minimal' }
  })
  t.equal(minimal.statusCode, 204)
  t.equal(
    (await request(app, `PATCH ${at}`, { content: { name: 'Ada' }, fields: { 'if-match': String(minimal.headers.etag) } }))
      .statusCode,
    200
  )
  const several = await request(app, 'POST /users', {
    content: [
      { ...ada, email: 'a@example.com' },
      { ...ada, email: 'b@example.com' }
    ],
    fields: { accept }
  })
  t.match(several.payload, /a@example\.com[^]*b@example\.com/)
  t.equal(several.headers.etag, undefined)
  t.equal((await request(app, `DELETE ${at}`, { fields: { accept } })).statusCode, 204)
  const plain = await build(t, users({ formats }))
  const { at: there } = await created(plain, '/users', ada)
  const replaced = await request(plain, `PUT ${there}`, { content: ada, fields: { accept } })
  t.equal(replaced.headers.etag, undefined, 'RFC 9110, section 9.3.4')
  t.notMatch(replaced.payload, /data-method/, 'without a tag, the page has no forms')
})

test('empty inputs of a form are ignored in the query', async (t) => {
  const app = await build(t, users({ formats, list: { search: ['name'] } }))
  await created(app, '/users', ada)
  const page = await request(app, 'GET /users?q=&name.like=A*&age.gte=&sort=&limit=', { fields: { accept } })
  t.equal(page.statusCode, 200)
  t.match(page.payload, /ada@example\.com/)
  t.match(page.payload, /<\/span>\/users\?name\.like=A\*'<\/code>/, 'the curl command omits it too')
  t.equal((await request(app, 'GET /users?age.gte=')).statusCode, 400, 'for other clients, an empty value is a value')
})

test('the table of a list has the same columns on every page, whatever its items have', async (t) => {
  const app = await build(t, users({ formats }))
  await created(app, '/users', { ...ada })
  const getColumns = async (url: string) => {
    const { payload } = await request(app, `GET ${url}`, { fields: { accept } })
    return [...payload.matchAll(/<th scope="col"[^>]*>(?:<a [^>]*>)?(\w+)/g)].map(([, name]) => name)
  }
  const before = await getColumns('/users')
  t.ok(before.includes('age'), 'although the only item has no age')
  await created(app, '/users', { email: 'grace@example.com', name: 'Grace', age: 50 })
  t.same(await getColumns('/users'), before)
  t.same(await getColumns('/users?fields=name'), ['id', 'name'])
  const list = (await request(app, 'GET /users', { fields: { accept } })).payload
  t.ok(list.indexOf('Add an item') < list.indexOf('<table>'), 'the form to add an item is above the table')
  t.match(list, `Scroll the table to see all of its ${before.length} columns.`)
})

test('inputs for JSON have an example of their schema', async (t) => {
  const Order = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    address: Type.Object({
      city: Type.String(),
      email: Type.Optional(Type.String({ format: 'email' })),
      floor: Type.Integer({ minimum: 3 }),
      lift: Type.Boolean(),
      kind: Type.Union([Type.Literal('home'), Type.Literal('work')])
    }, { description: 'Where to.' }),
    lines: Type.Array(Type.Object({ sku: Type.String({ default: 'loom' }), tags: Type.Array(Type.String()) }), { default: [] }),
    point: Type.Union([Type.Null(), Type.Tuple([Type.Number(), Type.Number()])], { examples: [[1.5, 2]] }),
    grid: Type.Array(Type.Array(Type.Array(Type.Array(Type.Object({ deep: Type.String() }))))),
    pair: Type.Tuple([Type.Number(), Type.Null()]),
    anything: Type.Unknown(),
    long: Type.Object({ text: Type.String({ default: 'x'.repeat(300) }) })
  })
  const app = await build(t, define({ name: 'orders', schema: Order, storage: memory(), formats }))
  const { payload } = await request(app, 'GET /orders', { fields: { accept } })
  const hints = [...payload.matchAll(/<p class="hint" id="[^"]*">(.*)<\/p>/g)].map(([, hint = '']) => {
    return hint.replaceAll('&quot;', '"')
  })
  t.same(hints, [
    'Where to. JSON, such as {"city":"text","email":"ada@example.com","floor":3,"lift":true,"kind":"home"}',
    'JSON, such as [{"sku":"loom","tags":["text"]}]',
    'JSON, such as [1.5,2]',
    'JSON, such as [[[[]]]]',
    'JSON, such as []',
    'JSON.',
    'JSON.'
  ])
})

test('the form that deletes an item asks first', async (t) => {
  const app = await build(t, users({ formats }))
  const { at } = await created(app, '/users', ada)
  const { payload } = await request(app, `GET ${at}`, { fields: { accept } })
  t.match(payload, /<p>Delete <bdi>Ada<\/bdi>\? This page cannot undo it\.<\/p>\n<p class="send"><button class="danger">/)
})

test('the page of a list has search, limit, counts and links to other pages', async (t) => {
  const app = await build(t, users({ formats, list: { search: ['name'], limit: { default: 2, maximum: 5 } } }), {
    service: { description: '/openapi.json' }
  })
  for (const name of ['a', 'b', 'c']) await created(app, '/users', { name, email: `${name}@example.com` })
  const first = (await request(app, 'GET /users', { fields: { accept } })).payload
  t.match(first, /<a href="\/openapi\.json" rel="service-desc">API description<\/a>/)
  t.match(first, /name="q"/)
  t.match(first, /name="limit" value="" type="number" min="1" max="5" placeholder="2"/)
  t.match(first, /2 items on this page · <a href="\/users\?count=true">Count all<\/a>/)
  t.notMatch(first, /rel="first"|rel="prev"/)
  const [, next = ''] = /<a href="([^"]+)" rel="next">/.exec(first)!
  const second = (await request(app, `GET ${next.replaceAll('&amp;', '&')}`, { fields: { accept } })).payload
  t.match(second, /rel="first"[^]*rel="prev"/)
  t.match(second, /1 item on this page ·/)
  t.match((await request(app, 'GET /users?limit=3', { fields: { accept } })).payload, />3 items ·/, 'of a single page')
  t.match((await request(app, 'GET /users?count=true', { fields: { accept } })).payload, /2 of 3/)
  t.match((await request(app, 'GET /users?name=zz', { fields: { accept } })).payload, /No items match\./)
  t.match(
    (await request(await build(t, users({ formats })), 'GET /users', { fields: { accept } })).payload,
    /There are no items\./
  )
  const sorted = (
    await request(app, 'GET /users?sort=-name&name.like=*&name.ne=q&fields=id,name,email', { fields: { accept } })
  ).payload
  t.match(sorted, /<th scope="col" aria-sort="descending"><a href="\/users\?sort=name&amp;/)
  t.match(sorted, /<details open><summary>Filters \(1\)<\/summary>/)
  t.match(sorted, /<code>name\.ne=q<\/code><input type="hidden" name="name\.ne" value="q">/)
  t.match(sorted, /<option value="-name" selected>/)
  t.match(
    (await request(app, 'GET /users?sort=name&fields=email', { fields: { accept } })).payload,
    /<bdi>Open<\/bdi><\/a>/,
    'a row without its id still links to its item'
  )
  t.match(
    (await request(app, 'GET /users?sort=name', { fields: { accept } })).payload,
    /aria-sort="ascending"><a href="\/users\?sort=-name"/
  )
  t.match(
    (await request(app, 'GET /users?sort=name,-email', { fields: { accept } })).payload,
    /<option value="name,-email" selected>/
  )
})

test('an empty list explains why it is empty and what to do next', async (t) => {
  const getEmpty = async (url: string, options: Parameters<typeof users>[0] = {}): Promise<string> => {
    const app = await build(t, users({ formats, ...options }))
    const { payload } = await request(app, `GET ${url}`, { fields: { accept } })
    const [, reason = ''] = /<p class="empty">([^]*?)<\/p>/.exec(payload)!
    const isOpen = payload.includes('<details open><summary>Add an item</summary>')
    return `${reason}${isOpen ? ' The form is open.' : ''}${payload.includes('role="search"') ? ' With a query.' : ''}`
  }
  t.equal(
    await getEmpty('/users'),
    'There are no items. <span data-live hidden>Add the first one below.</span> The form is open.'
  )
  t.equal(await getEmpty('/users', { actions: ['list', 'read'] }), 'There are no items.')
  t.equal(await getEmpty('/users?name=zz'), 'No items match. <a href="/users">Show all items</a> With a query.')
  const access = { authenticate: () => undefined, allow: { all: 'authenticated', list: 'public' } } as const
  t.equal(
    await getEmpty('/users', { access }),
    'There are no items, or none that you can see. You are not signed in.'
  )
  const app = await build(t, users({ formats, list: { limit: { default: 1 } } }))
  for (const name of ['a', 'b']) await created(app, '/users', { name, email: `${name}@example.com` })
  const { headers } = await request(app, 'GET /users?sort=name')
  const [, next = ''] = /<([^>]+)>; rel="next"/.exec(String(headers.link))!
  for (const { id } of (await request(app, 'GET /users?limit=2')).json()) await request(app, `DELETE /users/${id}`)
  t.match(
    (await request(app, `GET ${next}`, { fields: { accept } })).payload,
    /There are no items on this page\. <a href="\/users\?sort=name">Go to the first page<\/a>/
  )
})

test('dates are readable in UTC, with the exact value on hover; numbers are right-aligned', async (t) => {
  const Event = Type.Object({
    id: Type.String(),
    on: Type.String({ format: 'date' }),
    at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    seats: Type.Integer(),
    price: Type.String(),
    code: Type.String()
  }, { additionalProperties: true })
  const items = [
    { id: 'a', on: '2026-02-28', at: '2026-03-01t00:59:59.5+01:00', seats: 10, price: '9.90', code: '1', weight: 1 },
    { id: 'b', on: '2026-02-30', at: '1990-12-31T23:59:60Z', seats: 9, price: '-1200.00', code: 'x', weight: 'heavy' },
    { id: 'c', on: 'soon', at: null, seats: 8, price: '0.5', code: '3', extra: 3 }
  ]
  const list = String(html.list(items, { list: {}, items: [] }, Event))
  const item = String(html.item(items[0]!, {}, Event))
  t.match(list, '<td><time datetime="2026-02-28" title="2026-02-28">28 Feb 2026</time></td>')
  t.match(
    list,
    '<time datetime="2026-02-28T23:59:59.500Z" title="2026-03-01t00:59:59.5+01:00">28 Feb 2026, 23:59 UTC</time>'
  )
  t.match(item, />28 Feb 2026, 23:59:59 UTC<\/time>/, 'the page of the item shows seconds')
  t.match(list, '<td><bdi>1990-12-31T23:59:60Z</bdi></td>', 'a leap second has no Date')
  t.match(list, '<td><bdi>2026-02-30</bdi></td>', 'a date that does not exist is shown as it is')
  t.match(list, '<td><bdi>soon</bdi></td>')
  const numeric = [...list.matchAll(/<th scope="col" class="number">(?:<a[^>]*>)?(\w+)/g)].map(([, name]) => name)
  t.same(numeric, ['seats', 'price', 'extra'], 'by the schema, or if all values are numbers or decimals')
  t.equal(list.match(/<td class="number">/g)?.length, numeric.length * items.length)
})

test('the page of a list without search, sort and filters offers none of them', async (t) => {
  const app = await build(
    t,
    notes({
      formats: [html],
      list: { filter: [], sort: [] },
      storage: memory({ items: [{ id: '01900000-0000-7000-8000-000000000001', text: 'x' }] })
    })
  )
  const { payload } = await request(app, 'GET /notes')
  t.notMatch(payload, /name="q"|name="sort"|Filters/)
  t.match(payload, /<th scope="col">text<\/th>/)
  t.notMatch(payload, /Add an item/, 'no form to create without a format that can be parsed')
  t.match(payload, /<code [^>]*>curl '/)
  t.match(
    (await request(await build(t, notes({ formats: [html, json] })), 'GET /notes')).payload,
    /curl -H &#39;Accept: application\/json&#39; '/
  )
})

/** The forms of a page, by method, each with the names of its controls. */
function getForms (payload: string): Record<string, string[]> {
  return Object.fromEntries(
    [...payload.matchAll(/<form [^>]*data-method="(\w+)"[^>]*>([^]*?)<\/form>/g)].map(([, method, form = '']) => [
      method,
      [...form.matchAll(/ name="([^"]+)"/g)].map((match) => match[1])
    ])
  )
}

test('a page has forms for the allowed actions with the writable properties', async (t) => {
  const Thing = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    code: Type.String({ immutable: true }),
    'a/b': Type.Optional(Type.String()),
    secret: Type.String({ writeOnly: true, description: 'Not shown.' }),
    at: Type.Optional(Type.String({ readOnly: true }))
  })
  const listForms = async (actions: Parameters<typeof users>[0]): Promise<[list: object, item: object]> => {
    const things = define({
      name: 'things',
      schema: Thing,
      formats,
      storage: memory({ items: [{ id: '01900000-0000-7000-8000-000000000001', code: 'c', secret: 's' }] }),
      ...(actions as object)
    })
    const app = await build(t, things)
    return [
      getForms((await request(app, 'GET /things', { fields: { accept } })).payload),
      getForms((await request(app, 'GET /things/01900000-0000-7000-8000-000000000001', { fields: { accept } })).payload)
    ]
  }
  t.same(await listForms({}), [{ POST: ['/code', '/a~1b', '/secret'] }, { PATCH: ['/a~1b', '/secret'], DELETE: [] }])
  t.same(await listForms({ actions: ['list', 'read', 'replace'] }), [{}, { PUT: ['/a~1b', '/secret'] }])
  t.same(await listForms({ actions: ['list', 'read', 'replace', 'remove'], formats: [html] }), [{}, { DELETE: [] }])
  t.same(await listForms({ actions: ['list', 'read'] }), [{}, {}])
})

test('a page shows only the actions of its caller, and has an ETag of its own', async (t) => {
  const app = await build(
    t,
    users({
      formats,
      access: {
        authenticate: ({ request: { headers } }) => headers['x-user']?.toString(),
        allow: { all: 'authenticated', list: 'public', read: 'public', remove: ({ caller }) => caller === 'root' },
        scope: () => ({ values: { role: 'guest' } })
      }
    })
  )
  const created = await request(app, 'POST /users', { content: ada, fields: { 'x-user': 'ada' } })
  const at = String(created.headers.location)
  const readPage = async (url: string, caller?: string): Promise<[forms: object, tag: unknown]> => {
    const { payload, headers } = await request(app, `GET ${url}`, {
      fields: { accept, ...(caller !== undefined && { 'x-user': caller }) }
    })
    return [getForms(payload), headers.etag]
  }
  const [[anonymous, anonymousTag], [someone, someoneTag], [root, rootTag]] = await Promise.all([
    readPage(at),
    readPage(at, 'ada'),
    readPage(at, 'root')
  ])
  t.same([Object.keys(anonymous), Object.keys(someone), Object.keys(root)], [[], ['PATCH'], ['PATCH', 'DELETE']])
  t.notOk(
    Object.values({ ...root, ...(await readPage('/users', 'ada'))[0] })
      .flat()
      .includes('/role'),
    'properties set by the scope are not in the form'
  )
  t.equal(new Set([anonymousTag, someoneTag, rootTag]).size, 3)
  t.same(
    [Object.keys((await readPage('/users'))[0]), Object.keys((await readPage('/users', 'ada'))[0])],
    [[], ['POST']]
  )
  t.equal(
    (await request(app, `GET ${at}`, { fields: { accept, 'x-user': 'root', 'if-none-match': String(someoneTag) } }))
      .statusCode,
    200
  )
  t.equal(
    (
      await request(app, `PATCH ${at}`, {
        content: { name: 'Ada King' },
        fields: { 'x-user': 'ada', 'if-match': String(rootTag) }
      })
    ).statusCode,
    200,
    'a tag is valid for the item, whichever caller read the page'
  )
  const closed = await request(app, `DELETE ${at}`, { fields: { accept } })
  t.match(closed.payload, /<h1>401 Unauthorized<\/h1>/)
  t.match(closed.payload, /no token:\nwith a token, use <code>curl -H 'Authorization: Bearer TOKEN' '<span data-origin><\/span>\/users\/[\w-]+'</)
  const quoted = (await request(app, "DELETE /users/a';b", { fields: { accept } })).payload
  t.match(quoted, "</span>/users/a&#39;\\&#39;&#39;;b'</code>", 'the command cannot be left')
  t.type(closed.headers['www-authenticate'], 'string')
})

test('a page shows who is signed in, and no shared cache stores it', async (t) => {
  const callers: Record<string, string | { id: number, name?: string }> = {
    text: 'ada <3',
    named: { id: 7, name: 'Grace' },
    numbered: { id: 7 }
  }
  const access = {
    authenticate: ({ request: { headers } }: { request: { headers: object } }) => {
      return callers[String(Reflect.get(headers, 'x-user'))] as never
    },
    allow: { all: 'authenticated', list: 'public', read: 'public' }
  } as const
  const app = await build(t, users({ formats, access, cache: { list: 'public, max-age=60', read: 'private' } }))
  const { headers: { location } } = await request(app, 'POST /users', { content: ada, fields: { 'x-user': 'text' } })
  for (const [caller, text] of [
    ['text', /<li>Signed in as <bdi class="caller">ada &lt;3<\/bdi><\/li>/],
    ['named', /<li>Signed in as <bdi class="caller">Grace<\/bdi><\/li>/],
    ['numbered', /<li>Signed in as <bdi class="caller">7<\/bdi><\/li>/],
    ['none', /<li>Not signed in<\/li>/]
  ] as const) {
    const list = await request(app, 'GET /users', { fields: { accept, 'x-user': caller } })
    t.match(list.payload, text)
    t.equal(list.headers['cache-control'], 'no-store', 'the page depends on the caller')
    const item = await request(app, `GET ${String(location)}`, { fields: { accept, 'x-user': caller } })
    t.match(item.payload, text)
    t.equal(item.headers['cache-control'], 'private', 'a private policy remains')
  }
  t.equal((await request(app, 'GET /users')).headers['cache-control'], 'public, max-age=60', 'JSON is the same for all')
  const known = await request(app, 'GET /users', { fields: { accept } })
  const { headers, statusCode } = await request(app, 'GET /users', {
    fields: { accept, 'if-none-match': String(known.headers.etag) }
  })
  t.same([statusCode, headers['cache-control']], [304, 'no-store'])
  const open = await build(t, users({ formats, cache: { list: 'public, max-age=60' } }))
  const page = await request(open, 'GET /users', { fields: { accept } })
  t.notMatch(page.payload, /signed in/i)
  t.equal(page.headers['cache-control'], 'public, max-age=60', 'without callers, the page is the same for all')
})

test('a page that depends on the caller through a relation says so in a 304 as well', async (t) => {
  const storage = memory()
  const id = { generate: 'client' } as const
  const { articles, authors } = relate({
    articles: define({
      name: 'articles',
      schema: Type.Object({ id: Type.String(), authorId: Type.String() }),
      id,
      storage,
      formats,
      cache: 'public, max-age=60'
    }),
    authors: define({
      name: 'authors',
      schema: Type.Object({ id: Type.String() }),
      id,
      storage,
      access: { authenticate: ({ request }) => String(request.headers['x-user']), vary: ['X-User'] }
    })
  }, { articles: { author: { to: 'authors', property: 'authorId' } } })
  const app = await build(t, [articles, authors])
  await request(app, 'POST /authors', { content: { id: 'ada' } })
  await request(app, 'POST /articles', { content: { id: 'one', authorId: 'ada' } })
  for (const path of ['/articles?expand=author', '/articles/one?expand=author']) {
    const first = await request(app, `GET ${path}`, { fields: { accept } })
    const again = await request(app, `GET ${path}`, { fields: { accept, 'if-none-match': String(first.headers.etag) } })
    t.strictSame([first.statusCode, again.statusCode], [200, 304])
    for (const { headers } of [first, again]) {
      t.equal(headers['cache-control'], 'no-store', path)
      t.match(headers.vary, /X-User/, path)
    }
  }
})

test('a page leaves out properties that the caller cannot see, and its forms still work', async (t) => {
  const app = await build(
    t,
    users({
      formats,
      access: {
        authenticate: ({ request: { headers } }) => headers['x-user']?.toString(),
        visible: { age: ({ caller }) => caller === 'root' }
      }
    })
  )
  const created = await request(app, 'POST /users', { content: { ...ada, age: 36 }, fields: { 'x-user': 'root' } })
  const at = String(created.headers.location)
  for (const caller of ['root', 'ada']) {
    for (const url of ['/users', at]) {
      const { payload, headers } = await request(app, `GET ${url}`, { fields: { accept, 'x-user': caller } })
      t.equal(
        /\bage\b/.test(
          payload.slice(payload.indexOf('<main'), payload.indexOf('<script>')).replace('Items per page', '')
        ),
        caller === 'root',
        `${caller} ${url}`
      )
      if (url === '/users') continue
      const [, shown = ''] = /data-tag="([^"]+)"/.exec(payload)!
      for (const tag of [shown.replaceAll('&quot;', '"'), String(headers.etag)]) {
        t.equal(
          (await request(app, `DELETE ${at}`, { fields: { 'x-user': caller, 'if-none-match': tag } })).statusCode,
          412,
          'both tags identify the state of the item'
        )
      }
    }
  }
})

test('a page has forms of the custom actions that are possible and allowed', async (t) => {
  const people = users({ formats })
  const app = await build(t, people.with(
    action('promote', {
      input: Type.Object({ reason: Type.String(), level: Type.Optional(Type.Integer({ default: 1 })) }),
      when: ({ item }) => Reflect.get(item, 'role') === 'reader',
      run: ({ item }) => ({ ...item, role: 'author' })
    }),
    action('greet', {
      title: 'Say hello',
      output: Type.Object({ text: Type.String() }),
      run: () => ({ output: { text: 'Hi' } })
    }),
    action('clear', { on: 'collection', run () {} })
  ))
  const { at } = await created(app, '/users', ada)
  const read = async (url: string) => (await request(app, `GET ${url}`, { fields: { accept } })).payload
  const page = await read(at)
  t.match(page, '<summary>Promote</summary><form autocomplete="off" aria-label="Promote" data-method="POST"')
  t.match(page, `data-action="${at}/promote" data-tag="`)
  t.match(page, /<input id="promote-0"[^>]* name="\/reason"/)
  t.match(page, '<button>Say hello</button>')
  t.notMatch(page, 'rel="promote"', 'it is no link')
  t.notMatch(page, 'Clear')
  t.match(await read('/users'), 'aria-label="Clear" data-method="POST" data-action="/users/clear">')
  const promoted = await request(app, `POST ${at}/promote`, { content: { reason: 'x' }, fields: { accept } })
  t.equal(promoted.headers['content-type'], 'text/html; charset=utf-8')
  t.notMatch(promoted.payload, '<summary>Promote</summary>')
  t.equal(promoted.headers.etag, (await request(app, `GET ${at}`, { fields: { accept } })).headers.etag)
  const greeting = await request(app, `POST ${at}/greet`, { fields: { accept } })
  t.match(greeting.payload, /<dt>text<\/dt><dd>.*Hi/)
  t.match(greeting.payload, `<h1><bdi>${at.slice('/users/'.length)}</bdi></h1>`)
})

test('the page of a safe action or of aggregates has their URL in its title, breadcrumbs and curl command', async (t) => {
  const people = users({ formats }).with(
    aggregates({ by: ['role'] }),
    action('quote', {
      on: 'collection',
      safe: true,
      input: Type.Object({ level: Type.Integer() }),
      output: Type.Object({ price: Type.Integer() }),
      run: ({ input }) => ({ output: { price: input.level * 10 } })
    }),
    action('badge', { safe: true, output: Type.Object({ text: Type.String() }), run: () => ({ output: { text: 'Hi' } }) })
  )
  const app = await build(t, people)
  const { at } = await created(app, '/users', ada)
  const id = at.slice('/users/'.length)
  for (const [url, parent] of [
    ['/users/aggregate?by=role', '<a href="/users"><bdi>users</bdi></a>'],
    ['/users/quote?level=2', '<a href="/users"><bdi>users</bdi></a>'],
    [`${at}/badge`, `<a href="${at}"><bdi>${id}</bdi></a>`]
  ] as const) {
    const path = url.replace(/\?.*/, '')
    const name = path.slice(path.lastIndexOf('/') + 1)
    const { payload } = await request(app, `GET ${url}`, { fields: { accept } })
    t.match(payload, `<title>${name} – users</title>`)
    t.match(payload, `<h1><bdi>${name}</bdi></h1>`)
    t.match(payload, `<li>${parent}</li><li><a href="${path}" aria-current="page"><bdi>${name}</bdi></a></li>`)
    t.match(payload, `</span>${url}'</code>`)
    t.match(payload, `data-json="${url}"`)
  }
  const sent = await request(app, 'POST /users/quote', { content: { level: 2 }, fields: { accept } })
  t.match(sent.payload, "</span>/users'</code>", 'a curl command without content would be another request')
})

test('the page of aggregates has a table of the groups and their figures', async (t) => {
  const Order = Type.Object({
    id: Type.Integer(),
    status: Type.String(),
    country: Type.Optional(Type.String()),
    total: Type.Integer(),
    createdAt: Type.String({ format: 'date-time' })
  })
  const createdAt = '2026-01-31T10:00:00.000Z'
  const app = await build(t, define({
    name: 'orders',
    schema: Order,
    id: { generate: 'storage' },
    timestamps: false,
    formats,
    storage: memory({
      items: [
        { id: 1, status: 'open', country: '<b>', total: 10, createdAt },
        { id: 2, status: 'paid', total: 20, createdAt },
        { id: 3, status: 'paid', total: 25, createdAt }
      ]
    })
  }).with(aggregates({ by: ['status', 'country'], of: { total: ['sum', 'avg'], createdAt: ['max'] } })))
  const read = async (url: string) => (await request(app, `GET ${url}`, { fields: { accept } })).payload

  const page = await read('/orders/aggregate?by=status,country&count=true&sum=total&max=createdAt&sort=-sum.total')
  t.match(page, '<caption class="hint">Figures of orders by status, country</caption>')
  const headings = [...page.matchAll(/<th scope="col"([^>]*)><a href="([^"]*)">([^<]*)</g)]
  t.strictSame(headings.map(([, attributes, , name]) => `${name}${attributes}`), [
    'status',
    'country',
    'count class="number"',
    'sum.total class="number" aria-sort="descending"',
    'max.createdAt'
  ])
  for (const [, , href] of headings) t.equal((await request(app, `GET ${href!.replaceAll('&amp;', '&')}`)).statusCode, 200)
  const rows = [...page.matchAll(/<tr>(<th scope="row">.*)<\/tr>/g)].map(([, row]) => row)
  t.equal(rows.length, 2)
  t.match(rows[0], '<th scope="row"><bdi>paid</bdi></th><th scope="row"><span class="none">null</span></th>' +
    '<td class="number">2</td><td class="number">45</td><td><time datetime="2026-01-31T10:00:00.000Z"')
  t.match(rows[1], '<th scope="row"><bdi>open</bdi></th><th scope="row"><bdi>&lt;b&gt;</bdi></th>')
  t.match(page, '<p class="count">2 groups</p>')
  t.notMatch(page, '<dl>')

  const whole = await read('/orders/aggregate?avg=total')
  t.match(whole, '<caption class="hint">Figures of orders</caption>')
  t.match(whole, /<tr><td class="number">18\.3+\d*<\/td><\/tr>/)
  t.match(whole, '<p class="count">1 group</p>')
  t.match(await read('/orders/aggregate?by=status&limit=1'), '<p class="count">1 group, and there are more</p>')
  t.match(await read('/orders/aggregate?by=status&total.gt=99'), '<p class="empty">No items match.</p>')
  const many = Array.from({ length: 1001 }, (_, index) => ({ id: index + 1, status: `s${index}`, total: 1, createdAt }))
  const long = await build(t, define({ name: 'orders', schema: Order, id: { generate: 'storage' }, formats, storage: memory({ items: many }) })
    .with(aggregates({ by: ['status'], maximum: 2000 })))
  const { payload } = await request(long, 'GET /orders/aggregate?by=status', { fields: { accept } })
  t.equal(payload.match(/<th scope="row">/g)?.length, 1000)
  t.match(payload, '<p class="count">1000 groups, and there are more</p>')
  t.match(await read('/orders'), /<th scope="col"><a href="\/orders\?sort=status">status<\/a>/)
})

test('the page of a problem lists what is invalid', async (t) => {
  const app = await build(t, users({ formats }).with(action('quote', {
    on: 'collection',
    safe: true,
    input: Type.Object({ level: Type.Integer() }),
    output: Type.Object({ price: Type.Integer() }),
    run: ({ input }) => ({ output: { price: input.level * 10 } })
  })))
  const { statusCode, payload } = await request(app, 'GET /users/quote?<i>=1', { fields: { accept } })
  t.equal(statusCode, 422)
  t.match(payload, '<li><code>/level</code> is required</li>')
  t.match(payload, '<li><code>/&lt;i&gt;</code> is not a known property</li>')

  const head = { title: 'Conflict', status: 409, detail: 'No.', instance: '/users' }
  t.match(html.problem!({ ...head, errors: [{ pointer: '', message: 'must be object' }] }), '<ul><li>must be object</li></ul>')
  t.equal(html.problem!({ ...head, errors: ['mine', null, {}] }), html.problem!(head), 'errors of another form')
})

test('a page with selected properties has no forms and links to the full item', async (t) => {
  const app = await build(t, users({ formats }))
  const { at } = await created(app, '/users', ada)
  const { payload } = await request(app, `GET ${at}?fields=name`, { fields: { accept } })
  t.same(getForms(payload), {})
  t.match(payload, new RegExp(`<a href="${at}">Show the full item</a>`))
})

test('form inputs follow the schema of the property', async (t) => {
  const listControls = async (
    schema: ReturnType<typeof Type.String>,
    value?: unknown,
    optional = false
  ): Promise<string> => {
    const Thing = Type.Object({
      id: Type.String({ format: 'uuid', readOnly: true }),
      it: optional ? Type.Optional(schema) : schema
    })
    const item = { id: '01900000-0000-7000-8000-000000000001', ...(value !== undefined && { it: value }) }
    const app = await build(
      t,
      define({
        name: 'things',
        schema: Thing,
        formats,
        list: { filter: [] },
        storage: memory({ items: [item as never] })
      })
    )
    const { payload } = await request(
      app,
      value === undefined ? 'GET /things' : 'GET /things/01900000-0000-7000-8000-000000000001',
      { fields: { accept } }
    )
    return /<(input|select|textarea) [^>]*name="\/it"[^>]*>[^]*?(?=\n<p)/
      .exec(payload)![0]
      .replace(/ (id|name|data-property|aria-describedby)="[^"]*"/g, '')
  }
  const loose = (schema: object): ReturnType<typeof Type.String> => schema as ReturnType<typeof Type.String>
  t.equal(await listControls(Type.String()), '<input data-kind="string" data-empty="text" type="text" value="">')
  t.equal(
    await listControls(Type.String({ minLength: 1 })),
    '<input required data-kind="string" data-empty="text" type="text" value="">'
  )
  t.equal(await listControls(Type.String(), undefined, true), '<input data-kind="string" type="text" value="">')
  t.equal(
    await listControls(Type.String({ format: 'email' })),
    '<input required data-kind="string" data-empty="text" type="email" value="">'
  )
  t.equal(
    await listControls(Type.String({ format: 'uri' }), 'https://example.com/', true),
    '<input data-kind="string" type="url" value="https://example.com/">'
  )
  t.equal(
    await listControls(Type.String({ format: 'date-time' }), undefined, true),
    '<input data-kind="string" type="text" placeholder="2026-01-31T12:00:00Z" value="">'
  )
  t.equal(
    await listControls(Type.String({ maxLength: 1000 }), undefined, true),
    '<textarea data-kind="string" rows="3">\n</textarea>'
  )
  t.equal(
    await listControls(Type.String(), '\nx</textarea>', true),
    '<textarea data-kind="string" rows="3">\n\nx&lt;/textarea&gt;</textarea>'
  )
  t.equal(
    await listControls(loose(Type.Integer({ minimum: 1, maximum: 9, default: 3 }))),
    '<input data-kind="integer" type="number" step="1" min="1" max="9" value="3">'
  )
  t.equal(
    await listControls(loose(Type.Number()), 0, true),
    '<input data-kind="number" type="number" step="any" value="0">'
  )
  t.equal(
    await listControls(loose(Type.Boolean())),
    '<select required data-kind="choice"><option value="">–</option><option value="true">true</option><option value="false">false</option></select>'
  )
  t.equal(
    await listControls(loose(Type.Boolean()), false),
    '<select data-kind="choice"><option value="true">true</option><option value="false" selected>false</option></select>'
  )
  t.equal(
    await listControls(loose(Type.Union([Type.Literal('a'), Type.Literal(2), Type.Null()])), null),
    '<select data-kind="choice" data-empty="null"><option value="&quot;a&quot;">a</option><option value="2">2</option><option value="null" selected>null</option></select>'
  )
  t.equal(
    await listControls(loose(Type.Union([Type.String(), Type.Null()])), null),
    '<input data-kind="string" data-empty="null" type="text" value="">'
  )
  t.equal(
    await listControls(loose(Type.Union([Type.String(), Type.Null()])), undefined, true),
    '<input data-kind="string" type="text" value="">'
  )
  t.equal(
    await listControls(loose(Type.Object({ city: Type.String() })), { city: '"' }),
    '<textarea required data-kind="json" spellcheck="false" rows="3">\n{\n  &quot;city&quot;: &quot;\\&quot;&quot;\n}</textarea>'
  )
  t.equal(
    await listControls(loose(Type.Array(Type.String())), undefined, true),
    '<textarea data-kind="json" spellcheck="false" rows="3">\n</textarea>'
  )
  t.equal(
    await listControls(Type.String({ minLength: 8, writeOnly: true })),
    '<input required data-kind="string" data-empty="text" type="password" autocomplete="new-password">'
  )
  t.equal(
    await listControls(Type.String({ minLength: 8, writeOnly: true }), 'secret-secret'),
    '<input data-kind="string" type="password" autocomplete="new-password">'
  )
})

test('filter inputs follow the schema of the property', async (t) => {
  const Thing = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    kind: Type.Union([Type.Literal('a'), Type.Literal('b')]),
    size: Type.Number(),
    on: Type.String({ format: 'date' }),
    text: Type.String(),
    done: Type.Boolean()
  })
  const app = await build(t, define({ name: 'things', schema: Thing, formats, storage: memory() }))
  const { payload } = await request(app, 'GET /things?kind=b&done=false', { fields: { accept } })
  t.same(
    [...payload.matchAll(/ id="query-([^"]+)"/g)].map((match) => match[1]),
    ['sort', 'limit', 'id', 'kind', 'size.gte', 'size.lte', 'on.gte', 'on.lte', 'text.like', 'done']
  )
  t.match(payload, /<option value="b" selected>b<[^]*<option value="false" selected>false</)
  t.match(payload, /Filters \(2\)/)
})

test('equivalent schemas get the same form input', async (t) => {
  t.match(getKind({ enum: ['a', null] }), { type: 'choice', choices: ['a'], nullable: true })
  t.match(getKind({ const: 1 }), { type: 'choice', choices: [1], nullable: false })
  t.match(getKind({ type: ['boolean', 'null'] }), { type: 'choice', choices: [true, false], nullable: true })
  t.match(getKind({ type: ['integer', 'null'] }), { type: 'integer', nullable: true })
  t.match(getKind({ oneOf: [{ type: 'null' }, { type: 'number' }] }), { type: 'number', nullable: true })
  t.match(getKind({ anyOf: [{ type: 'string' }, { type: 'number' }] }), { type: 'json', nullable: false })
  t.match(getKind({ type: ['string', 'number'] }), { type: 'json' })
  t.match(getKind({ $ref: '#' }), { type: 'json' })
  t.match(getKind({}), { type: 'json' })
})

test('hostile content is escaped in every part of a page', async (t) => {
  const Any = Type.Object(
    {
      id: Type.String({ minLength: 1 }),
      title: Type.String(),
      site: Type.Optional(Type.String({ format: 'uri' })),
      mail: Type.Optional(Type.String({ format: 'email' })),
      long: Type.Optional(Type.String())
    },
    { additionalProperties: true, description: '</p><script>alert(0)</script>' }
  )
  const evil = '"\'></textarea></title></script><script>alert(1)</script><img src=x onerror=alert(2)>\u202E&lt;\uD800'
  const items = [
    {
      id: evil.slice(0, -1),
      title: evil,
      site: 'javascript:alert(3)',
      mail: '"x\'><script>"@example.com',
      constructor: evil,
      [evil]: evil,
      nested: { [evil]: [evil] }
    },
    { id: "a'b", title: 'x', site: 'java\nscript:alert(4)', long: 'é'.repeat(1_000_000), empty: '' },
    Object.fromEntries([
      ['id', 'proto'],
      ['title', ''],
      ['__proto__', evil]
    ])
  ]
  const things = define({
    name: 'things',
    schema: Any,
    id: { generate: 'client' },
    formats,
    list: { search: ['title'] },
    links: () => ({ evil: { href: 'javascript:alert(5)' }, [evil]: { href: '/x', title: evil } }),
    storage: memory({ items: items as never })
  })
  const app = await build(t, things)
  const pages = [
    await request(
      app,
      `GET /things?${new URLSearchParams({ 'title.ne': evil, 'title.like': '*', q: '<', count: 'true' })}`,
      { fields: { accept } }
    ),
    await request(app, 'GET /things', { fields: { accept, host: '"><script>alert(6)</script>' } }),
    ...(await Promise.all(
      items.map(({ id }) => request(app, `GET /things/${encodeURIComponent(id!)}`, { fields: { accept } }))
    )),
    await request(app, `GET /things/${encodeURIComponent('<script>alert(7)</script>')}`, { fields: { accept } })
  ]
  t.same(
    pages.map(({ statusCode }) => statusCode),
    [200, 200, 200, 200, 200, 404]
  )
  for (const { payload } of pages) {
    t.equal(payload.match(/<script/g)?.length, 1)
    t.notMatch(payload, /<img|href="(javascript|java\n)/)
    t.equal(payload.match(/<title>[^<]*<\/title>/g)?.length, 1)
  }
  t.ok(pages[0]!.payload.length < 100_000, 'a list shows the beginning of a long text')
  const long = pages[3]!.payload
  t.match(long, /curl '<span data-origin>http:\/\/localhost:80<\/span>\/things\/a&#39;\\&#39;&#39;b'<\/code>/)
  t.match(long, new RegExp(`<dd><bdi>${'é'.repeat(20)}`))
  t.ok(long.length > 1_000_000 && long.length < 1_100_000, 'the page of the item shows it once, in its form')
})

test('a page does not contain the forwarded host of one client, which a cache could send to others', async (t) => {
  const app = await build(t, notes({ formats }), { trustProxy: true })
  const forwarded = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'evil' }
  const { payload } = await request(app, 'GET /notes', { fields: { accept, host: 'api.example', ...forwarded } })
  t.match(payload, '<span data-origin>http://api.example</span>')
  t.notMatch(payload, 'evil')
})

test('only safe URLs become links', async (t) => {
  for (const href of ['https://example.com/', 'http://[::1]/', '/users', 'mailto:a@example.com', '?x', '']) {
    t.equal(getSafeHref(href), href)
  }
  for (const href of [
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'https://['
  ]) {
    t.equal(getSafeHref(href), undefined, href)
  }
  t.equal(escapeHtml('<a b="c" d=\'e\'>&'), '&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;')
  t.equal(markup`${'<'}${markup`<b>`}${['<', markup`<i>`]}${1}${undefined}${false}`.text, '&lt;<b>&lt;<i>1')
})

test('a page links to related items, nested collections and parents', async (t) => {
  const Article = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    author: Type.String({ format: 'uuid' }),
    editor: Type.Optional(Type.String()),
    title: Type.String()
  })
  const { authors, elsewhere, articles } = relate({
    authors: users({ formats }),
    elsewhere: users({ name: 'elsewhere' }),
    articles: define({ name: 'articles', schema: Article, formats, storage: memory() })
  }, {
    articles: { by: { to: 'authors', property: 'author' }, edited: { to: 'elsewhere', property: 'editor' } }
  })
  const app = Fastify()
  t.after(() => app.close())
  await app.register(collection, { ...authors, prefix: '/v1' })
  await app.register(collection, { ...articles, prefix: '/v1' })
  await app.register(collection, { ...articles.with(within(authors, 'author' as never)), prefix: '/v1' })
  await app.register(collection, { ...elsewhere, prefix: '/:tenant' })
  const { at, item } = await created(app, '/v1/users', ada)
  const nested = await created(app, `${at}/articles`, { title: 'Notes', editor: 'x' })
  const shown = (await request(app, `GET ${nested.at}`, { fields: { accept } })).payload
  t.match(
    shown,
    new RegExp(
      `<ol><li><a href="/v1/users"><bdi>users</bdi></a></li><li><a href="${at}"><bdi>${item.id}</bdi></a></li><li><a href="${at}/articles"><bdi>articles</bdi></a></li><li><a href="${nested.at}" aria-current="page">`
    )
  )
  t.match(shown, new RegExp(`<dt>author</dt><dd><a href="${at}">`))
  t.match(shown, /<dt>editor<\/dt><dd><bdi>x<\/bdi><\/dd>/, 'no link if the URL is not known')
  t.same(getForms(shown).PATCH, ['/editor', '/title'], 'properties set by the URL are not in the form')
  t.match(
    (await request(app, `GET ${at}`, { fields: { accept } })).payload,
    new RegExp(`<a href="${at}/articles" rel="articles">articles</a>`)
  )
  t.match((await request(app, 'GET /v1/articles', { fields: { accept } })).payload, new RegExp(`<td><a href="${at}"><bdi>${item.id}`))
  const tenant = await build(t, [])
  await tenant.register(collection, { ...authors, prefix: '/:tenant' })
  await tenant.register(collection, { ...articles, prefix: '/:tenant' })
  await tenant.register(collection, elsewhere)
  t.match(
    (await request(tenant, 'GET /acme/articles', { fields: { accept } })).payload,
    new RegExp(`<td><a href="/acme/users/${item.id}"><bdi>${item.id}`),
    'a prefix may have parameters'
  )
})

test('a problem is an HTML page for a client that prefers HTML to JSON', async (t) => {
  const app = await build(t, users({ formats }))
  for (const [url, status, text] of [
    [
      '/users/none',
      404,
      /<p>No resource has this path, or it is not visible to the caller\.<\/p>\n<p><a href="\/users">Go to <bdi>users</
    ],
    ['/users?age.gte=x', 400, /must be a whole number[^]*<p><a href="\/users">Open this page without the query<\/a>/]
  ] as const) {
    const { statusCode, headers, payload } = await request(app, `GET ${url}`, { fields: { accept: browsers.Chrome } })
    t.equal(statusCode, status)
    t.equal(headers['content-type'], 'text/html; charset=utf-8')
    t.match(payload, text)
    t.match(payload, /<h1>40\d /)
    t.match(headers.vary, /Accept/)
    for (const accept of ['*/*', 'application/json', 'application/problem+json, text/html']) {
      t.equal(
        (await request(app, `GET ${url}`, { fields: { accept } })).headers['content-type'],
        'application/problem+json'
      )
    }
  }
  t.match((await request(app, 'DELETE /users', { fields: { accept } })).payload, /<h1>405 Method Not Allowed<\/h1>/)
  t.match(html.problem!({ status: 500, title: 'x', detail: 'y' }), /<h1>500 x<\/h1>/)
})

test('a custom format can render pages', async (t) => {
  const plain: Format = {
    name: 'plain',
    mediaType: 'text/plain',
    item: () => '',
    list: () => '',
    hasLinks: false,
    describe: () => ({}),
    page: (content, { actions }) => `${'items' in content ? content.items.length : 'one'} ${[...actions].join()}`
  }
  const app = await build(t, users({ formats: [json, plain], actions: ['list', 'create', 'read'] }))
  const { at } = await created(app, '/users', ada)
  t.equal((await request(app, 'GET /users', { fields: { accept: 'text/plain' } })).payload, '1 list,create,read')
  t.equal((await request(app, `GET ${at}`, { fields: { accept: 'text/plain' } })).payload, 'one list,create,read')
})

test('html renders items and lists without details of the request', async (t) => {
  t.match(html.item({ id: 1, title: 'x' }, { self: { href: '/things/1' } }, {}), /<h1><bdi>x<\/bdi><\/h1>/)
  t.match(html.item({ id: 1 }, {}, {}), /<dt>id<\/dt><dd>1<\/dd>/)
  t.match(html.list([{ id: 1 }], { list: {}, items: [] }, {}), /<th scope="row"><bdi>1<\/bdi><\/th>/)
  t.match(html.describe({}), { type: 'string', maxLength: Number })
})

test('the script passes the linter', async (t) => {
  const file = join(scratch(), 'page-script.js')
  writeFileSync(file, script)
  const linter = [join(root, 'node_modules/oxlint/bin/oxlint'), '--config', join(root, '.oxlintrc.json')]
  const { status, output } = runProgram(...linter, file)
  t.match(output, / on 1 file /)
  t.equal(status, 0, output)
})

test('the script passes type checking against the DOM', async (t) => {
  const file = join(scratch(), 'page-script.js')
  writeFileSync(file, `export {}\n${script}`)
  const options = ['--allowJs', '--checkJs', '--strict', '--noEmit', '--types', '']
  const compiler = [nativeCompiler, '--ignoreConfig', ...options, '--target', 'es2023', '--lib', 'es2023,dom,dom.iterable']
  const { status, output } = runProgram(...compiler, file)
  t.equal(status, 0, output)
  t.notMatch(script, /<\/|innerHTML|<!--/, 'nothing in the script can end its element')
  t.ok(Buffer.byteLength(script) < 9216 && Buffer.byteLength(style) < 8192)
})

test('text and controls have enough contrast in light and dark mode (WCAG 2.2, 1.4.3 and 1.4.11)', async (t) => {
  const luminance = (colour: string): number => {
    const full = colour.length === 4 ? colour.replace(/[0-9a-f]/g, '$&$&') : colour
    const [red = 0, green = 0, blue = 0] = [1, 3, 5]
      .map((at) => parseInt(full.slice(at, at + 2), 16) / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  for (const theme of style.match(/--paper: [^}]*/g)!) {
    const colours = Object.fromEntries(
      [...theme.matchAll(/--([\w-]+): (#\w+)/g)].map(([, name, value]) => [name, luminance(value!)])
    )
    const contrast = (one: string, other: string): number => {
      const [dark = 0, light = 0] = [colours[one]!, colours[other]!].sort((a, b) => a - b)
      return (light + 0.05) / (dark + 0.05)
    }
    for (const [ink, paper] of [
      ['ink', 'paper'],
      ['ink', 'raised'],
      ['quiet', 'paper'],
      ['quiet', 'raised'],
      ['accent', 'paper'],
      ['accent', 'raised'],
      ['on-accent', 'accent'],
      ['wrong', 'paper'],
      ['ink', 'wrong-paper'],
      ['paper', 'wrong']
    ] as const) {
      t.ok(contrast(ink, paper) >= 4.5, `${ink} on ${paper}: ${contrast(ink, paper).toFixed(2)}`)
    }
  }
  t.equal(style.match(/--paper: #/g)?.length, 2)
})
