import type { ActionName } from '../action.ts'
import type { ActionInfo } from '../action-info.ts'
import type { Collection } from '../collection.ts'
import { getRouteOptions } from '../route-options.ts'
import { collectHooks, getRequestHooks } from './check-hooks.ts'

// What batches and agents check at boot: one request calls several collections, without their routes.

interface Door {
  /** What the hooks of routes do not run for: "agents". */
  readonly calls: string
  /** What has one caller: "a request". */
  readonly request: string
  fail (message: string): never
}

/** One request has one caller. */
export function checkAuthentication (
  { name, access }: Collection,
  first: Collection,
  { request, fail }: Door
): void {
  if (access?.authenticate === first.access?.authenticate) return
  fail(`${name} and ${first.name} do not have the same function access.authenticate, ` +
    `so ${request} could have two callers. Share the function, for example with defineWith(); ` +
    'a collection that is open to everyone states allow: \'public\' beside it.')
}

/**
 * Hooks in `routes` do not run: a caller that such a hook refuses could call the collection through the door. Those of
 * the collection that it is nested in do not run either.
 */
export function checkRouteHooks (collection: Collection, actions: readonly ActionInfo[], { calls, fail }: Door): void {
  const { name, http: { routes }, access, attached: { parent } } = collection
  const refuse = (hooked: string, action: string, hint: string): void => {
    fail(`the hooks in the routes of ${hooked} do not run for ${calls}, ` +
      `and its access does not state who may call ${action}.${hint} ` +
      `State it in access.allow of ${hooked} ("public" means everyone), or leave ${name} out.`)
  }
  for (const action of actions) {
    const { key, custom, rules } = action
    const hasHooks = [routes.all, getRouteOptions(collection, action)].some((route) => collectHooks(route).length > 0)
    const isExplicit = custom === undefined
      ? rules.every((rule) => access?.explicit.has(rule as ActionName) === true)
      : custom.allow !== undefined || access?.explicit.has('all') === true
    if (hasHooks && !isExplicit) refuse(name, key, '')
  }
  if (parent === undefined || parent.collection.access?.explicit.has('read') === true) return
  const hooks = getRequestHooks(parent.collection, 'read')
  if (hooks.length > 0) refuse(parent.collection.name, 'read', ` ${name} is nested in it.`)
}
