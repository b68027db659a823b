import { once } from 'node:events'
import { Socket } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { test } from 'tap'
import { define } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import type { Shape, Storage } from '../../lib/storage/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { wrapStorage } from '../../lib/storage/wrap-storage.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { timeout } from '../../lib/features/timeout.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { within } from '../../lib/features/within.ts'
import { build, created, gate, logged, modified, notes, request, users } from '../app.ts'
import { noServers } from '../storage/databases.ts'
import { startPostgres } from '../storage/servers.ts'
import { storages } from '../storages.ts'
import { listen, Wire } from '../wire.ts'

// docs/limits.md, timeouts: the response, and what is stored at that time and later.

const json = 'Content-Type: application/json'
const content = '{"text":"late"}'
const timedOut = { status: 503, code: 'timeout', title: 'Service Unavailable' }
/** Long enough for an action on a busy machine. */
const limit = 250
const unchanged = /took longer than 250 ms\. Nothing was changed\.$/
const begun = /took longer than 250 ms\. Its write had begun/

async function texts (app: FastifyInstance): Promise<unknown[]> {
  return (await request(app, 'GET /notes')).json().map(({ text }: { text: string }) => text)
}

test('an action that exceeds its timeout returns 503 with Retry-After and aborts the signal', async (t) => {
  for (const [verb, method] of [
    ['list', 'GET'],
    ['list', 'QUERY'],
    ['find', 'GET'],
    ['find', 'HEAD'],
    ['find', 'PUT'],
    ['find', 'PATCH'],
    ['find', 'DELETE']
  ] as const) {
    const { lines, logger } = logged()
    let slow = false
    const reasons: unknown[] = []
    const app = await build(
      t,
      notes({
        storage: modified((storage) => ({
          [verb]: async (...args: never[]) => {
            if (slow) {
              const { signal } = args.at(-1) as unknown as { signal: AbortSignal }
              await new Promise((resolve) => signal.addEventListener('abort', resolve))
              reasons.push(signal.reason)
            }
            return (storage[verb] as (...args: never[]) => Promise<unknown>)(...args)
          }
        }))
      }).with(timeout(limit)),
      { logger }
    )
    const { at } = await created(app, '/notes', { text: 'kept' })
    const wire = new Wire(await listen(app))
    slow = true
    const target = `${method} ${verb === 'list' ? '/notes' : at}`
    // Only a DELETE with a precondition reads the item.
    const fields = method === 'DELETE' ? ['If-Match: *'] : [json]
    const sent = method === 'GET' || method === 'HEAD' || method === 'DELETE' ? '' : method === 'QUERY' ? '{}' : content
    const answer = await wire.ask([target, ...fields], sent)
    t.equal(answer.status, 503, target)
    t.match(answer.fields, {
      'content-type': 'application/problem+json',
      'retry-after': '1',
      'cache-control': 'no-store'
    })
    if (method !== 'HEAD') t.match(JSON.parse(answer.content.toString()), { ...timedOut, detail: unchanged })
    t.match(reasons, [{ name: 'TimeoutError' }])
    t.equal(lines.length, 1, 'one line in the log')
    slow = false
    await wait(30)
    t.strictSame(await texts(app), ['kept'], 'nothing is written, not even later')
    t.equal((await wire.ask('GET /notes')).status, 200, 'the connection stays usable')
    wire.close()
  }
})

test('a timeout during beforeValidation cancels the write', async (t) => {
  const prepared = gate()
  const changes: string[] = []
  const app = await build(
    t,
    notes({
      hooks: {
        beforeValidation: async ({ item }) => {
          await prepared.opened
          return item
        },
        afterCommit: ({ action }) => {
          changes.push(action)
        }
      }
    }).with(timeout({ create: limit }))
  )
  const answer = await request(app, 'POST /notes', { content: { text: 'late' } })
  t.match(answer.json(), { ...timedOut, detail: unchanged })
  prepared.open()
  await wait(20)
  t.strictSame(await texts(app), [])
  t.strictSame(changes, [])
})

test('a timeout in the middle of a bulk POST rolls back all items', async (t) => {
  let count = 0
  const app = await build(
    t,
    notes({
      hooks: {
        beforeValidation: async ({ item }) => {
          if (++count === 3) await wait(2 * limit)
          return item
        }
      }
    }).with(timeout(limit), bulk())
  )
  t.match((await request(app, 'POST /notes', { content: [{ text: '1' }, { text: '2' }, { text: '3' }] })).json(), timedOut)
  await wait(2 * limit)
  t.strictSame(await texts(app), [])
  t.equal((await request(app, 'POST /notes', { content: [{ text: '1' }, { text: '2' }] })).statusCode, 201)
})

/** A storage with slow writes that ignore the signal. */
function slowly (
  milliseconds: number,
  write: (storage: Storage<object>) => Storage<object>['insert'] = (storage) => storage.insert
): ReturnType<typeof modified> {
  return modified((storage) => ({
    insert: async (...args) => {
      await wait(milliseconds)
      return write(storage)(...args)
    }
  }))
}

const Text = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() })

test('after the timeout, no write and no commit begins, also if the storage ignores the signal', async (t) => {
  for (const late of [1, 2]) {
    const { open, opened } = gate()
    let inserts = 0
    let ended: Promise<unknown> | undefined
    const definition = define({
      name: 'notes',
      schema: Text,
      storage (shape: Shape) {
        const ignored = { signal: new AbortController().signal, scope: undefined }
        const storage = wrapStorage(memory()(shape), (inner) => ({
          list: inner.list,
          find: inner.find,
          replace: inner.replace,
          remove: inner.remove,
          async insert (draft) {
            const isLate = ++inserts === late
            const entry = await inner.insert(draft, ignored)
            if (isLate) await opened
            return entry
          }
        }))
        const transaction: Storage<object>['transaction'] = (work) => {
          const done = storage.transaction!(work, ignored)
          ended = done.catch(() => {})
          return done
        }
        // The items are those of the schema: it is the same storage.
        return { ...storage, transaction } as Storage<typeof Text.static>
      }
    }).with(timeout(limit), bulk())
    const app = await build(t, definition)
    const response = await request(app, 'POST /notes', { content: [{ text: 'a' }, { text: 'b' }] })
    t.match(response.json(), { ...timedOut, detail: unchanged })
    open()
    await ended
    t.equal(inserts, late)
    t.strictSame(await texts(app), [])
  }
})

test('a commit that was rolled back has no effect, so nothing was changed at the timeout', async (t) => {
  const { open, opened } = gate()
  let attempts = 0
  let ended: Promise<unknown> | undefined
  const definition = define({
    name: 'notes',
    schema: Text,
    storage (shape: Shape) {
      const storage = memory()(shape)
      const transaction: Storage<object>['transaction'] = async (work, context) => {
        const done = storage.transaction!(async (inner, handle) => {
          if (++attempts > 2) await opened
          const result = await work(inner, handle)
          // As a database does if another commit came first.
          if (attempts === 2) throw Object.assign(new Error('rolled back'), { refusal: { refused: 'stale' } })
          return result
        }, context)
        ended = done.catch(() => {})
        return done
      }
      return { ...storage, transaction } as Storage<typeof Text.static>
    },
    hooks: { afterWrite: () => {} }
  }).with(timeout(limit))
  const app = await build(t, definition)
  const { at } = await created(app, '/notes', { text: 'a' })
  t.match((await request(app, `PATCH ${at}`, { content: { text: 'b' } })).json(), { ...timedOut, detail: unchanged })
  open()
  await ended
  t.equal(attempts, 3)
  t.strictSame(await texts(app), ['a'])
})

test('a write that started before the timeout and completes returns success', async (t) => {
  const changes: string[] = []
  const app = await build(
    t,
    notes({
      storage: slowly(2 * limit),
      hooks: {
        afterCommit: ({ action }) => {
          changes.push(action)
        }
      }
    }).with(timeout(limit))
  )
  const answer = await request(app, 'POST /notes', { content: { text: 'done' } })
  t.equal(answer.statusCode, 201)
  t.strictSame([await texts(app), changes], [['done'], ['create']])
})

test('a write that started before the timeout returns its conflict, or 503 if it fails', async (t) => {
  const refused = await build(
    t,
    notes({ storage: slowly(2 * limit, () => async () => ({ refused: 'conflict' })) }).with(timeout(limit))
  )
  t.match((await request(refused, 'POST /notes', { content: { text: 'a' } })).json(), { status: 409, code: 'conflict' })
  const { lines, logger } = logged()
  const failed = await build(
    t,
    notes({
      storage: slowly(2 * limit, () => async () => {
        throw new Error('the connection is gone')
      })
    }).with(timeout(limit)),
    { logger }
  )
  t.match((await request(failed, 'POST /notes', { content: { text: 'a' } })).json(), { ...timedOut, detail: begun })
  t.match(JSON.stringify(lines), /the connection is gone/, 'the log has the cause')
})

test('a write is not retried after the timeout', async (t) => {
  let writes = 0
  const app = await build(
    t,
    notes({
      storage: modified(() => ({
        replace: async () => {
          writes++
          await wait(2 * limit)
          return { refused: 'stale' }
        }
      }))
    }).with(timeout({ all: 5000, replace: limit }))
  )
  const { at } = await created(app, '/notes', { text: 'a' })
  t.match((await request(app, `PUT ${at}`, { content: { text: 'b' } })).json(), { ...timedOut, detail: unchanged })
  t.equal(writes, 1)
})

test('a write without a result for one second returns 503, and afterCommit runs once it completes', async (t) => {
  const [changed, stuck] = [gate(), gate()]
  const storage = modified(({ insert }) => ({
    insert: async (...args) => {
      await stuck.opened
      return insert(...args)
    }
  }))
  const app = await build(t, notes({ storage, hooks: { afterCommit: changed.open } }).with(timeout(limit)))
  t.match((await request(app, 'POST /notes', { content: { text: 'later' } })).json(), { ...timedOut, detail: begun })
  stuck.open()
  await changed.opened
  t.strictSame(await texts(app), ['later'])
})

test('with an Idempotency-Key, a repeat after a timeout neither loses nor duplicates the write', async (t) => {
  const fields = { 'idempotency-key': '"k1"' }
  const post = (app: FastifyInstance) => request(app, 'POST /notes', { content: { text: 'once' }, fields })
  const [prepared, finished] = [gate(), gate()]
  const before = await build(
    t,
    notes({
      hooks: {
        beforeValidation: async ({ item }) => {
          await prepared.opened
          return item
        }
      }
    }).with(timeout(limit), idempotency())
  )
  t.match((await post(before)).json(), { ...timedOut, detail: unchanged })
  prepared.open()
  await wait(100)
  t.equal((await post(before)).statusCode, 201, 'the key is free again')
  t.strictSame(await texts(before), ['once'])
  const after = await build(
    t,
    notes({
      hooks: {
        afterCommit: () => finished.opened
      }
    }).with(timeout(limit), idempotency())
  )
  t.match((await post(after)).json(), { ...timedOut, detail: begun })
  finished.open()
  const again = await post(after)
  t.strictSame(
    [again.statusCode, again.headers['idempotent-replayed']],
    [201, 'true'],
    'the stored response is replayed'
  )
  t.strictSame(await texts(after), ['once'])
})

for (const { name, skip, open } of storages) {
  test(`${name}: a transaction that waits for another one does not begin after the timeout`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const [begun, released] = [gate(), gate()]
    const calls: string[] = []
    const definition = notes({
      storage,
      hooks: {
        beforeWrite: async ({ action }) => {
          calls.push(action)
          if (action !== 'update') return
          begun.open()
          await released.opened
        }
      }
    }).with(timeout({ create: limit, remove: limit }))
    await prepare(definition)
    const app = await build(t, definition)
    const { at } = await created(app, '/notes', { text: 'first' })
    const slow = request(app, `PATCH ${at}`, { content: { text: 'patched' }, type: 'application/merge-patch+json' })
    await begun.opened
    const late = [request(app, 'POST /notes', { content: { text: 'late' } }), request(app, `DELETE ${at}`)]
    for (const answer of await Promise.all(late)) t.match(answer.json(), { ...timedOut, detail: unchanged })
    released.open()
    t.equal((await slow).statusCode, 200)
    t.strictSame(await texts(app), ['patched'])
    t.strictSame(calls, ['create', 'update'], 'no hook is called for a request that was answered')
  })
}

test('the timeout includes reading the parent of a nested collection', async (t) => {
  const never = gate()
  const parent = users({
    storage: modified(() => ({
      find: async () => {
        await never.opened
        return undefined
      }
    }))
  })
  const child = (notes({ schema: users().schema as never }).with(timeout(limit)) as Definition<{ role: string }>).with(
    within(parent, 'role')
  )
  const app = await build(t, [parent, child])
  const answer = await request(app, 'GET /users/01900000-0000-7000-8000-000000000001/notes')
  t.match(answer.json(), timedOut)
})

test('an action without a timeout is not limited, and a completed action leaves no timer', async (t) => {
  const app = await build(t, notes({ storage: slowly(100) }).with(timeout({ list: limit })))
  t.equal((await request(app, 'POST /notes', { content: { text: 'a' } })).statusCode, 201)
  const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  for (let turn = 0; turn < 10; turn++) t.equal((await request(app, 'GET /notes')).statusCode, 200)
  t.equal(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length, before)
})

test('timeout adds no transactions to a storage without them, and does not limit direct calls', async (t) => {
  const definition = notes({
    storage: modified((storage) => ({
      supports: { ...storage.supports, transactions: false },
      transaction: undefined as never
    }))
  }).with(timeout(limit))
  t.equal(definition.storage.transaction, undefined)
  const { signal } = new AbortController()
  const id = '01900000-0000-7000-8000-000000000001'
  await definition.storage.insert({ id, text: 'a' }, { signal, scope: undefined })
  t.equal(await definition.storage.remove(id, undefined, { signal, scope: undefined }), undefined)
})

test(
  'SQLite: a write that waits for the lock of another process does not start after the timeout',
  async (t) => {
    const file = `${t.testdir()}/app.db`
    const database = new DatabaseSync(file)
    t.teardown(() => database.close())
    const adapter = sqlite(database)
    const definition = notes({ storage: adapter })
    await adapter.createTable(definition)
    // The storage waits for the lock for a quarter of a second or longer.
    const app = await build(t, definition.with(timeout({ create: 150 })))
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    const answer = await request(app, 'POST /notes', { content: { text: 'late' } })
    t.match(answer.json(), timedOut)
    other.exec('ROLLBACK')
    other.close()
    await wait(600)
    t.strictSame(await texts(app), [])
    const unlimited = await build(t, definition)
    t.equal((await request(unlimited, 'POST /notes', { content: { text: 'next' } })).statusCode, 201)
  }
)

test('PostgreSQL: a write that waits for a lock at the timeout is canceled, and frees its connection', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const pool = server.pool({ max: 3 })
  const adapter = postgres(pool)
  const definition = notes({ storage: adapter }).with(timeout({ create: 500 }), bulk())
  await adapter.createTable(definition)
  const app = await build(t, definition)
  const locker = await server.pool({ max: 1 }).connect()
  for (const [sent, effect] of [
    [{ text: 'late' }, 'Its write had begun'],
    // A transaction that has not been committed is rolled back.
    [[{ text: 'late' }, { text: 'later' }], 'Nothing was changed']
  ] as const) {
    await locker.query('BEGIN')
    await locker.query('LOCK TABLE notes IN ACCESS EXCLUSIVE MODE')
    t.match(
      (await request(app, 'POST /notes', { content: sent })).json(),
      { ...timedOut, detail: new RegExp(`took longer than 500 ms\\. ${effect}`) }
    )
    await locker.query('ROLLBACK')
    await wait(200)
    t.strictSame(await texts(app), [], 'canceled')
  }
  locker.release()
})

test('PostgreSQL: a write that cannot be canceled is reported as stored', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const locker = await server.pool({ max: 1 }).connect()
  let isLocked = false
  const openSocket = () => {
    // The socket of the cancellation, since the pool already has its only connection.
    if (isLocked) locker.query('ROLLBACK')
    isLocked = false
    return new Socket()
  }
  const pool = server.pool({ max: 1, stream: openSocket })
  // The server ignores a cancellation with a wrong key.
  pool.on('connect', (client) => Object.assign(client, { secretKey: 0 }))
  const adapter = postgres(pool)
  const definition = notes({ storage: adapter }).with(timeout({ create: 500 }))
  await adapter.createTable(definition)
  const app = await build(t, definition)
  await locker.query('BEGIN')
  await locker.query('LOCK TABLE notes IN ACCESS EXCLUSIVE MODE')
  isLocked = true
  t.equal((await request(app, 'POST /notes', { content: { text: 'stored' } })).statusCode, 201)
  t.equal(isLocked, false, 'the timeout has canceled it')
  t.strictSame(await texts(app), ['stored'])
  locker.release()
})

test('the signal of a request aborts if the client disconnects, and not after a response', async (t) => {
  const signals: AbortSignal[] = []
  const queried = gate()
  const app = await build(
    t,
    notes({
      storage: modified((storage) => ({
        list: async (query, context) => {
          signals.push(context.signal)
          if (signals.length === 2) {
            queried.open()
            await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
          }
          return storage.list(query, context)
        }
      }))
    })
  )
  const port = await listen(app)
  const [served, gone] = [new Wire(port), new Wire(port)]
  t.equal((await served.ask('GET /notes')).status, 200)
  gone.ask('GET /notes').catch(() => {})
  await queried.opened
  gone.socket.destroy()
  while (!signals[1]!.aborted) await wait(5)
  t.equal(signals[0]!.aborted, false)
  served.close()
})

test('a client that disconnects during a transaction is one line in the log, and no error', async (t) => {
  for (const { name, open } of storages) {
    const { storage, prepare } = await open(t)
    const lines: Array<Record<string, unknown>> = []
    const stream = {
      write (line: string) {
        if (line.includes('"collection"')) lines.push(JSON.parse(line))
      }
    }
    const hooked = gate()
    const definition = notes({
      storage: storage as never,
      hooks: {
        beforeWrite: async () => {
          hooked.open()
          await new Promise(() => {})
        }
      }
    })
    await prepare(definition)
    const app = await build(t, definition, { logger: { level: 'info', stream } })
    const wire = new Wire(await listen(app))
    wire.ask(['POST /notes', json], content).catch(() => {})
    await hooked.opened
    wire.socket.destroy()
    while (lines.length === 0) await wait(5)
    t.match(lines, [{ level: 30, collection: 'notes', action: 'create', msg: /the client has disconnected/ }], name)
    t.strictSame(await texts(app), [])
  }
})

test('a signal that is created after the client has disconnected is already aborted', async (t) => {
  const called = gate()
  const signals: Array<boolean> = []
  const storage = modified(({ list }) => ({
    list (query, context) {
      signals.push(context.signal.aborted)
      called.open()
      return list(query, context)
    }
  }))
  const onRequest = async (_request: unknown, reply: FastifyReply) => {
    wire.socket.destroy()
    if (!reply.raw.closed) await once(reply.raw, 'close')
  }
  const app = await build(t, notes({ storage, routes: { list: { onRequest } } }))
  const wire = new Wire(await listen(app))
  wire.ask(['GET /notes']).catch(() => {})
  await called.opened
  t.strictSame(signals, [true])
})
