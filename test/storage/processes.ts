import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import driver from 'mysql2/promise'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { mysqlPool, noMysql, noServers } from './databases.ts'
import type { SqlAdapter } from './databases.ts'
import { noMariadb, startMariadb, startPostgres } from './servers.ts'

// Servers in processes of their own, which tests kill, and the databases that they share.

/** Where a process finds its database. */
export interface Place {
  readonly kind: 'sqlite' | 'postgres' | 'mysql'
  /** The file, or the URL of the server. */
  readonly address: string
}

export type Row = Readonly<Record<string, unknown>>

/** A database that the test and other processes use. */
export interface SharedDatabase {
  readonly place: Place
  /** For the test itself. */
  readonly storage: SqlAdapter
  /** Reads rows with the driver. */
  rows (text: string): Promise<readonly Row[]>
  /** Kills the database and starts it again; undefined if it has no process that can be killed. */
  readonly restart: (() => Promise<void>) | undefined
  end (): Promise<unknown>
}

export interface AvailableDatabase {
  readonly kind: Place['kind']
  /** Why it cannot be tested here. */
  readonly skip: string | false
  open (): Promise<SharedDatabase>
}

const sqliteFile: AvailableDatabase = {
  kind: 'sqlite',
  skip: false,
  async open () {
    const folder = await mkdtemp(join(tmpdir(), 'collections-shared-'))
    const address = join(folder, 'shared.db')
    const database = new DatabaseSync(address)
    // Set once, because it is stored in the file, and concurrent processes could find it locked.
    database.exec('PRAGMA journal_mode = WAL')
    return {
      place: { kind: 'sqlite', address },
      storage: sqlite(database),
      rows: async (text) => database.prepare(text).all() as Row[],
      restart: undefined,
      end () {
        database.close()
        return rm(folder, { recursive: true })
      }
    }
  }
}

const ownPostgres: AvailableDatabase = {
  kind: 'postgres',
  skip: noServers,
  async open () {
    const server = await startPostgres()
    const pool = server.pool()
    return {
      place: { kind: 'postgres', address: `postgres://postgres:postgres@127.0.0.1:${server.port}/postgres` },
      storage: postgres(pool),
      rows: async (text) => (await pool.query(text)).rows as Row[],
      async restart () {
        await server.crash()
        await server.start()
      },
      end: () => server.end()
    }
  }
}

/** A MariaDB that the test starts. */
const ownMariadb: AvailableDatabase = {
  kind: 'mysql',
  skip: noMariadb,
  async open () {
    const server = await startMariadb()
    const pool = driver.createPool({ uri: server.url })
    return {
      place: { kind: 'mysql', address: server.url },
      storage: mysql(pool),
      // A SELECT returns rows.
      rows: async (text) => (await pool.query(text))[0] as Row[],
      async restart () {
        await server.crash()
        await server.start()
      },
      async end () {
        await pool.end()
        await server.end()
      }
    }
  }
}

/** The server of MYSQL_URL, which may be MySQL or MariaDB. */
const givenMysql: AvailableDatabase = {
  kind: 'mysql',
  skip: noMysql,
  async open () {
    const { pool, name, end } = await mysqlPool()
    const address = new URL(process.env.MYSQL_URL!)
    address.pathname = name
    return {
      place: { kind: 'mysql', address: String(address) },
      storage: mysql(pool),
      rows: async (text) => (await pool.query(text))[0] as Row[],
      restart: undefined,
      end
    }
  }
}

export const sharedDatabases: readonly AvailableDatabase[] = [sqliteFile, ownPostgres, givenMysql]

/** Those that can be killed; SQLite has no process. */
export const killableDatabases: readonly AvailableDatabase[] = [sqliteFile, ownPostgres, ownMariadb]

export interface Server {
  readonly url: string
  readonly child: ChildProcess
}

/** Starts a program in test/fixtures that sends its URL when it listens. Its argument is the plan. */
export async function startServer (program: string, plan: object): Promise<Server> {
  const file = fileURLToPath(new URL(`../fixtures/${program}`, import.meta.url))
  // Without the modules of the test runner, because such processes are started often.
  const child = fork(file, [JSON.stringify(plan)], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`A server ended with ${code} before it listened.`)
  })
  const [url] = await Promise.race([once(child, 'message'), ended]) as [string]
  // It is killed later.
  ended.catch(() => {})
  return { url, child }
}
