import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import driver, { type RowDataPacket } from 'mysql2/promise'
import { setTimeout as delay } from 'node:timers/promises'
import { test, type Test } from 'tap'
import { timeout } from '../../lib/features/timeout.ts'
import collection, { define } from '../../lib/index.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { noServers } from './databases.ts'
import type { SqlAdapter } from './databases.ts'
import { createCertificate, noMariadb, noOpenssl, startMariadb, startPostgres } from './servers.ts'

// Pools that use TLS: the connection that cancels a statement uses it as well.

const Note = Type.Object({ id: Type.String(), text: Type.String() })

interface Lock {
  lock (): Promise<unknown>
  unlock (): Promise<unknown>
  /** How many statements wait for the lock. */
  countWaiting (): Promise<number>
}

async function waitUntil (holds: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 500; turn++) {
    if (await holds()) return
    await delay(10)
  }
  throw new Error('the condition was never met')
}

/** A read and a write wait for a locked table. Both are cancelled on the server, and the pool is usable. */
async function cancelStatements (t: Test, adapter: SqlAdapter, { lock, unlock, countWaiting }: Lock): Promise<void> {
  const notes = define({ name: 'notes', schema: Note, id: { generate: 'client' }, put: { create: true }, storage: adapter })
  await adapter.createTable(notes)
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(collection, notes.with(timeout(2000)))
  const get = () => app.inject('/notes/missing')
  const put = () => app.inject({ method: 'PUT', url: '/notes/a', payload: { text: `${Math.random()}` } })
  t.match((await put()).statusCode, /20[01]/)

  await lock()
  const sent = [get(), put()]
  await waitUntil(async () => await countWaiting() === 2)
  t.strictSame((await Promise.all(sent)).map(({ statusCode }) => statusCode), [503, 503])
  // A statement that was not cancelled waits for the lock, even if its connection is closed.
  await waitUntil(async () => await countWaiting() === 0)
  await unlock()
  t.equal((await get()).statusCode, 404)
  t.equal((await put()).statusCode, 200)
}

test('postgres: statements are cancelled over TLS', { skip: noServers || noOpenssl }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const { certificate, key, content, remove } = await createCertificate('postgres')
  t.teardown(remove)
  const admin = await server.pool({ max: 1 }).connect()
  t.teardown(() => admin.release())
  const watcher = server.pool({ max: 1 })
  for (const setting of [`ssl_cert_file = '${certificate}'`, `ssl_key_file = '${key}'`, 'ssl = on']) {
    await admin.query(`ALTER SYSTEM SET ${setting}`)
  }
  await admin.query('SELECT pg_reload_conf()')
  await waitUntil(async () => (await admin.query('SHOW ssl')).rows[0].ssl === 'on')

  for (const sslnegotiation of ['postgres', 'direct'] as const) {
    await t.test(`sslnegotiation: ${sslnegotiation}`, async (t) => {
      const pool = server.pool({ max: 4, ssl: { ca: content }, sslnegotiation })
      const { rows } = await pool.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
      t.strictSame(rows, [{ ssl: true }])
      await cancelStatements(t, postgres(pool), {
        lock: () => admin.query('BEGIN; LOCK TABLE notes IN ACCESS EXCLUSIVE MODE'),
        unlock: () => admin.query('ROLLBACK'),
        async countWaiting () {
          // Not in the transaction of the lock, which sees only the sessions that existed at its first query.
          const { rows } = await watcher.query<{ count: number }>(
            "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
          )
          return rows[0]!.count
        }
      })
    })
  }
})

test('MariaDB: statements are cancelled over TLS', { skip: noServers || noOpenssl || noMariadb }, async (t) => {
  const { certificate, key, content, remove } = await createCertificate('mysql')
  t.teardown(remove)
  const options = [`--ssl-cert=${certificate}`, `--ssl-key=${key}`, '--require-secure-transport=ON']
  const server = await startMariadb(...options)
  t.teardown(() => server.end())
  const encrypted = { uri: server.url, ssl: { ca: content } }
  const admin = await driver.createConnection(encrypted)
  t.teardown(() => admin.end())
  await t.rejects(driver.createConnection(server.url), 'a connection without TLS is refused')
  const pool = driver.createPool({ ...encrypted, connectionLimit: 4 })
  t.teardown(() => pool.end())
  await cancelStatements(t, mysql(pool), {
    lock: () => admin.query('LOCK TABLES notes WRITE'),
    unlock: () => admin.query('UNLOCK TABLES'),
    async countWaiting () {
      const [[row]] = await admin.query<RowDataPacket[]>(
        "SELECT COUNT(*) AS count FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table%'"
      )
      return Number(row?.['count'])
    }
  })
})
