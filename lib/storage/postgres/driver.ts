import type { Value } from '../sql/dialect.ts'
import type { Callback } from '../sql/pool-driver.ts'

/**
 * What is used of pg's `Pool`, which @fastify/postgres provides as `app.pg.pool`. A wrapper around it may return
 * promises instead.
 */
export interface PostgresPool {
  connect (callback: Callback<PostgresClient>): Promise<PostgresClient> | void
  on (event: 'error', listener: () => void): unknown
  /** Of pg's own pool. */
  readonly options?: object
}

export interface PostgresClient {
  query (query: PostgresQuery, callback: Callback<PostgresResult>): Promise<PostgresResult> | void
  release (broken?: boolean): void
  on (event: 'error', listener: () => void): unknown
  removeListener (event: 'error', listener: () => void): unknown
  /** Identify the session, to cancel its statement. */
  readonly processID?: number | null
  readonly secretKey?: number | null
  /** Of pg's own client. */
  readonly connection?: unknown
  readonly pipeline?: unknown
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
