import type { SignalContext } from './session.ts'
import { RequestAborted } from './storage-error.ts'

// A client may disconnect while a statement runs. A listener on its signal costs as much as a short statement, so it is
// added only to statements that take long.

/** Milliseconds between two checks. A statement that runs from one check to the next gets a listener. */
const interval = 20

// Arrays, not a set from which each watch is deleted: the hash tables of a set refer to one another, so the garbage
// collector of young objects would keep everything in them.
let added: AbortWatch[] = []
let seenOnce: AbortWatch[] = []

let timer: NodeJS.Timeout | undefined

/** Calls `onAbort` if the signal is aborted before `end` is called. */
export class AbortWatch {
  #context: SignalContext | undefined
  #onAbort: ((error: Error) => void) | undefined
  #signal: AbortSignal | undefined

  constructor (context: SignalContext, onAbort: (error: Error) => void) {
    this.#context = context
    this.#onAbort = onAbort
    added.push(this)
    timer ??= setTimeout(checkWatches, interval)
  }

  listen (): void {
    if (this.#context === undefined) return
    this.#signal = this.#context.signal
    if (this.#signal.aborted) this.handleEvent()
    else this.#signal.addEventListener('abort', this)
  }

  handleEvent (): void {
    this.#onAbort!(new RequestAborted(this.#signal!))
  }

  /** Releases what it refers to: the arrays may hold the watch itself a little longer. */
  end (): void {
    this.#signal?.removeEventListener('abort', this)
    this.#context = undefined
    this.#onAbort = undefined
  }
}

function checkWatches (): void {
  for (const watch of seenOnce) watch.listen()
  seenOnce = added
  added = []
  timer = seenOnce.length === 0 ? undefined : setTimeout(checkWatches, interval)
}

/** Waits for the promise until the signal is aborted. The work itself continues, and its failure is ignored then. */
export function waitUnlessAborted<Result> (promise: Promise<Result>, context: SignalContext): Promise<Result> {
  return new Promise<Result>((resolve, reject) => {
    const watch = new AbortWatch(context, reject)
    promise.then((result) => {
      watch.end()
      resolve(result)
    }, (error: unknown) => {
      watch.end()
      reject(error)
    })
  })
}
