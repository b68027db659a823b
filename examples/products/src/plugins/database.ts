import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import pg from 'pg'

declare module 'fastify' {
  interface FastifyInstance {
    pool: pg.Pool
  }
}

const migrations = join(import.meta.dirname, '../../migrations')

export default fp(
  async (app: FastifyInstance) => {
    const pool = new pg.Pool({ connectionString: app.config.DATABASE_URL, connectionTimeoutMillis: 5000 })
    app.decorate('pool', pool)
    app.addHook('onClose', () => pool.end())
    // Each migration can be run again.
    for (const name of (await readdir(migrations)).sort()) {
      await pool.query(await readFile(join(migrations, name), 'utf8'))
    }
  },
  { name: 'database' }
)
