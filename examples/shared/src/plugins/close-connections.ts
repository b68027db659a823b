import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** While the app closes, responses close their connections. Keep-alive connections would delay the shutdown. */
export default fp(async (app: FastifyInstance) => {
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
  })
  app.addHook('onSend', async (_request, reply) => {
    if (closing) reply.header('connection', 'close')
  })
})
