interface QueuedWrite {
  /** Writes synchronously, within a transaction. */
  readonly write: () => unknown
  /** Writes the same outside of a transaction. */
  readonly writeAlone: () => Promise<unknown>
  readonly resolve: (result: unknown) => void
}

/**
 * Commits the writes of one turn of the event loop in one transaction: a commit takes longer than to write a row, and
 * much longer if it waits for the disk. The first write of a turn does not wait, because it is usually the only one.
 * No write is reported before it is committed.
 */
export class WriteBatch {
  readonly #execute: (text: string) => unknown
  readonly #isFree: () => boolean
  /** The writes after the first; undefined if nothing was written in this turn. */
  #queue: QueuedWrite[] | undefined

  /** While the app has a transaction open on this handle (`isFree` returns false), writes are not batched. */
  constructor (execute: (text: string) => unknown, isFree: () => boolean) {
    this.#execute = execute
    this.#isFree = isFree
  }

  add<Result> (write: () => Result, writeAlone: () => Promise<Result>): Promise<Result> {
    const queue = this.#queue
    if (queue !== undefined) {
      const result = new Promise<unknown>((resolve) => { queue.push({ write, writeAlone, resolve }) })
      return result as Promise<Result>
    }
    this.#queue = []
    setImmediate(this.#flush)
    return writeAlone()
  }

  readonly #flush = (): void => {
    const queue = this.#queue!
    this.#queue = undefined
    const results = queue.length > 1 && this.#isFree() ? this.#writeTogether(queue) : undefined
    for (const [index, { writeAlone, resolve }] of queue.entries()) {
      resolve(results === undefined ? writeAlone() : results[index])
    }
  }

  /** Writes all or nothing: after a failure, SQLite may have rolled back the others or not. */
  #writeTogether (queue: readonly QueuedWrite[]): unknown[] | undefined {
    if (!this.#tryExecute('BEGIN IMMEDIATE')) return undefined
    try {
      const results = queue.map(({ write }) => write())
      this.#execute('COMMIT')
      return results
    } catch {
      this.#tryExecute('ROLLBACK')
      return undefined
    }
  }

  #tryExecute (text: string): boolean {
    try {
      this.#execute(text)
      return true
    } catch {
      return false
    }
  }
}
