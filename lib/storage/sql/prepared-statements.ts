import { Cache } from './cache.ts'
import type { Statement } from './session.ts'

/** Statements that depend only on the schema and the scope. */
const maxRecurring = 150
const maxRecurringLength = 10_000

/** All others: clients decide how many there are, and how long. */
const maxOthers = 50
const maxOtherLength = 2000

/**
 * The statements that stay prepared on one connection. Their number and length are bounded, and statements that clients
 * vary do not displace the recurring ones.
 */
export class PreparedStatements<Prepared> {
  readonly #recurring: Cache<Prepared>
  readonly #others: Cache<Prepared>

  constructor (prepare: (text: string) => Prepared, release?: (prepared: Prepared) => void) {
    this.#recurring = new Cache(maxRecurring, prepare, release)
    this.#others = new Cache(maxOthers, prepare, release)
  }

  /** Undefined if the statement must not stay prepared. */
  get ({ text, recurring }: Statement): Prepared | undefined {
    if (recurring === true && text.length <= maxRecurringLength) return this.#recurring.get(text)
    return text.length <= maxOtherLength ? this.#others.get(text) : undefined
  }
}
