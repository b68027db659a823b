import { AsyncLocalStorage } from 'node:async_hooks'
import { execFile } from 'node:child_process'
import { tracingChannel } from 'node:diagnostics_channel'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test, type Test } from 'tap'
import collection, { define, problem } from '../lib/index.ts'
import { registry } from '../lib/app/registry.ts'
import type { ActionEvent, Options, StatementEvent } from '../lib/index.ts'
import { action } from '../lib/features/action.ts'
import { idempotency } from '../lib/features/idempotency.ts'
import { memory } from '../lib/storage/memory.ts'
import { logged, request } from './app.ts'
import { databases, mysqlPool, noMysql, noServers } from './storage/databases.ts'
import { startPostgres } from './storage/servers.ts'

// docs/observability.md: events of actions and statements, spans of OpenTelemetry, and log lines.

const Note = Type.Object({ id: Type.String({ maxLength: 50 }), text: Type.String({ maxLength: 50 }) })
const options = { name: 'notes', schema: Note, id: { generate: 'client' } } as const

const actions = tracingChannel<unknown, ActionEvent>('fastify-collections:action')
const statements = tracingChannel<unknown, StatementEvent>('fastify-collections:statement')

/** Collects the events of a channel until the end of the test: their names, and what they have at that time. */
function collect<Event extends object> (t: Test, channel: ReturnType<typeof tracingChannel<unknown, Event>>) {
  const events: Array<{ at: string, event: Event }> = []
  const add = (at: string) => (event: object) => { events.push({ at, event: { ...event } as Event }) }
  const handlers = {
    start: add('start'), end: () => {}, asyncStart: () => {}, asyncEnd: add('asyncEnd'), error: add('error')
  }
  channel.subscribe(handlers)
  const unsubscribe = () => { channel.unsubscribe(handlers) }
  t.teardown(unsubscribe)
  /** Returns the events since the last call. */
  return { take: () => events.splice(0), unsubscribe }
}

async function createApp (t: Test, more: Partial<Options<typeof Note>> = {}) {
  const { lines, logger } = logged()
  const notes = define({ ...options, storage: memory(), ...more })
  const app = Fastify({ logger: { ...logger, level: 'info' }, genReqId: () => 'request-7' })
  t.teardown(() => app.close())
  await app.register(registry)
  await app.register(collection, notes)
  await app.ready()
  const getLines = () => lines.filter(({ msg }) => msg !== 'incoming request' && msg !== 'request completed')
  return { app, notes, getLines }
}

const content = { id: 'a', text: 'secret' }

test('each action has a start and an end, with its outcome', async (t) => {
  const { app } = await createApp(t)
  const { take, unsubscribe } = collect(t, actions)
  for (const [target, action, status, code] of [
    ['POST /notes', 'create', 201, undefined],
    ['POST /notes', 'create', 409, 'not-unique'],
    ['GET /notes', 'list', 200, undefined],
    ['GET /notes/a', 'read', 200, undefined],
    ['PUT /notes/a', 'replace', 200, undefined],
    ['PATCH /notes/a', 'update', 200, undefined],
    ['DELETE /notes/a', 'remove', 204, undefined],
    ['GET /notes/a', 'read', 404, 'not-found']
  ] as const) {
    const { statusCode } = await request(app, target, /^P/.test(target) ? { content } : {})
    t.equal(statusCode, status)
    const event = { collection: 'notes', action, requestId: 'request-7' }
    t.strictSame(take(), [
      { at: 'start', event: { ...event, status: undefined, code: undefined } },
      { at: 'asyncEnd', event: { ...event, status, code, result: undefined } }
    ], target)
  }
  await request(app, 'POST /notes', { content: '', fields: { 'content-type': 'text/plain' } })
  t.same(take(), [], 'a request that is refused by its headers has no action')
  unsubscribe()
  t.equal((await request(app, 'GET /notes')).statusCode, 200)
  t.same(take(), [])
})

test('what a hook or a storage throws is the error of the event', async (t) => {
  const failure = new Error('it failed')
  const refusal = problem('conflict')
  const teapot = Object.assign(new Error('I am a teapot'), { statusCode: 418 })
  const unreachable = Object.assign(new Error('no connection'), { unreachable: true })
  for (const [thrown, status, code] of [
    [failure, 500, 'internal-error'],
    [refusal, 409, 'conflict'],
    [teapot, 418, undefined]
  ] as const) {
    const { app } = await createApp(t, { hooks: { beforeValidation () { throw thrown } } })
    const { take, unsubscribe } = collect(t, actions)
    const response = await request(app, 'POST /notes', { content })
    unsubscribe()
    t.equal(response.statusCode, status)
    t.equal((await request(app, 'POST /notes', { content })).payload, response.payload, 'the same without subscribers')
    const error = thrown === refusal ? undefined : thrown
    t.strictSame(take().map(({ at, event }) => ({ at, status: event.status, code: event.code, error: event.error })), [
      { at: 'start', status: undefined, code: undefined, error: undefined },
      ...error === undefined ? [] : [{ at: 'error', status, code, error }],
      { at: 'asyncEnd', status, code, error }
    ])
  }
  const { app } = await createApp(t, {
    storage: (shape) => ({ ...memory()(shape), find: async () => { throw unreachable } })
  })
  const { take } = collect(t, actions)
  t.equal((await request(app, 'GET /notes/a')).statusCode, 503)
  t.match(take().at(-1), { at: 'asyncEnd', event: { error: unreachable, status: 503, code: 'storage-unavailable' } })
})

test('calls from code have events', async (t) => {
  const { app, notes } = await createApp(t)
  const calls = app.collection(notes)
  const { take } = collect(t, actions)
  await calls.create(content)
  await calls.read('a')
  await calls.update('a', { text: 'b' })
  await calls.replace('a', { text: 'c' })
  await calls.remove('a')
  const done = { collection: 'notes', requestId: undefined, status: undefined, code: undefined }
  t.match(take().filter(({ at }) => at === 'asyncEnd'), ['create', 'read', 'update', 'replace', 'remove'].map((action) => {
    return { event: { ...done, action } }
  }))
  await t.rejects(calls.read('a'), { code: 'not-found' })
  t.match(take(), [{ at: 'start' }, { at: 'asyncEnd', event: { status: 404, code: 'not-found' } }])

  for (const id of ['a', 'b', 'c']) await calls.create({ ...content, id })
  take()
  const page = [{ at: 'start' }, { at: 'asyncEnd', event: { ...done, action: 'list' } }]
  const ids: unknown[] = []
  for await (const { id } of calls.list({ limit: 2 })) ids.push(id)
  t.strictSame(ids, ['a', 'b', 'c'])
  t.match(take(), [...page, ...page], 'an event for each page')
  const pages = calls.pages({ limit: 2 })
  t.equal((await pages.next()).value?.entries.length, 2)
  t.match(take(), page, 'which ends before the app gets the page')
  await pages.return()
  t.same(take(), [])
  await t.rejects(calls.list({ filter: { property: 'missing', is: 'eq', value: 1 } } as never).next(), { code: 'validation-failed' })
  t.match(take(), [{ at: 'start' }, { at: 'asyncEnd', event: { action: 'list', status: 422, code: 'validation-failed' } }])
  const failure = new Error('it failed')
  const failing = await createApp(t, { hooks: { beforeValidation () { throw failure } } })
  await t.rejects(failing.app.collection(failing.notes).create(content), failure)
  t.match(take().at(-1), { at: 'asyncEnd', event: { error: failure, status: undefined } })
})

test('custom actions have events', async (t) => {
  const notes = define({ ...options, storage: memory() })
    .with(action('shout', { run: async ({ item }) => ({ ...item, text: item.text.toUpperCase() }) }))
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registry)
  await app.register(collection, notes)
  await app.ready()
  const calls = app.collection(notes)
  await calls.create(content)
  const { take } = collect(t, actions)
  t.equal((await request(app, 'POST /notes/a/shout')).statusCode, 200)
  await calls.shout('a')
  t.match(take().filter(({ at }) => at === 'asyncEnd'), [
    { event: { collection: 'notes', action: 'shout', status: 200 } },
    { event: { collection: 'notes', action: 'shout', requestId: undefined, status: undefined } }
  ])
})

for (const { name, skip, open } of databases) {
  test(`${name}: each statement has a start and an end, within that of its action`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    const notes = define({ ...options, unique: ['text'], storage }).with(idempotency())
    await storage.createTable(notes)
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(collection, notes)
    await app.ready()

    const current = new AsyncLocalStorage<ActionEvent>()
    // The store has the type of the event.
    const start = actions.start as unknown as { bindStore (store: unknown): void, unbindStore (store: unknown): void }
    start.bindStore(current)
    t.teardown(() => start.unbindStore(current))
    const within: Array<string | undefined> = []
    const onStart = () => { within.push(current.getStore()?.action) }
    statements.start.subscribe(onStart)
    t.teardown(() => { statements.start.unsubscribe(onStart) })
    const { take } = collect(t, statements)
    const getEnded = () => take().filter(({ at }) => at === 'asyncEnd').map(({ event }) => event)

    t.equal((await request(app, 'POST /notes', { content })).statusCode, 201)
    const [insert, ...others] = getEnded()
    t.match(insert, { collection: 'notes', operation: 'INSERT', text: /^INSERT INTO .notes. / })
    t.equal(insert?.error, undefined)
    t.ok(others.every(({ operation }) => operation === 'SELECT'))
    t.equal((await request(app, 'GET /notes?limit=5')).statusCode, 200)
    t.match(getEnded(), [{ collection: 'notes', operation: 'SELECT' }])
    t.ok(within.length >= 2 && within.every((action) => action === 'create' || action === 'list'))

    const keyed = { content: { id: 'b', text: 'secret too' }, fields: { 'idempotency-key': '"1"' } }
    t.equal((await request(app, 'POST /notes', keyed)).statusCode, 201)
    const transaction = getEnded()
    t.ok(transaction.some(({ operation, collection }) => operation === 'BEGIN' && collection === undefined))
    t.ok(transaction.some(({ operation, collection }) => operation === 'COMMIT' && collection === undefined))
    t.notMatch(JSON.stringify(transaction), 'secret', 'events have no values')

    t.equal((await request(app, 'POST /notes', { content: { id: 'c', text: 'secret' } })).statusCode, 409)
    const failed = take().filter(({ at, event }) => event.operation === 'INSERT' && at === 'error')
    t.strictSame(failed.map(({ event }) => [event.collection, event.error instanceof Error]), [['notes', true]])
  })
}

test('log lines of failures have the collection, the action and the id of the request', async (t) => {
  const target = { reqId: 'request-7', collection: 'notes' }
  const failing = await createApp(t, { hooks: { beforeValidation () { throw new Error('it failed') } } })
  await request(failing.app, 'POST /notes', { content })
  t.match(failing.getLines(), [{ ...target, action: 'create', msg: 'request failed', err: { message: 'it failed' } }])
  const refusing = await createApp(t, { hooks: { beforeValidation () { throw problem('storage-unavailable') } } })
  await request(refusing.app, 'POST /notes', { content })
  t.match(refusing.getLines(), [{ ...target, action: 'create', msg: 'request refused' }])
  const notifying = await createApp(t, { hooks: { afterCommit () { throw new Error('it failed') } } })
  await request(notifying.app, 'POST /notes', { content })
  t.match(notifying.getLines(), [{ ...target, action: 'create', err: { message: 'it failed' } }])
  const hooked = await createApp(t, { routes: { all: { onRequest: async () => { throw new Error('it failed') } } } })
  await request(hooked.app, 'DELETE /notes/a')
  t.match(hooked.getLines(), [{ ...target, action: 'remove', msg: 'request failed' }])
})

const root = fileURLToPath(new URL('..', import.meta.url))

interface Span {
  readonly scope: string
  readonly name: string
  readonly id: string
  readonly parent: string | undefined
  readonly attributes: Readonly<Record<string, unknown>>
}

/** Prints spans as JSON instead of text. */
const exporter = `{
  export (spans, done) {
    for (const span of spans) {
      console.log(JSON.stringify({
        scope: span.instrumentationScope.name,
        name: span.name,
        id: span.spanContext().spanId,
        parent: span.parentSpanContext?.spanId,
        attributes: span.attributes
      }))
    }
    done({ code: 0 })
  },
  async shutdown () {}
}`

/** Runs an app with the instrumentation of docs/observability.md, and returns its spans. */
async function readSpans (t: Test, url: string, source: string): Promise<Span[]> {
  const page = await readFile(join(root, 'docs/observability.md'), 'utf8')
  const [, instrumentation = ''] = /```mjs\n(.*?)```/s.exec(page) ?? []
  t.match(instrumentation, 'new ConsoleSpanExporter()')
  const folder = await mkdtemp(join(tmpdir(), 'collections-spans-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  for (const name of ['@sinclair', 'fastify', 'mysql2', 'pg']) {
    await symlink(join(root, 'node_modules', name), join(modules, name))
  }
  for (const name of ['@fastify', '@opentelemetry']) {
    await symlink(join(root, 'test/all/node_modules', name), join(modules, name))
  }
  await symlink(root, join(modules, 'fastify-collections'))
  await writeFile(join(folder, 'instrumentation.mjs'), instrumentation.replace('new ConsoleSpanExporter()', exporter))
  await writeFile(join(folder, 'app.mjs'), `
    import { Type } from '@sinclair/typebox'
    import Fastify from 'fastify'
    import collection, { define } from 'fastify-collections'
    ${source}
    const schema = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() })
    const notes = define({ name: 'notes', schema, storage })
    await storage.createTable(notes)
    const app = Fastify()
    await app.register(collection, notes)
    const created = await app.inject({ method: 'POST', url: '/notes', payload: { text: 'secret' } })
    await app.inject(created.headers.location)
    await app.close()
    await pool.end()`)
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--no-warnings', '--conditions=fastify-collections-source', '--import', './instrumentation.mjs', 'app.mjs'
  ], { cwd: folder, env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: url } })
  return stdout.trim().split('\n').map((line) => JSON.parse(line) as Span)
}

/** Checks that the statement of a request is a span within that of its handler, without values. */
function checkSpans (t: Test, spans: readonly Span[], scope: string): void {
  for (const [method, operation] of [['POST', 'INSERT'], ['GET', 'SELECT']] as const) {
    const request = spans.find(({ name, attributes }) => {
      return name === 'request' && attributes['http.request.method'] === method
    })
    t.ok(request, method)
    const handler = spans.find(({ name, parent }) => name.startsWith('handler') && parent === request?.id)
    const inside = spans.filter((span) => span.scope === scope && span.parent === handler?.id)
    const statement = inside.find(({ attributes }) => {
      return String(attributes['db.statement'] ?? attributes['db.query.text']).startsWith(operation)
    })
    t.ok(statement, `${method} has the span of ${operation}`)
  }
  t.notMatch(JSON.stringify(spans), 'secret')
}

test('OpenTelemetry has the statements of PostgreSQL within their requests', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const url = `postgres://postgres:postgres@127.0.0.1:${server.port}/postgres`
  const spans = await readSpans(t, url, `
    import pg from 'pg'
    import { postgres } from 'fastify-collections/postgres'
    const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
    const storage = postgres(pool)`)
  checkSpans(t, spans, '@opentelemetry/instrumentation-pg')
})

test('OpenTelemetry has the statements of MySQL and MariaDB within their requests', { skip: noMysql }, async (t) => {
  const { name, end } = await mysqlPool()
  t.teardown(end)
  const url = new URL(String(process.env['MYSQL_URL']))
  url.pathname = name
  const spans = await readSpans(t, url.href, `
    import { createPool } from 'mysql2/promise'
    import { mysql } from 'fastify-collections/mysql'
    const pool = createPool(process.env.DATABASE_URL)
    const storage = mysql(pool)`)
  checkSpans(t, spans, '@opentelemetry/instrumentation-mysql2')
})
