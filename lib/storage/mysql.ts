import { BadStorageError, describeValue, hasMethods } from './bad-storage.ts'
import { dialect } from './mysql/dialect.ts'
import { identifySession, killQuery } from './mysql/kill-query.ts'
import { createSqlAdapter, type SqlAdapter, type SqlOptions } from './sql.ts'
import type { Row, Value } from './sql/dialect.ts'
import { checkSqlOptions } from './sql/options.ts'
import { passToCallback, type PoolDriver } from './sql/pool-driver.ts'
import { PooledSession } from './sql/pooled-session.ts'
import { PreparedStatements } from './sql/prepared-statements.ts'
import type { Statement, WriteResult } from './sql/session.ts'

export type { ExistingVersion, SqlAdapter, SqlOptions, TableDefinition } from './sql.ts'

/** What is used of the pool of mysql2/promise, which @fastify/mysql provides with `promise: true`. */
export interface MysqlPool {
  /** Returns a connection. */
  getConnection (): Promise<MysqlConnection>
}

/** What is used of a connection of mysql2/promise. */
export interface MysqlConnection {
  /** Runs a prepared statement. */
  execute (query: { sql: string, values: Value[], rowsAsArray: boolean }): Promise<[unknown, unknown]>
  /** Runs a statement without parameters. */
  query (text: string): Promise<[unknown, unknown]>
  /** Closes a statement that `execute` has prepared. */
  unprepare? (query: { sql: string, rowsAsArray: boolean }): unknown
  /** The connection of the driver: a pool may wrap it in another object each time. */
  readonly connection?: object
  /** Returns the connection to the pool. */
  release (): void
  /** Closes the connection. */
  destroy (): void
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
  checkSqlOptions('mysql', options)
  return createSqlAdapter({ dialect, session: new PooledSession(createDriver(pool), dialect), key: pool }, options)
}

const usage = 'Pass an open pool of mysql2/promise, such as mysql(createPool(uri)).'

/** Callers that do not use TypeScript can pass anything. */
function checkPool (given: unknown): void {
  if (!hasMethods(given, 'getConnection')) {
    const what = hasMethods(given, 'query', 'execute')
      ? 'a single connection, but requests run at the same time'
      : describeValue(given)
    throw new BadStorageError(`mysql() was given ${what}. ${usage}`)
  }
  if (isCallbackPool(given)) {
    throw new BadStorageError(
      `mysql() was given a pool with callbacks. ${usage} With @fastify/mysql, register it with promise: true.`
    )
  }
}

/**
 * A pool of mysql2 has `promise()` and one of mysql `acquireConnection()`. @fastify/mysql has either as `pool`, and so
 * has a pool of mysql2/promise.
 */
function isCallbackPool (given: object): boolean {
  const inner = 'pool' in given && !('Promise' in given) ? given.pool : undefined
  return [given, inner].some((pool) => hasMethods(pool, 'promise') || hasMethods(pool, 'acquireConnection'))
}

/**
 * Prepares and executes a statement. The driver itself would keep all of them prepared, while the server has one limit
 * for all applications (`max_prepared_stmt_count`).
 */
async function runStatement (client: MysqlConnection, statement: Statement): Promise<unknown> {
  const { text, values } = statement
  const staysPrepared = getPreparedStatements(client).get(statement) !== undefined
  try {
    // The first element is the rows of a SELECT, or the result of a write.
    return (await client.execute({ sql: text, values, rowsAsArray: true }))[0]
  } finally {
    if (!staysPrepared) closeStatement(client, text)
  }
}

const prepared = new WeakMap<object, PreparedStatements<string>>()

function getPreparedStatements (client: MysqlConnection): PreparedStatements<string> {
  const connection = client.connection ?? client
  const known = prepared.get(connection)
  if (known !== undefined) return known
  const statements = new PreparedStatements((text) => text, (text) => closeStatement(client, text))
  prepared.set(connection, statements)
  return statements
}

function closeStatement (client: MysqlConnection, text: string): void {
  try {
    client.unprepare?.({ sql: text, rowsAsArray: true })
  } catch {
    // The connection is lost, and its statements with it.
  }
}

function createDriver (pool: MysqlPool): PoolDriver<MysqlConnection> {
  return {
    abortsOnError: false,
    // The server prepares statements again itself.
    isOutdated: () => false,
    connect (callback) {
      passToCallback(pool.getConnection(), (error, client) => {
        if (client === undefined) return callback(error)
        identifySession(client)
        callback(undefined, client)
      })
    },
    release (client, broken) {
      if (broken) client.destroy()
      else client.release()
    },
    rows (client, statement, callback) {
      passToCallback(runStatement(client, statement) as Promise<Row[]>, callback)
    },
    write (client, statement, callback) {
      passToCallback(runStatement(client, statement).then(toWriteResult), callback)
    },
    execute (client, text, callback) {
      passToCallback(client.query(text).then(() => true), callback)
    },
    cancel (client, callback) {
      passToCallback(killQuery(client), callback)
    }
  }
}

function toWriteResult (result: unknown): WriteResult {
  const { affectedRows, insertId } = result as { affectedRows: number, insertId: number | string }
  return { count: affectedRows, id: Number(insertId) }
}
