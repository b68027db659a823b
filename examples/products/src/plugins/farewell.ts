import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** While the app closes, answers end their connections: a client that keeps one open would hold the app up. */
export default fp(async (app: FastifyInstance) => {
  let closing = false
  app.addHook('preClose', async () => { closing = true })
  app.addHook('onSend', async (_request, reply) => { if (closing) reply.header('connection', 'close') })
})
