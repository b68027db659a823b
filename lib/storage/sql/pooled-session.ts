import type { Dialect, Row } from './dialect.ts'
import { ConnectionSession, toPromise, type PoolDriver } from './pool-driver.ts'
import { runPooled, type PooledTask } from './pooled-query.ts'
import type { Session, Statement, WriteResult } from './session.ts'
import { retry, StorageUnreachable, toStorageError } from './storage-error.ts'

/** A pool of connections: each statement takes one, each transaction keeps one. */
export class PooledSession<Client> implements Session {
  readonly #driver: PoolDriver<Client>
  readonly #dialect: Dialect

  constructor (driver: PoolDriver<Client>, dialect: Dialect) {
    this.#driver = driver
    this.#dialect = dialect
  }

  rows (statement: Statement): Promise<readonly Row[]> {
    return this.#run({
      run: (client, callback) => this.#driver.rows(client, statement, callback),
      context: statement.context,
      writes: statement.writes === true
    })
  }

  write (statement: Statement): Promise<WriteResult> {
    return this.#run({
      run: (client, callback) => this.#driver.write(client, statement, callback),
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

  withSavepoint<Result> (write: () => Promise<Result>): Promise<Result> {
    return write()
  }

  transaction<Result> (work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#transaction(['BEGIN'], work).catch((error: unknown) => {
      throw toStorageError(this.#dialect, error)
    })
  }

  exclusive<Result> (table: string, work: (session: Session) => Promise<Result>): Promise<Result> {
    return retry(this.#dialect, () => this.#transaction(this.#dialect.beginExclusive(table), work))
  }

  async #transaction<Result> (begin: readonly string[], work: (session: Session) => Promise<Result>): Promise<Result> {
    const driver = this.#driver
    const client = await toPromise<Client>((callback) => driver.connect(callback))
    const execute = (text: string) => toPromise((callback) => driver.execute(client, text, callback))
    try {
      for (const text of begin) await execute(text)
      const result = await work(new ConnectionSession(driver, client))
      await execute('COMMIT')
      driver.release(client, false)
      return result
    } catch (error) {
      const inDoubt = error instanceof StorageUnreachable || this.#dialect.classifyError(error) === 'unreachable'
      // A connection in doubt is closed, which rolls back as well, without waiting for the server.
      const broken = inDoubt || await execute('ROLLBACK').then(() => false, () => true)
      driver.release(client, broken)
      throw error
    }
  }

  #run<Result> (task: PooledTask<Client, Result>): Promise<Result> {
    return runPooled(this.#driver, this.#dialect, task)
  }
}
