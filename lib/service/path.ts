import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { refuseMethod } from '../request/headers.ts'
import { hidden } from '../openapi/summary.ts'
import { BadService } from '../errors.ts'
import { allow } from '../http/allow.ts'
import { send } from './reply.ts'

/** What a path of the service answers to GET and HEAD. */
export interface Path {
  readonly path: string
  readonly answer: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>
  /** For plugins that look at the configuration of routes. */
  readonly config?: Readonly<Record<string, unknown>>
}

const methods: HTTPMethods[] = ['GET', 'HEAD', 'OPTIONS']

/** GET, HEAD and OPTIONS of a path, and 405 for the rest. */
export function servePath (app: FastifyInstance, { path, answer, config = {} }: Path): void {
  if (app.hasRoute({ method: 'GET', url: path })) throw new BadService(`another route serves GET ${path} already. Take that away, or give the service another path, or false`)
  const allowed = allow(methods)
  const route = { url: path, schema: hidden, config }
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => answer(request, reply)
  app.route({ ...route, method: ['GET', 'HEAD'], exposeHeadRoute: false, handler })
  app.route({ ...route, method: 'OPTIONS', handler: async (_request, reply) => send({ status: 204, fields: { allow: allowed }, content: undefined }, reply) })
  app.route({ ...route, method: (app.supportedMethods as HTTPMethods[]).filter(method => !methods.includes(method)), onRequest: refuseMethod(allowed), handler })
}
