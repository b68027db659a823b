import { waitUnlessAborted } from '../abort-watch.ts'
import { OutcomeUnknown, RequestAborted, TransactionEnded } from '../unreachable.ts'
import type { Row } from './dialect.ts'
import { cancelStatement, isRunning, toPromise, waitForEnd, type Callback, type PoolDriver } from './pool-driver.ts'
import { isInstance } from './driver-error.ts'
import { toAttempt, type Session, type SignalContext, type Statement, type Work, type WriteResult } from './session.ts'
import { statementChannel, traceStatement } from './traced-session.ts'

const ignoreError = () => {}

/**
 * A transaction on one connection of a pool. It takes the connection and begins with its first statement, so that the
 * signal of that statement limits how long the request waits for both.
 */
export class PooledTransaction<Client> implements Session {
  readonly #driver: PoolDriver<Client>
  #opening: Promise<Client> | undefined
  /** Set as soon as there is a connection to release. */
  #client: Client | undefined
  /** The last statement. A connection runs one after the other, so its end is that of all. */
  #running: Promise<unknown> = Promise.resolve()
  readonly #transactionContext: SignalContext
  /** That of the last statement. */
  #context: SignalContext
  #hasEnded = false
  /** Whether `work` still runs. */
  #isInUse = false
  /** Whether functions of the app have the connection. */
  #isShared = false
  /** Settles with the last savepoint. The app may use the transaction in parallel, and savepoints are nested. */
  #savepoint: Promise<unknown> = Promise.resolve()
  /** Whether this is another attempt, or a statement of this one was repeated. */
  #isRepeated: boolean

  constructor (driver: PoolDriver<Client>, context: SignalContext, isRepeated: boolean) {
    this.#driver = driver
    this.#transactionContext = context
    this.#context = context
    this.#isRepeated = isRepeated
  }

  get isRepeated (): boolean {
    return this.#isRepeated
  }

  /** Runs what uses the transaction. */
  async run<Result> (work: Work<Result>): Promise<Result> {
    this.#isInUse = true
    try {
      return await work(this)
    } finally {
      this.#isInUse = false
    }
  }

  async rows (statement: Statement): Promise<readonly Row[]> {
    if (statement.writes !== true) await this.#savepoint
    return await this.#run(statement.context, (client, callback) => {
      this.#driver.rows(client, toAttempt(statement, this.#isRepeated), callback)
    })
  }

  write (statement: Statement): Promise<WriteResult> {
    return this.#run(statement.context, (client, callback) => {
      this.#driver.write(client, toAttempt(statement, this.#isRepeated), callback)
    })
  }

  async execute (text: string): Promise<void> {
    const client = await this.#connect(this.#context)
    await waitUnlessAborted(this.#execute(client, text), this.#context)
  }

  async transaction<Result> (work: Work<Result>): Promise<Result> {
    return await work(this)
  }

  async withSavepoint<Result> (context: SignalContext, write: () => Promise<Result>): Promise<Result> {
    if (!this.#driver.abortsOnError) return await write()
    const result = this.#savepoint.then(() => this.#withSavepoint(context, write))
    this.#savepoint = result.catch(ignoreError)
    return await result
  }

  async getClient (context: SignalContext): Promise<Client> {
    this.#isShared = true
    return await this.#connect(context)
  }

  async #connect (context: SignalContext): Promise<Client> {
    this.#checkOpen()
    this.#context = context
    this.#opening ??= this.#open()
    const client = await waitUnlessAborted(this.#opening, context, { hasNoEffect: true })
    // It may have been rolled back in the meantime.
    this.#checkOpen()
    return client
  }

  async #withSavepoint<Result> (context: SignalContext, write: () => Promise<Result>): Promise<Result> {
    this.#context = context
    await this.execute('SAVEPOINT guarded')
    try {
      const result = await write()
      await this.execute('RELEASE SAVEPOINT guarded')
      return result
    } catch (error) {
      const canContinue = !this.#hasEnded && !isInstance(error, RequestAborted)
      if (canContinue) await this.execute('ROLLBACK TO SAVEPOINT guarded')
      if (!canContinue || this.#isRepeated || !this.#driver.isOutdated(error)) throw error
      this.#isRepeated = true
      return await this.#withSavepoint(context, write)
    }
  }

  /** A commit that has begun decides: if it cannot be cancelled, it is done. */
  async commit (): Promise<void> {
    this.#hasEnded = true
    if (this.#client === undefined) return
    const client = this.#client
    const committing = this.#execute(client, 'COMMIT')
    try {
      await waitUnlessAborted(committing, this.#transactionContext)
    } catch (error) {
      if (!(error instanceof RequestAborted)) throw error
      const isResponding = await cancelStatement(this.#driver, client, committing)
      if (!isResponding) {
        this.#client = undefined
        this.#driver.release(client, true)
        throw new OutcomeUnknown('The database did not respond to a commit', error)
      }
      // It may be done before it could be cancelled.
      await committing
    }
    this.#client = undefined
    this.#driver.release(client, false)
  }

  /** Cancels a statement that still runs, rolls back, and releases the connection. A broken one is closed. */
  async rollBack (broken: boolean): Promise<void> {
    this.#hasEnded = true
    const client = this.#client
    if (client === undefined) return
    this.#client = undefined
    if (this.#isShared && this.#isInUse) return this.#abandon(client)
    let isUsable = false
    try {
      isUsable = await this.#stopStatement(client) && await this.#rollBack(client)
    } finally {
      // Closing the connection rolls back as well.
      this.#driver.release(client, broken || !isUsable)
    }
  }

  /**
   * Closes a connection that a function of the app still uses. After a ROLLBACK, its next statement would be committed
   * by itself. The server ends the session when it notices, so a statement of the app that still runs is cancelled.
   */
  #abandon (client: Client): void {
    this.#driver.release(client, true)
    this.#driver.cancel(client, ignoreError)
  }

  async #stopStatement (client: Client): Promise<boolean> {
    const running = this.#running
    return !await isRunning(running) || await cancelStatement(this.#driver, client, running)
  }

  async #rollBack (client: Client): Promise<boolean> {
    const rollingBack = this.#execute(client, 'ROLLBACK')
    return await waitForEnd(rollingBack) && await rollingBack.then(() => true, () => false)
  }

  async #run<Result> (
    context: SignalContext,
    call: (client: Client, callback: Callback<Result>) => void
  ): Promise<Result> {
    const client = await this.#connect(context)
    const running = toPromise<Result>((callback) => call(client, callback))
    this.#running = running
    return await waitUnlessAborted(running, context)
  }

  async #open (): Promise<Client> {
    const client = await toPromise<Client>((callback) => this.#driver.connect(callback))
    if (this.#hasEnded) {
      this.#driver.release(client, false)
      throw new TransactionEnded()
    }
    this.#client = client
    await this.#execute(client, 'BEGIN')
    return client
  }

  #checkOpen (): void {
    if (this.#hasEnded) throw new TransactionEnded()
  }

  #execute (client: Client, text: string): Promise<unknown> {
    const running = statementChannel.hasSubscribers
      ? traceStatement(undefined, text, () => this.#start(client, text))
      : this.#start(client, text)
    this.#running = running
    return running
  }

  #start (client: Client, text: string): Promise<unknown> {
    return toPromise((callback) => this.#driver.execute(client, text, callback))
  }
}
