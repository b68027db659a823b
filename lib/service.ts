import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { BadService } from './errors.ts'
import { registry } from './registry.ts'
import { catalog } from './service/catalog.ts'
import { serveDocument } from './service/document.ts'
import { home } from './service/home.ts'
import { settings } from './service/options.ts'
import type { ServiceOptions } from './service/options.ts'
import { errorHandler } from './service/reply.ts'
import { guard } from './service/threshold.ts'
import { limitTime } from './service/timeout.ts'

async function plugin (app: FastifyInstance, options: ServiceOptions): Promise<void> {
  const given = settings(options)
  if (app.prefix !== '') throw new BadService(`it is registered below ${app.prefix}. Register it at the root of the app, where all of its paths are`)
  await app.register(registry)
  const { problems } = given
  limitTime(app.server, given.requestTimeout)
  app.addHook('onReady', async () => guard(app.server, { methods: app.supportedMethods, problems }))
  await app.register(async scope => {
    scope.setErrorHandler(errorHandler(problems))
    const path = given.home ?? (app.hasRoute({ method: 'GET', url: '/' }) ? false : '/')
    if (path !== false) serveDocument(scope, home(path, given, app.collections), problems)
    if (given.catalog) serveDocument(scope, catalog(given, app.collections), problems)
  })
}

/** What belongs to the whole service: `app.register(service)`, once, at the root. Wrapped, so that it reaches the app. */
export const service = fastifyPlugin(plugin, { name: 'fastify-collections-service', fastify: '5.x' })
