import { Type } from '@sinclair/typebox'
import { postgres } from 'fastify-collections/postgres'
import pg from 'pg'

/** The settings of the database, which src/config.ts contains. */
export const databaseSettings = { DATABASE_URL: Type.String({ pattern: '^postgres(ql)?://' }) }

/** Opens the database. To use another one, change this file. */
export function openDatabase ({ DATABASE_URL }: { DATABASE_URL: string }) {
  const pool = new pg.Pool({ connectionString: DATABASE_URL, connectionTimeoutMillis: 5000 })
  return {
    /** Stores the items of a collection in this database. */
    storage: (options?: Parameters<typeof postgres>[1]) => postgres(pool, options),
    /** Runs statements that end with a semicolon, in one transaction. */
    async run (sql: string): Promise<void> {
      await pool.query(sql)
    },
    close: () => pool.end()
  }
}

export type Database = ReturnType<typeof openDatabase>
