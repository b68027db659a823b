import type { Context } from '../contract.ts'
import type { Row, Value } from './dialect.ts'

export interface Statement {
  readonly text: string
  /** As the driver gets them. */
  readonly values: Value[]
  /** Whose signal ends the waiting. */
  readonly context: Pick<Context, 'signal'>
  /** Whether it writes although it answers rows. */
  readonly writes?: boolean
  /** Whether the database itself makes values of the row that a write answers, so that they may be beyond 2^53. */
  readonly unbounded?: boolean
  /** Whether its text is made of the schema and of the app's scope alone, so that it stays prepared whatever clients send. */
  readonly recurring?: boolean
  /** For conditions that the database cannot test: its rows are read one by one, and only those that pass are answered. */
  readonly check?: RowCheck
}

export interface RowCheck {
  readonly passes: (row: Row) => boolean
  /** Reading ends with so many rows. */
  readonly limit: number
}

export interface Written {
  /** How many rows met the conditions. */
  readonly count: number
  /** The key that the database made, where it tells it so. */
  readonly id: number | undefined
}

/** What runs statements: a database or pool, or within a transaction one connection. */
export interface Session {
  /** For what answers rows: SELECT, and writes with RETURNING. */
  rows (statement: Statement): Promise<readonly Row[]>
  write (statement: Statement): Promise<Written>
  /** Within a transaction the same transaction goes on. */
  transaction<Result> (work: (session: Session) => Promise<Result>): Promise<Result>
  /** A transaction in which nobody else writes the table. It is begun again where the database has undone it. */
  exclusive<Result> (table: string, work: (session: Session) => Promise<Result>): Promise<Result>
  /** A write that fails in here leaves the session as it was before it. */
  guarded<Result> (write: () => Promise<Result>): Promise<Result>
  /** Statements without parameters or rows. */
  execute (text: string): Promise<void>
}
