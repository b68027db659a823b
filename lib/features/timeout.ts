import { actionNames } from '../action.ts'
import type { ActionName, Result } from '../action.ts'
import { hasNoEffect, HookError } from '../failure.ts'
import { outcomeUnknown, Problem, problem } from '../http/problems.ts'
import { getRefusal } from '../response/refusal.ts'
import { wrapStorage } from '../storage/wrap-storage.ts'
import type { Context, Storage, TransactionHandle } from '../storage/contract.ts'
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

/** In milliseconds: how long to wait for a write or a commit that has begun. */
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

/** What an action has done when its time is over. */
class Progress {
  /** How many writes and commits run or are done. Those that were refused or rolled back do not count. */
  #effects = 0
  /** Set when the time is over. */
  error: TimeoutError | undefined

  get hasEffect (): boolean {
    return this.#effects > 0
  }

  /** Refuses what begins after the time is over. */
  check (): void {
    if (this.error !== undefined) throw this.error
  }

  /** Runs a write outside of a transaction. */
  async write<Outcome> (write: () => Promise<Outcome>): Promise<Outcome> {
    this.check()
    this.#effects++
    try {
      const outcome = await write()
      if (typeof outcome === 'object' && outcome !== null && 'refused' in outcome) this.#effects--
      return outcome
    } catch (error) {
      if (hasNoEffect(error)) this.#effects--
      throw error
    }
  }

  /** Runs a transaction. What it writes has no effect before the commit, which begins when its work is done. */
  async transaction<Item, Result> (
    work: Work<Item, Result>,
    run: (work: Work<Item, Result>) => Promise<Result>
  ): Promise<Result> {
    let isCommitting = false
    const undo = () => {
      if (isCommitting) this.#effects--
      isCommitting = false
    }
    try {
      return await run(async (storage, handle) => {
        // The database may have rolled back the commit before.
        undo()
        const result = await work(storage, handle)
        this.check()
        isCommitting = true
        this.#effects++
        return result
      })
    } catch (error) {
      if (hasNoEffect(error) || getRefusal(error) !== undefined) undo()
      throw error
    }
  }
}

type Work<Item, Result> = (storage: Storage<Item>, handle?: TransactionHandle) => Promise<Result>

/** By the signal that the storage gets: contexts are wrapped on their way to it. */
const progresses = new WeakMap<AbortSignal, Progress>()

interface Abortable {
  readonly signal: AbortSignal
  abort (reason: Error): void
}

async function runWithTimeout (milliseconds: number, context: Abortable, run: () => Promise<Result>): Promise<Result> {
  const progress = new Progress()
  progresses.set(context.signal, progress)
  const runOrFail = async (): Promise<Result> => {
    try {
      return await run()
    } catch (thrown) {
      // What was aborted throws an error of its own.
      if (progress.error === undefined || thrown instanceof Problem) throw thrown
      throw new TimeoutError(milliseconds, progress.hasEffect, thrown instanceof HookError ? thrown.cause : thrown)
    }
  }
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      const error = new TimeoutError(milliseconds, progress.hasEffect)
      progress.error = error
      context.abort(error)
      if (progress.hasEffect) timer = setTimeout(reject, gracePeriod, error)
      else reject(error)
    }, milliseconds)
    runOrFail().then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** The same storage, in which no write and no commit begins after the time is over. */
function refuseLateWrites<Item> (storage: Storage<Item>): Storage<Item> {
  const limited = wrapStorage<Item, Item>(storage, (inner) => {
    // Within a transaction, only its commit has an effect.
    const write = inner === storage ? beginWrite : beginStatement
    return {
      list: (query, context) => inner.list(query, context),
      find: (id, context) => inner.find(id, context),
      insert: (draft, context) => write(context, () => inner.insert(draft, context)),
      replace: (id, item, expected, context) => write(context, () => inner.replace(id, item, expected, context)),
      remove: (id, expected, context) => write(context, () => inner.remove(id, expected, context))
    }
  })
  const { transaction } = limited
  return {
    ...limited,
    ...transaction && {
      transaction: (work, context) => beginTransaction(context, work, (tracked) => transaction(tracked, context))
    }
  }
}

type SignalContext = Pick<Context, 'signal'>

async function beginWrite<Outcome> ({ signal }: SignalContext, write: () => Promise<Outcome>): Promise<Outcome> {
  const progress = progresses.get(signal)
  return progress === undefined ? write() : progress.write(write)
}

async function beginStatement<Outcome> ({ signal }: SignalContext, write: () => Promise<Outcome>): Promise<Outcome> {
  progresses.get(signal)?.check()
  return write()
}

async function beginTransaction<Item, Result> (
  { signal }: SignalContext,
  work: Work<Item, Result>,
  run: (work: Work<Item, Result>) => Promise<Result>
): Promise<Result> {
  const progress = progresses.get(signal)
  return progress === undefined ? run(work) : progress.transaction(work, run)
}
