import { AbortWatch } from '../abort-watch.ts'
import { OutcomeUnknown, RequestAborted } from '../unreachable.ts'
import type { SqlDialect } from './dialect.ts'
import { cancelStatement, toPromise, type Callback, type PoolDriver } from './pool-driver.ts'
import type { SignalContext } from './session.ts'
import { getRetryDelay, isBroken, toConnectError, toStorageError } from './storage-error.ts'

/** What to do with a connection of a pool. */
export interface PooledTask<Client, Result> {
  /** `isRepeated` is true after a failed attempt. */
  readonly run: (client: Client, callback: Callback<Result>, isRepeated: boolean) => void
  readonly context: SignalContext
  readonly writes: boolean
}

/**
 * Takes a connection, runs the task, and releases the connection; repeats that if it can help. An aborted signal
 * cancels the query. Every statement runs through here, so there is only one promise for all of it.
 */
export function runPooled<Client, Result> (
  driver: PoolDriver<Client>,
  dialect: SqlDialect,
  task: PooledTask<Client, Result>
): Promise<Result> {
  return new Promise((resolve, reject) => {
    new PooledQuery(driver, dialect, task, { resolve, reject }).start()
  })
}

interface Outcome<Result> {
  resolve (result: Result | Promise<Result>): void
  reject (reason: unknown): void
}

class PooledQuery<Client, Result> {
  readonly #driver: PoolDriver<Client>
  readonly #dialect: SqlDialect
  readonly #task: PooledTask<Client, Result>
  readonly #outcome: Outcome<Result>
  readonly #watch: AbortWatch
  #attempts = 0
  #aborted = false
  /** The connection that the statement runs on. */
  #client: Client | undefined
  /** Called with the result of an aborted statement. */
  #onCancelled: Callback<Result> | undefined

  constructor (
    driver: PoolDriver<Client>,
    dialect: SqlDialect,
    task: PooledTask<Client, Result>,
    outcome: Outcome<Result>
  ) {
    this.#driver = driver
    this.#dialect = dialect
    this.#task = task
    this.#outcome = outcome
    this.#watch = new AbortWatch(task.context, (signal) => this.#onAbort(signal))
  }

  start (): void {
    if (this.#aborted) return
    try {
      this.#driver.connect((error, client) => this.#onConnect(error, client))
    } catch (thrown) {
      this.#onError(thrown)
    }
  }

  #onConnect (error: unknown, client: Client | undefined): void {
    if (client === undefined) return this.#onError(toConnectError(this.#dialect, error))
    if (this.#aborted) return this.#driver.release(client, false)
    this.#client = client
    try {
      this.#task.run(client, (error, result) => this.#onResult(client, error, result), this.#attempts > 0)
    } catch (thrown) {
      this.#onResult(client, thrown, undefined)
    }
  }

  #onResult (client: Client, error: unknown, result: Result | undefined): void {
    if (this.#onCancelled !== undefined) return this.#onCancelled(error, result)
    this.#client = undefined
    try {
      this.#driver.release(client, result === undefined && isBroken(this.#dialect, error))
    } catch (thrown) {
      return this.#onError(thrown)
    }
    if (result === undefined) return this.#onError(error)
    this.#watch.end()
    this.#outcome.resolve(result)
  }

  #onError (error: unknown): void {
    const retryDelay = getRetryDelay(this.#dialect, error, this.#attempts++)
    if (retryDelay !== undefined) {
      setTimeout(() => this.start(), retryDelay)
    } else {
      this.#watch.end()
      this.#outcome.reject(toStorageError(this.#dialect, error))
    }
  }

  #onAbort (signal: AbortSignal): void {
    this.#aborted = true
    if (this.#client === undefined) return this.#outcome.reject(new RequestAborted(signal, true))
    const result = toPromise<Result>((callback) => { this.#onCancelled = callback })
    const cancelled = cancelQuery(this.#driver, this.#client, result)
    if (this.#task.writes) {
      // A write may be done before it can be cancelled, so its caller gets the result.
      this.#outcome.resolve(cancelled.catch((error: unknown) => { throw toStorageError(this.#dialect, error) }))
    } else {
      cancelled.catch(ignoreError)
      this.#outcome.reject(new RequestAborted(signal))
    }
  }
}

const ignoreError = () => {}

/** Cancels the statement that `client` runs, releases the connection, and returns the result of the statement. */
async function cancelQuery<Client, Result> (
  driver: PoolDriver<Client>,
  client: Client,
  result: Promise<Result>
): Promise<Result> {
  const hasEnded = await cancelStatement(driver, client, result)
  driver.release(client, !hasEnded)
  if (!hasEnded) throw new OutcomeUnknown('The database did not respond to the cancellation of a write', undefined)
  return await result
}
