import { createHash, randomBytes } from 'node:crypto'
import { hasMethods } from '../bad-storage.ts'
import type { Row, Value } from '../sql/dialect.ts'
import type { Callback } from '../sql/pool-driver.ts'
import { PreparedStatements } from '../sql/prepared-statements.ts'
import type { Statement } from '../sql/session.ts'
import type { PostgresClient, PostgresQuery, PostgresResult } from './driver.ts'
import { isOutdated, isStalePlan, suspectTypes } from './outdated-types.ts'

/** What pg passes to `submit` of a query: https://node-postgres.com/apis/client#clientquery */
interface Connection {
  readonly stream: { cork (): void, uncork (): void }
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
  #name = ''

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
      const { names, prepared } = getStatementNames(connection)
      const name = this.#isNamed ? names.get(this.#statement) ?? '' : ''
      this.#name = name
      this.isNew = !prepared.has(name)
      if (this.isNew) connection.parse({ name, text })
      if (name !== '') prepared.add(name)
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
    if (this.#name !== '') {
      suspectTypes(error)
      if (isStalePlan(error)) knownChanges++
      // It is not known whether a new one was prepared. To close one that does not exist is no error.
      if (this.isNew || isOutdated(error)) closeStatement(this.#connection!, this.#name)
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
  /** Those that the connection has prepared. */
  readonly prepared: Set<string>
  /** The value of `knownChanges` when the first of them was prepared. */
  readonly knownChanges: number
}

const statementNames = new WeakMap<Connection, StatementNames>()

/** The names of the statements that stay prepared on a connection; displaced statements are closed. */
function getStatementNames (connection: Connection): StatementNames {
  const known = statementNames.get(connection)
  if (known?.knownChanges === knownChanges) return known
  for (const name of known?.prepared ?? []) closeStatement(connection, name)
  const names = new PreparedStatements(buildStatementName, (name) => closeStatement(connection, name))
  const current = { names, prepared: new Set<string>(), knownChanges }
  statementNames.set(connection, current)
  return current
}

function closeStatement (connection: Connection, name: string): void {
  connection.close({ type: 'S', name })
  statementNames.get(connection)?.prepared.delete(name)
}

/** Another copy of this library may use the same connections. */
const namePrefix = `collection_${randomBytes(6).toString('hex')}_`

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
  return pipeline !== true && hasMethods(connection, 'parse', 'bind', 'execute', 'close', 'sync')
}
