import type { Id, Storage } from '../storage/contract.ts'

// Writes to one item run one after another once they have collided: the slowest would otherwise lose every race.

/** In milliseconds. A slower write no longer holds up the next one, which may be what it waits for. */
const longestTurn = 1000

/** By storage and id: settled when the last write in the queue ends. */
const queues = new WeakMap<Storage<object>, Map<Id, Promise<void>>>()

/** In all storages. Mostly 0, which saves the lookup. */
let queuedWrites = 0

export function isQueued (storage: Storage<object>, id: Id): boolean {
  return queuedWrites > 0 && queues.get(storage)?.has(id) === true
}

/** Runs the write after those of the same item that were queued before it. */
export async function queueByItem<Result> (storage: Storage<object>, id: Id, write: () => Promise<Result>): Promise<Result> {
  let queue = queues.get(storage)
  if (queue === undefined) queues.set(storage, queue = new Map())
  let end!: () => void
  const ended = new Promise<void>((resolve) => { end = resolve })
  const previous = queue.get(id)
  const last = previous === undefined ? ended : previous.then(() => ended)
  queue.set(id, last)
  queuedWrites++
  await previous
  const timer = setTimeout(end, longestTurn)
  try {
    return await write()
  } finally {
    clearTimeout(timer)
    end()
    queuedWrites--
    if (queue.get(id) === last) queue.delete(id)
  }
}
