import type { FastifyRequest } from 'fastify'
import type { Format } from '../../formats/format.ts'
import type { Access } from '../../engine/access/access.ts'

/** What hooks of the library have found out about a request, before its content is read. */
export interface RequestState {
  /** What the caller may do and see. Not known of an open collection, of which everyone sees the same. */
  access?: Access
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
