import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { BadService } from '../errors/errors.ts'
import { problem } from '../http/problems.ts'
import { getRegistered, setServiceInfo } from '../engine/registry.ts'
import { registry } from './registry.ts'
import { handleContentCoding } from '../doors/http/content-coding.ts'
import { keepCookiesPrivate } from '../doors/http/cookies.ts'
import { audit } from './audit.ts'
import { buildClientModule } from './client-module.ts'
import { createDocumentPath } from './document.ts'
import { buildHome } from './home.ts'
import { parseOptions } from './options.ts'
import type { ServiceOptions, ServiceSettings } from './options.ts'
import { recordResponses } from './parser-errors.ts'
import { servePath } from './path.ts'
import type { ServicePath } from './path.ts'
import { createLivenessProbe, createReadinessProbe } from './probes.ts'
import { createErrorHandler, sendProblem } from './reply.ts'
import { createRequestCheck } from './request-checks.ts'
import { createYieldingConstraints } from './yielding.ts'
import type { YieldingConstraints } from './yielding.ts'

async function plugin (app: FastifyInstance, options: ServiceOptions): Promise<void> {
  const settings = parseOptions(options)
  if (app.prefix !== '') {
    throw new BadService(`it is registered below ${app.prefix}. Register it at the root of the app.`)
  }
  await app.register(registry)
  const { home = '/', title = 'API' } = settings
  setServiceInfo(app, { ...settings, home: home === false ? undefined : { href: home, title } })
  recordResponses(app.server)
  app.addHook('onRequest', createRequestCheck(app.supportedMethods, settings.problems))
  if (settings.appErrors) {
    app.setErrorHandler(createErrorHandler(settings.problems))
    app.setNotFoundHandler((_request, reply) => sendProblem(problem('not-found'), settings.problems, reply))
  }
  const { audit: auditOptions } = settings
  if (auditOptions !== false) app.addHook('onReady', async () => audit(app, auditOptions))
  await app.register(async (scope) => {
    handleContentCoding(scope)
    keepCookiesPrivate(scope)
    servePaths(app, scope, settings)
    if (settings.client === undefined) return
    servePath(scope, createDocumentPath(await buildClientModule(settings.client), settings.problems))
  })
}

function servePaths (app: FastifyInstance, scope: FastifyInstance, settings: ServiceSettings): void {
  const { problems, health } = settings
  const { log } = app
  const collections = getRegistered(app)
  scope.setErrorHandler(createErrorHandler(problems))

  let constrain: YieldingConstraints | undefined

  /** At a default path, the routes yield to those of the app. */
  function serve (path: string | false | undefined, defaultPath: string, create: (path: string) => ServicePath): void {
    if (path === undefined) {
      constrain ??= createYieldingConstraints(app)
      servePath(scope, create(defaultPath), constrain)
    } else if (path !== false) {
      servePath(scope, create(path))
    }
  }

  serve(settings.home, '/', (path) => createDocumentPath(buildHome(path, settings, collections), problems))
  serve(health.live, '/healthz', createLivenessProbe)
  serve(health.ready, '/readyz', (path) => createReadinessProbe(path, { settings, collections, log }))
}

/**
 * Adds what belongs to the whole service: a home document, health probes, problems for requests that are not valid, and
 * an audit. Register it once, at the root, before the collections.
 *
 * @example
 * const app = Fastify(serverOptions())
 * await app.register(service, { title: 'Shop' })
 */
export const service = fastifyPlugin(plugin, { name: 'fastify-collections-service', fastify: '5.x' })
export { serverOptions } from './server-options.ts'
export type { AuditOptions, HealthOptions, ServiceOptions } from './options.ts'
