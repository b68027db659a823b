import { actionNames } from './action-names.ts'
import type { ActionName } from './action-names.ts'
import { layered } from './layer.ts'
import type { Context, Storage } from './storage/contract.ts'

// By when an action has to be done. Past it nothing new is written; what was being written then is waited for, a little.

/** In milliseconds: how long the outcome of a write that had begun is waited for. */
const grace = 1000

export class DeadlinePassed extends Error {
  constructor (milliseconds: number, begun: boolean, cause?: unknown) {
    super(`The request took longer than ${milliseconds} ms. ${begun ? 'Its write had begun: read the item to see whether it is done.' : 'Nothing was changed.'}`, { cause })
    this.name = 'DeadlinePassed'
  }
}

type Deadlines = Partial<Record<ActionName, number>>

/** In milliseconds, by action. */
export function deadlinesOf (given: number | Deadlines & { every?: number } = {}): Deadlines {
  const { every, ...own } = typeof given === 'number' ? { every: given } : given
  return every === undefined ? own : { ...Object.fromEntries(actionNames.map(name => [name, every])), ...own }
}

interface Progress {
  /** How many writes run or are done. */
  begun: number
  passed: DeadlinePassed | undefined
}

/** By the signal that the storage is given. */
const progresses = new WeakMap<AbortSignal, Progress>()

interface Abortable {
  readonly signal: AbortSignal
  abort (reason: Error): void
}

export async function inTime<Result> (milliseconds: number, context: Abortable, work: () => Promise<Result>): Promise<Result> {
  const progress: Progress = { begun: 0, passed: undefined }
  progresses.set(context.signal, progress)
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      const passed = progress.passed = new DeadlinePassed(milliseconds, progress.begun > 0)
      context.abort(passed)
      if (progress.begun === 0) reject(passed)
      else timer = setTimeout(reject, grace, passed)
    }, milliseconds)
    work().then(resolve, (thrown: unknown) => {
      // A problem is an answer and no Error: what the storage refused, it refused.
      reject(progress.passed === undefined || !(thrown instanceof Error) ? thrown : new DeadlinePassed(milliseconds, progress.begun > 0, thrown))
    }).finally(() => clearTimeout(timer))
  })
}

/** The same storage, in which no write begins once the deadline has passed. */
export function punctual<Item> (storage: Storage<Item>): Storage<Item> {
  return layered<Item, Item>(storage, kept => ({
    list: (query, context) => kept.list(query, context),
    find: (id, context) => kept.find(id, context),
    insert: (draft, context) => begun(context, () => kept.insert(draft, context)),
    replace: (id, item, expected, context) => begun(context, () => kept.replace(id, item, expected, context)),
    remove: (id, expected, context) => begun(context, () => kept.remove(id, expected, context))
  }))
}

async function begun<Result> ({ signal }: Context, write: () => Promise<Result>): Promise<Result> {
  const progress = progresses.get(signal)
  if (progress === undefined) return write()
  if (progress.passed !== undefined) throw progress.passed
  progress.begun++
  const result = await write()
  if (typeof result === 'object' && result !== null && 'refused' in result) progress.begun--
  return result
}
