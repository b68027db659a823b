import { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance { database: DatabaseSync }
}

export default fp(async (app: FastifyInstance) => {
  const database = new DatabaseSync(app.config.DATABASE_FILE)
  database.exec('PRAGMA journal_mode = WAL')
  app.decorate('database', database)
  app.addHook('onClose', async () => { database.close() })
}, { name: 'database' })
