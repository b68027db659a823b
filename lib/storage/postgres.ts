import { createHash } from 'node:crypto'
import { dialect } from './postgres/dialect.ts'
import { sql, type SqlAdapter, type SqlOptions } from './sql.ts'
import type { Connections } from './sql/connection.ts'
import type { Row, Value } from './sql/dialect.ts'
import { PooledSession } from './sql/pooled.ts'

/** As pg calls it. What stands in front of a pool may give a promise instead. */
type Callback<Value> = (error: Error | null | undefined, value: Value | undefined) => void

/** What is used of pg's `Pool`, which is also what @fastify/postgres decorates an app with. */
export interface PostgresPool {
  connect (callback: Callback<PostgresClient>): Promise<PostgresClient> | void
  on (event: 'error', listener: () => void): unknown
}

export interface PostgresClient {
  query (query: PostgresQuery, callback: Callback<PostgresResult>): Promise<PostgresResult> | void
  release (broken?: boolean): void
  on (event: 'error', listener: () => void): unknown
  removeListener (event: 'error', listener: () => void): unknown
  /** Of the server's process, by which a statement is cancelled. */
  readonly processID?: number | null
}

export interface PostgresResult {
  readonly rows: unknown[]
  readonly rowCount: number | null
}

export interface PostgresQuery {
  readonly text: string
  readonly values?: Value[]
  readonly name?: string
  readonly rowMode?: 'array'
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

const rowMode = 'array'

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
  const query = (text: string, values: readonly Value[]): PostgresQuery => {
    const name = named(text)
    return name === undefined ? { text, values: [...values], rowMode, types } : { name, text, values: [...values], rowMode, types }
  }
  return {
    connect: () => asked((callback) => pool.connect(callback), heard),
    release (client, broken) {
      client.removeListener('error', nothing)
      client.release(broken)
    },
    rows: (client, text, values) => answered(client, query(text, values), ({ rows }) => rows as Row[]), // as the mode says
    write: (client, text, values) => answered(client, query(text, values), ({ rowCount }) => ({ count: rowCount ?? 0, id: undefined })),
    execute: (client, text) => answered(client, { text }, nothing),
    cancel: (client, other) => answered(other, { text: 'SELECT pg_cancel_backend($1)', values: [Number(client.processID)] }, nothing),
    spoils: true
  }
}

/** Without a listener, a connection dropped between two statements would end the process. */
function heard (client: PostgresClient): PostgresClient {
  client.on('error', nothing)
  return client
}

function answered<Result> (client: PostgresClient, query: PostgresQuery, read: (result: PostgresResult) => Result): Promise<Result> {
  return asked((callback) => client.query(query, callback), read)
}

/** By callback: where pg is asked for a promise it makes several, and every statement would pay for them. */
function asked<Value, Result> (ask: (callback: Callback<Value>) => Promise<Value> | void, read: (value: Value) => Result): Promise<Result> {
  return new Promise((resolve, reject) => {
    // Without an error there is a value.
    const promised = ask((error, value) => error ? reject(error) : resolve(read(value!)))
    if (promised !== undefined) resolve(promised.then(read))
  })
}
