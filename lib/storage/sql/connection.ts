import type { Row } from './dialect.ts'
import { awaited } from './patience.ts'
import type { Session, Statement, Written } from './session.ts'

/** As drivers call back. It has failed exactly where there is no value. */
export type Callback<Value> = (error: unknown, value?: Value) => void

/** What is done with one connection of a pool, by the driver at hand. By callback: every statement would pay for promises that nobody keeps. */
export interface Connections<Client> {
  connect (callback: Callback<Client>): void
  /** Back into the pool; a broken one is closed. */
  release (client: Client, broken: boolean): void
  rows (client: Client, statement: Statement, callback: Callback<readonly Row[]>): void
  write (client: Client, statement: Statement, callback: Callback<Written>): void
  execute (client: Client, text: string, callback: Callback<unknown>): void
  /** Ends the statement that `client` runs, by way of another connection. */
  cancel (client: Client, other: Client, callback: Callback<unknown>): void
  /** Whether a statement that fails spoils the transaction it is in. */
  readonly spoils: boolean
}

export function promised<Value> (ask: (callback: Callback<Value>) => void): Promise<Value> {
  return new Promise((resolve, reject) => ask((error, value) => value === undefined ? reject(error) : resolve(value)))
}

/** Calls back with what comes of a promise. */
export function relay<Value> (promise: Promise<Value>, callback: Callback<Value>): void {
  promise.then((value) => callback(undefined, value), callback)
}

/** The one connection of a transaction. What fails is met by the transaction as a whole. */
export class ConnectionSession<Client> implements Session {
  readonly #connections: Connections<Client>
  readonly #client: Client

  constructor (connections: Connections<Client>, client: Client) {
    this.#connections = connections
    this.#client = client
  }

  rows (statement: Statement): Promise<readonly Row[]> {
    return awaited(promised((callback) => this.#connections.rows(this.#client, statement, callback)), statement.context)
  }

  write (statement: Statement): Promise<Written> {
    return awaited(promised((callback) => this.#connections.write(this.#client, statement, callback)), statement.context)
  }

  async execute (text: string): Promise<void> {
    await promised((callback) => this.#connections.execute(this.#client, text, callback))
  }

  async transaction<Result> (work: (session: Session) => Promise<Result>): Promise<Result> {
    return await work(this)
  }

  async exclusive<Result> (_table: string, work: (session: Session) => Promise<Result>): Promise<Result> {
    return await work(this)
  }

  async guarded<Result> (write: () => Promise<Result>): Promise<Result> {
    if (!this.#connections.spoils) return await write()
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
