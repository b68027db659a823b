import type { FastifyRequest } from 'fastify'
import { findPlace } from '../access/parent.ts'
import type { Collection } from '../collection.ts'
import type { ActionInfo } from '../engine/action-info.ts'
import { isConditional } from '../http/preconditions.ts'
import { Problem, problem } from '../http/problems.ts'
import { checkEncoding, checkQuery } from '../request/query.ts'
import type { Request } from '../request/request.ts'

/**
 * Returns the problem that the method, the target and the headers of a request already decide, without a call to the
 * storage. RFC 9110, section 10.1.1: a client that waits for 100 (Continue) gets it instead of 100. All other requests
 * get it from the action, after their content was read.
 */
export type CheckEarly = (request: FastifyRequest) => Problem | undefined

export function createEarlyCheck (collection: Collection, action: ActionInfo, takesQuery: boolean): CheckEarly {
  const { attached, id } = collection
  const { at, custom } = action
  // An item that has moved may have had any segment.
  const checksItem = at === 'item' && !attached.matchesAnySegment
  const requiresMatch = custom?.requiresMatch(collection.http.etag.required) ?? collection.http.etag.required

  return (request) => {
    const { headers, params, url } = request
    const place = findPlace(attached.parent, params)
    if (place instanceof Problem) return place
    const search = url.split('?', 2)[1] ?? ''
    const invalid = checkEncoding(search)
    if (invalid !== undefined) return invalid
    if (!takesQuery) {
      const unknown = checkQuery({ search, query: request.query as Request['query'] })
      if (unknown !== undefined) return unknown
    }
    for (const hook of attached.hooks.onHeaders) {
      const refusal = hook(headers, action)
      if (refusal !== undefined) return refusal
    }
    if (!checksItem) return undefined
    const { id: segment, '*': rest } = params as { id?: string, '*'?: string }
    if (id.read(rest ?? segment ?? '') === undefined) return problem('not-found')
    // Whether a precondition counts may depend on the item.
    return requiresMatch && !isConditional(headers) ? problem('precondition-required') : undefined
  }
}
