import { actionNames } from '../engine/action.ts'
import type { ActionName } from '../engine/action.ts'
import { changeOperation } from '../engine/operation.ts'
import { maxDelay, runWithTimeout } from '../engine/time-limit.ts'
import { formatValue } from '../errors/format-value.ts'
import type { Feature, Host } from '../engine/feature.ts'

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
    keepsEntries: true,
    setup (host) {
      const limits = readLimits(host, options)
      host.wrap('operation', (next, { name }) => {
        const milliseconds = limits[name] ?? limits.all
        if (milliseconds === undefined) return next
        return (operation) => {
          return runWithTimeout(milliseconds, operation.context, (limited) => {
            return next(changeOperation(operation, limited))
          })
        }
      }, { outermost: true })
    }
  }
}

function readLimits (host: Host, options: TimeoutOptions): Readonly<Record<string, number>> {
  const given: Readonly<Record<string, number>> = typeof options === 'number' ? { all: options } : options
  if (typeof given !== 'object') {
    host.fail('timeout takes a number of milliseconds, or an object with one for each action, ' +
      `but got ${formatValue(given)}.`)
  }
  host.checkOptions('timeout', given, ['all', ...actionNames])
  for (const [action, milliseconds] of Object.entries(given)) {
    if (!(Number.isInteger(milliseconds) && milliseconds >= 1 && milliseconds <= maxDelay)) {
      host.fail(`timeout: "${action}" is ${formatValue(milliseconds)}. ` +
        `Make it a whole number of milliseconds from 1 to ${maxDelay}.`)
    }
  }
  return given
}
