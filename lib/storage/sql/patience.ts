import type { Context } from '../contract.ts'
import { abandoned } from './faults.ts'

// Who waits for a statement may go. To listen for that costs as much as a short statement does, so it is begun once a statement takes long.

export type Asker = Pick<Context, 'signal'>

/** Milliseconds between two looks: a wait that lasted from one to the next is long. */
const pause = 20

// Arrays, and not a set out of which each is taken when it is over: the tables of a set refer to one another, and the collector of young objects keeps all that is in them.
let begun: Wait[] = []
let seen: Wait[] = []

let timer: NodeJS.Timeout | undefined

/** One that waits, and how it is told that it need not any longer. */
export class Wait {
  #asker: Asker | undefined
  #leave: ((error: Error) => void) | undefined
  #signal: AbortSignal | undefined

  constructor (asker: Asker, leave: (error: Error) => void) {
    this.#asker = asker
    this.#leave = leave
    begun.push(this)
    timer ??= setTimeout(look, pause)
  }

  listen (): void {
    if (this.#asker === undefined) return
    this.#signal = this.#asker.signal
    if (this.#signal.aborted) this.handleEvent()
    else this.#signal.addEventListener('abort', this)
  }

  handleEvent (): void {
    this.#leave!(abandoned(this.#signal!))
  }

  /** It may be looked at once more: what it was about is let go. */
  end (): void {
    this.#signal?.removeEventListener('abort', this)
    this.#asker = undefined
    this.#leave = undefined
  }
}

function look (): void {
  for (const wait of seen) wait.listen()
  seen = begun
  begun = []
  timer = seen.length === 0 ? undefined : setTimeout(look, pause)
}

/** Waits as long as the asker does. What it waits for goes on all the same, and nobody hears of its failure then. */
export function awaited<Result> (promise: Promise<Result>, asker: Asker): Promise<Result> {
  return new Promise<Result>((resolve, reject) => {
    const wait = new Wait(asker, reject)
    promise.then(result => {
      wait.end()
      resolve(result)
    }, (error: unknown) => {
      wait.end()
      reject(error)
    })
  })
}
