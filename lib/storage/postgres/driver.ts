import type { Value } from '../sql/dialect.ts'
import type { Callback } from '../sql/pool-driver.ts'

/**
 * What is used of pg's `Pool`, which @fastify/postgres provides as `app.pg.pool`. A wrapper around it may return
 * promises instead.
 */
export interface PostgresPool {
  /** Returns a connection. */
  connect (callback: Callback<PostgresClient>): Promise<PostgresClient> | void
  /** Listens to errors of idle connections. */
  on (event: 'error', listener: () => void): unknown
  /** Of pg's own pool. */
  readonly options?: object
}

/** What is used of a connection of pg. */
export interface PostgresClient {
  /** Runs a statement. */
  query (query: PostgresQuery, callback: Callback<PostgresResult>): Promise<PostgresResult> | void
  /** Returns the connection to the pool; a broken one is closed. */
  release (broken?: boolean): void
  /** Listens to errors of the connection. */
  on (event: 'error', listener: () => void): unknown
  /** Removes a listener. */
  removeListener (event: 'error', listener: () => void): unknown
  /** Identifies the session, to cancel its statement. */
  readonly processID?: number | null
  /** Proves to the server that the session may be cancelled. */
  readonly secretKey?: number | null
  /** Of pg's own client. */
  readonly connection?: unknown
  /** Whether statements are sent before earlier ones have ended. */
  readonly pipeline?: unknown
}

/** The result of a statement. */
export interface PostgresResult {
  /** The rows that were read. */
  readonly rows: unknown[]
  /** The number of rows that were read or written. */
  readonly rowCount: number | null
  /** What was done, such as `ROLLBACK`. */
  readonly command?: string
}

/** A statement. */
export interface PostgresQuery {
  /** The SQL, with `$1` for the first value. */
  readonly text: string
  /** The values of the parameters. */
  readonly values?: Value[]
  /** A statement with a name stays prepared. */
  readonly name?: string
  /** Rows are arrays instead of objects. */
  readonly rowMode?: 'array'
  /** Parses the values of rows. */
  readonly types?: { getTypeParser: () => (text: string) => string }
}
