import type { RouteOptions } from './options.ts'

// Fastify's own route options, given for every action, for one action, and by the library: hooks add up in this order, of the rest the later counts.

const hooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend', 'onResponse', 'onTimeout', 'onError', 'onRequestAbort'] as const

export function merged (...options: readonly RouteOptions[]): RouteOptions {
  const route: Record<string, unknown> = Object.assign({}, ...options)
  for (const hook of hooks) {
    const functions = options.flatMap(option => option[hook] ?? [])
    if (functions.length > 0) route[hook] = functions
  }
  return route
}

/** What is not about one action but about the URI: for OPTIONS and 405, which ask for no credentials and read no content. */
export function withoutHooks (options: RouteOptions): RouteOptions {
  const route: Record<string, unknown> = { ...options }
  for (const hook of hooks) delete route[hook]
  return route
}
