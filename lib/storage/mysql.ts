import { BadStorage, describeValue, hasMethods } from './bad-storage.ts'
import { dialect } from './mysql/dialect.ts'
import { sql, type SqlAdapter, type SqlOptions } from './sql.ts'
import { relay, type Connections } from './sql/connection.ts'
import type { Row, Value } from './sql/dialect.ts'
import { PooledSession } from './sql/pooled.ts'
import { PreparedStatements } from './sql/prepared-statements.ts'
import type { Statement } from './sql/session.ts'

/** What is used of the pool of mysql2/promise, which is also what @fastify/mysql gives with `promise: true`. */
export interface MysqlPool {
  getConnection (): Promise<MysqlConnection>
}

export interface MysqlConnection {
  execute (query: { sql: string, values: Value[], rowsAsArray: boolean }): Promise<[unknown, unknown]>
  query (text: string, values?: Value[]): Promise<[unknown, unknown]>
  /** Closes a statement that `execute` has prepared. */
  unprepare? (query: { sql: string, rowsAsArray: boolean }): unknown
  /** Of the driver itself: a pool may put it into another object each time. */
  readonly connection?: object
  release (): void
  destroy (): void
  /** Of the server, by which a statement is cancelled. */
  readonly threadId: number
}

/**
 * Stores items in MariaDB 10.6 or MySQL 8.0.21, or newer, through an open pool of `mysql2`. The app closes it.
 *
 * @example
 * const storage = mysql(createPool({ uri: process.env.DATABASE_URL }))
 * const users = define({ name: 'users', schema: User, storage })
 * await storage.createTable(users)
 */
export function mysql (pool: MysqlPool, options: SqlOptions = {}): SqlAdapter {
  checkPool(pool)
  return sql({ dialect, session: new PooledSession(connections(pool), dialect) }, options)
}

const usage = 'Pass an open pool of mysql2/promise, such as mysql(createPool(uri)).'

/** Callers without a compiler can pass anything. */
function checkPool (given: unknown): void {
  if (!hasMethods(given, 'getConnection')) {
    const single = hasMethods(given, 'query', 'execute') ? 'a single connection, but requests run at the same time' : describeValue(given)
    throw new BadStorage(`mysql() was given ${single}. ${usage}`)
  }
  if (callsBack(given)) {
    throw new BadStorage(`mysql() was given a pool that calls back. ${usage} With @fastify/mysql, register it with promise: true.`)
  }
}

/** A pool of mysql2 has `promise()` and one of mysql `acquireConnection()`; @fastify/mysql has either as `pool`, as has a pool of mysql2/promise. */
function callsBack (given: object): boolean {
  const inner = 'pool' in given && !('Promise' in given) ? given.pool : undefined
  return [given, inner].some((pool) => hasMethods(pool, 'promise') || hasMethods(pool, 'acquireConnection'))
}

/**
 * Prepares and executes a statement. By itself the driver would keep all of them prepared, while the server has one
 * limit for all applications (`max_prepared_stmt_count`).
 */
async function execute (client: MysqlConnection, statement: Statement): Promise<unknown> {
  const { text, values } = statement
  const staysPrepared = statementsOn(client).get(statement) !== undefined
  try {
    // The first of what a statement gives: rows for a SELECT, else what was done.
    return (await client.execute({ sql: text, values, rowsAsArray: true }))[0]
  } finally {
    if (!staysPrepared) close(client, text)
  }
}

const prepared = new WeakMap<object, PreparedStatements<string>>()

function statementsOn (client: MysqlConnection): PreparedStatements<string> {
  const connection = client.connection ?? client
  const known = prepared.get(connection)
  if (known !== undefined) return known
  const statements = new PreparedStatements((text) => text, (text) => close(client, text))
  prepared.set(connection, statements)
  return statements
}

function close (client: MysqlConnection, text: string): void {
  try {
    client.unprepare?.({ sql: text, rowsAsArray: true })
  } catch {
    // The connection is lost, and its statements with it.
  }
}

function connections (pool: MysqlPool): Connections<MysqlConnection> {
  return {
    connect: (callback) => relay(pool.getConnection(), callback),
    release: (client, broken) => broken ? client.destroy() : client.release(),
    rows: (client, statement, callback) => relay(execute(client, statement) as Promise<Row[]>, callback),
    write: (client, statement, callback) => relay(execute(client, statement).then((done) => {
      const { affectedRows, insertId } = done as { affectedRows: number, insertId: number | string }
      return { count: affectedRows, id: Number(insertId) }
    }), callback),
    execute: (client, text, callback) => relay(client.query(text).then(() => true), callback),
    cancel: (client, other, callback) => relay(other.query('KILL QUERY ?', [client.threadId]).then(() => true), callback),
    spoils: false
  }
}
