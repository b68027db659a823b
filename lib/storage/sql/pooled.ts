import { ConnectionSession, type Connections } from './connection.ts'
import type { Dialect, Row } from './dialect.ts'
import { done, type Errand } from './errand.ts'
import { retried, StorageUnreachable, told } from './faults.ts'
import type { Session, Statement, Written } from './session.ts'

/** A pool of connections: each statement takes one, each transaction keeps one. */
export class PooledSession<Client> implements Session {
  readonly #connections: Connections<Client>
  readonly #dialect: Dialect

  constructor (connections: Connections<Client>, dialect: Dialect) {
    this.#connections = connections
    this.#dialect = dialect
  }

  rows ({ text, values, context, writes = false }: Statement): Promise<readonly Row[]> {
    return this.#done({ run: (client) => this.#connections.rows(client, text, values), asker: context, writes })
  }

  write ({ text, values, context }: Statement): Promise<Written> {
    return this.#done({ run: (client) => this.#connections.write(client, text, values), asker: context, writes: true })
  }

  async execute (text: string): Promise<void> {
    await this.#done({ run: (client) => this.#connections.execute(client, text), asker: new AbortController(), writes: true })
  }

  guarded<Result> (write: () => Promise<Result>): Promise<Result> {
    return write()
  }

  async transaction<Result> (work: (session: Session) => Promise<Result>): Promise<Result> {
    const connections = this.#connections
    const client = await connections.connect().catch((error: unknown) => { throw told(this.#dialect, error) })
    try {
      await connections.execute(client, 'BEGIN')
      const result = await work(new ConnectionSession(connections, client))
      await connections.execute(client, 'COMMIT')
      connections.release(client, false)
      return result
    } catch (error) {
      const reason = told(this.#dialect, error)
      // A connection in doubt is closed instead, which undoes as well: nothing is waited for.
      const broken = reason instanceof StorageUnreachable || await connections.execute(client, 'ROLLBACK').then(() => false, () => true)
      connections.release(client, broken)
      throw reason
    }
  }

  #done<Result> (errand: Errand<Client, Result>): Promise<Result> {
    return retried(this.#dialect, () => done(this.#connections, this.#dialect, errand))
  }
}
