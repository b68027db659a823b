import { createHash } from 'node:crypto'
import type { Row, Value } from '../sql/dialect.ts'
import type { Callback } from '../sql/pool-driver.ts'
import { PreparedStatements } from '../sql/prepared-statements.ts'
import type { Statement } from '../sql/session.ts'
import type { PostgresClient, PostgresQuery, PostgresResult } from './driver.ts'
import { isOutdated, isStalePlan, suspectTypes } from './outdated-types.ts'

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
    if (this.name !== '') {
      suspectTypes(error)
      if (isStalePlan(error)) knownChanges++
      if (isOutdated(error)) closeStatement(this.#connection!, this.name)
    }
    this.callback!(error)
  }
}

/**
 * How often a statement has found out that a table was changed. Not all of them can, so then all statements of all
 * connections are prepared again.
 */
let knownChanges = 0

interface StatementNames {
  readonly names: PreparedStatements<string>
  /** The value of `knownChanges` when the first of them was prepared. */
  readonly knownChanges: number
}

const statementNames = new WeakMap<Connection, StatementNames>()

/** The names of the statements that stay prepared on a connection; displaced statements are closed. */
function getStatementNames (connection: Connection): PreparedStatements<string> {
  const known = statementNames.get(connection)
  if (known?.knownChanges === knownChanges) return known.names
  const prepared = Object.keys(connection.parsedStatements).filter((name) => name.startsWith(namePrefix))
  for (const name of prepared) closeStatement(connection, name)
  const names = new PreparedStatements(buildStatementName, (name) => closeStatement(connection, name))
  statementNames.set(connection, { names, knownChanges })
  return names
}

function closeStatement (connection: Connection, name: string): void {
  connection.close({ type: 'S', name })
  delete connection.parsedStatements[name]
}

const namePrefix = 'collection_'

/** Builds the name of a prepared statement: the same in every copy of this library that uses the connection. */
export function buildStatementName (text: string): string {
  return `${namePrefix}${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
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
