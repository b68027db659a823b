import { toCollection } from '../engine/collection.ts'
import type { Definition } from '../engine/collection.ts'
import { NoDefinition } from '../errors/errors.ts'
import { getStorageUse, groupByStorage } from './storage-check.ts'
import type { Storage } from '../storage/contract.ts'

/**
 * Compares the tables of definitions with what the definitions need, and returns the SQL that changes the tables, as
 * the text of a migration. It reads the catalog of each database and changes nothing. What cannot be done without loss
 * of data, such as changing a type, is a comment.
 *
 * @example
 * await writeFile('migrations/7.sql', await schemaSql(users, articles))
 */
export async function schemaSql (...definitions: ReadonlyArray<Pick<Definition, 'name' | 'schema'>>): Promise<string> {
  const collections = definitions.map((definition) => ({ collection: toCollection(definition as Definition) }))
  if (collections.some(({ collection }) => collection?.attached === undefined)) {
    throw new NoDefinition('schemaSql()', 'Pass one or more definitions, as in schemaSql(users, articles).')
  }
  const { signal } = new AbortController()
  const parts: string[] = []
  const earlier: Array<Storage<object>> = []
  // One after the other, so that the statements have the order of the definitions.
  for (const group of groupByStorage(collections)) {
    const [{ name, baseStorage }] = group
    const sql = await baseStorage.schemaSql?.({ signal, use: getStorageUse(group), earlier: [...earlier] })
    earlier.push(baseStorage)
    if (sql === undefined) parts.push(`-- ${name}: the storage ${baseStorage.name} has no tables.\n`)
    else parts.push(sql === '' ? `-- ${name}: the table matches the definition.\n` : `-- ${name}\n${sql}`)
  }
  return parts.join('\n')
}
