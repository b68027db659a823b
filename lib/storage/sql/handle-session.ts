import { runUnlessAborted, throwIfAborted, waitUnlessAborted } from '../abort-watch.ts'
import { BadStorageError } from '../bad-storage.ts'
import { TransactionEnded } from '../unreachable.ts'
import { checkEachUse } from './check-each-use.ts'
import type { SqlDialect, Row, Value } from './dialect.ts'
import { PreparedStatements } from './prepared-statements.ts'
import type { Session, SignalContext, Statement, Work, WriteResult } from './session.ts'
import { retry, toStorageError } from './storage-error.ts'
import { statementChannel, traceStatement } from './traced-session.ts'
import { getTransactionQueue, type TransactionQueue } from './transaction-queue.ts'

/** A synchronous database: one connection for all. */
export interface Handle {
  exec (text: string): unknown
  prepare (text: string): Prepared
}

export interface Prepared {
  all (...values: Value[]): unknown[]
  iterate (...values: Value[]): Iterable<unknown>
  run (...values: Value[]): { readonly changes: number | bigint }
  /** node:sqlite: return rows as arrays. */
  setReturnArrays? (arrays: boolean): void
  /** The same in better-sqlite3. */
  raw? (arrays: boolean): unknown
  /**
   * node:sqlite: return integers as bigint. Otherwise it throws for integers beyond 2^53; better-sqlite3 rounds them.
   */
  setReadBigInts? (enabled: boolean): void
}

/** Runs statements, whatever the state of the handle. */
class HandleStatements {
  readonly #handle: Handle
  readonly #readers: PreparedStatements<Prepared>
  readonly #writers: PreparedStatements<Prepared>
  readonly #exactReaders: PreparedStatements<Prepared>

  constructor (handle: Handle) {
    this.#handle = handle
    this.#readers = new PreparedStatements((text) => returnArrays(handle.prepare(text)))
    this.#exactReaders = new PreparedStatements((text) => returnBigInts(returnArrays(handle.prepare(text))))
    this.#writers = new PreparedStatements((text) => handle.prepare(text))
  }

  read (statement: Statement): Row[] {
    // A write must not fail after it is done, whatever the returned row contains.
    if (statement.unbounded === true) return this.#readExact(statement)
    try {
      const prepared = this.#readers.get(statement) ?? returnArrays(this.#handle.prepare(statement.text))
      return readRows(prepared, statement)
    } catch (error) {
      if (statement.writes === true || !isOutOfRange(error)) throw error
      return this.#readExact(statement)
    }
  }

  /** Reads integers beyond 2^53 as bigint. */
  #readExact (statement: Statement): Row[] {
    const prepared = this.#exactReaders.get(statement) ??
      returnBigInts(returnArrays(this.#handle.prepare(statement.text)))
    const { values, check } = statement
    const toSafeRow = (row: Row): Row => row.map(toSafeNumber)
    if (check === undefined) return readRows(prepared, statement).map(toSafeRow)
    const passes = (row: Row): boolean => check.passes(toSafeRow(row))
    return readRows(prepared, { values, check: { ...check, passes } }).map(toSafeRow)
  }

  run (statement: Statement): WriteResult {
    const prepared = this.#writers.get(statement) ?? this.#handle.prepare(statement.text)
    return { count: Number(prepared.run(...statement.values).changes), id: undefined }
  }

  execute (text: string): Promise<void> {
    return statementChannel.hasSubscribers
      ? traceStatement(undefined, text, () => this.#execute(text))
      : this.#execute(text)
  }

  async #execute (text: string): Promise<void> {
    this.#handle.exec(text)
  }

  get handle (): Handle {
    return this.#handle
  }
}

/** A transaction. Functions of the app may still use it after its end, when the handle belongs to others. */
class HandleTransaction implements Session {
  readonly #statements: HandleStatements
  #hasEnded = false

  constructor (statements: HandleStatements) {
    this.#statements = statements
  }

  end (): void {
    this.#hasEnded = true
  }

  async rows (statement: Statement): Promise<readonly Row[]> {
    return this.#use().read(statement)
  }

  async write (statement: Statement): Promise<WriteResult> {
    return this.#use().run(statement)
  }

  async execute (text: string): Promise<void> {
    await this.#use().execute(text)
  }

  /** The handle for functions of the app, which refuses them after the end: it belongs to other requests then. */
  async getClient (): Promise<Handle> {
    return checkEachUse(this.#use().handle, () => this.#use())
  }

  async transaction<Result> (work: Work<Result>): Promise<Result> {
    return await work(this)
  }

  async withSavepoint<Result> (_context: SignalContext, write: () => Promise<Result>): Promise<Result> {
    return await write()
  }

  #use (): HandleStatements {
    if (this.#hasEnded) throw new TransactionEnded()
    return this.#statements
  }
}

/** `prepared` returns rows as arrays. */
function readRows (prepared: Prepared, { values, check }: Pick<Statement, 'values' | 'check'>): Row[] {
  if (check === undefined) return prepared.all(...values) as Row[]
  const passed: Row[] = []
  for (const row of prepared.iterate(...values) as Iterable<Row>) {
    if (check.passes(row) && passed.push(row) === check.limit) break
  }
  return passed
}

function returnArrays (statement: Prepared): Prepared {
  if (statement.setReturnArrays !== undefined) {
    statement.setReturnArrays(true)
  } else if (statement.raw !== undefined) {
    statement.raw(true)
  } else {
    throw new BadStorageError(
      'This SQLite driver cannot return rows as arrays. Use node:sqlite or better-sqlite3.'
    )
  }
  return statement
}

function returnBigInts (statement: Prepared): Prepared {
  statement.setReadBigInts?.(true)
  return statement
}

function isOutOfRange (error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_OUT_OF_RANGE'
}

function toSafeNumber (value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** Runs statements on a synchronous database. */
export class HandleSession implements Session {
  readonly #dialect: SqlDialect
  readonly #statements: HandleStatements
  readonly #queue: TransactionQueue
  readonly #read = (statement: Statement) => this.#statements.read(statement)
  readonly #run = (statement: Statement) => this.#statements.run(statement)

  constructor (handle: Handle, dialect: SqlDialect) {
    this.#dialect = dialect
    this.#statements = new HandleStatements(handle)
    // Rejects an unusable driver now, not at the first request.
    returnArrays(handle.prepare('SELECT 1'))
    this.#queue = getTransactionQueue(handle)
  }

  rows (statement: Statement): Promise<readonly Row[]> {
    return statement.writes === true
      ? this.#runInBatch(statement, this.#read)
      : this.#runAlone(statement, this.#read)
  }

  write (statement: Statement): Promise<WriteResult> {
    return this.#runInBatch(statement, this.#run)
  }

  execute (text: string): Promise<void> {
    return this.#queue.run(() => this.#executeWithRetry(text), new AbortController())
  }

  withSavepoint<Result> (_context: SignalContext, write: () => Promise<Result>): Promise<Result> {
    return write()
  }

  async transaction<Result> (work: Work<Result>, context: SignalContext): Promise<Result> {
    return await this.#queue.run(async () => {
      await this.#executeWithRetry('BEGIN IMMEDIATE')
      const transaction = new HandleTransaction(this.#statements)
      let isCommitted = false
      try {
        const result = await runUnlessAborted(() => work(transaction), context)
        transaction.end()
        await this.#executeWithRetry('COMMIT')
        isCommitted = true
        return result
      } catch (error) {
        throw toStorageError(this.#dialect, error)
      } finally {
        transaction.end()
        // After a severe error SQLite has already rolled back, and ROLLBACK fails.
        if (!isCommitted) await this.#statements.execute('ROLLBACK').catch(() => {})
      }
    }, context)
  }

  #runInBatch<Result> (statement: Statement, run: (statement: Statement) => Result): Promise<Result> {
    return this.#queue.batch.add(() => run(statement), () => this.#runAlone(statement, run))
  }

  /** Runs synchronously unless a transaction is open: every read passes here. */
  #runAlone<Result> (statement: Statement, run: (statement: Statement) => Result): Promise<Result> {
    try {
      if (this.#queue.last === undefined) return Promise.resolve(run(statement))
    } catch (error) {
      const kind = this.#dialect.errors.classifyError(error)
      if (kind !== 'retry') return Promise.reject(toStorageError(this.#dialect, error))
    }
    return retry(this.#dialect, async () => {
      // Another transaction may have started in the meantime.
      while (this.#queue.last !== undefined) {
        await waitUnlessAborted(this.#queue.last, statement.context, { hasNoEffect: true })
      }
      throwIfAborted(statement.context)
      return run(statement)
    })
  }

  #executeWithRetry (text: string): Promise<void> {
    return retry(this.#dialect, () => this.#statements.execute(text))
  }
}
