import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import { sqlite } from 'fastify-collections/sqlite'

/** The settings of the database, which src/config.ts contains. */
export const databaseSettings = { DATABASE_FILE: Type.String({ default: 'app.db' }) }

/** Opens the database. To use another one, change this file. */
export function openDatabase ({ DATABASE_FILE }: { DATABASE_FILE: string }) {
  const database = new DatabaseSync(DATABASE_FILE)
  // Several processes may open the file at once, and changing to WAL takes a lock.
  database.exec('PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL')
  return {
    /** Stores the items of a collection in this database. */
    storage: (options?: Parameters<typeof sqlite>[1]) => sqlite(database, options),
    /** Runs statements that end with a semicolon. */
    async run (sql: string): Promise<void> {
      database.exec(sql)
    },
    async close (): Promise<void> {
      database.close()
    }
  }
}

export type Database = ReturnType<typeof openDatabase>
