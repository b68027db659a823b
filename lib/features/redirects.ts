import type { FastifyRequest } from 'fastify'
import type { Action } from '../action.ts'
import { moved } from '../response/response.ts'
import type { Collection } from '../collection.ts'
import { HookError } from '../failure.ts'
import { formatLocation } from '../http/location.ts'
import { Problem } from '../http/problems.ts'
import { buildItemPath } from '../response/links.ts'
import { describeHeaders } from '../openapi/headers.ts'
import { getCollectionPath, getTargetPath } from '../request/request.ts'
import type { Request } from '../request/request.ts'
import type { Feature } from './feature.ts'

/** The id that an item has now, or another URI; undefined if the item has not moved. */
export type NewPlace = string | number | { readonly href: string } | undefined

/** `id` is the decoded path segment, which need not look like a current id. */
export type FindNewPlace = (
  context: { readonly id: string, readonly request: FastifyRequest | undefined }
) => NewPlace | Promise<NewPlace>

/** The options of `redirects()`. */
export interface RedirectOptions {
  /** Called if there is no item at a URI. */
  to: FindNewPlace
  /**
   * The status of the response. After 308, clients repeat the request with its method and content.
   *
   * @default 301
   * @example
   * redirects({ to: ({ id }) => newIds.get(id), status: 308 })
   */
  status?: 301 | 308
}

/**
 * Redirects requests for items that have another id or another URI now, instead of responding with 404.
 *
 * @example
 * define({ name: 'users', schema: User, storage: memory() })
 *   .with(redirects({ to: ({ id }) => newIds.get(id) }))
 */
export function redirects (options: RedirectOptions): Feature<object> {
  return {
    name: 'redirects',
    setup (host) {
      host.checkOptions('redirects', options, ['to', 'status'])
      const { to, status = 301 } = options
      if (typeof to !== 'function') {
        host.fail('redirects: "to" is missing. Make it a function that returns the new id or URI of an item.')
      }
      if (status !== 301 && status !== 308) {
        host.fail(`redirects: status is ${JSON.stringify(status)}. Use 301 or 308.`)
      }
      host.matchAnySegment()
      host.wrapAction('redirect', (next, { at }) => at === 'item' ? withRedirect(next, { to, status }) : next)
      host.describe((operation, { at }, { components }) => {
        if (at !== 'item') return
        operation.responses[status] = {
          description: 'The item has moved',
          headers: describeHeaders(components, ['Location', 'Cache-Control', 'Vary'])
        }
      })
    }
  }
}

function withRedirect (next: Action, { to, status }: Required<RedirectOptions>): Action {
  return async (collection, request) => {
    const result = await next(collection, request)
    if (!(result instanceof Problem) || result.name !== 'not-found') return result
    const uri = await findDestination(to, collection, request)
    return uri === undefined ? result : moved(formatLocation(getTargetPath(request, uri), request.search), status)
  }
}

/** Follows an item that has moved more than once. Undefined if that is a circle, or if there is no item. */
async function findDestination (
  to: FindNewPlace,
  collection: Collection,
  request: Request
): Promise<string | undefined> {
  const visited = new Set<string>()
  for (let segment = request.segment; !visited.has(segment);) {
    visited.add(segment)
    const place = await callTo(to, segment, request)
    if (place === undefined) return undefined
    if (typeof place === 'object') return isSameUri(place.href, request) ? undefined : place.href
    segment = String(place)
    const id = collection.id.read(segment)
    if (id === undefined) continue
    const entry = await request.storage.find(id, request.context)
    if (entry !== undefined) return buildItemPath(getCollectionPath(request), id)
  }
  return undefined
}

async function callTo (to: FindNewPlace, segment: string, { original }: Request): Promise<NewPlace> {
  try {
    return await to({ id: segment, request: original })
  } catch (error) {
    throw new HookError(error)
  }
}

function isSameUri (href: string, { path, original }: Request): boolean {
  const here = new URL(path, 'http://localhost')
  const there = new URL(href, here)
  return there.pathname === here.pathname && (there.host === here.host || there.host === original.host)
}
