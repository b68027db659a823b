import type { ActionName } from './action-names.ts'
import { BadOption } from './errors.ts'
import type { Guard } from './guard.ts'

/** What of it can be repeated with an Idempotency-Key, and for how long. */
export interface IdempotencyOptions {
  /** By default both. */
  actions?: ReadonlyArray<'create' | 'update'>
  /** Whether these need a key; without one they are answered 400. */
  required?: boolean
  /** In seconds, how long an answer is kept. */
  expiry?: number
  /** In seconds, how long a request that does not end, because its process has, holds its key. */
  lease?: number
}

/** Which requests can be repeated by their key, and for how long. */
export interface Idempotency {
  readonly actions: ReadonlySet<ActionName>
  readonly required: boolean
  /** In milliseconds: how long an answer is kept. */
  readonly expiry: number
  /** In milliseconds: how long a request that does not end holds its key. */
  readonly lease: number
}

const repeatable: readonly ActionName[] = ['create', 'update']

/** The defaults: a day, and half a minute. */
export function idempotencyOf (name: string, options: IdempotencyOptions | undefined): Idempotency | undefined {
  if (options === undefined) return undefined
  const { actions = ['create', 'update'], required = false, expiry = 86_400, lease = 30 } = options
  const unknown = actions.find(action => !repeatable.includes(action))
  if (unknown !== undefined) throw new BadOption(name, `idempotency.actions names ${JSON.stringify(unknown)}. It can name: ${repeatable.join(', ')}; the others can be repeated as they are.`)
  if (!(lease > 0 && lease <= expiry && expiry < Infinity)) throw new BadOption(name, `idempotency is { expiry: ${expiry}, lease: ${lease} }. Both are seconds, and 0 < lease <= expiry.`)
  return { actions: new Set(actions), required, expiry: Math.ceil(expiry * 1000), lease: Math.ceil(lease * 1000) }
}

const identifyingHooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const

interface Owned {
  readonly idempotency: Idempotency | undefined
  readonly guard: Guard | undefined
  readonly routes: Readonly<Partial<Record<ActionName | 'every', { readonly [Hook in typeof identifyingHooks[number]]?: unknown }>>>
}

/** A key belongs to a caller, and only the app knows by what its own hooks and functions identify callers. */
export function checkKeyOwners (name: string, { idempotency, guard, routes }: Owned): void {
  if (idempotency === undefined || guard?.authentication !== undefined || guard?.scope !== undefined) return
  for (const action of idempotency.actions) {
    const hook = identifyingHooks.find(hook => [routes.every, routes[action]].some(options => options?.[hook] !== undefined))
    const found = hook !== undefined ? `routes has the hook ${hook}` : typeof guard?.rules[action] === 'function' ? 'access is a function' : undefined
    if (found === undefined) continue
    throw new BadOption(name, `idempotency has to know whose a key is, but ${found} for ${action} and nothing names the caller. Add authentication: { caller: request => ... }, which runs after the hooks of routes and may return what they have found out; or, if all callers are one, { caller: () => undefined } and access: 'public'.`)
  }
}
