import { runUnlessAborted } from '../abort-watch.ts'
import type { SqlDialect, Row } from './dialect.ts'
import type { PoolDriver } from './pool-driver.ts'
import { runPooled, type PooledTask } from './pooled-query.ts'
import { PooledTransaction } from './pooled-transaction.ts'
import { toAttempt, type Session, type SignalContext, type Statement, type Work, type WriteResult } from './session.ts'
import { isBroken, retry } from './storage-error.ts'

/** A pool of connections: each statement takes one, each transaction keeps one. */
export class PooledSession<Client> implements Session {
  readonly #driver: PoolDriver<Client>
  readonly #dialect: SqlDialect

  constructor (driver: PoolDriver<Client>, dialect: SqlDialect) {
    this.#driver = driver
    this.#dialect = dialect
  }

  rows (statement: Statement): Promise<readonly Row[]> {
    return this.#run({
      run: (client, callback, isRepeated) => this.#driver.rows(client, toAttempt(statement, isRepeated), callback),
      context: statement.context,
      writes: statement.writes === true
    })
  }

  write (statement: Statement): Promise<WriteResult> {
    return this.#run({
      run: (client, callback, isRepeated) => this.#driver.write(client, toAttempt(statement, isRepeated), callback),
      context: statement.context,
      writes: true
    })
  }

  async execute (text: string): Promise<void> {
    await this.#run({
      run: (client, callback) => this.#driver.execute(client, text, callback),
      context: new AbortController(),
      writes: true
    })
  }

  withSavepoint<Result> (_context: SignalContext, write: () => Promise<Result>): Promise<Result> {
    return write()
  }

  transaction<Result> (work: Work<Result>, context: SignalContext): Promise<Result> {
    return retry(this.#dialect, (isRepeated) => this.#transaction(work, context, isRepeated))
  }

  async #transaction<Result> (work: Work<Result>, context: SignalContext, isRepeated: boolean): Promise<Result> {
    const transaction = new PooledTransaction(this.#driver, context, isRepeated)
    let isCommitted = false
    let broken = true
    try {
      const result = await runUnlessAborted(() => transaction.run(work), context)
      await transaction.commit()
      isCommitted = true
      return result
    } catch (error) {
      broken = isBroken(this.#dialect, error)
      throw error
    } finally {
      // Whatever was thrown, and even if it cannot be read: the connection returns to the pool.
      if (!isCommitted) await transaction.rollBack(broken)
    }
  }

  #run<Result> (task: PooledTask<Client, Result>): Promise<Result> {
    return runPooled(this.#driver, this.#dialect, task)
  }
}
