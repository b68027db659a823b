import type { Definition } from 'fastify-collections'
import type { Database } from './database.ts'

/** Creates the tables that do not exist. Those that exist are changed by npm run db:apply only. */
export async function createTables (
  database: Database,
  definitions: ReadonlyArray<Pick<Definition, 'name' | 'schema'>>
): Promise<void> {
  for (const definition of definitions) await database.storage().createTable(definition)
}
