import type { Config } from './config.ts'
import type { Database } from './database.ts'
import { defineTasks } from './tasks.ts'

/** The definitions of all collections. */
export function createCollections (database: Database, _config: Config) {
  return { tasks: defineTasks(database) }
}
