import { actionNames } from '../action.ts'
import type { ActionName, Result } from '../action.ts'
import { outcomeUnknown, problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { wrapStorage } from '../storage/wrap-storage.ts'
import type { Context, Storage, Unreachable } from '../storage/contract.ts'
import type { Feature, Host } from './feature.ts'

/** Milliseconds for every action, or by action; `all` is for those that are not listed, and for custom actions. */
export type TimeoutOptions = number | Readonly<Partial<Record<ActionName | 'all', number>>>

/**
 * Limits how long actions may take. After that the client gets 503, and nothing more is written.
 *
 * @example
 * define({ name: 'users', schema: User, storage: postgres(pool) })
 *   .with(timeout({ all: 5000, list: 1000 }))
 */
export function timeout (options: TimeoutOptions): Feature<object> {
  return {
    name: 'timeout',
    inherited: true,
    setup (host) {
      const limits = readLimits(host, options)
      host.wrapStorage('timeout', refuseLateWrites)
      host.wrapAction('timeout', (next, { name }) => {
        const milliseconds = limits[name] ?? limits.all
        if (milliseconds === undefined) return next
        return (collection, request) => runWithTimeout(milliseconds, request.context, () => next(collection, request))
      })
    }
  }
}

/** The longest delay of a timer. */
const maxDelay = 2 ** 31 - 1

function readLimits (host: Host, options: TimeoutOptions): Readonly<Record<string, number>> {
  const given: Readonly<Record<string, number>> = typeof options === 'number' ? { all: options } : options
  host.checkOptions('timeout', given, ['all', ...actionNames])
  for (const [action, milliseconds] of Object.entries(given)) {
    if (!(Number.isInteger(milliseconds) && milliseconds >= 1 && milliseconds <= maxDelay)) {
      host.fail(`timeout: "${action}" is ${JSON.stringify(milliseconds)}. ` +
        `Make it a whole number of milliseconds from 1 to ${maxDelay}.`)
    }
  }
  return given
}

/** In milliseconds: how long to wait for a write that has begun. */
const gracePeriod = 1000

/** Thrown when the time is over. The client gets the problem, and the log gets the whole error. */
export class TimeoutError extends Error {
  readonly problem: Problem

  constructor (milliseconds: number, hasBegun: boolean, cause?: unknown) {
    const { isOutcomeUnknown } = Object(cause) as { isOutcomeUnknown?: unknown }
    const begun = isOutcomeUnknown === true
      ? outcomeUnknown
      : 'Its write had begun: read the item to see whether it is done.'
    const effect = hasBegun ? begun : 'Nothing was changed.'
    super(`The request took longer than ${milliseconds} ms. ${effect}`, { cause })
    this.name = 'TimeoutError'
    this.problem = problem('timeout', { detail: this.message, fields: { 'retry-after': '1' } })
  }
}

interface Progress {
  /** How many writes run or are done. */
  writes: number
  /** Set when the time is over. */
  error: TimeoutError | undefined
}

/** By the signal that the storage gets. */
const progresses = new WeakMap<AbortSignal, Progress>()

interface Abortable {
  readonly signal: AbortSignal
  abort (reason: Error): void
}

async function runWithTimeout (milliseconds: number, context: Abortable, run: () => Promise<Result>): Promise<Result> {
  const progress: Progress = { writes: 0, error: undefined }
  progresses.set(context.signal, progress)
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      const error = new TimeoutError(milliseconds, progress.writes > 0)
      progress.error = error
      context.abort(error)
      if (progress.writes === 0) reject(error)
      else timer = setTimeout(reject, gracePeriod, error)
    }, milliseconds)
    run().then(resolve, (thrown: unknown) => {
      // A storage that was aborted throws an error of its own.
      const isTimeout = progress.error !== undefined && thrown instanceof Error
      // It may have waited for a connection all the time.
      const { hasNoEffect } = Object(thrown) as Partial<Unreachable>
      const hasBegun = progress.writes > (hasNoEffect === true ? 1 : 0)
      reject(isTimeout ? new TimeoutError(milliseconds, hasBegun, thrown) : thrown)
    }).finally(() => clearTimeout(timer))
  })
}

/** The same storage, in which no write begins after the time is over. */
function refuseLateWrites<Item> (storage: Storage<Item>): Storage<Item> {
  return wrapStorage<Item, Item>(storage, (inner) => ({
    list: (query, context) => inner.list(query, context),
    find: (id, context) => inner.find(id, context),
    insert: (draft, context) => beginWrite(context, () => inner.insert(draft, context)),
    replace: (id, item, expected, context) => beginWrite(context, () => inner.replace(id, item, expected, context)),
    remove: (id, expected, context) => beginWrite(context, () => inner.remove(id, expected, context))
  }))
}

async function beginWrite<Outcome> ({ signal }: Context, write: () => Promise<Outcome>): Promise<Outcome> {
  const progress = progresses.get(signal)
  if (progress === undefined) return write()
  if (progress.error !== undefined) throw progress.error
  progress.writes++
  const outcome = await write()
  if (typeof outcome === 'object' && outcome !== null && 'refused' in outcome) progress.writes--
  return outcome
}
