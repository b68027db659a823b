import { BadStorage, describeValue, hasMethods } from './bad-storage.ts'
import { sql, type SqlAdapter, type SqlOptions } from './sql.ts'
import { HandleSession, type Handle } from './sql/handle.ts'
import { dialect } from './sqlite/dialect.ts'

/** What node:sqlite's `DatabaseSync` and better-sqlite3's `Database` have in common. */
export type SqliteDatabase = Handle & {
  function? (name: string, options: { deterministic: boolean }, implementation: (value: unknown) => unknown): unknown
}

/** Keeps items in an open SQLite database, version 3.38 or newer. Who opened it closes it. */
export function sqlite (database: SqliteDatabase, options: SqlOptions = {}): SqlAdapter {
  checkDatabase(database)
  // SQLite's own lower() knows the letters of ASCII alone.
  database.function?.('collection_lower', { deterministic: true }, (value) => typeof value === 'string' ? value.toLowerCase() : null)
  const own = dialect(database.function === undefined ? 'lower' : 'collection_lower')
  return sql({ dialect: own, session: new HandleSession(database, own) }, options)
}

const usage = "Pass an open database, such as sqlite(new DatabaseSync('app.db')) with DatabaseSync of node:sqlite."

/** Callers without a compiler can pass anything. */
function checkDatabase (given: unknown): void {
  if (!hasMethods(given, 'exec', 'prepare')) throw new BadStorage(`sqlite() was given ${describeValue(given)}. ${usage}`)
  // The names that node:sqlite and better-sqlite3 have for it.
  const { isOpen, open } = given as { isOpen?: unknown, open?: unknown }
  if (isOpen === false || open === false) throw new BadStorage(`sqlite() was given a database that is closed. ${usage}`)
}
