import type { FastifyRequest } from 'fastify'
import type { Format } from '../../formats/format.ts'
import type { Caller } from '../../engine/access/caller.ts'
import type { Authenticate } from '../../engine/access/rules.ts'
import type { Scope } from '../../engine/access/scope.ts'
import type { Hidden } from '../../engine/access/visible.ts'

/** The caller, or why its credentials were refused. */
export interface Identified {
  readonly caller: Caller | undefined
  readonly refusal: unknown
}

/** What was decided about a request before its content is read. */
export interface Authorization {
  readonly caller: Caller | undefined
  /** Whether the caller may read what it has written. */
  readonly canRead: boolean
  readonly scope: Scope | undefined
  /** The rows that the conditions of a bulk write can match: those that the caller can list. */
  readonly conditionScope: Scope | undefined
  /** The properties that the caller does not see. */
  readonly hidden: Hidden | undefined
  /** The scope of the parent collection. */
  readonly parentScope: Scope | undefined
}

/** What hooks of the library have found out about a request, before its content is read. */
export interface RequestState {
  /** By function: collections that share `authenticate` share its result. */
  callers?: Map<Authenticate, Promise<Identified>>
  /** What the caller may do and see. */
  authorization?: Authorization
  /** The format that Accept selects. Not known yet if the request has no content. */
  format?: Format | undefined
  /** The media type of the content. */
  mediaType?: string | undefined
}

const key = Symbol('fastify-collections')

type StatefulRequest = FastifyRequest & { [key]?: RequestState }

/** Returns the state of a request; undefined if no hook has found out anything, as for most reads. */
export function findState (request: StatefulRequest): RequestState | undefined {
  return request[key]
}

/** Returns the state of a request, which is a member of it. */
export function getState (request: StatefulRequest): RequestState {
  // The request of a part of a batch inherits from that of the batch, but has a state of its own.
  if (!Object.hasOwn(request, key)) request[key] = {}
  return request[key]!
}
