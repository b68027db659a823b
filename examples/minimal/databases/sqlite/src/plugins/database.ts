import { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance } from 'fastify'
import { sqlite } from 'fastify-collections/sqlite'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    storage: ReturnType<typeof sqlite>
  }
}

export default fp(
  async (app: FastifyInstance) => {
    const database = new DatabaseSync(app.config.DATABASE_FILE)
    // Several processes may open the file at once, and changing to WAL takes a lock.
    database.exec('PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL')
    app.decorate('storage', sqlite(database))
    app.addHook('onClose', async () => {
      database.close()
    })
  },
  { name: 'database' }
)
