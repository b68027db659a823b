import { HookError } from '../errors/failure.ts'
import { outcomeUnknown, Problem, problem } from '../http/problems.ts'
import type { AbortableContext } from './operation.ts'
import { Progress } from './progress.ts'

/** The longest delay of a timer. */
export const maxDelay = 2 ** 31 - 1

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

/** What work whose time is limited runs with. */
interface LimitedWork {
  readonly progress: Progress
  readonly context: AbortableContext
}

/** Runs an operation or a batch, and aborts what it does when the time is over. */
export async function runWithTimeout<Result> (
  milliseconds: number,
  given: AbortableContext,
  run: (limited: LimitedWork) => Promise<Result>
): Promise<Result> {
  const progress = new Progress()
  const context = toAbortable(given)
  const runOrFail = async (): Promise<Result> => {
    try {
      return await run({ progress, context })
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
      context.abort?.(error)
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
