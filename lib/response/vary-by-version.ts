import type { FastifyInstance } from 'fastify'
import type { Collection } from '../collection.ts'
import { vary } from '../http/vary.ts'

/** Fastify selects a route by the header Accept-Version, but does not say so. RFC 9110, section 12.5.5. */
export function varyByVersion (app: FastifyInstance, { routes }: Pick<Collection, 'routes'>): void {
  if (!Object.values(routes).some(({ constraints }) => constraints?.version !== undefined)) return
  app.addHook('onSend', (_request, reply, payload, done) => {
    reply.header('vary', vary([reply.getHeader('vary') ?? []].flat().join(', '), 'Accept-Version'))
    done(null, payload)
  })
}
