import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import type { Row } from './dialect.ts'
import type { Statement, WriteResult } from './session.ts'

/** The callback of drivers. Without a value, it has failed. */
export type Callback<Value> = (error: unknown, value?: Value) => void

/** What a driver does with the connections of a pool. With callbacks: promises would cost every statement. */
export interface PoolDriver<Client> {
  connect (callback: Callback<Client>): void
  /** Returns a connection to the pool; a broken one is closed. */
  release (client: Client, broken: boolean): void
  rows (client: Client, statement: Statement, callback: Callback<readonly Row[]>): void
  write (client: Client, statement: Statement, callback: Callback<WriteResult>): void
  execute (client: Client, text: string, callback: Callback<unknown>): void
  /**
   * Cancels the statement that `client` runs, over a connection outside of the pool: all connections of the pool may be
   * busy with such statements. Calls back when it can no longer affect a later statement; fails if it cannot be sure to
   * cancel the statement of this client.
   */
  cancel (client: Client, callback: Callback<unknown>): void
  /** Whether a failed statement aborts the transaction it is in. */
  readonly abortsOnError: boolean
  /** Whether a statement failed, or may have failed, only because it was prepared before its table was changed. */
  isOutdated (error: unknown): boolean
}

/** Calls a function with a callback and returns a promise of its value. */
export function toPromise<Value> (call: (callback: Callback<Value>) => void): Promise<Value> {
  return new Promise((resolve, reject) => {
    call((error, value) => value === undefined ? reject(error) : resolve(value))
  })
}

/** Calls back with the outcome of a promise. */
export function passToCallback<Value> (promise: Promise<Value>, callback: Callback<Value>): void {
  promise.then((value) => callback(undefined, value), callback)
}

/** How many milliseconds a statement that was cancelled has to end, before its connection is closed. */
const gracePeriod = 500

const ignoreError = () => {}

/** Waits for the end of something that runs on a connection. Returns false if the connection does not respond. */
export async function waitForEnd (running: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController()
  try {
    return await Promise.race([
      running.then(() => true, () => true),
      delay(gracePeriod, false, { signal: timer.signal })
    ])
  } finally {
    timer.abort()
  }
}

/** Whether something still runs on a connection. */
export async function isRunning (running: Promise<unknown>): Promise<boolean> {
  const ended = () => false
  return await Promise.race([running.then(ended, ended), nextTurn(true)])
}

/** At most so many milliseconds later, a cancellation is repeated if the statement still runs. */
const repeatDelay = 60

/**
 * Cancels the statement that a connection runs, and waits for the end of both: otherwise the cancellation could affect
 * the next statement on that connection. Returns false if the connection has to be closed.
 */
export async function cancelStatement<Client> (
  driver: PoolDriver<Client>,
  client: Client,
  running: Promise<unknown>
): Promise<boolean> {
  const over = new AbortController()
  const stop = () => over.abort()
  const ended = running.then(stop, stop)
  const cancel = async () => {
    // Behind a balancer, a cancellation may reach another server, which ignores it. The delay is random, because those
    // of many statements that are repeated in the same order could each reach the same server again.
    while (!over.signal.aborted) {
      await toPromise((callback) => driver.cancel(client, callback)).catch(ignoreError)
      await delay(Math.random() * repeatDelay, undefined, over).catch(ignoreError)
    }
  }
  const hasEnded = await waitForEnd(Promise.all([ended, cancel()]))
  stop()
  return hasEnded
}
