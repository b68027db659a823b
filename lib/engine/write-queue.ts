import { AsyncLocalStorage } from 'node:async_hooks'
import type { Context, Id, Unreachable } from '../storage/contract.ts'

// The writes to one item run one after another in a process. Otherwise each would read the item and call the hooks, and
// all but the first would lose the race, or hold a connection to wait for the lock of another.

/**
 * In milliseconds. A write that has been next for this long starts although another one runs: that one may be waiting
 * for it in a way that is not visible here, such as through another server.
 */
const maxWait = 5000

/** The writes to one item. */
class ItemQueue {
  running = 1
  readonly waiting: WaitingWrite[] = []
}

/** A write that calls functions of the app, which may write as well. */
interface OuterWrite {
  readonly queue: ItemQueue
  readonly outer: OuterWrite | undefined
  hasEnded: boolean
}

/** What functions of the app run in. */
const outerWrites = new AsyncLocalStorage<OuterWrite>()

interface QueueOptions {
  readonly context: Pick<Context, 'signal'>
  /** Whether it lost a race before. Then it precedes the writes that wait. */
  readonly isRepeated: boolean
  /** Whether it calls functions of the app, which may write as well. */
  readonly callsApp: boolean
}

/** The writes of a collection, by item. */
export class WriteQueue {
  readonly #queues = new Map<Id, ItemQueue>()

  /** Runs a write to an item after those that have begun before. */
  run<Result> (id: Id, options: QueueOptions, write: () => Promise<Result>): Promise<Result> {
    const turn = this.#begin(id, options)
    return turn === undefined ? this.#start(id, options, write) : turn.then(() => this.#start(id, options, write))
  }

  async #start<Result> (id: Id, { context, callsApp }: QueueOptions, write: () => Promise<Result>): Promise<Result> {
    if (callsApp) return this.#runForApp(id, context, write)
    try {
      return await write()
    } finally {
      this.#end(id)
    }
  }

  /**
   * Begins a write, which `#end` ends. Returns undefined if it can start at once, which most can; otherwise a promise
   * that resolves when it can, or rejects if its signal is aborted first.
   */
  #begin (id: Id, { context, isRepeated }: QueueOptions): Promise<void> | undefined {
    const queue = this.#queues.get(id)
    if (queue === undefined) {
      this.#queues.set(id, new ItemQueue())
      return undefined
    }
    const outer = findOuterWrite()
    if (outer !== undefined && mayDependOn(queue, outer)) {
      queue.running++
      return undefined
    }
    const { signal } = context
    if (signal.aborted) return Promise.reject(new WaitAborted(signal.reason))
    return new Promise((resolve, reject) => {
      const write = new WaitingWrite(queue, { isNested: outer !== undefined, signal, resolve, reject })
      if (isRepeated) queue.waiting.unshift(write)
      else queue.waiting.push(write)
      queue.waiting[0]!.limit()
    })
  }

  #end (id: Id): void {
    const queue = this.#queues.get(id)!
    queue.running--
    if (queue.running > 0) return
    const [next] = queue.waiting
    if (next === undefined) this.#queues.delete(id)
    else next.start()
  }

  /**
   * Runs a write with functions of the app, after `#begin`, and ends it. They may never end: when the request is
   * aborted, the next write to the item begins. What this one still writes is compared with the version it has read.
   */
  async #runForApp<Result> (
    id: Id,
    { signal }: Pick<Context, 'signal'>,
    write: () => Promise<Result>
  ): Promise<Result> {
    const outer: OuterWrite = { queue: this.#queues.get(id)!, outer: findOuterWrite(), hasEnded: false }
    const end = (): void => {
      if (outer.hasEnded) return
      outer.hasEnded = true
      this.#end(id)
    }
    signal.addEventListener('abort', end)
    // The event does not come again.
    if (signal.aborted) end()
    try {
      return await outerWrites.run(outer, write)
    } finally {
      signal.removeEventListener('abort', end)
      end()
    }
  }
}

/** The app may go on after its function has ended. Then it no longer runs inside of a write. */
function findOuterWrite (): OuterWrite | undefined {
  let write = outerWrites.getStore()
  while (write?.hasEnded === true) write = write.outer
  return write
}

/**
 * Whether a write inside of these could close a circle of writes that wait for each other: it is to the same item as
 * one of them, or another inner write already waits for one of them. It starts at once then.
 */
function mayDependOn (queue: ItemQueue, outer: OuterWrite): boolean {
  for (let write: OuterWrite | undefined = outer; write !== undefined; write = write.outer) {
    if (write.hasEnded) continue
    if (write.queue === queue || write.queue.waiting.some(({ isNested }) => isNested)) return true
  }
  return false
}

interface WaitOptions {
  /** Whether a function of the app waits for it, inside of another write. */
  readonly isNested: boolean
  readonly signal: AbortSignal
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

class WaitingWrite {
  readonly isNested: boolean
  readonly #queue: ItemQueue
  readonly #options: WaitOptions
  #timer: NodeJS.Timeout | undefined

  constructor (queue: ItemQueue, options: WaitOptions) {
    this.#queue = queue
    this.#options = options
    this.isNested = options.isNested
    options.signal.addEventListener('abort', this.#abort)
  }

  /** Called for the write that is next. */
  limit (): void {
    this.#timer ??= setTimeout(() => this.start(), maxWait)
  }

  start (): void {
    this.#leave()
    this.#queue.running++
    this.#options.resolve()
  }

  readonly #abort = (): void => {
    this.#leave()
    this.#options.reject(new WaitAborted(this.#options.signal.reason))
  }

  #leave (): void {
    clearTimeout(this.#timer)
    this.#options.signal.removeEventListener('abort', this.#abort)
    this.#queue.waiting.splice(this.#queue.waiting.indexOf(this), 1)
    this.#queue.waiting[0]?.limit()
  }
}

/** No client waits for the write any more, so it does not begin. */
class WaitAborted extends Error implements Unreachable {
  readonly unreachable = true
  readonly hasNoEffect = true

  constructor (cause: unknown) {
    super('The request was aborted while it waited for other writes to the item', { cause })
    this.name = 'WaitAborted'
  }
}
