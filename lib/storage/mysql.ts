import { dialect } from './mysql/dialect.ts'
import { sql, type SqlAdapter, type SqlOptions } from './sql.ts'
import type { Connections } from './sql/connection.ts'
import type { Row, Value } from './sql/dialect.ts'
import { PooledSession } from './sql/pooled.ts'

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
  return sql({ dialect, session: new PooledSession(connections(pool), dialect) }, options)
}

const query = (sql: string, values: readonly Value[]) => ({ sql, values: [...values], rowsAsArray: true })

function connections (pool: MysqlPool): Connections<MysqlConnection> {
  return {
    connect: () => pool.getConnection(),
    release: (client, broken) => broken ? client.destroy() : client.release(),
    // The first of what a statement gives: rows for a SELECT, else what was done.
    rows: async (client, text, values) => (await client.execute(query(text, values)))[0] as Row[],
    async write (client, text, values) {
      const [done] = await client.execute(query(text, values))
      const { affectedRows, insertId } = done as { affectedRows: number, insertId: number | string }
      return { count: affectedRows, id: Number(insertId) }
    },
    execute: (client, text) => client.query(text),
    cancel: (client, other) => other.query('KILL QUERY ?', [client.threadId]),
    spoils: false
  }
}
