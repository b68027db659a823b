import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import driver, { type RowDataPacket } from 'mysql2/promise'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { test, type Test } from 'tap'
import { timeout } from '../../lib/features/timeout.ts'
import collection, { define } from '../../lib/index.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { noServers } from './databases.ts'
import type { SqlAdapter } from './databases.ts'
import { noHaproxy, noMariadb, startHaproxy, startMariadb, startPostgres } from './servers.ts'

// Two servers behind a balancer in TCP mode. A cancellation may reach the other server, where a session of another
// client can have the same id.

/** One of the servers, without the balancer. */
interface Server {
  adapter: SqlAdapter
  /** Opens sessions of other clients. Each function runs a statement, and returns whether it ran to its end. */
  openStrangers (count: number): Promise<ReadonlyArray<() => Promise<boolean>>>
  lock (): Promise<void>
  unlock (): Promise<void>
  /** How many statements wait for the lock. */
  countWaiting (): Promise<number>
}

const Note = Type.Object({ id: Type.String(), text: Type.String() })

/** Cancels statements on both servers while other clients use them, none of which is affected. */
async function cancelBehindBalancer (t: Test, servers: readonly [Server, Server], balanced: SqlAdapter) {
  const notes = define({ name: 'notes', schema: Note, id: { generate: 'client' }, put: { create: true }, storage: balanced })
  for (const { adapter } of servers) await adapter.createTable(notes)
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(collection, notes.with(timeout(1000)))
  await app.ready()

  // In this order, so that sessions of the app and of others get the same ids if each server counts its own.
  const strangers = [...await servers[0].openStrangers(10)]
  await Promise.all(Array.from({ length: 10 }, () => app.inject('/notes')))
  strangers.push(...await servers[1].openStrangers(10))

  const counts = { requests: 0, refused: 0, waiting: 0, left: 0, strangers: 0, strangersFailed: 0 }
  const ending = new AbortController()
  const using = Promise.all(strangers.map(async (run) => {
    while (!ending.signal.aborted) {
      const isDone = await run().catch(() => false)
      counts[isDone ? 'strangers' : 'strangersFailed']++
    }
  }))
  const countWaiting = async () => {
    const found = await Promise.all(servers.map((server) => server.countWaiting()))
    return found.reduce((sum, count) => sum + count)
  }
  for (let round = 0; round < 5; round++) {
    for (const server of servers) await server.lock()
    const sent = Array.from({ length: 10 }, (_, index) => index % 2 === 0
      ? app.inject(`/notes/${index}`)
      : app.inject({ method: 'PUT', url: `/notes/${index}`, payload: { text: 'a' } }))
    counts.requests += sent.length
    for (let turn = 0, most = 0; turn < 100 && most < sent.length; turn++) {
      await delay(5)
      const waiting = await countWaiting()
      counts.waiting += Math.max(waiting - most, 0)
      most = Math.max(waiting, most)
    }
    for (const { statusCode } of await Promise.all(sent)) if (statusCode === 503) counts.refused++
    // A statement that was not cancelled waits for the lock, even if its connection is closed.
    for (let turn = 0; turn < 50 && await countWaiting() > 0; turn++) await delay(20)
    counts.left += await countWaiting()
    for (const server of servers) await server.unlock()
  }
  ending.abort()
  await using
  t.equal((await app.inject('/notes')).statusCode, 200)
  t.comment(JSON.stringify(counts))
  t.match(counts, { requests: 50, refused: 50, strangersFailed: 0 })
  t.ok(counts.strangers > 0 && counts.waiting > 0)
  // On a busy machine, the time in which a cancellation is repeated may be over before it reaches the right server.
  t.ok(counts.left < counts.waiting, `${counts.left} of ${counts.waiting} statements are not cancelled`)
}

test('postgres: two servers behind a balancer', { skip: noServers || noHaproxy }, async (t) => {
  const open = async () => {
    const server = await startPostgres()
    t.teardown(() => server.end())
    const pool = server.pool({ max: 12 })
    const locker = await server.pool({ max: 1 }).connect()
    t.teardown(() => locker.release())
    return {
      server,
      adapter: postgres(pool),
      async openStrangers (count: number) {
        const clients = await Promise.all(Array.from({ length: count }, () => pool.connect()))
        t.teardown(() => clients.forEach((client) => client.release()))
        return clients.map((client) => () => client.query('SELECT pg_sleep(0.1)').then(() => true))
      },
      async lock () {
        await locker.query('BEGIN; LOCK TABLE notes IN ACCESS EXCLUSIVE MODE')
      },
      async unlock () {
        await locker.query('ROLLBACK')
      },
      async countWaiting () {
        // Not in the transaction of the lock, which sees only the sessions that existed at its first query.
        const { rows } = await pool.query<{ count: number }>(
          "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        )
        return rows[0]!.count
      }
    }
  }
  const servers = [await open(), await open()] as const
  const balancer = await startHaproxy(...servers.map(({ server }) => server.port))
  t.teardown(() => balancer.end())
  const pool: pg.Pool = servers[0].server.pool({ port: balancer.port, max: 10 })
  await cancelBehindBalancer(t, servers, postgres(pool))
})

test('MariaDB: two servers behind a balancer', { skip: noServers || noHaproxy || noMariadb }, async (t) => {
  const strangerIds: number[] = []
  const open = async () => {
    const server = await startMariadb()
    t.teardown(() => server.end())
    const pool = driver.createPool({ uri: server.url, connectionLimit: 12 })
    t.teardown(() => pool.end())
    const locker = await driver.createConnection(server.url)
    t.teardown(() => locker.end())
    return {
      server,
      adapter: mysql(pool),
      async openStrangers (count: number) {
        const connections = await Promise.all(Array.from({ length: count }, () => pool.getConnection()))
        t.teardown(() => connections.forEach((connection) => connection.release()))
        strangerIds.push(...connections.map(({ threadId }) => threadId))
        return connections.map((connection) => async () => {
          const [[row]] = await connection.query<RowDataPacket[]>('SELECT SLEEP(0.1) AS isInterrupted')
          return row?.['isInterrupted'] === 0
        })
      },
      async lock () {
        await locker.query('LOCK TABLES notes WRITE')
      },
      async unlock () {
        await locker.query('UNLOCK TABLES')
      },
      async countWaiting () {
        const [[row]] = await locker.query<RowDataPacket[]>(
          "SELECT COUNT(*) AS count FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table%'"
        )
        return Number(row?.['count'])
      }
    }
  }
  const servers = [await open(), await open()] as const
  const balancer = await startHaproxy(...servers.map(({ server }) => Number(new URL(server.url).port)))
  t.teardown(() => balancer.end())
  const pool = driver.createPool({ uri: servers[0].server.url, port: balancer.port, connectionLimit: 10 })
  t.teardown(() => pool.end())
  const ids = new Set<number>()
  pool.on('connection', ({ threadId }) => ids.add(threadId))
  await cancelBehindBalancer(t, servers, mysql(pool))
  const same = strangerIds.filter((id) => ids.has(id)).length
  t.ok(same > 0, `${same} of ${ids.size} sessions have the id of a session of another client`)
})
