import { readFileSync } from 'node:fs'
import cors from '@fastify/cors'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import ts from 'typescript'
import { client, ProblemError, StaleError } from '../../lib/client/client.ts'
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

test('the client performs all six actions and sends the ETags of the items it has read', async (t) => {
  const { base, requests } = await service(t)
  const users = client<Users, Given>(base)
  const ada = await users.create({ name: 'Ada', password: 'secret' })
  t.match(ada, { name: 'Ada', role: 'reader' })
  t.notOk('password' in ada)
  t.equal(await users.read(ada), ada, 'an unchanged item is the same object')
  t.match(requests.at(-1)?.headers, { 'if-none-match': /^"/, accept: 'application/json' })
  const older = await users.read(ada.id)
  t.not(older, ada)
  const author = await users.update(ada, { role: 'author', age: 36 })
  t.match(requests.at(-1)?.headers, { 'if-match': /^"/, 'content-type': 'application/merge-patch+json' })
  t.match(author, { role: 'author', age: 36 })
  t.not(await users.read(ada), ada, 'a changed item is another object')
  t.notOk('age' in (await users.update(author, { age: null })))
  const renamed = await users.replace(await users.read(ada.id), { ...ada, name: 'Ada Lovelace' })
  t.match(renamed, { name: 'Ada Lovelace', role: 'reader' })
  for await (const user of users.list({ name: 'Ada Lovelace' })) t.strictSame(user, renamed)
  await users.remove(renamed)
  const gone = await users.read(ada.id).catch((error: unknown) => error)
  t.ok(gone instanceof ProblemError && !(gone instanceof StaleError))
  t.match(gone, {
    status: 404,
    code: 'not-found',
    title: 'Not Found',
    type: 'about:blank',
    errors: [],
    name: 'ProblemError'
  })
})

test('a write to an item that changed since it was read rejects with StaleError', async (t) => {
  const { base } = await service(t)
  const users = client<Users, Given>(base)
  const mine = await users.create({ name: 'Ada' })
  const theirs = await users.read(mine.id)
  await users.update(theirs, { role: 'author' })
  // A later copy, read elsewhere in the program, does not update an earlier one.
  await users.read(mine.id)
  for (const write of [
    () => users.update(mine, { age: 1 }),
    () => users.replace(mine, { name: 'B' }),
    () => users.remove(mine)
  ]) {
    const error = await write().catch((error: unknown) => error)
    t.ok(error instanceof StaleError)
    t.match(error, { status: 412, code: 'precondition-failed' })
  }
  t.match(await users.update(mine.id, { age: 2 }), { age: 2, role: 'author' }, 'by its id, whatever its version')
  await t.rejects(users.update({ ...mine }, { age: 3 }), {
    name: 'TypeError',
    message: /not an item that the client returned/
  })
})

test('an item from a list or a PUT response is read again and compared before a write', async (t) => {
  const { base, requests } = await service(t)
  const users = client<Users, Given>(base)
  await users.create({ name: 'Ada' })
  const readFirst = async () => (await users.pages({ fields: ['id', 'name', 'role'] }).next()).value?.items[0]
  const [first, second] = [(await readFirst())!, (await readFirst())!]
  const changed = await users.update(first, { role: 'author' })
  t.strictSame(
    requests.slice(-2).map(({ method }) => method),
    ['GET', 'PATCH']
  )
  t.match(requests.at(-1)?.headers, { 'if-match': /^"/ })
  await t.rejects(users.update(second, { role: 'admin' }), StaleError)
  const replaced = await users.replace(changed, { name: 'B' })
  t.match(await users.update(replaced, { age: 1 }), { name: 'B', age: 1 })
  await t.rejects(users.update(replaced, { age: 2 }), StaleError)
})

test('list() and pages() load pages on demand and send every query key', async (t) => {
  const { base, requests } = await service(t)
  const users = client<Users, Given>(`${base}`)
  for (let number = 0; number < 7; number++) {
    await users.create({ name: `User ${number}`, role: number % 2 === 0 ? 'even' : 'odd' })
  }
  const names: string[] = []
  for await (const { name } of users.list({ limit: 2, sort: ['-name'], q: undefined as never })) names.push(name)
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
  for await (const { items, total } of users.pages({ limit: 3, count: true, 'role.in': ['even', 'none'] })) {
    totals.push([items.length, total])
  }
  t.strictSame(totals, [
    [3, 4],
    [1, 4]
  ])
  const plain: number[] = []
  for await (const { items, total } of users.pages()) plain.push(items.length, Number(total === undefined))
  t.strictSame(plain, [7, 1])
})

test('a write whose response has no content returns only the id', async (t) => {
  const { base } = await service(t)
  const users = client<Users, Given>(base, { headers: { prefer: 'return=minimal' } })
  const ada = await users.create({ name: 'Ada' })
  t.strictSame(Object.keys(ada), ['id'])
  t.strictSame(await users.update(ada, { age: 1 }), { id: ada.id })
  t.strictSame(await users.update(ada.id, { age: 2 }), { id: ada.id })
  await t.rejects(users.update(ada, { age: 3 }), StaleError)
  const blind = client<Users, Given>('/users', { fetch: async () => new Response(null, { status: 201 }) })
  t.strictSame(await blind.create({ name: 'Ada' }), { id: '' })
})

test('a problem response rejects with an error that has the code and the validation errors', async (t) => {
  const { base } = await service(t)
  const users = client<Users, Given>(base)
  const invalid = await users.create({ name: '', age: 'old' as never }).catch((error: unknown) => error)
  t.match(invalid, { status: 422, code: 'validation-failed', errors: [{ pointer: '/name' }, { pointer: '/age' }] })
  t.ok((invalid as ProblemError).message.length > 0 && (invalid as ProblemError).content.instance === '/users')
  await users.create({ name: 'Ada' })
  await t.rejects(users.create({ name: 'Ada' }), {
    status: 409,
    code: 'not-unique',
    errors: [{ pointer: '/name', message: 'must be unique' }]
  })
  const broken = client<Users>(base, { fetch: async () => new Response('<html>', { status: 502 }) })
  await t.rejects(broken.read('1'), {
    name: 'ProblemError',
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
  t.equal((await products.update(created, { stock: 2 })).stock, 2)
  await t.rejects(products.update('A/1', { stock: 3 }), { name: 'ProblemError', status: 428 })
  t.equal((await products.read('A/1')).stock, 2)
  const fixed = client<typeof goods, { readOnly: never }>(base, { id: 'sku', headers: { 'x-own': '1' } })
  for await (const good of fixed.list()) await fixed.remove(good, { headers: { 'x-more': '2' } })
  t.match(requests.slice(-2), [
    { method: 'GET', headers: { 'x-own': '1', 'x-more': '2' } },
    { method: 'DELETE', path: '/users/A%2F1', headers: { 'x-own': '1', 'x-more': '2' } }
  ])
  await t.rejects(fixed.read('A', { signal: AbortSignal.abort() }), { name: 'AbortError' })
})

test('missing CORS headers cause an error instead of lost pages or updates', async (t) => {
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
  for await (const { items } of relative.pages()) uris.push(...items)
  t.strictSame(uris, [{ uri: '/users' }, { uri: '/users?cursor=2' }])
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
  t.match(await module.client<Users, Given>(base).create({ name: 'Ada' }), { name: 'Ada' })
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
  t.match(promoted, { name: 'Ada', role: 'author' })
  t.match(requests.at(-1), { method: 'POST', path: `/users/${ada.id}/promote`, headers: { 'if-match': /^"/ } })
  await t.rejects(users.promote(ada, { role: 'editor' }), StaleError)
  t.match(await users.promote(promoted, { role: 'editor' }), { role: 'editor' }, 'the result has a tag')
  t.strictSame(await users.greet(ada.id), { text: 'Hello Ada' })
  t.notOk('if-match' in requests.at(-1)!.headers)
  t.strictSame(await users.summary(), { count: 1 })
  t.strictSame(await users.summary({ plus: 2 }, { headers: { 'x-test': '1' } }), { count: 3 })
  t.equal(requests.at(-1)!.headers['x-test'], '1')
  t.equal(await users.clear(), undefined)
  await t.rejects(users.promote(ada.id, { role: 1 as unknown as string }), ProblemError)
  const minimal = await users.promote(ada.id, { role: 'reader' }, { headers: { prefer: 'return=minimal' } })
  t.strictSame(minimal, { id: ada.id })
  t.equal(await Promise.resolve(users), users, 'it does not look like a promise')
})

test('the client creates, changes and removes several items', async (t) => {
  const definition = defineUsers().with(bulk({ update: true, remove: true }))
  const { base, requests } = await service(t, definition)
  const users = client<typeof definition, Given>(base)
  const [ada, bob, cy] = await users.createMany([{ name: 'Ada' }, { name: 'Bob' }, { name: 'Cy', role: 'admin' }])
  t.match([ada, bob], [{ name: 'Ada', role: 'reader' }, { name: 'Bob' }])
  await users.update(ada!, { age: 36 })
  t.strictSame(await users.updateMany({ role: 'reader' }, { role: 'editor' }), { count: 2, ids: undefined })
  t.match(requests.at(-1), {
    method: 'PATCH',
    path: '/users?role=reader',
    headers: { 'content-type': 'application/merge-patch+json' }
  })
  const removed = await users.removeMany({ 'name.in': ['Bob', 'Cy'] }, { ids: true, headers: { 'x-job': '7' } })
  t.strictSame(removed, { count: 2, ids: [bob!.id, cy!.id] })
  t.match(requests.at(-1)?.headers, { 'x-job': '7', prefer: 'return=representation' })
  await t.rejects(users.removeMany({}), { status: 400, code: 'invalid-query' })
  const count = requests.length
  for (const query of [{ role: 'editor', name: undefined }, { 'name.in': undefined }] as never[]) {
    const refused = { name: 'TypeError', message: /^The condition "name(\.in)?" has no value/ }
    await t.rejects(users.removeMany(query), refused)
    await t.rejects(users.updateMany(query, { role: 'admin' }), refused)
  }
  t.equal(requests.length, count, 'nothing was sent')
  await t.rejects(users.updateMany({ role: 'editor' }, { name: '' }), ProblemError)
  const minimal = { headers: { prefer: 'return=minimal' } }
  t.strictSame(await users.updateMany({ role: 'editor' }, { age: 1 }, minimal), { count: undefined, ids: undefined })
  t.strictSame(await users.createMany([{ name: 'Di' }], minimal), [])
})

test('a value with a comma is one value of a list', async (t) => {
  const definition = defineUsers().with(bulk({ remove: true }))
  const { base } = await service(t, definition)
  const users = client<typeof definition, Given>(base)
  await users.createMany([{ name: 'a' }, { name: 'b' }, { name: 'a,b' }, { name: 'a\\' }])
  t.strictSame(await users.removeMany({ 'name.in': ['a,b', 'a\\'] }), { count: 2, ids: undefined })
  const names: string[] = []
  for await (const { name } of users.list({ sort: ['name'] })) names.push(name)
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
    by: ['role'], sum: ['age'], count: true, sort: ['-sum.age'], limit: 1, 'age.lt': 36
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
