import { actionNames } from '../action.ts'
import type { ActionName } from '../action.ts'
import { changeOperation } from '../engine/operation.ts'
import type { AbortableContext, Operation, Run } from '../engine/operation.ts'
import { Progress } from '../engine/progress.ts'
import { HookError } from '../failure.ts'
import { outcomeUnknown, Problem, problem } from '../http/problems.ts'
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
      host.wrap('operation', (next, { name }) => {
        const milliseconds = limits[name] ?? limits.all
        if (milliseconds === undefined) return next
        return (collection, operation) => {
          return runWithTimeout(milliseconds, operation, (limited) => next(collection, limited))
        }
      }, { outermost: true })
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
    this.problem = problem('timeout', { detail: this.message, headers: { 'retry-after': '1' } })
  }
}

/** Runs an operation, and aborts what it does when the time is over. */
async function runWithTimeout (
  milliseconds: number,
  given: Operation,
  run: (operation: Operation) => ReturnType<Run>
): ReturnType<Run> {
  const progress = new Progress()
  const operation = changeOperation(given, { progress, context: toAbortable(given.context) })
  const runOrFail = async (): ReturnType<Run> => {
    try {
      return await run(operation)
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
      operation.context.abort?.(error)
      if (progress.hasEffect) timer = setTimeout(reject, gracePeriod, error)
      else reject(error)
    }, milliseconds)
    runOrFail().then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** The signal of a call from code belongs to the app, so the call gets one that can be aborted as well. */
function toAbortable (context: AbortableContext): AbortableContext {
  if (context.abort !== undefined) return context
  const controller = new AbortController()
  return {
    ...context,
    signal: AbortSignal.any([context.signal, controller.signal]),
    abort: (reason) => controller.abort(reason)
  }
}
