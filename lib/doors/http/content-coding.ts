import type { FastifyInstance, onSendHookHandler, RouteOptions } from 'fastify'
import { addCoding } from '../../http/entity-tag.ts'
import { mergeVary } from '../../http/vary.ts'

// What @fastify/compress, or another plugin that compresses in onSend hooks of routes, leaves to the route.

/** RFC 9110, section 8.8.3.3: a compressed response needs another strong entity tag than the plain one. */
const addCodingToTag: onSendHookHandler = function (_request, reply, payload, done) {
  const coding = reply.getHeader('content-encoding')
  const tag = reply.getHeader('etag')
  if (typeof coding === 'string' && typeof tag === 'string' && tag.startsWith('"')) {
    reply.header('etag', addCoding(tag, coding))
  }
  done(null, payload)
}

/**
 * RFC 9110, sections 12.5.5 and 15.4.5: if a response could be compressed, those that are not depend on Accept-Encoding
 * as well. Otherwise a cache sends a plain one to every client.
 */
const varyByCoding: onSendHookHandler = function (_request, reply, payload, done) {
  const present = [reply.getHeader('vary') ?? []].flat().join(', ')
  // All responses of a collection depend on Accept. Others are those of the app to paths below an item.
  if (acceptPattern.test(present)) reply.header('vary', mergeVary(present, 'Accept-Encoding'))
  done(null, payload)
}

const acceptPattern = /(?:^|,) *accept *(?:,|$)/i

/**
 * RFC 9110, sections 8.6 and 9.3.2: HEAD has the headers of GET. The hooks of plugins get the content of GET, so that
 * they set the same Content-Encoding, tag and length. The length of a stream is not known.
 */
const dropContent: onSendHookHandler = function (request, reply, payload, done) {
  if (request.method !== 'HEAD' || payload === undefined || payload === null) return done(null, payload)
  if (typeof payload === 'string' || Buffer.isBuffer(payload)) {
    reply.header('content-length', String(Buffer.byteLength(payload)))
  } else {
    const stream = payload as { destroy?: () => void }
    stream.destroy?.()
    reply.removeHeader('content-length')
  }
  done(null, null)
}

/** Adds hooks after those of plugins. Without onSend hooks, no plugin compresses the responses of a route. */
export function handleContentCoding (app: FastifyInstance): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    const hooks = [route.onSend ?? []].flat()
    if (hooks.length > 0) {
      hooks.push(addCodingToTag)
      if (app.hasReplyDecorator('compress') && Reflect.get(route, 'compress') !== false) hooks.push(varyByCoding)
    }
    if ([route.method].flat().includes('HEAD')) hooks.push(dropContent)
    if (hooks.length > 0) route.onSend = hooks
  })
}
