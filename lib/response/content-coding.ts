import type { onSendHookHandler, RouteOptions } from 'fastify'
import { codedTag } from '../http/entity-tag.ts'

/** RFC 9110 section 8.8.3.3: where a plugin of the app compresses an answer, its strong entity tag must differ from that of the plain one. */
const tagCoding: onSendHookHandler = function (_request, reply, payload, done) {
  const [coding, tag] = [reply.getHeader('content-encoding'), reply.getHeader('etag')]
  if (typeof coding === 'string' && typeof tag === 'string' && tag.startsWith('"')) reply.header('etag', codedTag(tag, coding))
  done(null, payload)
}

/** Only behind hooks that others have put on the route: without any, nothing is compressed. */
export function tagCodings (route: RouteOptions): void {
  const hooks = [route.onSend ?? []].flat()
  if (hooks.length > 0) route.onSend = [...hooks, tagCoding]
}
