import type { ActionName } from './action-names.ts'
import { BadOption } from './errors.ts'

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
