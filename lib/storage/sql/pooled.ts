import { ConnectionSession, promised, type Connections } from './connection.ts'
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

  rows (statement: Statement): Promise<readonly Row[]> {
    return this.#done({ run: (client, callback) => this.#connections.rows(client, statement, callback), asker: statement.context, writes: statement.writes === true })
  }

  write (statement: Statement): Promise<Written> {
    return this.#done({ run: (client, callback) => this.#connections.write(client, statement, callback), asker: statement.context, writes: true })
  }

  async execute (text: string): Promise<void> {
    await this.#done({ run: (client, callback) => this.#connections.execute(client, text, callback), asker: new AbortController(), writes: true })
  }

  guarded<Result> (write: () => Promise<Result>): Promise<Result> {
    return write()
  }

  transaction<Result> (work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#transaction(['BEGIN'], work).catch((error: unknown) => { throw told(this.#dialect, error) })
  }

  exclusive<Result> (table: string, work: (session: Session) => Promise<Result>): Promise<Result> {
    return retried(this.#dialect, () => this.#transaction(this.#dialect.beginExclusive(table), work))
  }

  async #transaction<Result> (begin: readonly string[], work: (session: Session) => Promise<Result>): Promise<Result> {
    const connections = this.#connections
    const client = await promised<Client>((callback) => connections.connect(callback))
    const execute = (text: string) => promised((callback) => connections.execute(client, text, callback))
    try {
      for (const text of begin) await execute(text)
      const result = await work(new ConnectionSession(connections, client))
      await execute('COMMIT')
      connections.release(client, false)
      return result
    } catch (error) {
      const inDoubt = error instanceof StorageUnreachable || this.#dialect.fault(error) === 'passing'
      // A connection in doubt is closed instead, which undoes as well: nothing is waited for.
      const broken = inDoubt || await execute('ROLLBACK').then(() => false, () => true)
      connections.release(client, broken)
      throw error
    }
  }

  #done<Result> (errand: Errand<Client, Result>): Promise<Result> {
    return done(this.#connections, this.#dialect, errand)
  }
}
