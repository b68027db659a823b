import type { Context, Entry, Id, Receipt, Shape, Storage, TransactionHandle } from '../../lib/storage/contract.ts'
import { Table } from '../../lib/storage/memory/table.ts'
import { OutcomeUnknown, RequestAborted, StorageUnreachable, TransactionEnded } from '../../lib/storage/unreachable.ts'
import { hasNoEffect } from '../../lib/errors/failure.ts'
import { Locks } from './locks.ts'
import type { Isolation } from './locks.ts'
import { createStorage } from './storage.ts'
import { copyRow, getOwner, RolledBack, SimulatedTransaction } from './transaction.ts'
import type { Row } from './transaction.ts'
import type { World } from './world.ts'

// A simulated SQL database with a pool of connections. The scheduler decides when a statement arrives, and when its
// result does. All commits are in a journal, with the attempt that made them.

export interface Change {
  readonly table: string
  readonly id: Id
  readonly after: Entry<Row> | undefined
}

export interface Commit {
  /** The attempt on whose behalf it was done. */
  readonly owner: string
  readonly changes: readonly Change[]
  /** The responses that it has stored for idempotency keys. */
  readonly answers: readonly string[]
}

export type Fault = 'lost before' | 'lost after' | 'rolled back' | 'stale'
type ChooseFault = (statement: string) => Fault | undefined
type SignalContext = Pick<Context, 'signal'>

export interface DatabaseOptions {
  readonly isolation?: Isolation
  /** How many transactions can be open at once. */
  readonly connections?: number
  readonly chooseFault?: ChooseFault
}

/** Milliseconds before a transaction that was rolled back runs again, as in lib/storage/sql. */
const retryDelays = [4, 12, 36, 108, 324]

export class Database {
  readonly journal: Commit[] = []
  readonly receipts = new Map<string, Receipt>()
  /** The attempts of which it has rolled something back. */
  readonly rolledBack = new Set<string>()
  /** How many statements each attempt has sent. */
  readonly statements = new Map<string, number>()
  /** How many commits of each attempt have begun, without those of which it knows that they were rolled back. */
  readonly effects = new Map<string, number>()
  /** The table of each storage, also of those that have joined a transaction. */
  readonly tableOf = new WeakMap<object, Table<Row>>()
  readonly #tables = new Map<string, Table<Row>>()
  readonly #open = new Set<SimulatedTransaction>()
  readonly #forConnection: Array<{ readonly identity: object, readonly start: () => void }> = []
  /** The processes that have died, by the database as they saw it. */
  readonly #dead = new WeakSet<object>()
  #world: World
  #isolation: Isolation = 'locks'
  #locks = new Locks('locks')
  #connections = 30
  #chooseFault: ChooseFault = () => undefined
  /** Never begins again: an app may remember what it has rendered of a version. */
  #versions = 0

  constructor (world: World) {
    this.#world = world
  }

  /** Begins another history, without rows. */
  reset (world: World, options: DatabaseOptions = {}): void {
    const { isolation = 'locks', connections = 30, chooseFault = () => undefined } = options
    this.#world = world
    this.#isolation = isolation
    this.#locks = new Locks(isolation)
    this.#connections = connections
    this.#chooseFault = chooseFault
    this.journal.length = 0
    this.receipts.clear()
    this.rolledBack.clear()
    this.statements.clear()
    this.effects.clear()
    for (const table of this.#tables.values()) {
      for (const id of listIds(table)) table.set(id, undefined)
    }
  }

  get deadlocks (): ReadonlyArray<readonly string[]> {
    return this.#locks.deadlocks
  }

  /** What should have ended when all requests have. */
  get leftovers (): string[] {
    const claims = [...this.receipts.values()].filter(({ answer }) => answer === undefined)
    return [
      ...[...this.#open].map(({ owner }) => `transaction of ${owner} is open`),
      ...this.#locks.leftovers,
      ...this.#forConnection.map(() => 'a request waits for a connection'),
      ...claims.map(({ key }) => `the key ${key.slice(0, 6)} is claimed`)
    ]
  }

  /** Returns what the processes with this identity use as their storage. */
  createAdapter (identity: object): <Item extends object>(shape: Shape) => Storage<Item> {
    return <Item extends object>(shape: Shape) => {
      const table = this.#tables.get(shape.name) ?? new Table<Row>(shape)
      this.#tables.set(shape.name, table)
      return createStorage(this, table, { identity }) as unknown as Storage<Item>
    }
  }

  /** Stores a row without an app. */
  seed (name: string, item: Row): void {
    const entry = this.createEntry(String(item.id), item)
    this.#tables.get(name)!.set(entry.id, entry)
    this.journal.push({ owner: 'seed', changes: [{ table: name, id: entry.id, after: entry }], answers: [] })
  }

  createEntry (id: Id, item: Readonly<Row>): Entry<Row> {
    return Object.freeze({ id, item: deepFreeze(copyRow(item)), version: `v${++this.#versions}` })
  }

  lock (transaction: SimulatedTransaction, key: string): Promise<void> {
    return this.#locks.lock(transaction, key, this.#world)
  }

  /** A process dies: what it has not committed is rolled back, and none of its statements ends. */
  kill (identity: object): void {
    this.#dead.add(identity)
    for (const transaction of this.#open) {
      if (transaction.database === identity) this.#end(transaction)
    }
    for (const waiting of this.#forConnection.filter((one) => one.identity === identity)) {
      this.#forConnection.splice(this.#forConnection.indexOf(waiting), 1)
    }
  }

  /** A statement: it arrives when the scheduler says so, may wait for locks, and its result arrives later. */
  statement<Result> (
    transaction: SimulatedTransaction,
    text: string,
    { signal }: SignalContext,
    effect: () => Promise<Result>
  ): Promise<Result> {
    const run = async (): Promise<Result> => {
      this.#checkUsable(transaction)
      count(this.statements, transaction.owner)
      await this.#step(transaction, text)
      this.#checkUsable(transaction)
      const fault = this.#chooseFault(text)
      if (fault !== undefined) this.#world.log(`    fault: ${fault}`)
      if (fault === 'lost before') throw this.#fail(transaction, connectionLost())
      if (fault === 'rolled back') throw this.#fail(transaction, new RolledBack('deadlock with another program'))
      if (fault === 'stale' && text.startsWith('replace')) return { refused: 'stale' } as Result
      try {
        const result = await effect()
        if (fault === 'lost after') throw connectionLost()
        await this.#step(transaction, `${text} result`)
        return result
      } catch (error) {
        const isFailure = error instanceof RolledBack || error instanceof StorageUnreachable
        throw isFailure ? this.#fail(transaction, error) : error
      }
    }
    return waitUnlessAborted(run(), signal)
  }

  /** A statement outside of a transaction. If the request is aborted, it may still be done. */
  async single<Result> (
    identity: object,
    context: SignalContext,
    run: (transaction: SimulatedTransaction) => Promise<Result>
  ): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      const transaction = await this.#begin(identity, context)
      const work = run(transaction).finally(() => this.#end(transaction))
      try {
        return await waitUnlessAborted(work, context.signal)
      } catch (error) {
        if (!(error instanceof RolledBack)) throw error
        if (attempt >= retryDelays.length) throw contended(error)
      }
    }
  }

  /** A write outside of a transaction is committed as well. */
  async singleWrite<Result> (
    identity: object,
    context: SignalContext,
    run: (transaction: SimulatedTransaction) => Promise<Result>
  ): Promise<Result> {
    const owner = getOwner()
    count(this.effects, owner)
    try {
      const result = await this.single(identity, context, run)
      if (typeof result === 'object' && result !== null && 'refused' in result) count(this.effects, owner, -1)
      return result
    } catch (error) {
      if (hasNoEffect(error)) count(this.effects, owner, -1)
      throw error
    }
  }

  async transaction<Result> (
    table: Table<Row>,
    identity: object,
    work: (storage: Storage<Row>, handle?: TransactionHandle) => Promise<Result>,
    context: SignalContext
  ): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      const transaction = await this.#begin(identity, context)
      try {
        const storage = createStorage(this, table, { identity, transaction })
        transaction.storages.set(table, storage)
        const result = await waitUnlessAborted(work(storage, transaction), context.signal, true)
        if (context.signal.aborted) throw new RequestAborted(context.signal, true)
        await this.#commitByStatement(transaction)
        return result
      } catch (error) {
        this.#end(transaction)
        // Functions of the app can throw anything.
        if (!(transaction.failure instanceof RolledBack)) throw error
        if (context.signal.aborted) throw new RequestAborted(context.signal, true)
        const delay = retryDelays[attempt]
        if (delay === undefined) throw contended(error)
        this.#world.log(`    ${transaction.owner} tries again`)
        await new Promise<void>((resolve) => this.#world.setTimer(resolve, delay))
      }
    }
  }

  /** Makes the writes of a transaction visible to others. */
  commit (transaction: SimulatedTransaction): void {
    this.#locks.check(transaction)
    const changes = transaction.writes
      .filter(({ table, id, after }) => table.get(id) !== after)
      .map(({ table, id, after }) => ({ table: table.shape.name, id, after }))
    transaction.commit()
    for (const [key, receipt] of transaction.receipts) this.receipts.set(key, receipt)
    const answers = [...transaction.receipts.values()].map(({ answer = '' }) => answer)
    if (changes.length === 0 && answers.length === 0) return
    if (this.#isolation === 'serializable') this.#failReaders(transaction)
    const { owner } = transaction
    this.journal.push({ owner, changes, answers })
    const list = changes.map(({ table, id, after }) => {
      return `${table}/${id} ${after === undefined ? 'removed' : JSON.stringify(after.item)}`
    })
    this.#world.log(`    commit ${this.journal.length - 1} of ${owner}: ${list.join(', ')}`)
  }

  async #commitByStatement (transaction: SimulatedTransaction): Promise<void> {
    if (transaction.failure !== undefined) throw transaction.failure
    count(this.effects, transaction.owner)
    await this.#step(transaction, 'COMMIT')
    const fault = this.#chooseFault('COMMIT')
    if (fault !== undefined) this.#world.log(`    fault: ${fault}`)
    if (fault === 'lost before') throw new OutcomeUnknown('connection lost at COMMIT', undefined)
    const conflict = fault === 'rolled back' ? new RolledBack('serialization failure') : transaction.conflict
    try {
      if (conflict !== undefined) throw conflict
      this.commit(transaction)
    } catch (error) {
      count(this.effects, transaction.owner, -1)
      throw this.#fail(transaction, error as Error)
    }
    this.#end(transaction)
    if (fault === 'lost after') throw new OutcomeUnknown('connection lost at COMMIT', undefined)
    await this.#step(transaction, 'COMMIT result')
  }

  /** Transactions that have read what this one writes cannot be committed any more. */
  #failReaders (writer: SimulatedTransaction): void {
    for (const other of this.#open) {
      const hasRead = other !== writer && writer.writes.some(({ table, id }) => other.hasRead(table, id))
      if (hasRead) other.conflict = new RolledBack('what was read has changed since')
    }
  }

  async #begin (identity: object, context: SignalContext): Promise<SimulatedTransaction> {
    const { signal } = context
    if (this.#dead.has(identity)) await new Promise(() => {})
    if (signal.aborted) throw new RequestAborted(signal, true)
    if (this.#open.size >= this.#connections) {
      await this.#waitForConnection(identity, signal)
      return this.#begin(identity, context)
    }
    const transaction = new SimulatedTransaction(identity)
    this.#open.add(transaction)
    return transaction
  }

  #waitForConnection (identity: object, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = {
        identity,
        start () {
          signal.removeEventListener('abort', abort)
          resolve()
        }
      }
      const abort = () => {
        const index = this.#forConnection.indexOf(waiting)
        if (index >= 0) this.#forConnection.splice(index, 1)
        reject(new RequestAborted(signal, true))
      }
      this.#forConnection.push(waiting)
      signal.addEventListener('abort', abort, { once: true })
    })
  }

  #end (transaction: SimulatedTransaction): void {
    if (transaction.hasEnded) return
    transaction.hasEnded = true
    this.#open.delete(transaction)
    this.#locks.release(transaction)
    this.#forConnection.shift()?.start()
  }

  /** The database has rolled it back, and released its locks. */
  #fail (transaction: SimulatedTransaction, error: Error): Error {
    transaction.failure = error
    this.rolledBack.add(transaction.owner)
    this.#locks.release(transaction)
    return error
  }

  /** A process that has died does not go on. */
  async #step ({ owner, database }: SimulatedTransaction, name: string): Promise<void> {
    await this.#world.step(owner, `${owner} ${name}`)
    if (this.#dead.has(database)) await new Promise(() => {})
  }

  #checkUsable ({ hasEnded, failure }: SimulatedTransaction): void {
    if (hasEnded) throw new TransactionEnded()
    if (failure !== undefined) throw failure
  }
}

function count (counts: Map<string, number>, name: string, difference = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + difference)
}

function listIds (table: Table<Row>): Id[] {
  const ids: Id[] = []
  const order = [{ property: table.shape.id.property, descending: false }]
  table.walk({ order, from: undefined, backward: false }, ({ id }) => ids.push(id) > 0)
  return ids
}

function deepFreeze<Value extends object> (value: Value): Value {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null) deepFreeze(part)
  }
  return Object.freeze(value)
}

function connectionLost (): StorageUnreachable {
  return new StorageUnreachable('connection lost', undefined)
}

function contended (cause: unknown): Error {
  return new StorageUnreachable('gave precedence to other transactions each time', cause, {
    detail: 'Other requests changed the same data each time.',
    hasNoEffect: true,
    isContention: true
  })
}

function waitUnlessAborted<Result> (
  promise: Promise<Result>,
  signal: AbortSignal,
  hasNoEffect = false
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new RequestAborted(signal, hasNoEffect))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
