import type { FastifyRequest } from 'fastify'
import { getStatus, isUnreachable, ProblemError } from '../../errors/failure.ts'
import { isObject } from '../../http/json-value.ts'
import { problem } from '../../http/problems.ts'
import type { Collection } from '../collection.ts'
import type { Caller } from './caller.ts'
import type { AccessRules, Authenticate } from './rules.ts'

// Who sends a request. Collections that share `authenticate` share its result.

/** The caller, or why its credentials were refused. */
export interface Identified {
  readonly caller: Caller | undefined
  readonly refusal: unknown
}

type Identifications = Map<Authenticate, Promise<Identified>>

const key = Symbol('fastify-collections: callers')

type Incoming = FastifyRequest & { [key]?: Identifications }

function getIdentifications (incoming: Incoming): Identifications {
  // The request of a part of a batch inherits from that of the batch, but has callers of its own.
  if (!Object.hasOwn(incoming, key)) incoming[key] = new Map()
  return incoming[key]!
}

const anonymous: Identified = Object.freeze({ caller: undefined, refusal: undefined })

/** Returns the caller of a request. Each collection may identify it by a function of its own. */
export function identify ({ authenticate }: AccessRules, incoming: Incoming): Promise<Identified> | Identified {
  if (authenticate === undefined) return anonymous
  const known = getIdentifications(incoming)
  let result = known.get(authenticate)
  if (result === undefined) known.set(authenticate, result = callAuthenticate(authenticate, incoming))
  return result
}

/**
 * A part of a batch has a request of its own, and the caller of the batch. That is identified by the request of the
 * batch: the method and the URI of one part say nothing about the others, and what the function sets on the request is
 * there for all of them.
 */
export async function shareCallers (
  { access, attached: { parent } }: Collection,
  from: Incoming,
  to: Incoming
): Promise<void> {
  for (const rules of [access, parent?.collection.access]) {
    if (rules !== undefined) await identify(rules, from)
  }
  to[key] = getIdentifications(from)
}

async function callAuthenticate (authenticate: Authenticate, incoming: Incoming): Promise<Identified> {
  let caller: unknown
  try {
    caller = await authenticate({ request: incoming })
  } catch (thrown) {
    return { caller: undefined, refusal: toCredentialRefusal(thrown, incoming) }
  }
  if (caller === undefined || caller === null || caller === '') return anonymous
  return { caller: checkCaller(caller), refusal: undefined }
}

/** Idempotency keys and caches tell callers apart, so each needs an id. */
function checkCaller (caller: unknown): Caller {
  if (typeof caller === 'string') return caller
  const id = isObject(caller) ? caller.id : undefined
  // The app has declared the type of what it returns.
  if (typeof id === 'number' || (typeof id === 'string' && id !== '')) return caller as unknown as Caller
  const given = isObject(caller) ? 'an object without an id' : `a ${typeof caller}`
  throw new TypeError(`access.authenticate returned ${given}. ` +
    'Return a string that identifies the caller, or an object with an id.')
}

/**
 * An error without an HTTP status is about the credentials, and its message is not meant for clients. So is the refusal
 * of a call, such as one that reads a session that does not exist.
 */
function toCredentialRefusal (thrown: unknown, incoming: Incoming): unknown {
  // Whether the credentials are valid is not known then.
  if (isUnreachable(thrown)) throw thrown
  const isRefusedCall = thrown instanceof ProblemError && thrown.statusCode < 500
  if (getStatus(thrown) !== undefined && !isRefusedCall) return toRefusal(thrown)
  incoming.log.info({ err: thrown }, 'the credentials were refused')
  return problem('unauthenticated')
}

/** Returns a client error that a rule has thrown; throws any other again. */
export function toRefusal (thrown: unknown): unknown {
  if ((getStatus(thrown) ?? 500) >= 500) throw thrown
  return thrown instanceof ProblemError ? problem('forbidden') : thrown
}
