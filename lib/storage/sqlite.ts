import { sql, type SqlAdapter, type SqlOptions } from './sql.ts'
import { HandleSession, type Handle } from './sql/handle.ts'
import { dialect } from './sqlite/dialect.ts'

/** What node:sqlite's `DatabaseSync` and better-sqlite3's `Database` have in common. */
export type SqliteDatabase = Handle & {
  function? (name: string, options: { deterministic: boolean }, implementation: (value: unknown) => unknown): unknown
}

/** Keeps items in an open SQLite database, version 3.38 or newer. Who opened it closes it. */
export function sqlite (database: SqliteDatabase, options: SqlOptions = {}): SqlAdapter {
  // SQLite's own lower() knows the letters of ASCII alone.
  database.function?.('collection_lower', { deterministic: true }, (value) => typeof value === 'string' ? value.toLowerCase() : null)
  const own = dialect(database.function === undefined ? 'lower' : 'collection_lower')
  return sql({ dialect: own, session: new HandleSession(database, own) }, options)
}
