import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { mkdtemp, rm } from 'node:fs/promises'
import { Socket, type LookupFunction } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import driver from 'mysql2/promise'
import pg from 'pg'
import { test, type Test } from 'tap'
import { bulk } from '../../lib/features/bulk.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { timeout } from '../../lib/features/timeout.ts'
import collection, { define } from '../../lib/index.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { request, logged } from '../app.ts'
import { freePort } from '../ports.ts'
import { databases, mysqlPool, noMysql, noServers } from './databases.ts'
import type { SqlAdapter } from './databases.ts'
import { startPostgres } from './servers.ts'

// Databases that cannot be used as they are: a table or a column is missing, the primary is read-only, the pool is
// exhausted. Each is 503 with a clear sentence, and nothing is written in part.

const Note = Type.Object({
  id: Type.String({ maxLength: 50 }),
  text: Type.String(),
  mark: Type.Optional(Type.String())
})

const details = {
  missing: 'A table does not exist in the database of the server. It may not have been created yet.',
  mismatch: 'A table of the database does not match the server, as before a migration.',
  readOnly: 'The database of the server is read-only at the moment.',
  exhausted: 'All connections to the database of the server are in use.'
}

type Lines = ReturnType<typeof logged>['lines']

async function createApp (
  t: Test,
  storage: SqlAdapter,
  milliseconds = 30_000
): Promise<{ app: FastifyInstance, lines: Lines }> {
  const { lines, logger } = logged()
  const app = Fastify({ logger })
  t.teardown(() => app.close())
  const notes = define({ name: 'notes', schema: Note, id: { generate: 'client' }, put: { create: true }, storage })
    .with(bulk(), idempotency(), timeout(milliseconds))
  await app.register(collection, notes)
  await app.ready()
  return { app, lines }
}

const table = { name: 'notes', schema: Note, id: { generate: 'client' }, receipts: true } as const

let keys = 0
const key = () => ({ 'idempotency-key': `"${keys++}"` })

const reads: ReadonlyArray<(app: FastifyInstance) => ReturnType<typeof request>> = [
  (app) => request(app, 'GET /notes'),
  (app) => request(app, 'GET /notes?count=true'),
  (app) => request(app, 'GET /notes/a')
]

const writes: typeof reads = [
  (app) => request(app, 'POST /notes', { content: { id: 'b', text: 'b' } }),
  (app) => request(app, 'POST /notes', { content: { id: 'b', text: 'b' }, fields: key() }),
  (app) => request(app, 'POST /notes', { content: [{ id: 'c', text: 'c' }, { id: 'd', text: 'd' }] }),
  (app) => request(app, 'PUT /notes/a', { content: { text: 'changed' } }),
  (app) => request(app, 'PATCH /notes/a', { content: { text: 'changed' }, type: 'application/merge-patch+json' }),
  (app) => request(app, 'DELETE /notes/a')
]

/** Every request gets 503 with this sentence, and one line in the log. */
async function refusesAll (
  t: Test,
  { app, lines }: { app: FastifyInstance, lines: Lines },
  requests: typeof reads,
  { detail, log, code = 'storage-unavailable' }: { detail: RegExp | string, log: RegExp, code?: string }
): Promise<void> {
  for (const request of requests) {
    lines.length = 0
    const response = await request(app)
    const { method, url } = response.raw.req
    t.equal(response.statusCode, 503, `${method} ${url}: ${response.payload}`)
    t.equal(response.headers['retry-after'], '1')
    t.match(response.json(), { code, detail })
    t.match(lines, [{ msg: 'request failed', err: { message: log } }], `${method} ${url} is logged`)
    t.equal(lines.length, 1, `${method} ${url} is logged once`)
  }
}

/** The item that was there before is unchanged, and nothing else is there. */
async function isUntouched (t: Test, app: FastifyInstance): Promise<void> {
  const response = await request(app, 'GET /notes')
  t.equal(response.statusCode, 200)
  t.strictSame(response.json(), [{ id: 'a', text: 'a', mark: 'm' }])
}

const seed = { content: { text: 'a', mark: 'm' } }

for (const { name, skip, open } of databases) {
  test(`${name}: a table that does not match the definition`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    await storage.createTable(table)
    const running = await createApp(t, storage)
    const { app } = running
    t.equal((await request(app, 'PUT /notes/a', seed)).statusCode, 201)
    const missing = { detail: details.missing, log: /lacks a table of the definition\. .*createTable\(\).*: .*notes/ }
    const refusal = { detail: details.mismatch, log: /has a table that does not match its definition/ }

    await t.test('a missing table is 503 until it exists again', async (t) => {
      await database.run('ALTER TABLE notes RENAME TO elsewhere')
      await refusesAll(t, running, [...reads, ...writes], missing)
      await database.run('ALTER TABLE elsewhere RENAME TO notes')
      await isUntouched(t, app)
    })

    await t.test('a missing column is 503 until it exists again', async (t) => {
      await database.run('ALTER TABLE notes RENAME COLUMN mark TO other')
      // The others do not use the column.
      await refusesAll(t, running, [reads[0]!, reads[2]!, ...writes.slice(0, -1)], refusal)
      await database.run('ALTER TABLE notes RENAME COLUMN other TO mark')
      await isUntouched(t, app)
    })

    await t.test('a missing table of receipts is 503 for requests with a key, and only for those', async (t) => {
      await database.run('ALTER TABLE notes_receipts RENAME TO elsewhere')
      await refusesAll(t, running, [writes[1]!], missing)
      await isUntouched(t, app)
      await database.run('ALTER TABLE elsewhere RENAME TO notes_receipts')
    })

    await t.test('a column without a default that belongs to no property is 503 for new items', async (t) => {
      if (name === 'sqlite') await database.run("ALTER TABLE notes ADD COLUMN extra TEXT NOT NULL DEFAULT ''")
      else await database.run("ALTER TABLE notes ADD COLUMN extra VARCHAR(5) NOT NULL DEFAULT ''")
      if (name === 'sqlite') {
        // SQLite cannot change a column.
        const [{ sql } = { sql: '' }] = await database.rows(
          "SELECT sql FROM sqlite_schema WHERE name = 'notes'"
        ) as Array<{ sql: string }>
        await database.run(
          'ALTER TABLE notes RENAME TO old',
          sql.replace(" DEFAULT ''", ''),
          'INSERT INTO notes SELECT * FROM old',
          'DROP TABLE old'
        )
      } else {
        await database.run('ALTER TABLE notes ALTER COLUMN extra DROP DEFAULT')
      }
      await refusesAll(t, running, writes.slice(0, 3), refusal)
      await isUntouched(t, app)
      await database.run('ALTER TABLE notes DROP COLUMN extra')
    })

    await t.test('a type that changes while statements are prepared does not fail requests', async (t) => {
      if (name === 'sqlite') return
      await database.run(`ALTER TABLE notes ${name === 'mysql' ? 'MODIFY mark' : 'ALTER COLUMN mark TYPE'} varchar(90)`)
      for (let count = 0; count < 3; count++) await isUntouched(t, app)
      const item = await request(app, 'GET /notes/a')
      t.equal(item.statusCode, 200, item.payload)
      const written = await request(app, 'POST /notes', { content: [{ id: 'e', text: 'e' }], fields: key() })
      t.equal(written.statusCode, 201, written.payload)
    })
  })

  test(`${name}: a required column of an existing table`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter({ version: { derived: true } })
    // Without a table, the app starts and logs that it could not be checked.
    const { app } = await createApp(t, storage)
    await database.run(
      'CREATE TABLE notes (id VARCHAR(50) NOT NULL PRIMARY KEY, text VARCHAR(50) NOT NULL, mark VARCHAR(50) NOT NULL)'
    )
    const refused = await request(app, 'POST /notes', { content: { id: 'a', text: 'a' } })
    t.equal(refused.statusCode, 422, refused.payload)
    t.match(refused.json(), { errors: [{ pointer: '/mark' }] })
    t.equal((await request(app, 'POST /notes', { content: { id: 'a', text: 'a', mark: 'm' } })).statusCode, 201)
    await isUntouched(t, app)
  })
}

const readOnly = { detail: details.readOnly, log: /is read-only, and refused a write/ }

test('sqlite: a read-only file', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'collections-read-only-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'app.db')
  const database = new DatabaseSync(file)
  t.teardown(() => database.close())
  const storage = sqlite(database)
  await storage.createTable(table)
  const { app } = await createApp(t, storage)
  await request(app, 'PUT /notes/a', seed)
  const other = new DatabaseSync(file, { readOnly: true })
  t.teardown(() => other.close())
  const running = await createApp(t, sqlite(other))
  await isUntouched(t, running.app)
  await refusesAll(t, running, writes, readOnly)
  await isUntouched(t, running.app)
})

test('postgres: a read-only primary', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const pool = server.pool()
  const storage = postgres(pool)
  await storage.createTable(table)
  const running = await createApp(t, storage)
  const { app } = running
  await request(app, 'PUT /notes/a', seed)
  await pool.query('ALTER SYSTEM SET default_transaction_read_only = on')
  await pool.query('SELECT pg_reload_conf()')
  await waitFor(async () => (await request(app, 'DELETE /notes/none')).statusCode === 503)
  await isUntouched(t, app)
  await refusesAll(t, running, writes, readOnly)
  await isUntouched(t, app)
  const operator = await server.pool({ options: '-c default_transaction_read_only=off' }).connect()
  await operator.query('ALTER SYSTEM RESET default_transaction_read_only')
  await operator.query('SELECT pg_reload_conf()')
  operator.release()
  await waitFor(async () => (await request(app, 'PUT /notes/a', seed)).statusCode === 200)
})

test('mysql: a server that accepts only reads', { skip: noMysql }, async (t) => {
  const { pool, name, end } = await mysqlPool()
  t.teardown(end)
  const storage = mysql(pool)
  await storage.createTable(table)
  const { app } = await createApp(t, storage)
  await request(app, 'PUT /notes/a', seed)
  // The variable read_only would apply to the whole server, which other tests use.
  const other = driver.createPool({ uri: String(process.env['MYSQL_URL']), database: name })
  other.on('connection', (connection) => connection.query('SET SESSION TRANSACTION READ ONLY'))
  t.teardown(() => other.end())
  const running = await createApp(t, mysql(other))
  await isUntouched(t, running.app)
  await refusesAll(t, running, writes, readOnly)
  await isUntouched(t, running.app)
})

test('postgres: a type that changes, with clients that cannot close a statement', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const storage = postgres(server.pool({ pipeline: true } as pg.PoolConfig))
  await storage.createTable(table)
  const { app } = await createApp(t, storage)
  await request(app, 'PUT /notes/a', seed)
  await isUntouched(t, app)
  await server.pool().query('ALTER TABLE notes ALTER COLUMN mark TYPE varchar(90)')
  for (let count = 0; count < 3; count++) await isUntouched(t, app)
  t.equal((await request(app, 'GET /notes/a')).statusCode, 200)
})

const exhausted = { detail: details.exhausted, log: /has no free connection/ }

/** What a client gets if the pool itself waits without a limit. */
const late = { detail: 'The request took longer than 300 ms. Nothing was changed.', log: /took longer/, code: 'timeout' }

test('postgres: an exhausted pool', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  await postgres(server.pool()).createTable(table)
  for (const limit of [{ connectionTimeoutMillis: 100 }, {}]) {
    const pool = server.pool({ max: 1, ...limit })
    const running = await createApp(t, postgres(pool), 'connectionTimeoutMillis' in limit ? 30_000 : 300)
    // The limit of the pool is also that for a new connection, which takes longer on a busy machine.
    await waitFor(async () => (await request(running.app, 'PUT /notes/a', seed)).statusCode < 300)
    const client = await pool.connect()
    await refusesAll(t, running, [...reads, ...writes], 'connectionTimeoutMillis' in limit ? exhausted : late)
    client.release()
    await isUntouched(t, running.app)
    t.equal(pool.waitingCount, 0, 'no request is left in the queue')
  }
  await server.pool().query('CREATE ROLE few LOGIN PASSWORD \'few\' CONNECTION LIMIT 0')
  const refused = await createApp(t, postgres(server.pool({ user: 'few', password: 'few' })))
  await refusesAll(t, refused, [...reads, ...writes], exhausted)
})

test('mysql: an exhausted pool', { skip: noMysql }, async (t) => {
  const { pool: first, name, end } = await mysqlPool()
  t.teardown(end)
  await mysql(first).createTable(table)
  const uri = String(process.env['MYSQL_URL'])
  for (const limit of [{ waitForConnections: false }, {}]) {
    const pool = driver.createPool({ uri, database: name, connectionLimit: 1, ...limit })
    t.teardown(() => pool.end())
    const running = await createApp(t, mysql(pool), 'waitForConnections' in limit ? 30_000 : 300)
    await request(running.app, 'PUT /notes/a', seed)
    const connection = await pool.getConnection()
    await refusesAll(t, running, [...reads, ...writes], 'waitForConnections' in limit ? exhausted : late)
    connection.release()
    await waitFor(async () => (await request(running.app, 'GET /notes')).statusCode === 200)
    await isUntouched(t, running.app)
  }
})

async function waitFor (holds: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 500; turn++) {
    if (await holds()) return
    await delay(20)
  }
  throw new Error('it did not come to that')
}

/** A socket to a host with two addresses, as localhost has on many machines. */
class TwoAddresses extends Socket {
  override connect (...target: unknown[]): this {
    const [port] = target
    const lookup: LookupFunction = (_host, _options, callback) => {
      callback(null, ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 })))
    }
    return super.connect({ port: Number(port), host: 'database.example', lookup, autoSelectFamily: true })
  }
}

test('a host without a server is in the log with all its addresses, and not in the response', async (t) => {
  const port = await freePort()
  const pool = new pg.Pool({ port, stream: () => new TwoAddresses() })
  t.teardown(() => pool.end())
  const { app, lines } = await createApp(t, postgres(pool))
  lines.length = 0
  const response = await request(app, 'GET /notes')
  t.equal(response.statusCode, 503)
  t.match(response.json(), { code: 'storage-unavailable', detail: /^The database of the server does not respond\./ })
  t.notMatch(response.payload, /ECONNREFUSED|127\.0/)
  const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => `connect ECONNREFUSED ${address}:${port}`).join(', ')
  t.match(lines, [{ err: { message: `postgres cannot be reached, or is too busy: ${addresses}` } }])
})
