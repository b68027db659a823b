import { actionNames } from '../action.ts'
import type { ActionName } from '../action.ts'
import { BadOption } from '../../errors/errors.ts'
import type { RouteOptions } from '../definition.ts'
import type { AccessRules } from './rules.ts'

/** The part of a collection that decides which hooks run. */
interface Hooked {
  readonly name: string
  readonly actions: ReadonlySet<ActionName>
  readonly access: AccessRules | undefined
  readonly http: { readonly routes: Readonly<Partial<Record<ActionName | 'all', RouteOptions>>> }
}

/**
 * Hooks in `routes` run for requests to the collection itself. If another one reads it, only its `access` is applied: a
 * caller that such a hook refuses could read it through the other one.
 */
export function checkHooks (
  reader: Omit<Hooked, 'access'>,
  read: Hooked,
  { what, action }: { readonly what: string, readonly action: 'list' | 'read' }
): void {
  if (read.access?.explicit.has(action) === true) return
  const needed = getRequestHooks(read, action)
  if (needed.length === 0) return
  const run = [...reader.actions].every((one) => isSubset(needed, getRequestHooks(reader, one)))
  if (!run) {
    throw new BadOption(reader.name, `${what} reads ${read.name}, ` +
      `but the hooks in the routes of ${read.name} do not run for it. ` +
      `State in access.allow.${action} of ${read.name} who may read it ("public" means everyone), ` +
      `or add the same hooks to routes.all of ${reader.name}.`)
  }
}

/** A custom action, as far as its hooks are concerned. */
interface HookedAction {
  readonly name: string
  /** Whether it only reads. */
  readonly safe: boolean
  readonly route: RouteOptions
}

const readActions: readonly ActionName[] = ['list', 'read']

/**
 * A custom action runs the hooks of `routes.all` and its own. If hooks of other actions protect the collection, it is
 * open to everyone, so it has to state who may call it.
 */
export function checkActionHooks ({ name, http }: Pick<Hooked, 'name' | 'http'>, custom: HookedAction): void {
  const { routes } = http
  const { safe, route } = custom
  if (collectHooks(route).length > 0) return
  const general = collectHooks(routes.all)
  const hasOwnHooks = (one: ActionName): boolean => !isSubset(collectHooks(routes[one]), general)
  const hooked = (safe ? readActions : actionNames).filter(hasOwnHooks)
  if (hooked.length === 0) return
  throw new BadOption(name, `the hooks in the routes of ${hooked.join(', ')} ` +
    `do not run for the action "${custom.name}". ` +
    'Move them to routes.all, add them to route of the action, ' +
    'or add allow to the action to state who may call it ("public" means everyone).')
}

/**
 * A write to all items that match runs the hooks of its action. Its filter reads as a list does: a caller that hooks of
 * the list refuse could find out values of items.
 */
export function checkBulkHooks (
  { name, http, access }: Pick<Hooked, 'name' | 'http' | 'access'>,
  action: 'create' | 'update' | 'remove'
): void {
  if (access?.explicit.has('list') === true) return
  if (isSubset(getRequestHooks({ http }, 'list'), getRequestHooks({ http }, action))) return
  throw new BadOption(name, `the hooks in the routes of list do not run for a bulk ${action}, which finds items ` +
    `as a list does. State in access.allow who may list ("public" means everyone), or add the hooks to ${action}.`)
}

/** Those that can refuse a request. */
const requestHooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const

/** The options of a route that are functions: the hooks, and one of @fastify/websocket. */
const routeFunctions: ReadonlySet<string> = new Set([
  ...requestHooks,
  'preSerialization', 'onSend', 'onResponse', 'onTimeout', 'onError', 'onRequestAbort',
  'childLoggerFactory', 'wsHandler'
])

/** Refuses functions that Fastify would never call. A misspelled hook would leave the collection open. */
export function checkRouteFunctions (name: string, option: string, route: RouteOptions): void {
  for (const [key, value] of Object.entries(route) as Array<[string, unknown]>) {
    const isFunction = [value].flat().some((part) => typeof part === 'function')
    if (!isFunction || routeFunctions.has(key)) continue
    throw new BadOption(name, `${option}.${key} is a function, but no hook of Fastify has this name. ` +
      `Hooks that can refuse a request: ${requestHooks.join(', ')}.`)
  }
}

/** Returns the hooks in `routes` that can refuse a request for the action. */
export function getRequestHooks ({ http: { routes } }: Pick<Hooked, 'http'>, action: ActionName): unknown[] {
  return [...collectHooks(routes.all), ...collectHooks(routes[action])]
}

/** Returns the hooks of a route that can refuse a request. */
export function collectHooks (route: RouteOptions | undefined): unknown[] {
  return requestHooks.flatMap((hook): unknown[] => [route?.[hook] ?? []].flat())
}

function isSubset (part: readonly unknown[], whole: readonly unknown[]): boolean {
  return part.every((one) => whole.includes(one))
}
