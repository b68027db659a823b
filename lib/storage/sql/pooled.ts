import { ConnectionSession, type Connections } from './connection.ts'
import type { Dialect, Row } from './dialect.ts'
import { retried, StorageUnreachable, told } from './faults.ts'
import { awaited } from './patience.ts'
import type { Session, Statement, Written } from './session.ts'

type Run<Client, Result> = (client: Client) => Promise<Result>

const nothing = () => {}

/** A pool of connections: each statement takes one, each transaction keeps one. */
export class PooledSession<Client> implements Session {
  readonly #connections: Connections<Client>
  readonly #dialect: Dialect

  constructor (connections: Connections<Client>, dialect: Dialect) {
    this.#connections = connections
    this.#dialect = dialect
  }

  rows ({ text, values, context, writes = false }: Statement): Promise<readonly Row[]> {
    return retried(this.#dialect, () => this.#once(context, (client) => this.#connections.rows(client, text, values), writes))
  }

  write ({ text, values, context }: Statement): Promise<Written> {
    return retried(this.#dialect, () => this.#once(context, (client) => this.#connections.write(client, text, values), true))
  }

  async execute (text: string): Promise<void> {
    await retried(this.#dialect, () => this.#once(new AbortController(), (client) => this.#connections.execute(client, text), true))
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

  async #once<Result> (asker: Statement['context'], run: Run<Client, Result>, writes: boolean): Promise<Result> {
    const client = await this.#connected(asker)
    const answer = run(client)
    try {
      const result = await awaited(answer, asker)
      this.#connections.release(client, false)
      return result
    } catch (error) {
      // Of the driver: the statement is over.
      if (!(error instanceof StorageUnreachable)) this.#connections.release(client, this.#dialect.fault(error) === 'passing')
      else {
        const over = this.#cancel(client, answer).catch(nothing)
        // What writes may be done before it can be stopped, and who asked for it has to know.
        if (writes) return await over.then(() => answer)
      }
      throw error
    }
  }

  async #connected (asker: Statement['context']): Promise<Client> {
    const { connect, release } = this.#connections
    const connecting = connect()
    try {
      return await awaited(connecting, asker)
    } catch (error) {
      connecting.then((late) => release(late, false), nothing)
      throw error
    }
  }

  /** The connection goes back only once its statement and the cancelling are over, or another's could be hit. */
  async #cancel (client: Client, answer: Promise<unknown>): Promise<void> {
    const { connect, release, cancel } = this.#connections
    let running = true
    let cancelling: Promise<unknown> | undefined
    connect().then(async (other) => {
      if (running) cancelling = cancel(client, other).catch(nothing)
      await cancelling
      release(other, false)
    }).catch(nothing)
    await answer.catch(nothing)
    running = false
    await cancelling
    release(client, false)
  }
}
