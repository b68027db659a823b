import { BadStorageError, describeValue, hasMethods } from './bad-storage.ts'
import { createSqlAdapter, type SqlAdapter, type SqlOptions } from './sql.ts'
import { HandleSession, type Handle } from './sql/handle-session.ts'
import { checkSqlOptions } from './sql/options.ts'
import { dialect } from './sqlite/dialect.ts'

export type { ExistingVersion, SqlAdapter, SqlOptions, TableDefinition } from './sql.ts'

/** What node:sqlite's `DatabaseSync` and better-sqlite3's `Database` have in common. */
export type SqliteDatabase = Handle

/**
 * Stores items in an open SQLite database, version 3.38 or newer, of `node:sqlite` or better-sqlite3. The app closes
 * it.
 *
 * @example
 * const storage = sqlite(new DatabaseSync('app.db'))
 * const users = define({ name: 'users', schema: User, storage })
 * await storage.createTable(users)
 */
export function sqlite (database: SqliteDatabase, options: SqlOptions = {}): SqlAdapter {
  checkDatabase(database)
  checkSqlOptions('sqlite', options)
  return createSqlAdapter({ dialect, session: new HandleSession(database, dialect), key: database }, options)
}

const usage = "Pass an open database, such as sqlite(new DatabaseSync('app.db')) with DatabaseSync of node:sqlite."

/** Callers that do not use TypeScript can pass anything. */
function checkDatabase (given: unknown): void {
  if (!hasMethods(given, 'exec', 'prepare')) {
    throw new BadStorageError(`sqlite() was given ${describeValue(given)}. ${usage}`)
  }
  // node:sqlite has isOpen, better-sqlite3 has open.
  const { isOpen, open } = given as { isOpen?: unknown, open?: unknown }
  if (isOpen === false || open === false) {
    throw new BadStorageError(`sqlite() was given a database that is closed. ${usage}`)
  }
}
