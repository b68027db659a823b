import { BadStorage } from '../bad-storage.ts'
import type { Dialect, Row, Value } from './dialect.ts'
import { abandoned, retried, told } from './faults.ts'
import { awaited } from './patience.ts'
import { PreparedStatements } from './prepared-statements.ts'
import type { Session, Statement, Written } from './session.ts'
import { turnsOn, type Turns } from './turns.ts'

/** A database that answers at once: one connection, used by all. */
export interface Handle {
  exec (text: string): unknown
  prepare (text: string): Prepared
}

export interface Prepared {
  all (...values: Value[]): unknown[]
  iterate (...values: Value[]): Iterable<unknown>
  run (...values: Value[]): { readonly changes: number | bigint }
  /** In node:sqlite: rows are arrays. */
  setReturnArrays? (arrays: boolean): void
  /** The same in better-sqlite3. */
  raw? (arrays: boolean): unknown
  /** In node:sqlite: integers are bigint, where it would otherwise throw for one beyond 2^53. better-sqlite3 rounds them. */
  setReadBigInts? (enabled: boolean): void
}

/** Within a transaction. */
class InnerSession implements Session {
  readonly #handle: Handle
  readonly #asking: PreparedStatements<Prepared>
  readonly #telling: PreparedStatements<Prepared>
  readonly #exact: PreparedStatements<Prepared>

  constructor (handle: Handle) {
    this.#handle = handle
    this.#asking = new PreparedStatements((text) => asArrays(handle.prepare(text)))
    this.#exact = new PreparedStatements((text) => withBigInts(asArrays(handle.prepare(text))))
    this.#telling = new PreparedStatements((text) => handle.prepare(text))
  }

  all (statement: Statement): Row[] {
    // A write must not fail once it is done, whatever the row that it returns holds.
    if (statement.unbounded === true) return this.#allExact(statement)
    try {
      return readRows(this.#asking.get(statement) ?? asArrays(this.#handle.prepare(statement.text)), statement)
    } catch (error) {
      if (statement.writes === true || !isOutOfRange(error)) throw error
      return this.#allExact(statement)
    }
  }

  /** Integers beyond 2^53 stay bigint. */
  #allExact (statement: Statement): Row[] {
    const prepared = this.#exact.get(statement) ?? withBigInts(asArrays(this.#handle.prepare(statement.text)))
    return readRows(prepared, statement).map((row) => row.map(asNumber))
  }

  run (statement: Statement): Written {
    const prepared = this.#telling.get(statement) ?? this.#handle.prepare(statement.text)
    return { count: Number(prepared.run(...statement.values).changes), id: undefined }
  }

  async rows (statement: Statement): Promise<readonly Row[]> {
    return this.all(statement)
  }

  async write (statement: Statement): Promise<Written> {
    return this.run(statement)
  }

  async execute (text: string): Promise<void> {
    this.#handle.exec(text)
  }

  async transaction<Result> (work: (session: Session) => Promise<Result>): Promise<Result> {
    return await work(this)
  }

  async exclusive<Result> (_table: string, work: (session: Session) => Promise<Result>): Promise<Result> {
    return await work(this)
  }

  async guarded<Result> (write: () => Promise<Result>): Promise<Result> {
    return await write()
  }
}

/** `prepared` returns rows as arrays. */
function readRows (prepared: Prepared, { values, check }: Statement): Row[] {
  if (check === undefined) return prepared.all(...values) as Row[]
  const passed: Row[] = []
  for (const row of prepared.iterate(...values) as Iterable<Row>) {
    if (check.passes(row) && passed.push(row) === check.limit) break
  }
  return passed
}

function asArrays (statement: Prepared): Prepared {
  if (statement.setReturnArrays !== undefined) statement.setReturnArrays(true)
  else if (statement.raw !== undefined) statement.raw(true)
  else throw new BadStorage('This SQLite driver cannot give rows as arrays. Use node:sqlite of Node.js 22.16 or newer, or better-sqlite3.')
  return statement
}

function withBigInts (statement: Prepared): Prepared {
  statement.setReadBigInts?.(true)
  return statement
}

function isOutOfRange (error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_OUT_OF_RANGE'
}

function asNumber (value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

export class HandleSession implements Session {
  readonly #dialect: Dialect
  readonly #inner: InnerSession
  readonly #turns: Turns
  readonly #all = (statement: Statement) => this.#inner.all(statement)
  readonly #run = (statement: Statement) => this.#inner.run(statement)

  constructor (handle: Handle, dialect: Dialect) {
    this.#dialect = dialect
    this.#inner = new InnerSession(handle)
    // A driver that cannot do it is refused now, and not at the first request.
    asArrays(handle.prepare('SELECT 1'))
    this.#turns = turnsOn(handle)
  }

  rows (statement: Statement): Promise<readonly Row[]> {
    return statement.writes === true ? this.#together(statement, this.#all) : this.#alone(statement, this.#all)
  }

  write (statement: Statement): Promise<Written> {
    return this.#together(statement, this.#run)
  }

  execute (text: string): Promise<void> {
    return this.#turns.take(() => this.#retried(() => this.#inner.execute(text)))
  }

  guarded<Result> (write: () => Promise<Result>): Promise<Result> {
    return write()
  }

  async transaction<Result> (work: (session: Session) => Promise<Result>): Promise<Result> {
    return await this.#turns.take(async () => {
      await this.#retried(() => this.#inner.execute('BEGIN IMMEDIATE'))
      try {
        const result = await work(this.#inner)
        await this.#retried(() => this.#inner.execute('COMMIT'))
        return result
      } catch (error) {
        // After a grave fault SQLite has undone the transaction by itself, and says so.
        await this.#inner.execute('ROLLBACK').catch(() => {})
        throw told(this.#dialect, error)
      }
    })
  }

  /** BEGIN IMMEDIATE lets nobody else write. */
  async exclusive<Result> (_table: string, work: (session: Session) => Promise<Result>): Promise<Result> {
    return await this.transaction(work)
  }

  #together<Result> (statement: Statement, run: (statement: Statement) => Result): Promise<Result> {
    return this.#turns.batch.add(() => run(statement), () => this.#alone(statement, run))
  }

  /** Mostly done at once: what is slow here is paid by every read. */
  #alone<Result> (statement: Statement, run: (statement: Statement) => Result): Promise<Result> {
    try {
      if (this.#turns.last === undefined) return Promise.resolve(run(statement))
    } catch (error) {
      if (this.#dialect.fault(error) !== 'again') return Promise.reject(told(this.#dialect, error))
    }
    return this.#retried(async () => {
      // Another may have begun a transaction during a pause.
      while (this.#turns.last !== undefined) await awaited(this.#turns.last, statement.context)
      if (statement.context.signal.aborted) throw abandoned(statement.context.signal)
      return run(statement)
    })
  }

  #retried<Result> (attempt: () => Promise<Result>): Promise<Result> {
    return retried(this.#dialect, attempt)
  }
}
