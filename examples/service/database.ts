import { DatabaseSync } from 'node:sqlite'
import driver from 'mysql2/promise'
import pg from 'pg'
import { mysql } from 'fastify-collections/mysql'
import { postgres } from 'fastify-collections/postgres'
import { sqlite } from 'fastify-collections/sqlite'
import type { Settings } from './settings.ts'
import { Unusable, reason } from './unusable.ts'

export interface Database {
  readonly storage: ReturnType<typeof sqlite>
  /** The name for messages, without the password. */
  readonly name: string
  close(): Promise<void>
}

export function database ({ url, file }: Settings): Database {
  if (url === undefined) return embedded(file)
  return url.protocol.startsWith('postgres') ? postgresServer(url) : mysqlServer(url)
}

function embedded (file: string): Database {
  const name = `SQLite file ${file}`
  try {
    const handle = new DatabaseSync(file)
    // WAL allows readers beside a writer, such as another program. Changing to WAL takes a lock, so the timeout is
    // set first.
    handle.exec('PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL')
    return {
      storage: sqlite(handle),
      name,
      close: async () => {
        handle.close()
      }
    }
  } catch (error) {
    throw new Unusable(
      `The ${name} cannot be opened: ${reason(error)}. Name one that can be written: SQLITE_FILE=/tmp/service.db npm start`
    )
  }
}

function postgresServer (url: URL): Database {
  const pool = new pg.Pool({ connectionString: url.href, connectionTimeoutMillis: 5000 })
  return { storage: postgres(pool), name: `database ${withoutSecret(url)}`, close: () => pool.end() }
}

function mysqlServer (url: URL): Database {
  const uri = url.href.replace(/^mariadb:/, 'mysql:')
  const pool = driver.createPool({ uri, timezone: 'Z', connectTimeout: 5000 })
  return { storage: mysql(pool), name: `database ${withoutSecret(url)}`, close: () => pool.end() }
}

function withoutSecret (url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`
}
