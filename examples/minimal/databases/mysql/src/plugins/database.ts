import type { FastifyInstance } from 'fastify'
import { mysql } from 'fastify-collections/mysql'
import fp from 'fastify-plugin'
import driver from 'mysql2/promise'

declare module 'fastify' {
  interface FastifyInstance {
    storage: ReturnType<typeof mysql>
  }
}

export default fp(
  async (app: FastifyInstance) => {
    const pool = driver.createPool({ uri: app.config.DATABASE_URL, timezone: 'Z', connectTimeout: 5000 })
    app.decorate('storage', mysql(pool))
    app.addHook('onClose', () => pool.end())
  },
  { name: 'database' }
)
