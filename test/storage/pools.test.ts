import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import driver from 'mysql2/promise'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { test, type Test } from 'tap'
import { idempotency } from '../../lib/features/idempotency.ts'
import { timeout } from '../../lib/features/timeout.ts'
import collection, { define } from '../../lib/index.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { mysqlPool, noMysql } from './databases.ts'
import type { SqlAdapter } from './databases.ts'
import { startProxy, type Proxy } from './proxy.ts'
import { startPostgres } from './servers.ts'

// Pools whose statements hang: one table is locked, or the network is silent.

const Note = Type.Object({ id: Type.String(), text: Type.String() })

/** How long a request waits for each table. That of the free one is only reached if a request hangs. */
const limits = { locked: 500, free: 30_000 }

type App = Awaited<ReturnType<typeof createApp>>

/** An app with two tables on one pool. */
async function createApp (t: Test, adapter: SqlAdapter, milliseconds: { locked: number, free: number } = limits) {
  const app = Fastify()
  t.teardown(() => app.close())
  for (const name of ['locked', 'free'] as const) {
    const notes = define({ name, schema: Note, id: { generate: 'client' }, put: { create: true }, storage: adapter })
      .with(timeout(milliseconds[name]))
    await adapter.createTable(notes)
    await app.register(collection, notes)
  }
  for (const name of ['locked', 'free']) {
    const put = () => app.inject({ method: 'PUT', url: `/${name}/a`, payload: { text: 'a' } })
    await waitUntil(async () => (await put()).statusCode < 300)
  }
  return app
}

/** Reads from the free table while other clients read and write the locked one, and returns the statuses of both. */
async function readBesideLock (app: App) {
  const free: Record<number, number> = {}
  const locked: Record<number, number> = {}
  const reading = new AbortController()
  const useLocked = async (index: number) => {
    // The clients do not start at the same time.
    await delay(index * 50)
    while (!reading.signal.aborted) {
      const { statusCode } = index % 2 === 0
        ? await app.inject({ url: '/locked/a' })
        : await app.inject({ method: 'PUT', url: '/locked/a', payload: { text: `${Math.random()}` } })
      locked[statusCode] = (locked[statusCode] ?? 0) + 1
    }
  }
  const clients = Array.from({ length: 10 }, (_, index) => useLocked(index))
  await Promise.all(Array.from({ length: 120 }, async (_, index) => {
    await delay(index * 15)
    const { statusCode } = await app.inject({ url: '/free/a' })
    free[statusCode] = (free[statusCode] ?? 0) + 1
  }))
  reading.abort()
  await Promise.all(clients)
  return { free, locked: Object.keys(locked) }
}

/** Parallel PATCHes with keys to few items: each is applied once. */
async function writeWithKeys (t: Test, adapter: SqlAdapter): Promise<void> {
  const counters = define({
    name: 'counters',
    schema: Type.Object({ id: Type.String(), texts: Type.Array(Type.String()) }),
    id: { generate: 'client' },
    put: { create: true },
    storage: adapter
  }).with(idempotency())
  await adapter.createTable(counters)
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(collection, counters)
  const ids = ['a', 'b', 'c', 'd', 'e']
  for (const id of ids) await app.inject({ method: 'PUT', url: `/counters/${id}`, payload: { texts: [] } })
  const statuses = await Promise.all(Array.from({ length: 200 }, async (_, index) => {
    await delay(index * 5)
    const patch = {
      method: 'PATCH' as const,
      url: `/counters/${ids[index % ids.length]}`,
      headers: { 'content-type': 'application/json-patch+json', 'idempotency-key': `"${index}"` },
      payload: JSON.stringify([{ op: 'add', path: '/texts/-', value: String(index) }])
    }
    let response = await app.inject(patch)
    // On a busy machine, one of them may lose every race, and is repeated as its problem says.
    for (let attempt = 0; attempt < 20 && response.json().code === 'concurrent-update'; attempt++) {
      response = await app.inject(patch)
    }
    return response.statusCode
  }))
  t.strictSame(statuses.filter((status) => status !== 200), [])
  const items: Array<{ texts: string[] }> = (await app.inject('/counters')).json()
  const texts = items.flatMap((item) => item.texts).sort((a, b) => Number(a) - Number(b))
  t.strictSame(texts, Array.from({ length: 200 }, (_, index) => String(index)))
}

async function waitUntil (holds: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 500; turn++) {
    if (await holds()) return
    await delay(20)
  }
  throw new Error('the condition was never met')
}

const quick = { locked: 500, free: 500 }

/** With all connections silent, requests are 503; and 200 once new connections work, while the old ones stay silent. */
async function outliveSilence (t: Test, app: App, proxy: Proxy) {
  const get = async () => (await app.inject({ url: '/free/a' })).statusCode
  const put = async () => {
    const payload = { text: `${Math.random()}` }
    return (await app.inject({ method: 'PUT', url: '/free/a', payload })).statusCode
  }
  await waitUntil(async () => (await Promise.all(Array.from({ length: 8 }, get))).every((status) => status === 200))
  proxy.silence()
  t.strictSame(await Promise.all([get(), put(), get(), put(), get(), get()]), [503, 503, 503, 503, 503, 503])
  proxy.recover()
  await waitUntil(async () => (await Promise.all(Array.from({ length: 8 }, get))).every((status) => status === 200))
  await waitUntil(async () => await put() === 200)
}

test('postgres', async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())

  await t.test('a locked table does not keep requests from other tables of the pool', async (t) => {
    const app = await createApp(t, postgres(server.pool({ max: 10 })))
    const other = await server.pool({ max: 1 }).connect()
    await other.query('BEGIN; LOCK TABLE locked IN ACCESS EXCLUSIVE MODE')
    t.strictSame(await readBesideLock(app), { free: { 200: 120 }, locked: ['503'] })
    await other.query('ROLLBACK')
    other.release()
    await waitUntil(async () => (await app.inject({ url: '/locked/a' })).statusCode === 200)
  })

  await t.test('silent connections are replaced', async (t) => {
    const proxy = await startProxy(server.port)
    t.teardown(() => proxy.end())
    const pool = server.pool({ max: 4, port: proxy.port, connectionTimeoutMillis: 500 })
    const app = await createApp(t, postgres(pool), quick)
    await outliveSilence(t, app, proxy)
  })

  await t.test('keyed writes that collide under serializable are repeated on their connections', async (t) => {
    const pool = server.pool({ max: 10, options: '-c default_transaction_isolation=serializable' })
    let connections = 0
    pool.on('connect', () => connections++)
    await writeWithKeys(t, postgres(pool))
    t.ok(connections <= 10, `${connections} connections`)
  })

  await t.test('a cancellation does not affect the session of another client', async (t) => {
    const strangers = server.pool({ max: 1 })
    const stranger = await strangers.connect()
    const { processID } = stranger as pg.PoolClient & { processID: number }
    const pool = server.pool({ max: 1 })
    // As behind a balancer, where the other server has a session with the same process id.
    pool.on('connect', (client) => Object.defineProperty(client, 'processID', { value: processID, writable: false }))
    const app = await createApp(t, postgres(pool))
    await server.pool({ max: 1 }).query('SELECT 1')
    const locker = await server.pool({ max: 1 }).connect()
    await locker.query('BEGIN; LOCK TABLE locked IN ACCESS EXCLUSIVE MODE')
    const running = stranger.query('SELECT pg_sleep(3)').then(() => 'done')
    t.equal((await app.inject({ url: '/locked/a' })).statusCode, 503)
    t.equal((await app.inject({ url: '/free/a' })).statusCode, 200)
    t.equal(await running, 'done')
    await locker.query('ROLLBACK')
    locker.release()
    stranger.release()
  })
})

test('postgres: a write whose commit is cancelled while it waits for a synchronous standby is 503', async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const admin = server.pool({ max: 1 })
  const other = await server.pool({ max: 1 }).connect()
  t.teardown(() => other.release())
  const { processID } = other as pg.PoolClient & { processID: number }
  /** Commits something, and returns whether that waits for the standby. */
  const isStandbyRequired = async () => {
    const commit = other.query("SELECT pg_logical_emit_message(true, 'test', '')").then(() => 'committed')
    const readState = async (): Promise<string> => {
      const { rows } = await admin.query('SELECT wait_event FROM pg_stat_activity WHERE pid = $1', [processID])
      return rows[0].wait_event
    }
    while (true) {
      const state = await Promise.race([commit, readState()])
      if (state === 'committed') return false
      if (state !== 'SyncRep') continue
      await admin.query('SELECT pg_cancel_backend($1)', [processID])
      await commit
      return true
    }
  }
  const setStandby = async (name: string) => {
    await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
    await admin.query('SELECT pg_reload_conf()')
    // The server applies it some time later.
    await waitUntil(async () => await isStandbyRequired() === (name !== ''))
  }
  const adapter = postgres(server.pool({ max: 4 }))
  let isStandbyLost = false
  const definition = define({
    name: 'notes',
    schema: Note,
    id: { generate: 'uuid' },
    storage: adapter,
    hooks: {
      // After the key is claimed, before the write.
      async beforeValidation ({ item }) {
        if (isStandbyLost) await setStandby('missing')
        return item
      }
    }
  }).with(timeout(3000))
  const notes = definition.with(idempotency())
  await adapter.createTable(notes)
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(collection, notes)
  const post = (key?: string) => {
    const headers = key === undefined ? {} : { 'idempotency-key': `"${key}"` }
    return app.inject({ method: 'POST', url: '/notes', headers, payload: { text: 'a' } })
  }

  for (const key of [undefined, 'key']) {
    isStandbyLost = true
    const lost = await post(key)
    t.equal(lost.statusCode, 503)
    t.equal(lost.headers['retry-after'], '1')
    t.match(lost.json(), { code: 'timeout', detail: /It is unknown whether the write is done and will last\./ })
    if (key !== undefined) t.equal((await post(key)).statusCode, 503, 'a replay also waits for the standby')
    isStandbyLost = false
    await setStandby('')
    // The first statement of each connection may still wait.
    if (key !== undefined) {
      t.match(await post(key), { statusCode: 201, headers: { 'idempotent-replayed': 'true' } })
      t.equal((await app.inject('/notes')).json().length, 2, 'each write is applied once')
    }
  }
})

test('mysql', { skip: noMysql }, async (t) => {
  const { pool, name, end } = await mysqlPool({ connectionLimit: 10 })
  t.teardown(end)

  await t.test('a locked table does not keep requests from other tables of the pool', async (t) => {
    const app = await createApp(t, mysql(pool))
    const other = await driver.createConnection({ uri: process.env['MYSQL_URL']!, database: name })
    await other.query('LOCK TABLES locked WRITE')
    t.strictSame(await readBesideLock(app), { free: { 200: 120 }, locked: ['503'] })
    await other.query('UNLOCK TABLES')
    await other.end()
    await waitUntil(async () => (await app.inject({ url: '/locked/a' })).statusCode === 200)
  })

  await t.test('silent connections are replaced', async (t) => {
    const proxy = await startProxy(Number(new URL(process.env['MYSQL_URL']!).port))
    t.teardown(() => proxy.end())
    const silent = driver.createPool({
      uri: process.env['MYSQL_URL']!,
      database: name,
      port: proxy.port,
      connectionLimit: 4,
      connectTimeout: 500
    })
    const app = await createApp(t, mysql(silent), quick)
    await outliveSilence(t, app, proxy)
    await silent.end()
  })
})
