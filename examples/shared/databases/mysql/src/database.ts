import { Type } from '@sinclair/typebox'
import { mysql } from 'fastify-collections/mysql'
import driver from 'mysql2/promise'

/** The settings of the database, which src/config.ts contains. */
export const databaseSettings = { DATABASE_URL: Type.String({ pattern: '^mysql://' }) }

/** Opens the database. To use another one, change this file. */
export function openDatabase ({ DATABASE_URL }: { DATABASE_URL: string }) {
  const settings = { uri: DATABASE_URL, timezone: 'Z', connectTimeout: 5000 }
  const pool = driver.createPool(settings)
  return {
    /** Stores the items of a collection in this database. */
    storage: (options?: Parameters<typeof mysql>[1]) => mysql(pool, options),
    /** Runs statements that end with a semicolon. */
    async run (sql: string): Promise<void> {
      // Only this connection accepts several statements at once.
      const connection = await driver.createConnection({ ...settings, multipleStatements: true })
      try {
        await connection.query(sql)
      } finally {
        await connection.end()
      }
    },
    close: () => pool.end()
  }
}

export type Database = ReturnType<typeof openDatabase>
