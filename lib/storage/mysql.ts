import { BadStorage, describeValue, hasMethods } from './bad-storage.ts'
import { dialect } from './mysql/dialect.ts'
import { sql, type SqlAdapter, type SqlOptions } from './sql.ts'
import { relay, type Connections } from './sql/connection.ts'
import type { Row, Value } from './sql/dialect.ts'
import { PooledSession } from './sql/pooled.ts'
import type { Statement } from './sql/session.ts'

/** What is used of the pool of mysql2/promise, which is also what @fastify/mysql gives with `promise: true`. */
export interface MysqlPool {
  getConnection (): Promise<MysqlConnection>
}

export interface MysqlConnection {
  execute (query: { sql: string, values: Value[], rowsAsArray: boolean }): Promise<[unknown, unknown]>
  query (text: string, values?: Value[]): Promise<[unknown, unknown]>
  release (): void
  destroy (): void
  /** Of the server, by which a statement is cancelled. */
  readonly threadId: number
}

/** Keeps items in MariaDB 10.6 or MySQL 8.0.21, or newer, through an open pool. Who opened it closes it. */
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

const query = ({ text, values }: Statement) => ({ sql: text, values, rowsAsArray: true })

function connections (pool: MysqlPool): Connections<MysqlConnection> {
  return {
    connect: (callback) => relay(pool.getConnection(), callback),
    release: (client, broken) => broken ? client.destroy() : client.release(),
    // The first of what a statement gives: rows for a SELECT, else what was done.
    rows: (client, statement, callback) => relay(client.execute(query(statement)).then(([rows]) => rows as Row[]), callback),
    write: (client, statement, callback) => relay(client.execute(query(statement)).then(([done]) => {
      const { affectedRows, insertId } = done as { affectedRows: number, insertId: number | string }
      return { count: affectedRows, id: Number(insertId) }
    }), callback),
    execute: (client, text, callback) => relay(client.query(text).then(() => true), callback),
    cancel: (client, other, callback) => relay(other.query('KILL QUERY ?', [client.threadId]).then(() => true), callback),
    spoils: false
  }
}
