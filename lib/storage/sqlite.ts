import { BadStorage, describeValue, hasMethods } from './bad-storage.ts'
import { sql, type SqlAdapter, type SqlOptions } from './sql.ts'
import { HandleSession, type Handle } from './sql/handle.ts'
import { dialect } from './sqlite/dialect.ts'

/** What node:sqlite's `DatabaseSync` and better-sqlite3's `Database` have in common. */
export type SqliteDatabase = Handle

/**
 * Stores items in an open SQLite database, version 3.38 or newer, of `node:sqlite` or better-sqlite3. The app closes it.
 *
 * @example
 * const storage = sqlite(new DatabaseSync('app.db'))
 * const users = define({ name: 'users', schema: User, storage })
 * await storage.createTable(users)
 */
export function sqlite (database: SqliteDatabase, options: SqlOptions = {}): SqlAdapter {
  checkDatabase(database)
  return sql({ dialect, session: new HandleSession(database, dialect) }, options)
}

const usage = "Pass an open database, such as sqlite(new DatabaseSync('app.db')) with DatabaseSync of node:sqlite."

/** Callers without a compiler can pass anything. */
function checkDatabase (given: unknown): void {
  if (!hasMethods(given, 'exec', 'prepare')) throw new BadStorage(`sqlite() was given ${describeValue(given)}. ${usage}`)
  // The names that node:sqlite and better-sqlite3 have for it.
  const { isOpen, open } = given as { isOpen?: unknown, open?: unknown }
  if (isOpen === false || open === false) throw new BadStorage(`sqlite() was given a database that is closed. ${usage}`)
}
