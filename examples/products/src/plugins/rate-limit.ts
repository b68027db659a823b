import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

export default fp(async (app: FastifyInstance) => {
  await app.register(rateLimit, { max: app.config.RATE_LIMIT, timeWindow: '1 minute' })
})
