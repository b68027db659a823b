import { DatabaseSync } from 'node:sqlite'
import driver, { type Pool, type PoolOptions } from 'mysql2/promise'
import type pg from 'pg'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { startPostgres } from './servers.ts'

export type SqlOptions = NonNullable<Parameters<typeof sqlite>[1]>
export type SqlAdapter = ReturnType<typeof sqlite>

/** A real database, empty, for one test file. */
export interface Database {
  adapter(options?: SqlOptions): SqlAdapter
  /** Statements of the test itself. */
  run(...texts: string[]): Promise<void>
  rows(text: string): Promise<unknown[]>
  end(): Promise<void>
}

export interface Available {
  readonly name: 'sqlite' | 'postgres' | 'mysql'
  /** Why it cannot be tested here. */
  readonly skip: string | false
  /** `connections` is the size of the pool. */
  open(connections?: number): Promise<Database>
}

const { MYSQL_URL: url, CI, TESTS } = process.env

/** `npm test` sets it: PostgreSQL, MySQL and MariaDB are for `npm run test:all`. */
export const noServers = TESTS === 'quick' && 'npm run test:all has it'

/** In CI a missing server is a failure: nothing is skipped there. */
export const noMysql = noServers || (url === undefined && CI !== 'true' ? 'MYSQL_URL names no server' : false)

/** A pool on a separate database; the user of MYSQL_URL must be able to create one. */
export async function mysqlPool (
  options: PoolOptions = {},
  characterSet = 'utf8mb4'
): Promise<{ pool: Pool; name: string; end: () => Promise<void> }> {
  if (url === undefined) throw new Error('MYSQL_URL must name a MySQL or MariaDB server')
  const name = `collections_${process.pid}_${count++}`
  const first = await driver.createConnection({ uri: url })
  await first.query(`CREATE DATABASE ${name} CHARACTER SET ${characterSet}`)
  const pool = driver.createPool({ uri: url, ...options, database: name })
  return {
    pool,
    name,
    async end () {
      await pool.end()
      await first.query(`DROP DATABASE ${name}`)
      await first.end()
    }
  }
}

/** Whether the server of MYSQL_URL is MariaDB, which limits some values and settings in another way than MySQL. */
export async function isMariadb (): Promise<boolean> {
  const { pool, end } = await mysqlPool()
  const [rows] = await pool.query('SELECT VERSION() AS version')
  await end()
  return JSON.stringify(rows).includes('MariaDB')
}

let count = 0

export const databases: readonly Available[] = [
  {
    name: 'sqlite',
    skip: false,
    async open () {
      const database = new DatabaseSync(':memory:')
      return {
        adapter: (options) => sqlite(database, options),
        async run (...texts) {
          for (const text of texts) database.exec(text)
        },
        rows: async (text) => database.prepare(text).all(),
        async end () {
          database.close()
        }
      }
    }
  },
  {
    name: 'postgres',
    skip: noServers,
    async open (connections = 10) {
      const server = await startPostgres()
      const pool: pg.Pool = server.pool({ max: connections })
      return {
        adapter: (options) => postgres(pool, options),
        async run (...texts) {
          for (const text of texts) await pool.query(text)
        },
        rows: async (text) => (await pool.query(text)).rows,
        end: () => server.end()
      }
    }
  },
  {
    name: 'mysql',
    skip: noMysql,
    async open (connections = 10) {
      const { pool, end } = await mysqlPool({ connectionLimit: connections })
      return {
        adapter: (options) => mysql(pool, options),
        async run (...texts) {
          for (const text of texts) await pool.query(text)
        },
        // A SELECT returns rows.
        rows: async (text) => (await pool.query(text))[0] as unknown[],
        end
      }
    }
  }
]
