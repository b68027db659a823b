import type { FastifyInstance } from 'fastify'
import { postgres } from 'fastify-collections/postgres'
import fp from 'fastify-plugin'
import pg from 'pg'

declare module 'fastify' {
  interface FastifyInstance {
    storage: ReturnType<typeof postgres>
  }
}

export default fp(
  async (app: FastifyInstance) => {
    const pool = new pg.Pool({ connectionString: app.config.DATABASE_URL, connectionTimeoutMillis: 5000 })
    app.decorate('storage', postgres(pool))
    app.addHook('onClose', () => pool.end())
  },
  { name: 'database' }
)
