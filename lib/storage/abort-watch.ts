import type { Context } from './contract.ts'
import { RequestAborted } from './unreachable.ts'

// A client may disconnect while a statement runs. A listener on its signal costs as much as a short statement, so it is
// added only to statements that take long.

type SignalContext = Pick<Context, 'signal'>

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
  #onAbort: ((signal: AbortSignal) => void) | undefined
  #signal: AbortSignal | undefined

  constructor (context: SignalContext, onAbort: (signal: AbortSignal) => void) {
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
    this.#onAbort!(this.#signal!)
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
export function waitUnlessAborted<Result> (
  promise: Promise<Result>,
  context: SignalContext,
  { hasNoEffect = false } = {}
): Promise<Result> {
  return new Promise<Result>((resolve, reject) => {
    const watch = new AbortWatch(context, (signal) => reject(new RequestAborted(signal, hasNoEffect)))
    promise.then((result) => {
      watch.end()
      resolve(result)
    }, (error: unknown) => {
      watch.end()
      reject(error)
    })
  })
}

/** Refuses what has not begun when the signal is aborted. */
export function throwIfAborted ({ signal }: SignalContext): void {
  if (signal.aborted) throw new RequestAborted(signal, true)
}

/**
 * Runs the work of a transaction up to its commit, which must not begin once the signal is aborted. A function of the
 * app may not end then, or end much later: its result is ignored.
 */
export async function runUnlessAborted<Result> (work: () => Promise<Result>, context: SignalContext): Promise<Result> {
  throwIfAborted(context)
  const result = await waitUnlessAborted(work(), context, { hasNoEffect: true })
  throwIfAborted(context)
  return result
}
