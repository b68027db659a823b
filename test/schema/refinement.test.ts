import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import * as v from 'valibot'
import { z } from 'zod'
import collection, { define } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import { action } from '../../lib/features/action.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { within } from '../../lib/features/within.ts'
import type { Adapter, Storage } from '../../lib/storage/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, logged, payload } from '../app.ts'

// What a library checks beyond JSON Schema, and what it changes.

const id = z.uuid().meta({ readOnly: true })

const Event = z.object({
  id,
  title: z.string().min(1).max(50).trim(),
  from: z.iso.date(),
  to: z.iso.date(),
  note: z.string().refine((note) => !note.includes('secret'), 'must not contain a secret').optional()
}).refine((event) => event.from <= event.to, { path: ['to'], message: 'must not be before from' })

const event = { title: 'Fair', from: '2026-05-01', to: '2026-05-03' }
const merge = 'application/merge-patch+json'

async function send (app: FastifyInstance, method: 'POST' | 'PUT' | 'PATCH', url: string, content: unknown) {
  const response = await app.inject({
    method,
    url,
    ...payload(content, method === 'PATCH' ? merge : 'application/json')
  })
  return { status: response.statusCode, body: response.json() }
}

test('refinements of each library are reported with their pointers, in every write', async (t) => {
  const message = 'must not be before from'
  const schemas = {
    zod: Event,
    valibot: toStandardJsonSchema(v.pipe(
      v.object({
        id: v.pipe(v.string(), v.uuid(), v.metadata({ readOnly: true })),
        title: v.string(),
        from: v.pipe(v.string(), v.isoDate()),
        to: v.pipe(v.string(), v.isoDate())
      }),
      v.forward(v.check(({ from, to }) => from <= to, message), ['to'])
    )),
    arktype: type({
      id: type('string.uuid').configure({ readOnly: true }),
      title: 'string',
      from: type('string').configure({ format: 'date' }),
      to: type('string').configure({ format: 'date' })
    }).narrow(({ from, to }, context) => from <= to || context.reject({ path: ['to'], expected: 'at or after from' }))
  }
  for (const [library, schema] of Object.entries(schemas)) {
    const events = define({ name: 'events', schema: schema as typeof Event, storage: memory() }).with(bulk())
    const app = Fastify()
    t.after(() => app.close())
    await app.register(registry)
    await app.register(collection, events)
    await app.ready()
    const errors = [{ pointer: '/to', message: library === 'arktype' ? 'must be at or after from' : message }]

    const created = await send(app, 'POST', '/events', event)
    t.equal(created.status, 201, library)
    const url = `/events/${created.body.id}`
    for (const [method, at, content] of [
      ['POST', '/events', { ...event, to: '2026-04-30' }],
      ['PUT', url, { ...event, to: '2026-04-30' }],
      ['PATCH', url, { from: '2026-05-04' }]
    ] as const) {
      const refused = await send(app, method, at, content)
      t.equal(refused.status, 422, `${library}: ${method}`)
      t.equal(refused.body.code, 'validation-failed')
      t.strictSame(refused.body.errors, errors)
    }
    const many = await send(app, 'POST', '/events', [event, { ...event, from: '2027-01-01' }])
    t.strictSame(many.body.errors, [{ ...errors[0], pointer: '/1/to' }], `${library}: several items`)

    const calls = app.collection(events)
    await t.rejects(calls.create({ ...event, to: '2026-04-30' }), { code: 'validation-failed', errors }, 'from code')
    await t.rejects(calls.update(created.body.id, { from: '2026-05-04' }), { code: 'validation-failed', errors })
    t.equal((await send(app, 'PATCH', url, { from: '2026-05-02' })).status, 200, `${library}: a valid patch`)
  }
})

test('Ajv reports the structure first, with its own messages, and the library the rest', async (t) => {
  const app = await build(t, define({ name: 'events', schema: Event, storage: memory() }))
  const structure = await send(app, 'POST', '/events', { title: 1, from: 'today', to: '2026-01-01', note: 'secret' })
  t.strictSame(structure.body.errors, [
    { pointer: '/title', message: 'must be string' },
    { pointer: '/from', message: 'must match format "date"' }
  ])
  const rest = await send(app, 'POST', '/events', { ...event, note: 'a secret' })
  t.strictSame(rest.body.errors, [{ pointer: '/note', message: 'must not contain a secret' }])
  t.equal(rest.body.detail, 'One property is invalid.')
})

test('an asynchronous refinement is awaited', async (t) => {
  const taken = new Set(['admin'])
  const isFree = async (name: string) => {
    await new Promise((resolve) => setImmediate(resolve))
    return !taken.has(name)
  }
  const schemas = [
    z.object({ id, name: z.string().refine(isFree, 'is reserved') }),
    toStandardJsonSchema(v.objectAsync({
      id: v.pipe(v.string(), v.uuid(), v.metadata({ readOnly: true })),
      name: v.pipeAsync(v.string(), v.checkAsync(isFree, 'is reserved'))
    }) as never)
  ]
  for (const schema of schemas) {
    const app = await build(t, define({ name: 'users', schema: schema as z.ZodObject, storage: memory() }))
    t.equal((await send(app, 'POST', '/users', { name: 'ada' })).status, 201)
    const refused = await send(app, 'POST', '/users', { name: 'admin' })
    t.strictSame(refused.body.errors, [{ pointer: '/name', message: 'is reserved' }])
  }
})

test('a value that the library changes is stored if it is valid and does not change again', async (t) => {
  const app = await build(t, define({ name: 'events', schema: Event, storage: memory() }))
  const { status, body } = await send(app, 'POST', '/events', { ...event, title: '  Fair ' })
  t.equal(status, 201)
  t.equal(body.title, 'Fair')
  t.equal((await send(app, 'PATCH', `/events/${body.id}`, { title: ' Expo' })).body.title, 'Expo')

  const empty = await send(app, 'POST', '/events', { ...event, title: '   ' })
  t.strictSame(empty.body.errors, [{ pointer: '/title', message: 'must have at least 1 character' }])
})

test('a transformation that changes its own result is an error of the app', async (t) => {
  const { lines, logger } = logged()
  for (const change of [(text: string) => `${text}!`, (text: string) => text.replace('a', 'b')]) {
    const Note = z.object({ id, text: z.string().refine((text) => text !== 'b').overwrite(change) })
    const app = await build(t, define({ name: 'notes', schema: Note, storage: memory() }), { logger })
    t.equal((await app.inject({ method: 'POST', url: '/notes', ...payload({ text: 'a' }) })).statusCode, 500)
    const err = lines.at(-1)?.err as Error
    t.match(err.message, /Collection notes: the schema changes a value, and refuses or changes the result again/)
  }
})

test('an error that a refinement throws is a 500, and each refinement is called once', async (t) => {
  const { lines, logger } = logged()
  const unhandled: unknown[] = []
  const listener = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', listener)
  t.teardown(() => process.off('unhandledRejection', listener))
  let calls = 0
  const fail = () => {
    calls++
    throw new Error('no connection')
  }
  const checks = [
    z.string().refine(fail),
    z.string().refine(async () => fail()),
    z.string().superRefine(async () => fail()),
    z.string().check(async () => fail()),
    z.array(z.lazy(() => z.string().refine(async () => fail())))
  ]
  for (const [index, text] of checks.entries()) {
    const Note = z.object({ id, text })
    const app = await build(t, define({ name: 'notes', schema: Note, storage: memory() }), { logger })
    const content = { text: index === 4 ? ['a'] : 'a' }
    const response = await app.inject({ method: 'POST', url: '/notes', ...payload(content) })
    t.equal(response.statusCode, 500)
    t.notMatch(response.body, /no connection/)
    t.match(lines.at(-1)?.err, { message: 'no connection' })
    t.equal(calls, index + 1)
  }
  await new Promise((resolve) => setTimeout(resolve, 10))
  t.strictSame(unhandled, [])
})

test('arrays and nested objects keep what the library does not change', async (t) => {
  const Note = z.object({
    id,
    tags: z.array(z.string().trim()),
    parts: z.array(z.union([z.object({ a: z.string() }), z.object({ a: z.string(), b: z.string().trim() })])),
    list: z.array(z.string()).overwrite((list) => [...new Set(list)]),
    open: z.looseObject({ a: z.string().toLowerCase() })
  })
  const app = await build(t, define({ name: 'notes', schema: Note, storage: memory() }))
  const { body } = await send(app, 'POST', '/notes', {
    tags: ['a', ' b '],
    // zod removes `b`, because the first schema of the union matches.
    parts: [{ a: 'x', b: 'y' }],
    list: ['a', 'b', 'a'],
    open: { a: 'A', b: 'B' }
  })
  t.match(body, { tags: ['a', 'b'], parts: [{ a: 'x', b: 'y' }], list: ['a', 'b'], open: { a: 'a', b: 'B' } })
})

test('PATCH fills in no defaults', async (t) => {
  // A row from before the properties were added.
  const storage: Adapter<object> = (shape) => memory()(shape)
  const Note = z.object({
    id,
    text: z.string(),
    color: z.string().default('red'),
    more: z.object({ size: z.int().default(1) }).optional()
  })
  const notes = define({ name: 'notes', schema: Note, storage: storage as never })
  const app = await build(t, notes)
  const oldId = '0199a8f0-5c1e-7b3a-9d42-6f1e2a3b4c5d'
  const context = { signal: new AbortController().signal, scope: undefined }
  await (notes.storage as unknown as Storage<object>).insert({ id: oldId, text: 'x' }, context)
  const refused = await send(app, 'PATCH', `/notes/${oldId}`, { text: 'y' })
  t.strictSame(refused.body.errors, [{ pointer: '/color', message: 'is required' }], 'as with TypeBox')

  const { body } = await send(app, 'POST', '/notes', { text: 'x', more: {} })
  t.match(body, { color: 'red', more: { size: 1 } })
  const patched = await send(app, 'PATCH', `/notes/${body.id}`, { more: null, text: 'y' })
  t.notOk('more' in patched.body)
  const removed = await send(app, 'PATCH', `/notes/${body.id}`, { color: null })
  t.strictSame(removed.body.errors, [{ pointer: '/color', message: 'is required' }])
})

test('with hooks.beforeValidation, both what the client sent and what the hook returned are refined', async (t) => {
  const User = z.object({
    id,
    name: z.string().trim(),
    slug: z.string().meta({ readOnly: true }),
    password: z.string().refine((text) => text !== '12345678', 'is too common').meta({ writeOnly: true })
  }).refine(({ name, slug }) => name !== slug, { path: ['name'], message: 'must differ from the slug' })
  const seen: string[] = []
  const app = await build(t, define({
    name: 'users',
    schema: User,
    storage: memory(),
    hooks: {
      beforeValidation: ({ item }) => {
        seen.push(item.name)
        return { ...item, slug: item.name.toLowerCase(), password: `hash of ${item.password}` }
      }
    }
  }))
  const created = await send(app, 'POST', '/users', { name: ' Ada ', password: 'correct horse' })
  t.equal(created.status, 201)
  t.equal(created.body.name, 'Ada')
  t.strictSame(seen, [' Ada '], 'a library changes complete items only, and the slug is missing before the hook')

  const common = await send(app, 'POST', '/users', { name: 'Ada', password: '12345678' })
  t.strictSame(common.body.errors, [{ pointer: '/password', message: 'is invalid' }], 'before the hook')
  const same = await send(app, 'POST', '/users', { name: 'ada', password: 'correct horse' })
  t.strictSame(same.body.errors, [{ pointer: '/name', message: 'must differ from the slug' }], 'after the hook')
  t.strictSame(seen, [' Ada ', 'ada'])
})

test('what hooks.beforeWrite and custom actions return is refined', async (t) => {
  let returned: object = {}
  const events = define({
    name: 'events',
    schema: Event,
    storage: memory(),
    hooks: { beforeWrite: ({ item }) => item && { ...item, ...returned } }
  }).with(action('move', { run: ({ item }) => ({ ...item, from: '2030-01-01' }) }))
  const app = await build(t, events)
  const { body } = await send(app, 'POST', '/events', event)
  const errors = [{ pointer: '/to', message: 'must not be before from' }]
  t.strictSame((await send(app, 'POST', `/events/${body.id}/move`, {})).body.errors, errors)
  returned = { title: ' Expo ' }
  t.equal((await send(app, 'PATCH', `/events/${body.id}`, { note: 'x' })).body.title, 'Expo')
  returned = { from: '2030-01-01' }
  t.strictSame((await send(app, 'PATCH', `/events/${body.id}`, { note: 'y' })).body.errors, errors)
})

test('input and output of a custom action are refined', async (t) => {
  const Input = z.object({
    days: z.int().refine((days) => days !== 13, 'must not be 13').default(1),
    reason: z.string().trim().optional(),
    by: z.string().optional().meta({ readOnly: true })
  })
  const Output = z.object({ days: z.int().refine((days) => days < 100, 'is too long'), reason: z.string() })
  const events = define({ name: 'events', schema: Event, storage: memory() }).with(action('extend', {
    input: Input,
    output: Output,
    run: ({ input }) => ({ output: { days: input.days, reason: input.reason ?? 'none' } })
  }))
  const { lines, logger } = logged()
  const app = await build(t, events, { logger })
  const { body } = await send(app, 'POST', '/events', event)
  const url = `/events/${body.id}/extend`
  t.strictSame((await send(app, 'POST', url, { reason: ' rain ', by: 'x' })).body, { days: 1, reason: 'rain' })
  const refused = await send(app, 'POST', url, { days: 13 })
  t.strictSame(refused.body.errors, [{ pointer: '/days', message: 'must not be 13' }])
  t.equal((await send(app, 'POST', url, { days: 100 })).status, 500)
  t.match(lines.at(-1)?.err, { message: /returned an invalid output: is too long\. Return/ })
})

test('a caller gets no message about properties that it does not see', async (t) => {
  const secret = 'hush'
  const Account = z.object({
    id,
    name: z.string(),
    salary: z.int().default(100),
    password: z.string().default(secret).meta({ writeOnly: true }),
    limits: z.array(z.object({ pin: z.string().meta({ writeOnly: true }) })).default([])
  }).superRefine(({ name, salary, password, limits }, context) => {
    const issue = (path: Array<string | number>, message: string) => context.addIssue({ code: 'custom', path, message })
    if (name === 'poor') issue(['salary'], `must be more than ${salary}`)
    if (name === 'short') issue(['password'], `must be longer than ${password}`)
    if (name === 'pin') issue(['limits', 0, 'pin'], `must not be ${limits[0]?.pin}`)
  })
  const accounts = define({
    name: 'accounts',
    schema: Account,
    storage: memory(),
    access: {
      authenticate: ({ request }) => String(request.headers.authorization),
      allow: 'public',
      visible: { salary: ({ caller }) => caller === 'boss' }
    }
  })
  const app = await build(t, accounts)
  const post = async (content: object, authorization: string) => {
    const { headers, ...rest } = payload(content)
    const response = await app.inject({
      method: 'POST',
      url: '/accounts',
      ...rest,
      headers: { ...headers, authorization }
    })
    return response.json().errors
  }
  t.strictSame(await post({ name: 'poor' }, 'boss'), [{ pointer: '/salary', message: 'must be more than 100' }])
  t.strictSame(await post({ name: 'poor' }, 'clerk'), [{ pointer: '', message: 'is invalid' }])
  t.strictSame(await post({ name: 'short' }, 'boss'), [{ pointer: '/password', message: 'is invalid' }])
  const limits = [{ pin: '1234' }]
  t.strictSame(await post({ name: 'pin', limits }, 'boss'), [{ pointer: '/limits/0/pin', message: 'is invalid' }])
})

test('messages do not quote the item', async (t) => {
  const Account = type({
    id: type('string.uuid').configure({ readOnly: true }),
    name: 'string',
    password: type('string').configure({ writeOnly: true })
  }).narrow(({ name }) => name !== 'no')
  const app = await build(t, define({ name: 'accounts', schema: Account, storage: memory() }))
  const { body } = await send(app, 'POST', '/accounts', { name: 'no', password: 'hush' })
  t.strictSame(body.errors, [{ pointer: '', message: 'must be valid according to an anonymous predicate' }])
})

test('failures are limited in number and length, and each property has one', async (t) => {
  const Note = z.object({ id, list: z.array(z.string()) }).superRefine(({ list }, context) => {
    for (const [index, text] of list.entries()) {
      context.addIssue({ code: 'custom', path: ['list', index], message: text.repeat(1000) })
      context.addIssue({ code: 'custom', path: ['list', index], message: 'again' })
    }
  })
  const app = await build(t, define({ name: 'notes', schema: Note, storage: memory() }))
  const { body } = await send(app, 'POST', '/notes', { list: Array.from({ length: 150 }, () => 'x') })
  t.equal(body.errors.length, 100)
  t.strictSame(body.errors[99], { pointer: '/list/99', message: `${'x'.repeat(500)}...` })

  const Map = z.object({ id, map: z.record(z.string(), z.array(z.string().refine(() => false))) })
  const maps = await build(t, define({ name: 'maps', schema: Map, storage: memory() }))
  const long = await send(maps, 'POST', '/maps', { map: { ['k'.repeat(150_000)]: ['a', 'b', 'c'] } })
  t.equal(long.body.errors.length, 1, 'a long name is not repeated for each value below it')
})

test('a refinement can call the collection, and write to the item that is written', async (t) => {
  let write: (() => Promise<unknown>) | undefined
  const Note = z.object({ id, text: z.string(), seen: z.int().default(0) }).refine(async ({ text }) => {
    if (text === 'count') await write?.()
    return true
  })
  const notes = define({ name: 'notes', schema: Note, storage: memory() })
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  await app.register(collection, notes)
  await app.ready()
  const { body } = await send(app, 'POST', '/notes', { text: 'a' })
  write = async () => {
    write = undefined
    await app.collection(notes).update(body.id, { seen: 1 })
  }
  const { status, body: patched } = await send(app, 'PATCH', `/notes/${body.id}`, { text: 'count' })
  t.equal(status, 200)
  t.match(patched, { text: 'count', seen: 1 }, 'the patch is applied again, to what was written in the meantime')
})

test('ids that clients choose, that the URI states, and that the storage generates', async (t) => {
  const Slug = z.object({ slug: z.string().regex(/^[A-Za-z]+$/).toLowerCase(), text: z.string() })
  const slugs = define({
    name: 'slugs',
    schema: Slug,
    storage: memory(),
    put: { create: true },
    id: { property: 'slug', generate: 'client' }
  })
  const Row = z.object({ id: z.int().meta({ readOnly: true }), a: z.string().trim(), b: z.string() })
    .refine(({ a, b }) => a !== b, { path: ['b'], message: 'must differ from a' })
  const rows = define({ name: 'rows', schema: Row, storage: memory(), id: { generate: 'storage' } })
  const app = await build(t, [slugs, rows])
  t.equal((await send(app, 'POST', '/slugs', { slug: 'ABC', text: 'x' })).body.slug, 'abc')
  const put = await send(app, 'PUT', '/slugs/XYZ', { text: 'x' })
  t.strictSame(put.body.errors, [{ pointer: '/slug', message: 'differs from the URI, which has "XYZ"' }])
  t.equal((await send(app, 'PUT', '/slugs/xyz', { text: 'x' })).status, 201)
  t.strictSame((await send(app, 'POST', '/rows', { a: ' x', b: 'y' })).body, { id: 1, a: 'x', b: 'y' })
  const row = await send(app, 'POST', '/rows', { a: 'x', b: 'x' })
  t.strictSame(row.body.errors, [{ pointer: '/b', message: 'must differ from a' }], 'although the id is missing')
})

test('the URI of a nested collection sets a property that the library cannot change', async (t) => {
  const Team = z.object({ name: z.string() })
  const Player = z.object({ id, team: z.string().toLowerCase(), name: z.string().trim() })
  const teams = define({
    name: 'teams',
    schema: Team,
    storage: memory(),
    put: { create: true },
    id: { property: 'name', generate: 'client' }
  })
  const players = define({ name: 'players', schema: Player, storage: memory() }).with(within(teams, 'team'))
  const app = await build(t, [teams, players])
  for (const name of ['Reds', 'blues']) await send(app, 'PUT', `/teams/${name}`, {})
  t.match((await send(app, 'POST', '/teams/blues/players', { name: ' Ada ' })).body, { team: 'blues', name: 'Ada' })
  const refused = await send(app, 'POST', '/teams/Reds/players', { name: 'Ada' })
  t.strictSame(refused.body.errors, [{ pointer: '/team', message: 'differs from the URI, which has "Reds"' }])
})
