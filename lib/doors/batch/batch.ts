import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, HTTPMethods, RouteOptions } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { BadBatch } from '../../errors/errors.ts'
import { errorToProblem } from '../../errors/failure.ts'
import type { Formatted } from '../../formats/format.ts'
import { json } from '../../formats/json.ts'
import { createErrorConverter, createOptionsHandlers } from '../http/handler.ts'
import { buildAllow } from '../../http/allow.ts'
import { Problem } from '../../http/problems.ts'
import { hiddenSchema } from '../../openapi/summary.ts'
import { getRegistered, getServiceInfo } from '../../engine/registry.ts'
import { createBodyReader } from '../http/body.ts'
import { checkHeaders, refuseMethod } from '../http/headers.ts'
import { handleContentCoding } from '../http/content-coding.ts'
import { addDescriptionLink } from '../http/links.ts'
import { noStore, prepareProblem, prepareReply } from '../http/reply.ts'
import type { ProblemSource } from '../http/reply.ts'
import { mergeRouteOptions, omitHooks } from '../../engine/route-options.ts'
import { BatchHandler } from './handler.ts'
import { findServed, readOptions } from './options.ts'
import type { BatchOptions } from './options.ts'

const methods: HTTPMethods[] = ['POST', 'OPTIONS']
const mediaTypes = [json.mediaType]

async function plugin (app: FastifyInstance, options: BatchOptions): Promise<void> {
  const settings = readOptions(options)
  const { path, route } = settings
  const handler = new BatchHandler(settings)
  app.addHook('onReady', async () => handler.open(findServed(settings, getRegistered(app))))

  /** A batch has the problems of a collection, without the pages of formats. */
  const source: ProblemSource = {
    access: undefined,
    http: { challenge: settings.collections[0]!.http.challenge, formats: [json] },
    app: { service: getServiceInfo(app) },
    attached: { parent: undefined }
  }

  async function handle (request: FastifyRequest, reply: FastifyReply): Promise<Formatted | undefined> {
    const response = await handler.handle(request, reply)
    if (response instanceof Problem) return prepareProblem(source, response, reply)
    return prepareReply({ ...response, headers: addDescriptionLink(source, response.headers) }, noStore, reply)
  }

  app.setErrorHandler((error, request, reply) => {
    const known = errorToProblem(error, reply.statusCode, reply.hasHeader('retry-after'))
    return reply.send(prepareProblem(source, handler.handleError(request, error, known), reply))
  })
  app.addHook('preSerialization', createErrorConverter(source))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(['*', ...mediaTypes], createBodyReader(app))
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  handleContentCoding(app)

  const check = checkHeaders({ formats: [json], mediaTypes }, { types: mediaTypes, field: 'accept' })
  const operationId = [...app.prefix.match(/\w+/g) ?? [], ...path.match(/\w+/g)!].join('.')
  addRoute(app, path, {
    ...mergeRouteOptions(route, { onRequest: check }),
    method: 'POST',
    schema: describeRoute(operationId),
    handler: handle
  })
  const resource = { ...omitHooks(route), schema: hiddenSchema }
  const openapi = app.hasDecorator('swagger') ? await import('../../openapi/batch.ts') : undefined
  const allow = buildAllow(methods)
  addRoute(app, path, {
    ...resource,
    config: { ...resource.config, ...openapi?.createSwaggerConfig(app, () => handler.describe(operationId)) },
    method: 'OPTIONS',
    ...createOptionsHandlers(source, () => ({ allow, 'accept-post': mediaTypes.join(', ') }))
  })
  const others = (app.supportedMethods as HTTPMethods[]).filter((method) => !methods.includes(method))
  addRoute(app, path, { ...resource, method: others, onRequest: refuseMethod(allow), handler: handle })
}

/** What generators read from the route itself. */
function describeRoute (operationId: string): FastifySchema & Record<string, unknown> {
  return { tags: ['batch'], operationId, summary: 'Run several operations in one transaction' }
}

function addRoute (app: FastifyInstance, url: string, route: Omit<RouteOptions, 'url'>): void {
  try {
    app.route({ ...route, url, exposeHeadRoute: false })
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error
    throw new BadBatch(`another route already serves ${[route.method].flat().join(', ')} ${app.prefix}${url}. ` +
      'Remove one of them, or set another path.')
  }
}

/**
 * Serves `POST /batch`: several operations of collections in one transaction. All of them are committed, or none.
 *
 * @example
 * await app.register(batch, { collections: [orders, lines, stock], maximum: 100 })
 */
export const batch = fastifyPlugin(plugin, { name: 'fastify-collections-batch', fastify: '5.x', encapsulate: true })

export type { BatchIdempotencyOptions, BatchOptions } from './options.ts'
