import { Cache } from './cache.ts'
import type { Statement } from './session.ts'

/** Statements that are made of the schema, and of the scope where the app states one. */
const mostRecurring = 150
const longestRecurring = 10_000

/** All others: clients decide how many there are, and how long. */
const mostOthers = 50
const longestOther = 2000

/**
 * The statements that stay prepared on one connection. Their number and their length are bounded, and whatever
 * clients send, it does not displace the recurring ones.
 */
export class PreparedStatements<Prepared> {
  readonly #recurring: Cache<Prepared>
  readonly #others: Cache<Prepared>

  constructor (prepare: (text: string) => Prepared, release?: (prepared: Prepared) => void) {
    this.#recurring = new Cache(mostRecurring, prepare, release)
    this.#others = new Cache(mostOthers, prepare, release)
  }

  /** Undefined if the statement must not stay prepared. */
  get ({ text, recurring }: Statement): Prepared | undefined {
    if (recurring === true && text.length <= longestRecurring) return this.#recurring.get(text)
    return text.length <= longestOther ? this.#others.get(text) : undefined
  }
}
