import { tracingChannel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyRequest } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { define } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { StatementEvent, Transaction } from '../../lib/index.ts'
import { action } from '../../lib/features/action.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { timeout } from '../../lib/features/timeout.ts'
import { gate } from '../app.ts'
import { listen, Wire } from '../wire.ts'
import type { WireAnswer } from '../wire.ts'
import { waitForRest, watchedDatabases } from './interrupted.ts'
import type { WatchedStorage } from './interrupted.ts'

// A request is interrupted at each of its steps: the client disconnects, or the time is over while a function of the
// app waits. Afterwards nothing is open, nothing is stored that was reported as not stored, and the next request works.

const Note = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() })

/** The steps of a request: those of functions of the app, and the statements. */
class Steps {
  /** Counts those of one request. */
  count = 0
  /** Called at each step. */
  onStep: (step: number, request?: FastifyRequest) => Promise<void> | void = () => {}

  pass = async (request?: FastifyRequest): Promise<void> => {
    await this.onStep(this.count++, request)
  }
}

/** In milliseconds: long enough for a request on a busy machine. */
const limit = 250

interface Service {
  readonly port: number
  /** Creates an item, and returns its path. */
  create(): Promise<string>
  /** The texts of all collections. */
  readTexts(): Promise<string[]>
}

async function openService (t: Test, watched: WatchedStorage, steps: Steps, milliseconds: number): Promise<Service> {
  const { storage } = watched
  const others = define({
    name: 'others',
    schema: Note,
    storage,
    hooks: { beforeWrite: () => steps.pass(), afterWrite: () => steps.pass() }
  })
  const beside = async (transaction: Transaction, request?: FastifyRequest) => {
    await steps.pass(request)
    await transaction.collection(others).create({ text: 'beside' })
    await steps.pass(request)
  }
  const unlimited = define({
    name: 'notes',
    schema: Note,
    storage,
    hooks: {
      async beforeValidation ({ item, request }) {
        await steps.pass(request)
        return item
      },
      beforeWrite: ({ transaction, request }) => beside(transaction, request),
      afterWrite: ({ transaction, request }) => beside(transaction, request)
    }
  })
  const notes = unlimited.with(
    idempotency(),
    timeout(milliseconds),
    action('touch', {
      async run ({ transaction, request }) {
        // It writes only to another collection.
        await beside(transaction, request)
      }
    })
  )
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  await app.register(registry)
  for (const definition of [others, notes]) {
    await watched.prepare(definition)
    await app.register(collection, definition)
  }
  // What the test itself writes and reads may take as long as it takes.
  await app.register(collection, { ...unlimited, prefix: '/unlimited' })
  const port = await listen(app)
  return {
    port,
    create: async () => `/notes/${(await app.collection(unlimited).create({ text: 'first' })).id}`,
    async readTexts () {
      const texts: string[] = []
      for (const definition of [unlimited, others]) {
        for await (const { item } of app.collection(definition).list()) texts.push(`${definition.name} ${item.text}`)
      }
      return texts.sort()
    }
  }
}

let keys = 0

interface Sent {
  readonly title: string
  readonly line: string
  readonly content: string
  readonly type?: string
  readonly hasKey?: boolean
}

const requests: ReadonlyArray<(at: string) => Sent> = [
  () => ({ title: 'POST with a key', line: 'POST /notes', content: '{"text":"new"}', hasKey: true }),
  (at) => ({ title: 'PATCH', line: `PATCH ${at}`, content: '{"text":"new"}', type: 'application/merge-patch+json' }),
  (at) => ({ title: 'action with a key', line: `POST ${at}/touch`, content: '{}', hasKey: true })
]

function send (wire: Wire, { line, content, type = 'application/json', hasKey = false }: Sent): Promise<WireAnswer> {
  const fields = content === '' ? [] : [`Content-Type: ${type}`]
  if (hasKey) fields.push(`Idempotency-Key: "${keys++}"`)
  return wire.ask([line, ...fields], content)
}

/** Counts the statements of the library as steps as well. */
function watchStatements (t: Test, steps: Steps): void {
  const channel = tracingChannel<unknown, StatementEvent>('fastify-collections:statement')
  const onStatement = () => { steps.pass() }
  channel.start.subscribe(onStatement)
  channel.asyncEnd.subscribe(onStatement)
  t.after(() => {
    channel.start.unsubscribe(onStatement)
    channel.asyncEnd.unsubscribe(onStatement)
  })
}

/** Nothing is left, and the next request works. */
async function checkRest (t: Test, title: string, watched: WatchedStorage, port: number): Promise<void> {
  const remains = await waitForRest(watched)
  if (remains.length > 0) t.strictSame(remains, [], title)
  const wire = new Wire(port)
  // It has no timeout.
  const { status } = await send(wire, { title, line: 'POST /others', content: '{"text":"next"}' })
  if (status !== 201) t.equal(status, 201, `${title}: the next request`)
  wire.close()
}

for (const { name, skip, open } of watchedDatabases) {
  test(`${name}: a client that disconnects at any step leaves nothing behind`, { skip }, async (t) => {
    const watched = await open(t)
    const steps = new Steps()
    const { port, create } = await openService(t, watched, steps, 60_000)
    watchStatements(t, steps)
    for (const toRequest of requests) {
      let interrupted = 0
      for (let isReached = true; isReached; interrupted++) {
        isReached = false
        const request = toRequest(await create())
        const title = `${request.title}, step ${interrupted}`
        const wire = new Wire(port)
        const left = gate()
        steps.count = 0
        steps.onStep = async (step, incoming) => {
          if (step !== interrupted) return
          isReached = true
          const closed = incoming && once(incoming.raw.socket, 'close')
          wire.socket.destroy()
          await closed
          await nextTurn()
          left.open()
        }
        const response = send(wire, request).then(({ status }) => status, () => undefined)
        const status = await Promise.race([response, left.opened.then(() => undefined)])
        steps.onStep = () => {}
        wire.close()
        await checkRest(t, title, watched, port)
        if (status !== undefined && (isReached || status >= 300)) t.fail(`${title}: ${status}`)
      }
      t.ok(interrupted > 4, `${toRequest('').title}: ${interrupted} steps`)
    }
  })

  test(`${name}: a timeout in any function of the app is 503, and nothing is written`, { skip }, async (t) => {
    const watched = await open(t)
    const steps = new Steps()
    const { port, create, readTexts } = await openService(t, watched, steps, limit)
    const wire = new Wire(port)
    t.after(() => wire.close())
    for (const toRequest of requests) {
      for (let at = 0, isReached = true; isReached; at++) {
        isReached = false
        const request = toRequest(await create())
        const title = `${request.title}, step ${at}`
        const before = await readTexts()
        const responded = gate()
        const continued = gate()
        steps.count = 0
        steps.onStep = async (step) => {
          if (step !== at) return
          isReached = true
          await responded.opened
          // What the function does from here on comes too late.
          continued.open()
        }
        const { status, fields, content } = await send(wire, request)
        steps.onStep = () => {}
        if (!isReached) continue
        t.match({ status, fields }, { status: 503, fields: { 'retry-after': '1' } }, title)
        t.match(JSON.parse(content.toString()), { code: 'timeout', detail: /Nothing was changed\.$/ }, title)
        const remains = await waitForRest(watched)
        if (remains.length > 0) t.strictSame(remains, [], `${title}, while the function waits`)
        responded.open()
        await continued.opened
        await nextTurn()
        t.strictSame(await readTexts(), before, `${title}: nothing is written, not even later`)
        await checkRest(t, title, watched, port)
      }
    }
  })

  const hasServer = name === 'postgres' || name === 'mysql'
  if (!hasServer) continue
  test(`${name}: a server that is silent from any statement on gets the true response`, { skip }, async (t) => {
    const watched = await open(t, true)
    const proxy = watched.proxy!
    const steps = new Steps()
    const { port, create, readTexts } = await openService(t, watched, steps, limit)
    const toRequest = requests.at(-1)!
    watchStatements(t, steps)
    const effects = new Set<string>()
    // On a slow machine, a request that no silence delays can take too long as well. It is repeated.
    for (let at = 0, isReached = true; isReached || !effects.has('done'); at++) {
      isReached = false
      const request = toRequest(await create())
      const before = await readTexts()
      const wire = new Wire(port)
      steps.count = 0
      steps.onStep = (step) => {
        if (step !== at) return
        isReached = true
        proxy.silence()
      }
      const { status, content } = await send(wire, request)
      steps.onStep = () => {}
      wire.close()
      // The server notices that its clients are gone.
      proxy.drop()
      proxy.recover()
      const remains = await waitForRest(watched)
      if (remains.length > 0) t.strictSame(remains, [], `${request.title}, step ${at}`)
      // The pool may not have noticed yet that a connection is closed.
      const after = await readTexts().catch(() => readTexts()).catch(() => readTexts())
      const isChanged = after.length > before.length
      const [effect] = status < 300 ? ['done'] : /Nothing was changed|had begun|unknown|$/.exec(content.toString())!
      effects.add(effect!)
      if (effect === 'done') t.ok(isChanged, `step ${at}: ${effect}`)
      else if (effect === 'Nothing was changed') t.notOk(isChanged, `step ${at}: ${effect}`)
      else t.equal(status, 503, `step ${at}: ${content}`)
    }
    t.ok(effects.has('done') && effects.has('Nothing was changed'), [...effects].join())
  })

  test(`${name}: a connection that a function still uses after a timeout is closed`, { skip }, async (t) => {
    const watched = await open(t)
    const { storage } = watched
    const responded = gate()
    const late = gate()
    const results: unknown[] = []
    const notes = define({ name: 'notes', schema: Note, storage }).with(
      timeout({ all: limit }),
      action('touch', {
        async run ({ transaction }) {
          const client = transaction.client as { query(text: string): Promise<unknown> }
          const write = () => client.query(`INSERT INTO log VALUES (${results.length})`)
          await write()
          // Longer than the test waits: it has to be cancelled.
          const sleep = name === 'postgres' ? 'SELECT pg_sleep(60)' : 'SELECT SLEEP(60)'
          results.push(await client.query(sleep).catch(toMessage))
          results.push(await write().catch(toMessage))
          await responded.opened
          results.push(await write().catch(toMessage))
          late.open()
        }
      })
    )
    await watched.prepare(notes)
    await watched.run!('CREATE TABLE log (number integer)')
    const app = Fastify({ forceCloseConnections: true })
    t.after(() => app.close())
    await app.register(collection, notes)
    const { headers } = await app.inject({ method: 'POST', url: '/notes', payload: { text: 'first' } })
    const response = await app.inject({ method: 'POST', url: `${headers.location}/touch`, payload: {} })
    t.match(response.json(), { code: 'timeout', detail: /Nothing was changed/ })
    t.strictSame(await waitForRest(watched), [])
    responded.open()
    await late.opened
    t.strictSame(results.map((result) => typeof result), ['string', 'string', 'string'], String(results))
    t.strictSame(await watched.run!('SELECT number FROM log'), [])
    t.equal((await app.inject({ url: '/notes' })).json().length, 1)
  })
}

test('sqlite: the database that a function still uses after a timeout is refused', async (t) => {
  const watched = await watchedDatabases.find(({ name }) => name === 'sqlite')!.open(t)
  const responded = gate()
  const late = gate()
  const before: unknown[] = []
  const results: unknown[] = []
  const notes = define({ name: 'notes', schema: Note, storage: watched.storage }).with(
    timeout(limit),
    action('touch', {
      async run ({ transaction }) {
        const client = transaction.client as DatabaseSync
        client.exec("INSERT INTO log VALUES ('first')")
        before.push(client.isTransaction)
        const insert = client.prepare('INSERT INTO log VALUES (?) RETURNING text')
        before.push(...insert.iterate('second'))
        const { exec } = client
        const { run } = insert
        const iterator = client.prepare("INSERT INTO log VALUES ('iterator') RETURNING text").iterate()
        const uses: Array<() => unknown> = [
          () => client.exec("INSERT INTO log VALUES ('client')"),
          () => exec("INSERT INTO log VALUES ('method')"),
          () => insert.run('statement'),
          () => insert.get('statement'),
          () => run('method of a statement'),
          () => iterator.next()
        ]
        await responded.opened
        for (const use of uses) {
          try {
            results.push(use())
          } catch (error) {
            results.push(toMessage(error))
          }
        }
        late.open()
      }
    })
  )
  await watched.prepare(notes)
  await watched.run!('CREATE TABLE log (text TEXT)')
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  await app.register(collection, notes)
  const { headers } = await app.inject({ method: 'POST', url: '/notes', payload: { text: 'first' } })
  const response = await app.inject({ method: 'POST', url: `${headers.location}/touch`, payload: {} })
  t.match(response.json(), { code: 'timeout', detail: /Nothing was changed/ })
  responded.open()
  await late.opened
  t.match(before, [true, { text: 'second' }])
  t.match(results, Array(6).fill(/The transaction has ended/))
  t.strictSame(await watched.run!('SELECT text FROM log'), [])
})

function toMessage (error: unknown): string {
  return String(error)
}
