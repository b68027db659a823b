import { defineUsers } from './account.ts'
import type { Config } from './config.ts'
import type { Database } from './database.ts'

/** The definitions of all collections. */
export function createCollections (database: Database, _config: Config) {
  return { users: defineUsers(database) }
}
