import type { FastifyBaseLogger } from 'fastify'
import { problem } from '../http/problems.ts'
import type { ServedCollection } from '../engine/registry.ts'
import { Health } from './health.ts'
import type { ServiceSettings } from './options.ts'
import type { ServicePath } from './path.ts'
import { send, sendProblem } from './reply.ts'

// Probes for orchestrators and load balancers.

/** Excludes probes from @fastify/rate-limit and @fastify/under-pressure. */
const config = { rateLimit: false, pressureHandler: () => {} }
const pass = { status: 200, headers: { 'content-type': 'application/json' }, content: '{"status":"pass"}' }

/** Returns 200 as long as the process responds. */
export function createLivenessProbe (path: string): ServicePath {
  return { path, config, handle: (_request, reply) => send(pass, reply) }
}

interface ReadinessOptions {
  readonly settings: ServiceSettings
  readonly collections: readonly ServedCollection[]
  readonly log: FastifyBaseLogger
}

/** Returns 200 if all storages respond, or 503 with the names of the collections whose storage does not. */
export function createReadinessProbe (path: string, { settings, collections, log }: ReadinessOptions): ServicePath {
  const health = new Health(collections)
  return {
    path,
    config,
    async handle (_request, reply) {
      const failures = await health.findFailures()
      if (failures.length === 0) return send(pass, reply)
      for (const { name, reason } of failures) {
        log.warn({ err: reason }, `the storage of the collection ${name} does not respond`)
      }
      const names = failures.map(({ name }) => name)
      const unavailable = problem('service-unavailable', {
        detail: `The storages of these collections do not respond: ${names.join(', ')}.`,
        headers: { 'retry-after': '1' },
        properties: { collections: names }
      })
      return sendProblem(unavailable, settings.problems, reply)
    }
  }
}
