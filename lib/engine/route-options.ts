import type { ActionName } from './action.ts'
import type { ActionInfo } from './action-info.ts'
import type { HttpOptions } from './collection.ts'
import type { RouteOptions } from './definition.ts'

const hooks = [
  'onRequest',
  'preParsing',
  'preValidation',
  'preHandler',
  'preSerialization',
  'onSend',
  'onResponse',
  'onTimeout',
  'onError',
  'onRequestAbort'
] as const

/** Options of `app.register()` that Fastify reads itself. */
export const registerOptions = ['prefix', 'logLevel', 'logSerializers']

/** Merges options of Fastify routes: hooks add up in this order, each once; of other options, the last one counts. */
export function mergeRouteOptions (...options: readonly RouteOptions[]): RouteOptions {
  const route: Record<string, unknown> = Object.assign({}, ...options)
  for (const hook of hooks) {
    const functions = options.flatMap((option) => option[hook] ?? [])
    if (functions.length > 0) route[hook] = [...new Set(functions)]
  }
  return route
}

/** For OPTIONS and 405, which need no credentials and read no content. */
export function omitHooks (options: RouteOptions): RouteOptions {
  const route: Record<string, unknown> = { ...options }
  for (const hook of hooks) delete route[hook]
  return route
}

/** Returns the options of the routes of an action, in addition to those of all routes. */
export function getRouteOptions (
  { http: { routes } }: { readonly http: Pick<HttpOptions, 'routes'> },
  { name, custom }: ActionInfo
): RouteOptions {
  return (custom === undefined ? routes[name as ActionName] : custom.route) ?? {}
}
