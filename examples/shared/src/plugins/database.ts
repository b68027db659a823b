import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { createCollections } from '../collections.ts'
import { openDatabase } from '../database.ts'
import type { Database } from '../database.ts'
import { createTables } from '../tables.ts'

declare module 'fastify' {
  interface FastifyInstance {
    database: Database
    /** What src/collections.ts defines. */
    definitions: ReturnType<typeof createCollections>
  }
}

export default fp(
  async (app: FastifyInstance) => {
    const database = openDatabase(app.config)
    app.addHook('onClose', () => database.close())
    const definitions = createCollections(database, app.config)
    await createTables(database, Object.values(definitions))
    app.decorate('database', database)
    app.decorate('definitions', definitions)
  },
  { name: 'database' }
)
