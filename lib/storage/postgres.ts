import { BadStorage, describeValue, hasMethods } from './bad-storage.ts'
import { dialect } from './postgres/dialect.ts'
import type { PostgresClient, PostgresPool, PostgresResult } from './postgres/driver.ts'
import { nameOf, submits, Undescribed } from './postgres/undescribed.ts'
import { sql, type SqlAdapter, type SqlOptions } from './sql.ts'
import { relay, type Callback, type Connections } from './sql/connection.ts'
import type { Row } from './sql/dialect.ts'
import { PooledSession } from './sql/pooled.ts'
import type { Statement } from './sql/session.ts'

export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from './postgres/driver.ts'

/**
 * Stores items in PostgreSQL 14 or newer, through an open pool of `pg`. The app closes it.
 *
 * @example
 * const storage = postgres(new pg.Pool({ connectionString: process.env.DATABASE_URL }))
 * const users = define({ name: 'users', schema: User, storage })
 * await storage.createTable(users)
 */
export function postgres (pool: PostgresPool, options: SqlOptions = {}): SqlAdapter {
  checkPool(pool)
  // An idle connection that the server drops must not end the process; the pool replaces it by itself. One listener is enough for all collections.
  if (!listened.has(pool)) pool.on('error', nothing)
  listened.add(pool)
  return sql({ dialect, session: new PooledSession(connections(pool), dialect) }, options)
}

const usage = 'Pass an open pool, such as postgres(new pg.Pool({ connectionString })).'

/** Callers without a compiler can pass anything. */
function checkPool (given: unknown): void {
  if (hasMethods(given, 'connect') && 'pool' in given && hasMethods(given.pool, 'connect', 'on')) {
    throw new BadStorage('postgres() was given what @fastify/postgres adds to an app. Pass its pool: postgres(app.pg.pool).')
  }
  if (!hasMethods(given, 'connect', 'on')) throw new BadStorage(`postgres() was given ${describeValue(given)}. ${usage}`)
  // Clients of pg have parameters of their own, and one that a pool has lent can be released.
  if ('connectionParameters' in given || hasMethods(given, 'release')) {
    throw new BadStorage(`postgres() was given a single client, but requests run at the same time. ${usage}`)
  }
}

const nothing = () => {}

const listened = new WeakSet<PostgresPool>()

/** The app may have set its own parsers for types: here each value is read as the text the server sent. */
const types = { getTypeParser: () => (text: string) => text }

const rowMode = 'array'

/** How many statements get a name where they cannot be closed again: each stays prepared in every connection. */
const mostNames = 150

function connections (pool: PostgresPool): Connections<PostgresClient> {
  const names = new Map<string, string>()
  const getName = ({ text, recurring }: Statement): string => {
    const known = names.get(text)
    if (known !== undefined) return known
    if (recurring !== true || names.size === mostNames) return ''
    const name = nameOf(text)
    names.set(text, name)
    return name
  }
  const ask = (client: PostgresClient, statement: Statement, callback: Callback<PostgresResult>): void => {
    const { text, values } = statement
    if (submits(client)) client.query(new Undescribed(statement), callback)
    else heeded(client.query({ name: getName(statement), text, values, rowMode, types }, callback), callback)
  }
  return {
    connect (callback) {
      const heard: Callback<PostgresClient> = (error, client) => {
        // Without a listener, a connection dropped between two statements would end the process.
        client?.on('error', nothing)
        callback(error, client)
      }
      heeded(pool.connect(heard), heard)
    },
    release (client, broken) {
      client.removeListener('error', nothing)
      client.release(broken)
    },
    rows: (client, statement, callback) => ask(client, statement, (error, result) => callback(error, result?.rows as Row[] | undefined)), // as the mode says
    write: (client, statement, callback) => ask(client, statement, (error, result) => callback(error, result && { count: result.rowCount ?? 0, id: undefined })),
    execute: (client, text, callback) => heeded(client.query({ text }, callback), callback),
    cancel: (client, other, callback) => heeded(other.query({ text: 'SELECT pg_cancel_backend($1)', values: [Number(client.processID)] }, callback), callback),
    spoils: true
  }
}

/** pg calls back; what stands in front of it may give a promise instead. */
function heeded<Value> (given: Promise<Value> | void, callback: Callback<Value>): void {
  if (given !== undefined) relay(given, callback)
}
