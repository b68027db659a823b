import type { FastifyBaseLogger } from 'fastify'
import { problem } from '../http/problems.ts'
import type { ServedCollection } from '../registry.ts'
import { Health } from './health.ts'
import type { Settings } from './options.ts'
import type { Path } from './path.ts'
import { refuse, send } from './reply.ts'

// What orchestrators and load balancers ask: whether the process lives, and whether it can serve.

/** Neither @fastify/rate-limit nor @fastify/under-pressure keeps a probe from being answered. */
const config = { rateLimit: false, pressureHandler: () => {} }
const well = { status: 200, fields: { 'content-type': 'application/json' }, content: '{"status":"pass"}' }

export function liveness (path: string): Path {
  return { path, config, answer: (_request, reply) => send(well, reply) }
}

interface Asked {
  readonly settings: Settings
  readonly collections: readonly ServedCollection[]
  readonly log: FastifyBaseLogger
}

export function readiness (path: string, { settings: { health, problems }, collections, log }: Asked): Path {
  const storages = new Health(collections, health)
  return {
    path,
    config,
    async answer (_request, reply) {
      const failures = await storages.failures()
      if (failures.length === 0) return send(well, reply)
      for (const { name, reason } of failures) log.warn({ err: reason }, `the storage of the collection ${name} does not answer`)
      const names = failures.map(({ name }) => name)
      return refuse(problem('service-unavailable', { detail: `The storages of these collections do not respond: ${names.join(', ')}.`, fields: { 'retry-after': '1' }, members: { collections: names } }), problems, reply)
    }
  }
}
