/** A write that waits for others. */
interface Waiting {
  /** Done at once, within a transaction. */
  readonly write: () => unknown
  /** The same by itself. */
  readonly alone: () => Promise<unknown>
  readonly resolve: (result: unknown) => void
}

/**
 * Does in one transaction what many want to write in one turn of the event loop: to commit takes longer than to write a row, and much longer
 * where the disk is waited for. The first one of a turn does not wait, since mostly it is the only one. Nobody hears of a write before it is committed.
 */
export class Batch {
  readonly #execute: (text: string) => unknown
  readonly #isFree: () => boolean
  /** Behind the first; undefined as long as nothing was written in this turn. */
  #waiting: Waiting[] | undefined

  /** Where somebody has a transaction of his own, each waits for its end by itself. */
  constructor (execute: (text: string) => unknown, isFree: () => boolean) {
    this.#execute = execute
    this.#isFree = isFree
  }

  add<Result> (write: () => Result, alone: () => Promise<Result>): Promise<Result> {
    const waiting = this.#waiting
    if (waiting !== undefined) return new Promise<unknown>((resolve) => { waiting.push({ write, alone, resolve }) }) as Promise<Result> // of the write
    this.#waiting = []
    setImmediate(this.#end)
    return alone()
  }

  readonly #end = (): void => {
    const waiting = this.#waiting!
    this.#waiting = undefined
    const results = waiting.length > 1 && this.#isFree() ? this.#together(waiting) : undefined
    for (const [at, { alone, resolve }] of waiting.entries()) resolve(results === undefined ? alone() : results[at])
  }

  /** All or nothing: where one fails, by whatever it is, SQLite may have undone the others or not. */
  #together (waiting: readonly Waiting[]): unknown[] | undefined {
    if (!this.#succeeds('BEGIN IMMEDIATE')) return undefined
    try {
      const results = waiting.map(({ write }) => write())
      this.#execute('COMMIT')
      return results
    } catch {
      this.#succeeds('ROLLBACK')
      return undefined
    }
  }

  #succeeds (text: string): boolean {
    try {
      this.#execute(text)
      return true
    } catch {
      return false
    }
  }
}
