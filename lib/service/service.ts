import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { BadService } from '../errors.ts'
import { registered, registry, setServiceInfo } from '../registry.ts'
import { audit } from './audit.ts'
import { catalog } from './catalog.ts'
import { documentAt } from './document.ts'
import { home } from './home.ts'
import { settings } from './options.ts'
import type { ServiceOptions } from './options.ts'
import { servePath } from './path.ts'
import type { Path } from './path.ts'
import { liveness, readiness } from './probes.ts'
import { errorHandler } from './reply.ts'
import { guard } from './threshold.ts'
import { limitTime } from './timeout.ts'

async function plugin (app: FastifyInstance, options: ServiceOptions): Promise<void> {
  const given = settings(options)
  if (app.prefix !== '') throw new BadService(`it is registered below ${app.prefix}. Register it at the root of the app, where all of its paths are`)
  await app.register(registry)
  const { problems } = given
  setServiceInfo(app, given)
  limitTime(app.server, given.requestTimeout)
  app.addHook('onReady', async () => guard(app.server, { methods: app.supportedMethods, problems }))
  const { audit: manner } = given
  if (manner !== false) app.addHook('onReady', async () => audit(app, manner))
  await app.register(async scope => {
    scope.setErrorHandler(errorHandler(problems))
    const { log } = app
    const collections = registered(app)
    /** Where the app serves the path that we would choose, it keeps it. */
    const serve = (chosen: string | false | undefined, usual: string, path: (path: string) => Path): void => {
      const own = chosen ?? (app.hasRoute({ method: 'GET', url: usual }) ? false : usual)
      if (own !== false) servePath(scope, path(own))
    }
    serve(given.home, '/', path => documentAt(home(path, given, collections), problems))
    if (given.catalog) servePath(scope, documentAt(catalog(given, collections), problems))
    serve(given.health.live, '/healthz', liveness)
    serve(given.health.ready, '/readyz', path => readiness(path, { settings: given, collections, log }))
  })
}

/**
 * What belongs to the whole service: a home document, health probes, problems for errors before a route is found, and an audit.
 * Register it once, at the root.
 *
 * @example
 * await app.register(service, { title: 'Shop' })
 */
export const service = fastifyPlugin(plugin, { name: 'fastify-collections-service', fastify: '5.x' })
export type { ServiceOptions } from './options.ts'
