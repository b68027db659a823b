import { waitUnlessAborted } from './abort-watch.ts'
import type { Row } from './dialect.ts'
import type { Session, Statement, WriteResult } from './session.ts'

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
  /** Cancels the statement that `client` runs, through another connection. */
  cancel (client: Client, other: Client, callback: Callback<unknown>): void
  /** Whether a failed statement aborts the transaction it is in. */
  readonly abortsOnError: boolean
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

/** The one connection of a transaction. Failures are handled by the transaction as a whole. */
export class ConnectionSession<Client> implements Session {
  readonly #driver: PoolDriver<Client>
  readonly #client: Client

  constructor (driver: PoolDriver<Client>, client: Client) {
    this.#driver = driver
    this.#client = client
  }

  rows (statement: Statement): Promise<readonly Row[]> {
    const rows = toPromise<readonly Row[]>((callback) => this.#driver.rows(this.#client, statement, callback))
    return waitUnlessAborted(rows, statement.context)
  }

  write (statement: Statement): Promise<WriteResult> {
    const result = toPromise<WriteResult>((callback) => this.#driver.write(this.#client, statement, callback))
    return waitUnlessAborted(result, statement.context)
  }

  async execute (text: string): Promise<void> {
    await toPromise((callback) => this.#driver.execute(this.#client, text, callback))
  }

  async transaction<Result> (work: (session: Session) => Promise<Result>): Promise<Result> {
    return await work(this)
  }

  async exclusive<Result> (_table: string, work: (session: Session) => Promise<Result>): Promise<Result> {
    return await work(this)
  }

  async withSavepoint<Result> (write: () => Promise<Result>): Promise<Result> {
    if (!this.#driver.abortsOnError) return await write()
    await this.execute('SAVEPOINT guarded')
    try {
      const result = await write()
      await this.execute('RELEASE SAVEPOINT guarded')
      return result
    } catch (error) {
      await this.execute('ROLLBACK TO SAVEPOINT guarded')
      throw error
    }
  }
}
