import type { Id, Storage } from './storage/contract.ts'

// Writers of one item in this process take turns once they have met: each would otherwise be overtaken by the quickest, again and again.

/** In milliseconds: a writer that takes longer, such as one that waits for another in turn, holds up nobody. */
const patience = 1000

/** By storage and id, when the last of the writers is done. */
const turns = new WeakMap<Storage<object>, Map<Id, Promise<void>>>()

/** Of all storages: mostly nobody has met anybody. */
let writers = 0

export function contended (storage: Storage<object>, id: Id): boolean {
  return writers > 0 && turns.get(storage)?.has(id) === true
}

export async function inTurn<Result> (storage: Storage<object>, id: Id, work: () => Promise<Result>): Promise<Result> {
  let last = turns.get(storage)
  if (last === undefined) turns.set(storage, last = new Map())
  let end!: () => void
  const ended = new Promise<void>(resolve => { end = resolve })
  const before = last.get(id)
  const mine = before === undefined ? ended : before.then(() => ended)
  last.set(id, mine)
  writers++
  await before
  const timer = setTimeout(end, patience)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
    end()
    writers--
    if (last.get(id) === mine) last.delete(id)
  }
}
