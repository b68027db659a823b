import { BadStorageError, describeValue, hasMethods } from './bad-storage.ts'
import { sendCancelRequest } from './postgres/cancel-request.ts'
import { dialect } from './postgres/dialect.ts'
import type { PostgresClient, PostgresPool, PostgresResult } from './postgres/driver.ts'
import { isOutdated, isStalePlan, suspectTypes } from './postgres/outdated-types.ts'
import { buildStatementName, canSubmitQueries, PositionalQuery } from './postgres/positional-query.ts'
import { failUnconfirmed, watchCommits } from './postgres/unconfirmed-commit.ts'
import { createSqlAdapter, type SqlAdapter, type SqlOptions } from './sql.ts'
import type { Row } from './sql/dialect.ts'
import { boolean, checkSqlOptions } from './sql/options.ts'
import { passToCallback, type Callback, type PoolDriver } from './sql/pool-driver.ts'
import { PooledSession } from './sql/pooled-session.ts'
import type { Statement } from './sql/session.ts'

export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from './postgres/driver.ts'
export type { ExistingVersion, SqlAdapter, SqlOptions, TableDefinition } from './sql.ts'

/** The options of `postgres()`. */
export interface PostgresOptions extends SqlOptions {
  /**
   * Whether statements stay prepared on their connection. Set it to false behind a pooler that changes the connection
   * after each transaction and does not support prepared statements. Otherwise the storage detects such a pooler by the
   * errors of the first statements, which it repeats.
   *
   * @default true
   * @example
   * postgres(pool, { preparedStatements: false })
   */
  readonly preparedStatements?: boolean
}

/**
 * Stores items in PostgreSQL 14 or newer, through an open pool of `pg`. The app closes it.
 *
 * @example
 * const storage = postgres(new pg.Pool({ connectionString: process.env.DATABASE_URL }))
 * const users = define({ name: 'users', schema: User, storage })
 * await storage.createTable(users)
 */
export function postgres (pool: PostgresPool, options: PostgresOptions = {}): SqlAdapter {
  checkPool(pool)
  checkSqlOptions('postgres', options, { preparedStatements: boolean })
  if (options.preparedStatements === false) poolsWithoutNames.add(pool)
  // Without a listener, an idle connection that the server closes would end the process; the pool replaces it.
  // One listener is enough for all collections.
  if (!poolsWithListener.has(pool)) pool.on('error', ignoreError)
  poolsWithListener.add(pool)
  return createSqlAdapter({ dialect, session: new PooledSession(createDriver(pool), dialect), key: pool }, options)
}

const usage = 'Pass an open pool, such as postgres(new pg.Pool({ connectionString })).'

/** Callers that do not use TypeScript can pass anything. */
function checkPool (given: unknown): void {
  if (hasMethods(given, 'connect') && 'pool' in given && hasMethods(given.pool, 'connect', 'on')) {
    throw new BadStorageError(
      'postgres() was given the decorator of @fastify/postgres. Pass its pool: postgres(app.pg.pool).'
    )
  }
  if (!hasMethods(given, 'connect', 'on')) {
    throw new BadStorageError(`postgres() was given ${describeValue(given)}. ${usage}`)
  }
  // A client of pg has connectionParameters, and one that was checked out of a pool has release().
  if ('connectionParameters' in given || hasMethods(given, 'release')) {
    throw new BadStorageError(`postgres() was given a single client, but requests run at the same time. ${usage}`)
  }
}

const ignoreError = () => {}

const poolsWithListener = new WeakSet<PostgresPool>()

/** The pools whose statements do not stay prepared. */
const poolsWithoutNames = new WeakSet<PostgresPool>()

/** The codes of a prepared statement that is missing, or exists already: the server is not the one that prepared it. */
const pooledErrors: ReadonlySet<unknown> = new Set(['26000', '42P05'])

/** The app may have set its own type parsers: here each value is read as the text that the server sent. */
const types = { getTypeParser: () => (text: string) => text }

const rowMode = 'array'

/** How many statements get a name if they cannot be closed again: each stays prepared in every connection. */
const maxNames = 150

function createDriver (pool: PostgresPool): PoolDriver<PostgresClient> {
  const names = new Map<string, string>()
  const getName = ({ text, recurring, isRepeated }: Statement): string => {
    if (poolsWithoutNames.has(pool) || isRepeated === true) return ''
    const known = names.get(text)
    if (known !== undefined) return known
    if (recurring !== true || names.size === maxNames) return ''
    const name = buildStatementName(text)
    names.set(text, name)
    return name
  }
  const runStatement = (client: PostgresClient, statement: Statement, callback: Callback<PostgresResult>): void => {
    const isNamed = !poolsWithoutNames.has(pool) && statement.isRepeated !== true
    const query = canSubmitQueries(client) ? new PositionalQuery(statement, isNamed) : undefined
    const onResult = failUnconfirmed<PostgresResult>(client, (error, result) => {
      if (result === undefined && pooledErrors.has(Object(error).code)) poolsWithoutNames.add(pool)
      // A new statement is stale if a pooler has kept the one of the same text. A wrapper around pg cannot close it.
      if (result === undefined && query?.isNew !== false && isStalePlan(error)) poolsWithoutNames.add(pool)
      callback(error, result)
    })
    if (query !== undefined) {
      client.query(query, onResult)
      return
    }
    const { text, values } = statement
    const name = getName(statement)
    const onNamedResult: Callback<PostgresResult> = (error, result) => {
      if (result === undefined && name !== '') suspectTypes(error)
      onResult(error, result)
    }
    handlePromise(client.query({ name, text, values, rowMode, types }, onNamedResult), onNamedResult)
  }
  return {
    abortsOnError: true,
    isOutdated,
    connect (callback) {
      const onConnect: Callback<PostgresClient> = (error, client) => {
        // Without a listener, a connection that is lost between two statements would end the process.
        client?.on('error', ignoreError)
        if (client !== undefined) watchCommits(client)
        callback(error, client)
      }
      handlePromise(pool.connect(onConnect), onConnect)
    },
    release (client, broken) {
      client.removeListener('error', ignoreError)
      client.release(broken)
    },
    rows (client, statement, callback) {
      // Rows are arrays in this row mode.
      runStatement(client, statement, (error, result) => callback(error, result?.rows as Row[] | undefined))
    },
    write (client, statement, callback) {
      runStatement(client, statement, (error, result) => {
        callback(error, result && { count: result.rowCount ?? 0, id: undefined })
      })
    },
    execute (client, text, callback) {
      const onResult = failUnconfirmed<PostgresResult>(client, (error, result) => {
        // PostgreSQL rolls back instead, without an error, if the app has ignored the failure of a statement.
        const isUndone = text === 'COMMIT' && result?.command === 'ROLLBACK'
        if (isUndone) callback(new Error('The transaction was rolled back: one of its statements has failed before.'))
        else callback(error, result)
      })
      handlePromise(client.query({ text }, onResult), onResult)
    },
    cancel (client, callback) {
      sendCancelRequest(pool, client, callback)
    }
  }
}

/** pg calls back; a wrapper around it may return a promise instead. */
function handlePromise<Value> (promise: Promise<Value> | void, callback: Callback<Value>): void {
  if (promise !== undefined) passToCallback(promise, callback)
}
