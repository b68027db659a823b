import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { refuseMethod } from '../doors/http/headers.ts'
import { hiddenSchema } from '../openapi/summary.ts'
import { BadService } from '../errors/errors.ts'
import { buildAllow } from '../http/allow.ts'
import { send } from './reply.ts'
import type { YieldingConstraints } from './yielding.ts'

/** A path of the service. */
export interface ServicePath {
  readonly path: string
  /** Handles GET and HEAD. */
  readonly handle: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>
  /** The route config, for plugins. */
  readonly config?: Readonly<Record<string, unknown>>
}

const methods: HTTPMethods[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * Adds the routes of a path: GET, HEAD and OPTIONS, and 405 for other methods. With `constrain` they yield to those of
 * the app; without, it is an error if another route serves the path.
 */
export function servePath (
  app: FastifyInstance,
  { path, handle, config = {} }: ServicePath,
  constrain?: YieldingConstraints
): void {
  if (constrain === undefined && app.hasRoute({ method: 'GET', url: path })) {
    throw new BadService(
      `another route already serves GET ${path}. Remove that route, or set another path or false in the options.`
    )
  }
  const allowed = buildAllow(methods)
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => handle(request, reply)
  const sendOptions = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => (
    send({ status: 204, headers: { allow: allowed }, content: undefined }, reply)
  )
  for (const method of app.supportedMethods as HTTPMethods[]) {
    app.route({
      url: path,
      method,
      schema: hiddenSchema,
      config,
      exposeHeadRoute: false,
      ...!methods.includes(method) && { onRequest: refuseMethod(allowed) },
      ...constrain !== undefined && { constraints: constrain({ method, url: path }) },
      handler: method === 'OPTIONS' ? sendOptions : handler
    })
  }
}
