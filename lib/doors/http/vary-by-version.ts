import type { FastifyInstance } from 'fastify'
import type { HttpOptions } from '../../engine/collection.ts'
import { mergeVary } from '../../http/vary.ts'

/** RFC 9110, section 12.5.5: Fastify selects routes by Accept-Version, but does not add it to Vary. */
export function varyByVersion (app: FastifyInstance, { routes }: Pick<HttpOptions, 'routes'>): void {
  if (!Object.values(routes).some(({ constraints }) => constraints?.version !== undefined)) return
  app.addHook('onSend', (_request, reply, payload, done) => {
    const present = [reply.getHeader('vary') ?? []].flat().join(', ')
    reply.header('vary', mergeVary(present, 'Accept-Version'))
    done(null, payload)
  })
}
