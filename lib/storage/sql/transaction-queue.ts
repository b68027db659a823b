import { throwIfAborted, waitUnlessAborted } from '../abort-watch.ts'
import type { SignalContext } from './session.ts'
import { WriteBatch } from './write-batch.ts'

/** The transactions on one handle, one after the other. Other statements wait, or they would be part of them. */
export class TransactionQueue {
  /** Settles with the last transaction; undefined if there is none. */
  last: Promise<void> | undefined
  readonly batch: WriteBatch

  constructor (execute: (text: string) => unknown) {
    this.batch = new WriteBatch(execute, () => this.last === undefined)
  }

  /** Work that is aborted while it waits does not begin. */
  async run<Result> (work: () => Promise<Result>, context: SignalContext): Promise<Result> {
    const previous = this.last
    const result = (previous ?? Promise.resolve()).then(() => {
      throwIfAborted(context)
      return work()
    })
    const end = () => {
      if (this.last === ended) this.last = undefined
    }
    const ended = result.then(end, end)
    this.last = ended
    if (previous !== undefined) await waitUnlessAborted(previous, context, { hasNoEffect: true })
    return await result
  }
}

const queues = new WeakMap<object, TransactionQueue>()

/** Returns the queue of a handle: one for all sessions that use it. */
export function getTransactionQueue (handle: { exec (text: string): unknown }): TransactionQueue {
  const queue = queues.get(handle) ?? new TransactionQueue((text) => handle.exec(text))
  queues.set(handle, queue)
  return queue
}
