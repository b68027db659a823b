import type { FastifyRequest } from 'fastify'
import { getHttpRequest } from '../doors/http/request.ts'
import type { Find, Operation } from '../engine/operation.ts'
import { formatValue } from '../errors/format-value.ts'
import { HookError } from '../errors/failure.ts'
import { Problem } from '../http/problems.ts'
import { describeHeaders } from '../openapi/headers.ts'
import type { Feature } from '../engine/feature.ts'

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
    keepsEntries: true,
    setup (host) {
      host.checkOptions('redirects', options, ['to', 'status'])
      const { to, status = 301 } = options
      if (typeof to !== 'function') {
        host.fail('redirects: "to" is missing. Make it a function that returns the new id or URI of an item.')
      }
      if (status !== 301 && status !== 308) {
        host.fail(`redirects: status is ${formatValue(status)}. Use 301 or 308.`)
      }
      host.matchAnySegment()
      host.wrap('find', (next) => withRedirect(next, { to, status }), { doors: ['http'], outside: ['soft-delete'] })
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

/** An item that was deleted and has moved is redirected. */
function withRedirect (next: Find, { to, status }: Required<RedirectOptions>): Find {
  return async (operation, options) => {
    const found = await next(operation, options)
    const isMissing = found === undefined || (found instanceof Problem && found.name === 'gone')
    if (!isMissing) return found
    const { action, collection } = operation
    // PUT creates the item.
    if (found === undefined && action.name === 'replace' && collection.put.create) return found
    // Follows an item that has moved more than once. It may have moved in a circle.
    const visited = new Set<string>()
    let { segment } = operation
    while (!visited.has(segment)) {
      visited.add(segment)
      const place = await callTo(to, segment, operation)
      if (place === undefined) return found
      if (typeof place === 'object') {
        return isSameUri(place.href, operation) ? found : { kind: 'moved', to: place, status }
      }
      segment = String(place)
      // An item that is created meanwhile is at the URI of the request.
      const id = visited.has(segment) ? undefined : collection.id.read(segment)
      if (id === undefined) continue
      const target = await next(operation, { ...options, id, isMissing: false })
      if (target !== undefined && 'item' in target) return { kind: 'moved', to: id, status }
    }
    return found
  }
}

async function callTo (to: FindNewPlace, segment: string, { request }: Operation): Promise<NewPlace> {
  try {
    return await to({ id: segment, request })
  } catch (error) {
    throw new HookError(error)
  }
}

function isSameUri (href: string, operation: Operation): boolean {
  // Only HTTP requests have this layer.
  const { path, original } = getHttpRequest(operation)!
  const here = new URL(path, 'http://localhost')
  const there = new URL(href, here)
  return there.pathname === here.pathname && (there.host === here.host || there.host === original.host)
}
