import { createHash } from 'node:crypto'
import type { Callback } from '../sql/connection.ts'
import type { Row, Value } from '../sql/dialect.ts'
import { PreparedStatements } from '../sql/prepared-statements.ts'
import type { Statement } from '../sql/session.ts'
import type { PostgresClient, PostgresQuery, PostgresResult } from './driver.ts'

/** What pg hands to a query that is submitted by itself: https://node-postgres.com/apis/client#clientquery */
interface Connection {
  readonly stream: { cork (): void, uncork (): void }
  /** By name, the texts that this connection has prepared. */
  readonly parsedStatements: Record<string, string>
  parse (statement: { name: string, text: string }): void
  bind (portal: { statement: string, values: ReadonlyArray<string | null> }): void
  execute (portal: { portal: string }): void
  close (closed: { type: 'S', name: string }): void
  sync (): void
}

/**
 * A statement whose rows are known by their order. pg's own queries have the server describe them each time anew, and make of that
 * what nobody looks at here: a GET took a fifth longer.
 */
export class Undescribed implements PostgresQuery, PostgresResult {
  /** Read by pg once the statement is prepared. */
  name = ''
  readonly text: string
  readonly values: Value[]
  readonly rows: Row[] = []
  rowCount = 0
  callback: Callback<PostgresResult> | undefined
  readonly #statement: Statement

  constructor (statement: Statement) {
    this.#statement = statement
    this.text = statement.text
    this.values = statement.values
  }

  submit (connection: Connection): void {
    const { text, values } = this
    // So that all of it goes out at once.
    connection.stream.cork()
    try {
      const name = namesOn(connection).get(this.#statement) ?? ''
      this.name = name
      if (connection.parsedStatements[name] === undefined) connection.parse({ name, text })
      connection.bind({ statement: name, values: values.map(asText) })
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
    this.callback!(error)
  }
}

const named = new WeakMap<Connection, PreparedStatements<string>>()

/** The names of the statements that stay prepared on a connection; those that are displaced are closed. */
function namesOn (connection: Connection): PreparedStatements<string> {
  const known = named.get(connection)
  if (known !== undefined) return known
  const names = new PreparedStatements(nameOf, (name) => {
    connection.close({ type: 'S', name })
    delete connection.parsedStatements[name]
  })
  named.set(connection, names)
  return names
}

/** The same text has the same name in every copy of this library that uses the connection. */
export function nameOf (text: string): string {
  return `collection_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}

function asText (value: Value): string | null {
  return value === null ? null : String(value)
}

/** Whether a client hands its connection to queries of another's making. What stands in front of pg does not, nor libpq, nor one that sends queries ahead of the answers. */
export function submits ({ connection, pipeline }: PostgresClient): boolean {
  return typeof connection === 'object' && connection !== null && 'parsedStatements' in connection && pipeline !== true
}
