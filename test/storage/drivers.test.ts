import { DatabaseSync } from 'node:sqlite'
import callbacks from 'mysql2'
import promises from 'mysql2/promise'
import pg from 'pg'
import { test } from 'tap'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { noMysql } from './databases.ts'

// A driver that a storage cannot use is refused where it is passed, and the message says what to pass.

type Mistakes = ReadonlyArray<readonly [what: string, given: unknown, message: RegExp]>

const code = 'FST_COLLECTION_BAD_STORAGE'

test('sqlite() requires an open database', async (t) => {
  const open = new DatabaseSync(':memory:')
  const closed = new DatabaseSync(':memory:')
  closed.close()
  const mistakes: Mistakes = [
    [
      'nothing',
      undefined,
      /was given undefined\. Pass an open database, such as sqlite\(new DatabaseSync\('app\.db'\)\)/
    ],
    ['null', null, /was given null/],
    ['a path', 'app.db', /was given a string/],
    ['the class', DatabaseSync, /was given the function DatabaseSync/],
    ['options', { path: 'app.db' }, /was given an object\./],
    ['a promise', Promise.resolve(open), /was given a promise/],
    ['a pool of another database', new pg.Pool(), /was given an object of the class \w*Pool/],
    ['a closed database', closed, /a database that is closed/],
    ['a closed database of better-sqlite3', { open: false, exec () {}, prepare () {} }, /a database that is closed/],
    ['a driver that calls back', { exec () {}, prepare: () => ({ all () {}, run () {} }) }, /cannot return rows as arrays/]
  ]
  for (const [what, given, message] of mistakes) t.throws(() => sqlite(given as never), { code, message }, what)
  t.doesNotThrow(() => sqlite(open))
  t.doesNotThrow(() =>
    sqlite({
      open: true,
      exec () {},
      prepare: () => ({ raw () {}, all: () => [], run: () => ({ changes: 0 }) })
    } as never)
  )
  open.close()
})

test('postgres() requires a pool', async (t) => {
  const pool = new pg.Pool()
  const client = new pg.Client()
  const mistakes: Mistakes = [
    ['nothing', undefined, /was given undefined\. Pass an open pool, such as postgres\(new pg\.Pool/],
    ['a URL', 'postgres://user:secret@127.0.0.1/app', /was given a string/],
    ['options', { connectionString: 'postgres://127.0.0.1/app' }, /was given an object\./],
    ['the class', pg.Pool, /was given the function \w*Pool/],
    ['the driver', pg, /was given an object of the class PG|was given an object/],
    ['a client', client, /a single client, but requests run at the same time/],
    ['a client of a pool', { connect () {}, on () {}, release () {} }, /a single client/],
    [
      'app.pg of @fastify/postgres',
      { pool, connect: pool.connect.bind(pool), query: pool.query.bind(pool), Client: pg.Client, async transact () {} },
      /Pass its pool: postgres\(app\.pg\.pool\)/
    ]
  ]
  for (const [what, given, message] of mistakes) {
    t.throws(() => postgres(given as never), { code, message }, what)
    t.throws(() => postgres(given as never), { message: /^(?!.*secret)/ }, `${what}: no password in the message`)
  }
  t.equal(client.listenerCount('error'), 0)
  t.doesNotThrow(() => postgres(pool))
  await pool.end()
})

test('mysql() requires a pool with promises', { skip: noMysql }, async (t) => {
  const uri = process.env.MYSQL_URL!
  const pool = promises.createPool({ uri })
  const calling = callbacks.createPool({ uri })
  const connection = await promises.createConnection({ uri })
  const lent = await pool.getConnection()
  /** As @fastify/mysql decorates an app. */
  const decorate = (inner: typeof pool | typeof calling) => ({
    pool: inner,
    query () {},
    execute () {},
    getConnection: () => inner.getConnection(() => {})
  })
  const mistakes: Mistakes = [
    ['nothing', undefined, /was given undefined\. Pass an open pool of mysql2\/promise/],
    ['a URL', uri, /was given a string/],
    ['options', { uri }, /was given an object\./],
    ['the driver', promises, /was given an object/],
    ['a pool of mysql2', calling, /a pool with callbacks\. .*mysql2\/promise.*promise: true/],
    ['a pool of mysql', { getConnection () {}, acquireConnection () {} }, /a pool with callbacks/],
    ['app.mysql of @fastify/mysql', decorate(calling), /a pool with callbacks/],
    ['a connection', connection, /a single connection/],
    ['a connection that a pool has lent', lent, /a single connection/]
  ]
  for (const [what, given, message] of mistakes) t.throws(() => mysql(given as never), { code, message }, what)
  t.doesNotThrow(() => mysql(pool))
  t.doesNotThrow(() => mysql(decorate(pool) as never), 'app.mysql of @fastify/mysql with promise: true')
  lent.release()
  await connection.end()
  await pool.end()
  await calling.promise().end()
})
