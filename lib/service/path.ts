import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { refuseMethod } from '../request/headers.ts'
import { hiddenSchema } from '../openapi/summary.ts'
import { BadService } from '../errors.ts'
import { buildAllow } from '../http/allow.ts'
import { send } from './reply.ts'

/** A path of the service. */
export interface ServicePath {
  readonly path: string
  /** Handles GET and HEAD. */
  readonly handle: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>
  /** The route config, for plugins. */
  readonly config?: Readonly<Record<string, unknown>>
}

const methods: HTTPMethods[] = ['GET', 'HEAD', 'OPTIONS']

/** Adds the routes of a path: GET, HEAD and OPTIONS, and 405 for other methods. */
export function servePath (app: FastifyInstance, { path, handle, config = {} }: ServicePath): void {
  if (app.hasRoute({ method: 'GET', url: path })) {
    throw new BadService(
      `another route already serves GET ${path}. Remove that route, or set another path or false in the options`
    )
  }
  const allowed = buildAllow(methods)
  const route = { url: path, schema: hiddenSchema, config }
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => handle(request, reply)
  app.route({ ...route, method: ['GET', 'HEAD'], exposeHeadRoute: false, handler })
  app.route({
    ...route,
    method: 'OPTIONS',
    handler: async (_request, reply) => send({ status: 204, fields: { allow: allowed }, content: undefined }, reply)
  })
  app.route({
    ...route,
    method: (app.supportedMethods as HTTPMethods[]).filter((method) => !methods.includes(method)),
    onRequest: refuseMethod(allowed),
    handler
  })
}
