import { createHash } from 'node:crypto'
import { dialect } from './postgres/dialect.ts'
import { sql, type SqlAdapter, type SqlOptions } from './sql.ts'
import type { Connections } from './sql/connection.ts'
import type { Row, Value } from './sql/dialect.ts'
import { PooledSession } from './sql/pooled.ts'

/** What is used of pg's `Pool`, which is also what @fastify/postgres decorates an app with. */
export interface PostgresPool {
  connect (): Promise<PostgresClient>
  on (event: 'error', listener: () => void): unknown
}

export interface PostgresClient {
  query (query: PostgresQuery): Promise<{ readonly rows: unknown[], readonly rowCount: number | null }>
  release (broken?: boolean): void
  on (event: 'error', listener: () => void): unknown
  removeListener (event: 'error', listener: () => void): unknown
  /** Of the server's process, by which a statement is cancelled. */
  readonly processID?: number | null
}

export interface PostgresQuery {
  readonly text: string
  readonly values?: Value[]
  readonly name?: string
  readonly types?: { getTypeParser: () => (text: string) => string }
}

/** Keeps items in PostgreSQL 14 or newer, through an open pool. Who opened it closes it. */
export function postgres (pool: PostgresPool, options: SqlOptions = {}): SqlAdapter {
  // An idle connection that the server drops must not end the process; the pool replaces it by itself. One listener is enough for all collections.
  if (!listened.has(pool)) pool.on('error', nothing)
  listened.add(pool)
  return sql({ dialect, session: new PooledSession(connections(pool), dialect) }, options)
}

const nothing = () => {}

const listened = new WeakSet<PostgresPool>()

/** The app may have set its own parsers for types: here each value is read as the text the server sent. */
const types = { getTypeParser: () => (text: string) => text }

/** How many statements are prepared under a name: each stays in every connection for good. */
const namesKept = 200

function connections (pool: PostgresPool): Connections<PostgresClient> {
  const names = new Map<string, string>()
  const named = (text: string) => {
    const known = names.get(text)
    if (known !== undefined || names.size === namesKept) return known
    const name = `collection_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
    names.set(text, name)
    return name
  }
  const query = (client: PostgresClient, text: string, values: readonly Value[]) => {
    const name = named(text)
    return client.query(name === undefined ? { text, values: [...values], types } : { name, text, values: [...values], types })
  }
  return {
    async connect () {
      const client = await pool.connect()
      // Without a listener, a connection dropped between two statements would end the process.
      client.on('error', nothing)
      return client
    },
    release (client, broken) {
      client.removeListener('error', nothing)
      client.release(broken)
    },
    // Rows are objects by the names of the columns.
    rows: async (client, text, values) => (await query(client, text, values)).rows as Row[],
    write: async (client, text, values) => ({ count: (await query(client, text, values)).rowCount ?? 0, id: undefined }),
    execute: (client, text) => client.query({ text }),
    cancel: (client, other) => other.query({ text: 'SELECT pg_cancel_backend($1)', values: [Number(client.processID)] }),
    spoils: true
  }
}
