import { createHash } from 'node:crypto'
import type { Row, Value } from '../sql/dialect.ts'
import { readErrorText } from '../sql/driver-error.ts'
import type { Callback } from '../sql/pool-driver.ts'
import { PreparedStatements } from '../sql/prepared-statements.ts'
import type { Statement } from '../sql/session.ts'
import type { PostgresClient, PostgresQuery, PostgresResult } from './driver.ts'

/** What pg passes to `submit` of a query: https://node-postgres.com/apis/client#clientquery */
interface Connection {
  readonly stream: { cork (): void, uncork (): void }
  /** The texts that this connection has prepared, by name. */
  readonly parsedStatements: Record<string, string>
  parse (statement: { name: string, text: string }): void
  bind (portal: { statement: string, values: ReadonlyArray<string | null> }): void
  execute (portal: { portal: string }): void
  close (closed: { type: 'S', name: string }): void
  sync (): void
}

/**
 * A query whose rows are known by their order. pg's own queries ask the server for a description of the columns each
 * time, which is not needed here: a GET took a fifth longer.
 */
export class PositionalQuery implements PostgresQuery, PostgresResult {
  /** pg reads it when the statement is prepared. */
  name = ''
  readonly text: string
  readonly values: Value[]
  readonly rows: Row[] = []
  rowCount = 0
  /** Whether the statement was prepared for this query, and not before. */
  isNew = false
  callback: Callback<PostgresResult> | undefined
  readonly #statement: Statement
  readonly #isNamed: boolean
  #connection: Connection | undefined

  /** Without a name, it does not stay prepared. */
  constructor (statement: Statement, isNamed: boolean) {
    this.#statement = statement
    this.#isNamed = isNamed
    this.text = statement.text
    this.values = statement.values
  }

  submit (connection: Connection): void {
    const { text, values } = this
    this.#connection = connection
    // Sends all messages at once.
    connection.stream.cork()
    try {
      const name = this.#isNamed ? getStatementNames(connection).get(this.#statement) ?? '' : ''
      this.name = name
      this.isNew = connection.parsedStatements[name] === undefined
      if (this.isNew) connection.parse({ name, text })
      connection.bind({ statement: name, values: values.map(toText) })
      connection.execute({ portal: '' })
      connection.sync()
    } finally {
      connection.stream.uncork()
    }
  }

  handleDataRow ({ fields }: { fields: Row }): void {
    this.rows.push(fields)
  }

  handleCommandComplete ({ text }: { text: string }): void {
    this.rowCount = Number(text.slice(text.lastIndexOf(' ') + 1))
  }

  handleReadyForQuery (): void {
    this.callback!(undefined, this)
  }

  handleError (error: unknown): void {
    if (this.name !== '' && isStalePlan(error)) closeStatement(this.#connection!, this.name)
    this.callback!(error)
  }
}

const statementNames = new WeakMap<Connection, PreparedStatements<string>>()

/** The names of the statements that stay prepared on a connection; displaced statements are closed. */
function getStatementNames (connection: Connection): PreparedStatements<string> {
  const known = statementNames.get(connection)
  if (known !== undefined) return known
  const names = new PreparedStatements(buildStatementName, (name) => closeStatement(connection, name))
  statementNames.set(connection, names)
  return names
}

function closeStatement (connection: Connection, name: string): void {
  connection.close({ type: 'S', name })
  delete connection.parsedStatements[name]
}

/** Whether the type of a column has changed since the statement was prepared. It has to be prepared again. */
export function isStalePlan (error: unknown): boolean {
  return readErrorText(error, 'code') === '0A000' && readErrorText(error, 'routine') === 'RevalidateCachedQuery'
}

/** Builds the name of a prepared statement: the same in every copy of this library that uses the connection. */
export function buildStatementName (text: string): string {
  return `collection_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}

function toText (value: Value): string | null {
  return value === null ? null : String(value)
}

/**
 * Whether a client passes its connection to queries that implement `submit`. Wrappers around pg do not, nor does libpq,
 * nor a client in pipeline mode.
 */
export function canSubmitQueries ({ connection, pipeline }: PostgresClient): boolean {
  if (typeof connection !== 'object' || connection === null) return false
  return 'parsedStatements' in connection && pipeline !== true
}
