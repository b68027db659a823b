import { TransactionEnded } from '../../lib/storage/unreachable.ts'
import { RolledBack } from './transaction.ts'
import type { SimulatedTransaction } from './transaction.ts'
import type { World } from './world.ts'

// What keeps transactions from writing to the same rows.

/**
 * `locks`: READ COMMITTED, and a transaction waits for the row locks of others. `optimistic`: nothing waits, and a
 * commit fails if another one has locked or written the same rows since. `serializable`: as `locks`, and a commit also
 * fails if another one has changed what was read.
 */
export type Isolation = 'locks' | 'optimistic' | 'serializable'

interface Waiting {
  readonly transaction: SimulatedTransaction
  readonly key: string
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export class Locks {
  readonly #isolation: Isolation
  readonly #holders = new Map<string, SimulatedTransaction>()
  readonly #waiting: Waiting[] = []
  /** With `optimistic`: how often each key was locked by a transaction that has committed. */
  readonly #stamps = new Map<string, number>()
  readonly #seen = new Map<SimulatedTransaction, Map<string, number>>()
  /** The attempts that have waited for each other in a circle. */
  readonly deadlocks: Array<readonly string[]> = []

  constructor (isolation: Isolation) {
    this.#isolation = isolation
  }

  get leftovers (): string[] {
    return [
      ...[...this.#holders.keys()].map((key) => `${key} is locked`),
      ...this.#waiting.map(({ transaction, key }) => `${transaction.owner} waits for the lock ${key}`)
    ]
  }

  async lock (transaction: SimulatedTransaction, key: string, world: World): Promise<void> {
    if (this.#isolation === 'optimistic') {
      this.#remember(transaction, key)
      return
    }
    const holder = this.#holders.get(key)
    if (holder === transaction) return
    if (holder === undefined) {
      this.#holders.set(key, transaction)
      return
    }
    const circle = this.#findCircle(transaction, holder)
    if (circle !== undefined) {
      this.deadlocks.push(circle)
      throw new RolledBack(`deadlock at ${key}`)
    }
    world.log(`    ${transaction.owner} waits for ${key} of ${holder.owner}`)
    await new Promise<void>((resolve, reject) => this.#waiting.push({ transaction, key, resolve, reject }))
    await world.step(transaction.owner, `${transaction.owner} has the lock ${key}`)
    if (transaction.hasEnded) throw new TransactionEnded()
  }

  /** Before a commit. Throws if another transaction came first. */
  check (transaction: SimulatedTransaction): void {
    const seen = this.#seen.get(transaction) ?? new Map<string, number>()
    for (const [key, stamp] of seen) {
      if ((this.#stamps.get(key) ?? 0) !== stamp) throw new RolledBack(`another transaction came first at ${key}`)
    }
    for (const [key, stamp] of seen) this.#stamps.set(key, stamp + 1)
  }

  /** Releases all locks of the transaction, and the next one in each queue gets them. */
  release (transaction: SimulatedTransaction): void {
    this.#seen.delete(transaction)
    for (const waiting of this.#waiting.filter((one) => one.transaction === transaction)) {
      this.#leave(waiting)
      waiting.reject(new TransactionEnded())
    }
    for (const [key, holder] of this.#holders) {
      if (holder === transaction) this.#holders.delete(key)
    }
    for (const waiting of [...this.#waiting]) {
      if (this.#holders.has(waiting.key)) continue
      this.#holders.set(waiting.key, waiting.transaction)
      this.#leave(waiting)
      waiting.resolve()
    }
  }

  #remember (transaction: SimulatedTransaction, key: string): void {
    const seen = this.#seen.get(transaction) ?? new Map<string, number>()
    const stamp = this.#stamps.get(key) ?? 0
    const before = seen.get(key) ?? stamp
    if (before !== stamp) throw new RolledBack(`another transaction came first at ${key}`)
    this.#seen.set(transaction, seen.set(key, stamp))
  }

  #leave (waiting: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
  }

  /** The owners from the holder to this transaction, if the holder waits for it, perhaps through others. */
  #findCircle (transaction: SimulatedTransaction, holder: SimulatedTransaction): string[] | undefined {
    const owners: string[] = []
    let current: SimulatedTransaction | undefined = holder
    while (current !== undefined) {
      owners.push(current.owner)
      if (current === transaction) return owners
      const waiting = this.#waiting.find((one) => one.transaction === current)
      current = waiting && this.#holders.get(waiting.key)
    }
    return undefined
  }
}
