import type { Callback } from '../sql/connection.ts'
import type { Row, Value } from '../sql/dialect.ts'
import type { Statement } from '../sql/session.ts'
import type { PostgresClient, PostgresQuery, PostgresResult } from './driver.ts'

/** What pg hands to a query that is submitted by itself: https://node-postgres.com/apis/client#clientquery */
interface Connection {
  readonly stream: { cork (): void, uncork (): void }
  /** By name, the texts that this connection has prepared. */
  readonly parsedStatements: Readonly<Record<string, string>>
  parse (statement: { name: string, text: string }): void
  bind (portal: { statement: string, values: ReadonlyArray<string | null> }): void
  execute (portal: { portal: string }): void
  sync (): void
}

/**
 * A statement whose rows are known by their order. pg's own queries have the server describe them each time anew, and make of that
 * what nobody looks at here: a GET took a fifth longer.
 */
export class Undescribed implements PostgresQuery, PostgresResult {
  readonly name: string
  readonly text: string
  readonly values: Value[]
  readonly rows: Row[] = []
  rowCount = 0
  callback: Callback<PostgresResult> | undefined

  constructor (name: string, { text, values }: Statement) {
    this.name = name
    this.text = text
    this.values = values
  }

  submit (connection: Connection): void {
    const { name, text, values } = this
    // So that all of it goes out at once.
    connection.stream.cork()
    try {
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

function asText (value: Value): string | null {
  return value === null ? null : String(value)
}

/** Whether a client hands its connection to queries of another's making. What stands in front of pg does not, nor libpq, nor one that sends queries ahead of the answers. */
export function submits ({ connection, pipeline }: PostgresClient): boolean {
  return typeof connection === 'object' && connection !== null && 'parsedStatements' in connection && pipeline !== true
}
