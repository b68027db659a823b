import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Definition } from 'fastify-collections'
import type { Database } from './database.ts'
import { openProducts } from './products.ts'

const migrations = join(import.meta.dirname, '../migrations')

/** Runs the migrations, each of which can be run again, and creates the table for idempotency keys. */
export async function createTables (
  database: Database,
  definitions: ReadonlyArray<Pick<Definition, 'name' | 'schema'>>
): Promise<void> {
  for (const name of (await readdir(migrations)).sort()) {
    await database.run(await readFile(join(migrations, name), 'utf8'))
  }
  for (const definition of definitions) await openProducts(database).createTable(definition)
}
