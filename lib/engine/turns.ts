import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Progress } from './progress.ts'

// SQLite and memory return what they have read in the same turn of the event loop. Without a pause, work on many items
// would hold up all other requests, and no timer would end it.

/** How many items are processed in one turn of the event loop. */
const itemsPerTurn = 10

/** Lets other requests and timers run, and refuses to go on if the time is over. */
export async function yieldTurn (progress: Progress | undefined): Promise<void> {
  await nextTurn()
  progress?.check()
}

/** In characters. An item of 400 kB with many properties takes as long as thousands of small ones. */
const longItem = 20_000

/** Whether to yield after the item with this index, and with this length if it is known. */
export function endsTurn (index: number, length = 0): boolean {
  return index % itemsPerTurn === itemsPerTurn - 1 || length >= longItem
}
