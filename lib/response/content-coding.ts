import type { onSendHookHandler, RouteOptions } from 'fastify'
import { addCoding } from '../http/entity-tag.ts'

/** RFC 9110, section 8.8.3.3: a compressed response needs another strong entity tag than the plain one. */
const addCodingToTag: onSendHookHandler = function (_request, reply, payload, done) {
  const coding = reply.getHeader('content-encoding')
  const tag = reply.getHeader('etag')
  if (typeof coding === 'string' && typeof tag === 'string' && tag.startsWith('"')) {
    reply.header('etag', addCoding(tag, coding))
  }
  done(null, payload)
}

/** Adds the hook after those of plugins. Without onSend hooks, no plugin compresses the responses of a route. */
export function addCodingToTags (route: RouteOptions): void {
  const hooks = [route.onSend ?? []].flat()
  if (hooks.length > 0) route.onSend = [...hooks, addCodingToTag]
}
