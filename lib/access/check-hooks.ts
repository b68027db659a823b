import type { ActionName } from '../action.ts'
import { BadOption } from '../errors.ts'
import type { Related, RouteOptions } from '../options.ts'

/** A collection through which items of another one can be read. */
type Reader = Pick<Related, 'name' | 'actions' | 'routes'>

/**
 * Hooks in `routes` run for requests to the collection itself. If another one reads it, only its `access` is applied: a
 * caller that such a hook refuses could read it through the other one.
 */
export function checkHooks (reader: Reader, read: Related, what: string): void {
  if (read.access?.stated.has('read') === true) return
  const needed = getRequestHooks(read, 'read')
  if (needed.length === 0) return
  const run = [...reader.actions].every((action) => isSubset(needed, getRequestHooks(reader, action)))
  if (!run) {
    throw new BadOption(reader.name, `${what} reads ${read.name}, ` +
      `but the hooks in the routes of ${read.name} do not run for it. ` +
      `State in access.allow of ${read.name} who may read it ("public" means everyone), ` +
      `or add the same hooks to routes.all of ${reader.name}.`)
  }
}

/** Those that can refuse a request. */
const requestHooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const

function getRequestHooks ({ routes }: Pick<Related, 'routes'>, action: ActionName): unknown[] {
  const given: ReadonlyArray<RouteOptions | undefined> = [routes.all, routes[action]]
  return given.flatMap((route) => requestHooks.flatMap((hook): unknown[] => [route?.[hook] ?? []].flat()))
}

function isSubset (part: readonly unknown[], whole: readonly unknown[]): boolean {
  return part.every((one) => whole.includes(one))
}
