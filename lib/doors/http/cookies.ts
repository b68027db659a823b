import type { FastifyInstance, onSendHookHandler, RouteOptions } from 'fastify'
import { isPrivate } from '../../http/cache-control.ts'
import { safeMethods } from './reply.ts'

/** RFC 9111, section 7.3: a shared cache that stores a response sends its cookies to every client. */
const refuseSharedCaches: onSendHookHandler = function (_request, reply, payload, done) {
  if (reply.hasHeader('set-cookie') && !isPrivate(String(reply.getHeader('cache-control')))) {
    reply.header('cache-control', 'no-store')
  }
  done(null, payload)
}

/** Keeps responses with cookies out of shared caches. Plugins such as @fastify/session set them in onSend hooks. */
export function keepCookiesPrivate (app: FastifyInstance): void {
  // After the hooks of plugins and of routes.
  app.addHook('onRoute', (route: RouteOptions) => {
    // Responses to other methods are no-store.
    const isSafe = [route.method].flat().some((method) => safeMethods.has(method))
    if (isSafe) route.onSend = [route.onSend ?? [], refuseSharedCaches].flat()
  })
}
