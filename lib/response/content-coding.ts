import type { FastifyInstance, onSendHookHandler, RouteOptions } from 'fastify'
import { addCoding } from '../http/entity-tag.ts'
import { mergeVary } from '../http/vary.ts'

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

/** Adds hooks after those of plugins. Without onSend hooks, no plugin compresses the responses of a route. */
export function handleContentCoding (app: FastifyInstance): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    const hooks = [route.onSend ?? []].flat()
    if (hooks.length === 0) return
    const canCompress = app.hasReplyDecorator('compress') && Reflect.get(route, 'compress') !== false
    route.onSend = canCompress ? [...hooks, addCodingToTag, varyByCoding] : [...hooks, addCodingToTag]
  })
}
