import type { Row, Value } from './dialect.ts'
import { awaited } from './patience.ts'
import type { Session, Statement, Written } from './session.ts'

/** What is done with one connection of a pool, by the driver at hand. */
export interface Connections<Client> {
  connect (): Promise<Client>
  /** Back into the pool; a broken one is closed. */
  release (client: Client, broken: boolean): void
  rows (client: Client, text: string, values: readonly Value[]): Promise<readonly Row[]>
  write (client: Client, text: string, values: readonly Value[]): Promise<Written>
  execute (client: Client, text: string): Promise<unknown>
  /** Ends the statement that `client` runs, by way of another connection. */
  cancel (client: Client, other: Client): Promise<unknown>
  /** Whether a statement that fails spoils the transaction it is in. */
  readonly spoils: boolean
}

/** The one connection of a transaction. What fails is met by the transaction as a whole. */
export class ConnectionSession<Client> implements Session {
  readonly #connections: Connections<Client>
  readonly #client: Client

  constructor (connections: Connections<Client>, client: Client) {
    this.#connections = connections
    this.#client = client
  }

  rows ({ text, values, context }: Statement): Promise<readonly Row[]> {
    return awaited(this.#connections.rows(this.#client, text, values), context)
  }

  write ({ text, values, context }: Statement): Promise<Written> {
    return awaited(this.#connections.write(this.#client, text, values), context)
  }

  async execute (text: string): Promise<void> {
    await this.#connections.execute(this.#client, text)
  }

  async transaction<Result> (work: (session: Session) => Promise<Result>): Promise<Result> {
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
