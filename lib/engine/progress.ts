import { hasNoEffect } from '../errors/failure.ts'
import { getRefusal } from './refusal.ts'
import type { Storage, TransactionHandle } from '../storage/contract.ts'

type Work<Result> = (storage: Storage<object>, handle?: TransactionHandle) => Promise<Result>

/** What an operation has done when its time is over. */
export class Progress {
  /** How many writes and commits run or are done. Those that were refused or rolled back do not count. */
  #effects = 0
  /** Set when the time is over. */
  error: Error | undefined

  get hasEffect (): boolean {
    return this.#effects > 0
  }

  /** Refuses what begins after the time is over. */
  check (): void {
    if (this.error !== undefined) throw this.error
  }

  /** Runs a write outside of a transaction. */
  async write<Outcome> (write: () => Promise<Outcome>): Promise<Outcome> {
    this.check()
    this.#effects++
    try {
      const outcome = await write()
      if (typeof outcome === 'object' && outcome !== null && 'refused' in outcome) this.#effects--
      return outcome
    } catch (error) {
      if (hasNoEffect(error)) this.#effects--
      throw error
    }
  }

  /** Runs a transaction. What it writes has no effect before the commit, which begins when its work is done. */
  async transaction<Result> (work: Work<Result>, run: (work: Work<Result>) => Promise<Result>): Promise<Result> {
    let isCommitting = false
    const undo = () => {
      if (isCommitting) this.#effects--
      isCommitting = false
    }
    try {
      return await run(async (storage, handle) => {
        // The database may have rolled back the commit before.
        undo()
        const result = await work(storage, handle)
        this.check()
        isCommitting = true
        this.#effects++
        return result
      })
    } catch (error) {
      if (hasNoEffect(error) || getRefusal(error) !== undefined) undo()
      throw error
    }
  }
}
