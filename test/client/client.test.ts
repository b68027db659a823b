import { readFileSync } from 'node:fs'
import cors from '@fastify/cors'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import ts from 'typescript'
import { client, ResponseError, StaleError } from '../../lib/client/client.ts'
import collection, { corsOptions, define } from '../../lib/index.ts'
import { action } from '../../lib/features/action.ts'
import { aggregates } from '../../lib/features/aggregates.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { memory } from '../../lib/storage/memory.ts'
import { listen } from '../wire.ts'

const User = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  name: Type.String({ minLength: 1 }),
  role: Type.String({ default: 'reader' }),
  age: Type.Optional(Type.Integer()),
  password: Type.Optional(Type.String({ writeOnly: true }))
})

const defineUsers = () => define({ name: 'users', schema: User, unique: ['name'], storage: memory() })
type Users = ReturnType<typeof defineUsers>
interface Given {
  readOnly: 'id'
  writeOnly: 'password'
  default: 'role'
}

interface SentRequest {
  method: string
  path: string
  headers: Record<string, unknown>
}

/** Starts a service and records the requests that it receives. */
async function service (
  t: { after(close: () => Promise<unknown>): void },
  definition: object = defineUsers(),
  prepare: (app: FastifyInstance) => unknown = () => {}
): Promise<{ base: string; requests: SentRequest[] }> {
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  const requests: SentRequest[] = []
  app.addHook('onRequest', async ({ method, url, headers }) => {
    requests.push({ method, path: url, headers })
  })
  await prepare(app)
  await app.register(collection, definition as never)
  return { base: `http://127.0.0.1:${await listen(app)}/users`, requests }
}

/** A server that has only plain JSON, as those without entries, and proxies that change the headers. */
const plainFetch: typeof fetch = async (input, init) => {
  return fetch(input, { ...init, headers: { ...Object(init?.headers), accept: 'application/json' } })
}

test('the client performs all six actions and sends the tags of entries', async (t) => {
  const { base, requests } = await service(t)
  const users = client<Users, Given>(base)
  const ada = await users.create({ name: 'Ada', password: 'secret' })
  t.match(ada, { id: ada.item.id, tag: /^"/, item: { name: 'Ada', role: 'reader' } })
  t.notOk('password' in ada.item)
  t.strictSame(await users.read(ada), ada)
  t.match(requests.at(-1)?.headers, {
    accept: 'application/vnd.fastify-collections.entries+json, application/json;q=0.9'
  })
  const author = await users.update(ada, { role: 'author', age: 36 })
  t.match(requests.at(-1)?.headers, { 'if-match': ada.tag, 'content-type': 'application/merge-patch+json' })
  t.match(author.item, { role: 'author', age: 36 })
  const younger = await users.update(author, { age: null })
  t.notOk('age' in younger.item)
  const renamed = await users.replace(younger, { ...ada.item, name: 'Ada Lovelace' })
  t.match(renamed.item, { name: 'Ada Lovelace', role: 'reader' })
  for await (const user of users.list({ filter: { name: 'Ada Lovelace' } })) t.strictSame(user, renamed)
  await users.remove(renamed)
  const gone = await users.read(ada).catch((error: unknown) => error)
  t.ok(gone instanceof ResponseError && !(gone instanceof StaleError))
  t.match(gone, {
    status: 404,
    code: 'not-found',
    title: 'Not Found',
    type: 'about:blank',
    errors: [],
    name: 'ResponseError'
  })
})

test('a write to an item that changed since it was read rejects with StaleError', async (t) => {
  const { base } = await service(t)
  const users = client<Users, Given>(base)
  const mine = await users.create({ name: 'Ada' })
  await users.update(await users.read(mine.id), { role: 'author' })
  const stored: typeof mine = JSON.parse(JSON.stringify(mine))
  for (const write of [
    () => users.update(mine, { age: 1 }),
    () => users.update({ ...mine }, { age: 1 }),
    () => users.update(stored, { age: 1 }),
    () => users.update(mine.id, { age: 1 }, { ifMatch: String(mine.tag) }),
    () => users.replace(mine, { name: 'B' }),
    () => users.remove(mine)
  ]) {
    const error = await write().catch((error: unknown) => error)
    t.ok(error instanceof StaleError)
    t.match(error, { status: 412, code: 'precondition-failed' })
  }
  t.match(await users.update(mine.id, { age: 2 }), { item: { age: 2, role: 'author' } }, 'whatever its version')
  t.match(await users.update(mine, { age: 3 }, { ifMatch: '*' }), { item: { age: 3 } })
})

test('an entry can be copied, stored, and written after it was listed or replaced', async (t) => {
  const { base, requests } = await service(t)
  const users = client<Users, Given>(base)
  await users.create({ name: 'Ada' })
  const { value: page } = await users.pages({ fields: ['name'] }).next()
  const [first] = page!.entries
  t.strictSame(first!.item, { name: 'Ada' })
  const before = requests.length
  const copy: NonNullable<typeof first> = JSON.parse(JSON.stringify(first))
  const changed = await users.update(copy, { role: 'author' })
  const replaced = await users.replace({ ...changed }, { name: 'B' })
  t.match(await users.update(replaced, { age: 1 }), { item: { name: 'B', age: 1 } })
  t.strictSame(requests.slice(before).map(({ method }) => method), ['PATCH', 'PUT', 'PATCH'])
  await t.rejects(users.update(first!, { role: 'admin' }), StaleError)
})

test('what is no entry, or has a tag that is none, is refused before anything is sent', async (t) => {
  const { base, requests } = await service(t)
  const users = client<Users, Given>(base)
  const ada = await users.create({ name: 'Ada' })
  const before = requests.length
  const notAnEntry = { name: 'TypeError', message: /^This is not an entry\. Pass one .* with \{ ifMatch: tag \}/ }
  for (const target of [ada.item, { id: ada.id }, undefined, null, [ada]]) {
    await t.rejects(users.update(target as never, { age: 1 }), notAnEntry)
    await t.rejects(users.remove(target as never), notAnEntry)
    await t.rejects(users.read(target as never), notAnEntry)
  }
  await t.rejects(users.update({ ...ada, tag: 'abc' }, { age: 1 }), { message: /The tag of the entry is not an entity tag/ })
  for (const ifMatch of [undefined, '', 'abc']) {
    await t.rejects(users.remove(ada.id, { ifMatch } as never), { name: 'TypeError', message: /^ifMatch must be the tag/ })
  }
  t.equal(requests.length, before)
  await users.remove(ada, { ifMatch: undefined } as never)
  t.equal(requests.at(-1)?.headers['if-match'], ada.tag)
})

test('without entries, the tag is that of the header, and an entry without one is read and compared', async (t) => {
  const { base, requests } = await service(t)
  const users = client<Users, Given>(base, { fetch: plainFetch })
  const ada = await users.create({ name: 'Ada' })
  t.match(ada, { id: ada.item.id, tag: /^"/, item: { name: 'Ada' } })
  const author = await users.update(ada, { role: 'author' })
  t.match(author, { tag: /^"/, item: { role: 'author' } })
  await t.rejects(users.update(ada, { age: 1 }), StaleError)
  t.equal((await users.replace(author, { name: 'B' })).tag, undefined, 'PUT has no ETag')

  const readFirst = async () => (await users.pages({ fields: ['id', 'name', 'role'] }).next()).value!.entries[0]!
  const [first, second] = [await readFirst(), JSON.parse(JSON.stringify(await readFirst())) as never]
  t.match(first, { id: ada.id, tag: undefined, item: { name: 'B' } })
  const before = requests.length
  await users.update(first, { role: 'author' })
  t.strictSame(requests.slice(before).map(({ method }) => method), ['GET', 'PATCH'])
  t.match(requests.at(-1)?.headers, { 'if-match': /^"/ })
  await t.rejects(users.update(second, { role: 'admin' }), StaleError)
  t.equal(requests.at(-1)?.method, 'GET', 'nothing was written')
  const blind = { id: ada.id, tag: undefined, item: { id: ada.id } } as never
  await t.rejects(users.remove(blind), { name: 'TypeError', message: /neither a tag nor properties to compare/ })

  // A proxy that compresses weakens tags, and If-Match cannot have weak ones.
  const weakened: typeof fetch = async (...given) => {
    const response = await plainFetch(...given)
    return new Response(response.body, { status: response.status, headers: { etag: 'W/"1"' } })
  }
  const proxied = client<Users, Given>(base, { fetch: weakened })
  const weak = await proxied.read(ada.id)
  t.equal(weak.tag, undefined)
  await t.rejects(proxied.update(weak, { age: 1 }), { message: /no readable ETag/ })
})

test('list() and pages() load pages on demand and send every query key', async (t) => {
  const { base, requests } = await service(t)
  const users = client<Users, Given>(`${base}`)
  for (let number = 0; number < 7; number++) {
    await users.create({ name: `User ${number}`, role: number % 2 === 0 ? 'even' : 'odd' })
  }
  const names: string[] = []
  for await (const { item } of users.list({ limit: 2, sort: ['-name'], q: undefined as never })) names.push(item.name)
  t.strictSame(
    names,
    [6, 5, 4, 3, 2, 1, 0].map((number) => `User ${number}`)
  )
  const before = requests.length
  const walk = users.list({ limit: 2 })
  t.equal((await walk.next()).done, false)
  await walk.return()
  t.equal(requests.length, before + 1, 'a page that is not read is not requested')
  const totals: Array<[number, number | undefined]> = []
  const filter = { 'role.in': ['even', 'none'] }
  for await (const { entries, total } of users.pages({ limit: 3, count: true, filter })) {
    totals.push([entries.length, total])
  }
  t.strictSame(totals, [
    [3, 4],
    [1, 4]
  ])
  const plain: number[] = []
  for await (const { entries, total } of users.pages()) plain.push(entries.length, Number(total === undefined))
  t.strictSame(plain, [7, 1])
})

for (const [what, fetchFunction] of [['entries', fetch], ['plain JSON', plainFetch]] as const) {
  test(`pages of ${what} can be continued by another client, also after an offset`, async (t) => {
    const { base, requests } = await service(t)
    const users = client<Users, Given>(base, { fetch: fetchFunction })
    for (let number = 0; number < 7; number++) await users.create({ name: `User ${number}` })
    const query = { sort: ['name'], limit: 2, filter: { not: { name: 'User 3' } } } as const
    const { value: first } = await users.pages(query).next()
    const cursor: string = JSON.parse(JSON.stringify(first!.next))
    const rest: string[] = []
    const other = client<Users>(base, { fetch: fetchFunction })
    for await (const { item } of other.list({ ...query, cursor })) rest.push(item.name)
    t.strictSame(rest, ['User 2', 'User 4', 'User 5', 'User 6'])
    t.equal(requests.at(-1)?.method, 'QUERY')
    const pages: unknown[] = []
    for await (const { entries, next, total } of users.pages({ sort: ['name'], limit: 2, offset: 3, count: true })) {
      pages.push([entries.map(({ item }) => item.name), next === null, total])
    }
    t.strictSame(pages, [[['User 3', 'User 4'], false, 7], [['User 5', 'User 6'], true, 7]])
  })
}

test('a filter that a query string cannot express, or that is long, is sent with QUERY', async (t) => {
  const { base, requests } = await service(t)
  const users = client<Users, Given>(base)
  for (const [name, role, age] of [['Ada', 'a,b', 36], ['Bob', 'b', 20], ['', 'none', 30]] as const) {
    if (name !== '') await users.create({ name, role, age })
  }
  const find = async (query: NonNullable<Parameters<typeof users.list>[0]>) => {
    const names: string[] = []
    for await (const { item } of users.list(query)) names.push(item.name)
    return [requests.at(-1)!.method, ...names.toSorted()]
  }
  t.strictSame(await find({ filter: { 'age.gte': 30 } }), ['GET', 'Ada'])
  t.strictSame(await find({ filter: { 'role.in': ['a,b', 'c'] } }), ['GET', 'Ada'])
  t.strictSame(await find({ filter: { 'role.in': [] } }), ['GET'])
  t.strictSame(await find({ filter: { 'role.in': [''] } }), ['QUERY'])
  t.strictSame(await find({ filter: { any: [{ name: 'Ada' }, { 'age.lt': 30 }] } }), ['QUERY', 'Ada', 'Bob'])
  t.strictSame(await find({ filter: { not: { name: 'Ada' } }, sort: ['name'], count: true }), ['QUERY', 'Bob'])
  t.strictSame(await find({ filter: { all: [{ 'age.gt': 1 }, { 'age.gt': 20 }] } }), ['QUERY', 'Ada'])
  const many = Array.from({ length: 900 }, (_, number) => `role ${number}`)
  t.strictSame(await find({ filter: { 'role.in': [...many, 'b'] } }), ['QUERY', 'Bob'])
  t.strictSame(await find({}), ['GET', 'Ada', 'Bob'])
})

test('dates in filters are date-times, and a property with the name of a parameter is compared with .eq', async (t) => {
  const uris: string[] = []
  const events = client<Users>('/events', {
    fetch: async (uri, init) => {
      uris.push(decodeURIComponent(String(uri)), ...typeof init?.body === 'string' ? [init.body] : [])
      return Response.json([])
    }
  })
  const at = new Date(0)
  const filter = { 'at.lt': at, limit: 5, 'place.count': 1, 'at.in': [at, 'x'] }
  await events.list({ filter } as never).next()
  await events.list({ filter: { not: filter } } as never).next()
  t.strictSame(uris, [
    '/events?at.lt=1970-01-01T00:00:00.000Z&limit.eq=5&place.count.eq=1&at.in=1970-01-01T00:00:00.000Z,x',
    '/events',
    JSON.stringify({ filter: { not: filter } })
  ])
})

test('a query with a mistake is refused before anything is sent', async (t) => {
  const definition = defineUsers().with(bulk({ update: true, remove: true }), aggregates({ by: ['role'] }))
  const { base, requests } = await service(t, definition)
  const users = client<typeof definition, Given>(base)
  const refused = async (call: Promise<unknown>, message: RegExp) => t.rejects(call, { name: 'TypeError', message })
  const flat = /^"role" is not a parameter of this query.*put it in filter: \{ filter: \{ "role": \.\.\. \} \}\.$/
  await refused(users.list({ role: 'a' } as never).next(), flat)
  await refused(users.updateMany({ role: 'a' } as never, {}), flat)
  await refused(users.removeMany({ role: 'a' } as never), flat)
  await refused(users.aggregate({ role: 'a' } as never), flat)
  await refused(users.removeMany({ filter: { role: 'a' }, limit: 1 } as never), /^"limit" is not a parameter/)
  for (const [filter, path] of [
    [{ role: undefined }, 'role'],
    [{ any: [{ role: 'a' }, { 'age.gt': undefined }] }, 'any.1.age.gt'],
    [{ author: { some: { name: undefined } } }, 'author.some.name'],
    [{ 'role.in': ['a', undefined] }, 'role.in.1']
  ] as const) {
    const message = new RegExp(`^The condition "${path}" has no value`)
    await refused(users.list({ filter } as never).next(), message)
    await refused(users.removeMany({ filter } as never), message)
  }
  await refused(users.list({ filter: { age: null } } as never).next(), /write \{ "age\.null": true \}/)
  await refused(users.removeMany({ filter: { role: 'a' }, q: undefined } as never), /^The condition "q" has no value/)
  await refused(users.removeMany({ filter: undefined } as never), /^The condition "filter" has no value/)
  for (const filter of [{ any: [{ role: 'a' }] }, { not: { role: 'a' } }, { 'role.in': [''] }]) {
    const inexpressible = /^The filter must be one that a query string can express.*Only the methods list and pages/
    await refused(users.updateMany({ filter }, { age: 1 }), inexpressible)
    await refused(users.removeMany({ filter }), inexpressible)
    await refused(users.aggregate({ filter }), inexpressible)
  }
  t.equal(requests.length, 0)
})

test('a write whose response has no content returns only the id', async (t) => {
  const { base } = await service(t)
  const users = client<Users, Given>(base, { headers: { prefer: 'return=minimal' } })
  const ada = await users.create({ name: 'Ada' })
  t.match(ada, { id: /-/, tag: /^"/ })
  t.strictSame(ada.item, { id: ada.id })
  t.strictSame((await users.update(ada, { age: 1 })).item, { id: ada.id })
  t.strictSame((await users.update(ada.id, { age: 2 })).item, { id: ada.id })
  await t.rejects(users.update(ada, { age: 3 }), StaleError)
  const blind = client<Users, Given>('/users', { fetch: async () => new Response(null, { status: 201 }) })
  t.strictSame(await blind.create({ name: 'Ada' }), { id: '', tag: undefined, item: { id: '' } })
})

test('a problem response rejects with an error that has the code and the validation errors', async (t) => {
  const { base } = await service(t)
  const users = client<Users, Given>(base)
  const invalid = await users.create({ name: '', age: 'old' as never }).catch((error: unknown) => error)
  t.match(invalid, { status: 422, code: 'validation-failed', errors: [{ pointer: '/name' }, { pointer: '/age' }] })
  t.match(invalid, { fieldErrors: { name: /^must/, age: /^must/ } })
  const nested = new ResponseError(422, {
    errors: [{ pointer: '/place/a~1b~0', message: 'x' }, { pointer: '', message: 'y' }]
  })
  t.strictSame(nested.fieldErrors, { 'place.a/b~': 'x', '': 'y' })
  t.ok((invalid as ResponseError).message.length > 0 && (invalid as ResponseError).content.instance === '/users')
  await users.create({ name: 'Ada' })
  await t.rejects(users.create({ name: 'Ada' }), {
    status: 409,
    code: 'not-unique',
    errors: [{ pointer: '/name', message: 'must be unique' }]
  })
  const broken = client<Users>(base, { fetch: async () => new Response('<html>', { status: 502 }) })
  await t.rejects(broken.read('1'), {
    name: 'ResponseError',
    status: 502,
    title: 'Status 502',
    message: 'Status 502',
    errors: []
  })
})

test("the client uses the caller's fetch, headers and signal, and another id property", async (t) => {
  const goods = define({
    name: 'users',
    schema: Type.Object({ sku: Type.String(), stock: Type.Integer() }),
    id: { property: 'sku', generate: 'client' },
    etag: { required: true },
    storage: memory()
  })
  const { base, requests } = await service(t, goods)
  let calls = 0
  const products = client<typeof goods, { readOnly: never }>(base, {
    id: 'sku',
    headers: async () => ({ authorization: `Bearer ${++calls}` }),
    fetch: async (...given) => fetch(...given)
  })
  const created = await products.create({ sku: 'A/1', stock: 1 }, { headers: { prefer: 'return=representation' } })
  t.match(requests.at(-1)?.headers, { authorization: 'Bearer 1', prefer: 'return=representation' })
  t.equal((await products.update(created, { stock: 2 })).item.stock, 2)
  await t.rejects(products.update('A/1', { stock: 3 }), { name: 'ResponseError', status: 428 })
  t.equal((await products.read('A/1')).item.stock, 2)
  const fixed = client<typeof goods, { readOnly: never }>(base, { id: 'sku', headers: { 'x-own': '1' } })
  for await (const good of fixed.list()) await fixed.remove(good, { headers: { 'x-more': '2' } })
  t.match(requests.slice(-2), [
    { method: 'GET', headers: { 'x-own': '1' } },
    { method: 'DELETE', path: '/users/A%2F1', headers: { 'x-own': '1', 'x-more': '2' } }
  ])
  await t.rejects(fixed.read('A', { signal: AbortSignal.abort() }), { name: 'AbortError' })
})

test('without entries, missing CORS headers cause an error instead of lost pages or updates', async (t) => {
  const seen = (answer: Response): Response => Object.defineProperty(answer, 'type', { value: 'cors' })
  const bare = client<Users, Given>('/users', { fetch: async () => seen(Response.json([])) })
  await t.rejects(bare.pages().next(), { name: 'TypeError', message: /corsOptions/ })
  const tagless = client<Users, Given>('/users', { fetch: async () => Response.json({ id: '1', name: 'Ada' }) })
  await t.rejects(tagless.update(await tagless.read('1'), { age: 1 }), { message: /no readable ETag/ })
  const relative = client<Users, Given>('/users', {
    fetch: async (uri) =>
      Response.json([{ uri }], { headers: uri === '/users' ? { link: '</users?cursor=2>; rel="next"' } : {} })
  })
  const uris: unknown[] = []
  for await (const { entries } of relative.pages()) uris.push(...entries.map(({ item }) => item))
  t.strictSame(uris, [{ uri: '/users' }, { uri: '/users?cursor=2' }])
  const numbered = client<Users>('/users', {
    fetch: async () => Response.json([], { headers: { link: '</users?page=2>; rel="next"' } })
  })
  await t.rejects(numbered.pages().next(), { name: 'TypeError', message: /no cursor/ })
  const entries = client<Users>('/users', {
    fetch: async () => seen(Response.json({ entries: [], next: null }, {
      headers: { 'content-type': 'application/vnd.fastify-collections.entries+json; charset=utf-8' }
    }))
  })
  t.strictSame((await entries.pages().next()).value, { entries: [], next: null, total: undefined })
  const { base } = await service(t, defineUsers(), (app) =>
    app.register(cors, { origin: 'https://example.com', ...corsOptions() })
  )
  const preflight = await fetch(base, { headers: { origin: 'https://example.com' } })
  t.match(preflight.headers.get('access-control-expose-headers'), /ETag, .*Link/)
})

test('the client is a single module without imports, so that browsers can load it', async (t) => {
  const source = readFileSync(new URL('../../lib/client/client.ts', import.meta.url), 'utf8')
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023, verbatimModuleSyntax: true }
  })
  t.notMatch(outputText, /^import|\bfrom '|node:|Buffer|process\./m)
  const { base } = await service(t, defineUsers(), (app) =>
    app.get('/client.js', async (_request, reply) => reply.type('text/javascript').send(outputText))
  )
  const served = await (await fetch(new URL('/client.js', base))).text()
  const module = (await import(`data:text/javascript,${encodeURIComponent(served)}`)) as { client: typeof client }
  t.match(await module.client<Users, Given>(base).create({ name: 'Ada' }), { item: { name: 'Ada' } })
})

test('custom actions are methods, with the entity tag of the item as precondition', async (t) => {
  const defineAccounts = () => defineUsers().with(
    action('promote', {
      input: Type.Object({ role: Type.String() }),
      run: ({ item, input }) => ({ ...item, ...input })
    }),
    action('greet', {
      output: Type.Object({ text: Type.String() }),
      run: ({ item }) => ({ output: { text: `Hello ${item.name}` } })
    }),
    action('summary', {
      on: 'collection',
      input: Type.Object({ plus: Type.Optional(Type.Integer()) }),
      output: Type.Object({ count: Type.Integer() }),
      run: ({ input: { plus = 0 } }) => ({ output: { count: 1 + plus } })
    }),
    action('clear', { on: 'collection', run () {} })
  )
  const { base, requests } = await service(t, defineAccounts())
  const users = client<ReturnType<typeof defineAccounts>, Given>(base)
  const ada = await users.create({ name: 'Ada' })
  const promoted = await users.promote(ada, { role: 'author' })
  t.match(promoted, { id: ada.id, tag: /^"/, item: { name: 'Ada', role: 'author' } })
  t.match(requests.at(-1), { method: 'POST', path: `/users/${ada.id}/promote`, headers: { 'if-match': ada.tag } })
  await t.rejects(users.promote(ada, { role: 'editor' }), StaleError)
  t.match(await users.promote(promoted, { role: 'editor' }), { item: { role: 'editor' } }, 'the result has a tag')
  await t.rejects(users.promote(ada.id, { role: 'x' }, { ifMatch: '"1"' }), StaleError)
  await t.rejects(users.promote(ada.item as never, { role: 'x' }), { name: 'TypeError', message: /not an entry/ })
  t.strictSame(await users.greet(ada.id), { text: 'Hello Ada' })
  t.notOk('if-match' in requests.at(-1)!.headers)
  t.strictSame(await users.summary(), { count: 1 })
  t.strictSame(await users.summary({ plus: 2 }, { headers: { 'x-test': '1' } }), { count: 3 })
  t.equal(requests.at(-1)!.headers['x-test'], '1')
  t.equal(await users.clear(), undefined)
  await t.rejects(users.promote(ada.id, { role: 1 as unknown as string }), ResponseError)
  const minimal = await users.promote(ada.id, { role: 'reader' }, { headers: { prefer: 'return=minimal' } })
  t.strictSame(minimal.item, { id: ada.id })
  t.equal(await Promise.resolve(users), users, 'it does not look like a promise')
})

test('the client creates, changes and removes several items', async (t) => {
  const definition = defineUsers().with(bulk({ update: true, remove: true }))
  const { base, requests } = await service(t, definition)
  const users = client<typeof definition, Given>(base)
  const [ada, bob, cy] = await users.createMany([{ name: 'Ada' }, { name: 'Bob' }, { name: 'Cy', role: 'admin' }])
  t.match([ada, bob], [{ tag: /^"/, item: { name: 'Ada', role: 'reader' } }, { item: { name: 'Bob' } }])
  await users.update(ada!, { age: 36 })
  t.strictSame(await users.updateMany({ filter: { role: 'reader' } }, { role: 'editor' }), { count: 2, ids: undefined })
  t.match(requests.at(-1), {
    method: 'PATCH',
    path: '/users?role=reader',
    headers: { 'content-type': 'application/merge-patch+json' }
  })
  const removed = await users.removeMany({ filter: { 'name.in': ['Bob', 'Cy'] } }, { ids: true, headers: { 'x-job': '7' } })
  t.strictSame(removed, { count: 2, ids: [bob!.id, cy!.id] })
  t.match(requests.at(-1)?.headers, { 'x-job': '7', prefer: 'return=representation' })
  await t.rejects(users.removeMany({}), { status: 400, code: 'invalid-query' })
  await t.rejects(users.updateMany({ filter: { role: 'editor' } }, { name: '' }), ResponseError)
  const minimal = { headers: { prefer: 'return=minimal' } }
  t.strictSame(await users.updateMany({ filter: { role: 'editor' } }, { age: 1 }, minimal), { count: undefined, ids: undefined })
  t.strictSame(await users.createMany([{ name: 'Di' }], minimal), [])
  const plain = client<typeof definition, Given>(base, { fetch: plainFetch })
  t.match(await plain.createMany([{ name: 'Ed' }]), [{ id: /-/, tag: undefined, item: { name: 'Ed' } }])
})

test('a value with a comma is one value of a list', async (t) => {
  const definition = defineUsers().with(bulk({ remove: true }))
  const { base } = await service(t, definition)
  const users = client<typeof definition, Given>(base)
  await users.createMany([{ name: 'a' }, { name: 'b' }, { name: 'a,b' }, { name: 'a\\' }])
  t.strictSame(await users.removeMany({ filter: { 'name.in': ['a,b', 'a\\'] } }), { count: 2, ids: undefined })
  const names: string[] = []
  for await (const { item } of users.list({ sort: ['name'] })) names.push(item.name)
  t.strictSame(names, ['a', 'b'])
})

test('aggregate() returns figures by groups', async (t) => {
  const definition = defineUsers().with(aggregates({ by: ['role', 'name'], of: { age: ['sum', 'max'] } }))
  const { base, requests } = await service(t, definition)
  const users = client<typeof definition, Given>(base)
  for (const [name, role, age] of [['Ada', 'admin', 36], ['Bob', 'reader', 20], ['Eve', 'reader', 30]] as const) {
    await users.create({ name, role, age })
  }
  const { groups, more } = await users.aggregate({
    by: ['role'], sum: ['age'], count: true, sort: ['-sum.age'], limit: 1, filter: { 'age.lt': 36 }
  })
  t.strictSame([groups, more], [[{ by: { role: 'reader' }, count: 2, sum: { age: 50 } }], false])
  t.equal(
    requests.at(-1)!.path,
    '/users/aggregate?by=role&sum=age&count=true&sort=-sum.age&limit=1&age.lt=36'
  )
  t.strictSame((await users.aggregate()).groups, [{ by: {}, count: 3 }])
  t.equal((await users.aggregate({ by: ['name'], limit: 1 })).more, true)
  await t.rejects(users.aggregate({ limit: 0 }), { code: 'invalid-query', content: { parameter: 'limit' } })
  const renamed = client<typeof definition>(base, { aggregatePath: 'figures' })
  await t.rejects(renamed.aggregate(), { code: 'not-found' })
  t.equal(requests.at(-1)!.path, '/users/figures')
})
