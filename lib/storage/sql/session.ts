import type { Context } from '../contract.ts'
import type { Row, Value } from './dialect.ts'

/** What a statement needs of the context: a signal that is aborted when the client no longer waits. */
export type SignalContext = Pick<Context, 'signal'>

export interface Statement {
  readonly text: string
  /** As they are passed to the driver. */
  readonly values: Value[]
  readonly context: SignalContext
  /** Whether it writes although it returns rows. */
  readonly writes?: boolean
  /** Whether integers may be beyond 2^53, and it must not run a second time to read them: a write, or a count. */
  readonly unbounded?: boolean
  /** Whether its text depends only on the schema and the scope, so that it stays prepared whatever clients send. */
  readonly recurring?: boolean
  /** Whether it was run before and failed, so that it must not use what was prepared then. */
  readonly isRepeated?: boolean
  /** For conditions that the database cannot test: rows are read one by one, and only those that pass are returned. */
  readonly check?: RowCheck
}

/** Returns the statement as it is passed to the driver. */
export function toAttempt (statement: Statement, isRepeated: boolean): Statement {
  return isRepeated ? { ...statement, isRepeated } : statement
}

export interface RowCheck {
  readonly passes: (row: Row) => boolean
  /** Reading stops after this many rows have passed. */
  readonly limit: number
}

export interface WriteResult {
  /** How many rows met the conditions. */
  readonly count: number
  /** The key that the database generated, if the driver reports it. */
  readonly id: number | undefined
}

/** What runs in a transaction. */
export type Work<Result> = (session: Session) => Promise<Result>

/** Runs statements on a database or pool, or on one connection within a transaction. */
export interface Session {
  /** Whether this is another attempt of a transaction, such as after a deadlock. */
  readonly isRepeated?: boolean
  /** Runs a statement that returns rows: SELECT, and writes with RETURNING. */
  rows (statement: Statement): Promise<readonly Row[]>
  write (statement: Statement): Promise<WriteResult>
  /**
   * Runs `work` in a transaction; within a transaction, in the same one. `work` runs again if the database rolled it
   * back. Once the signal is aborted, the transaction is rolled back, whatever `work` does.
   */
  transaction<Result> (work: Work<Result>, context: SignalContext): Promise<Result>
  /** Runs a write whose failure leaves a surrounding transaction usable. */
  withSavepoint<Result> (context: SignalContext, write: () => Promise<Result>): Promise<Result>
  /** Returns the connection of a transaction. */
  getClient? (context: SignalContext): Promise<unknown>
  /** Runs a statement without parameters and rows. */
  execute (text: string): Promise<void>
}
