import { join } from 'node:path'
import autoload from '@fastify/autoload'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { serverOptions, service } from 'fastify-collections/service'
import type { Config } from './config.ts'

declare module 'fastify' {
  interface FastifyInstance {
    config: Config
  }
}

/** Creates the app, ready for `listen()` or `inject()`. */
export async function build (config: Config, options: FastifyServerOptions = {}): Promise<FastifyInstance> {
  const app = Fastify(serverOptions(options))
  app.decorate('config', config)
  // A home document at /, and health probes at /healthz and /readyz. It also checks the setup at start.
  await app.register(service)
  await app.register(autoload, { dir: join(import.meta.dirname, 'plugins') })
  await app.register(autoload, { dir: join(import.meta.dirname, 'routes') })
  await app.ready()
  return app
}
