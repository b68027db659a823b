import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import type { Pool as MysqlPool } from 'mysql2/promise'
import type { Definition } from '../../lib/index.ts'
import type { Shape, Storage } from '../../lib/storage/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { mysqlPool, noMysql, noServers } from '../storage/databases.ts'
import { startPostgres } from '../storage/servers.ts'
import { startProxy, type Proxy } from '../storage/proxy.ts'

// Storages with few connections, which can tell what a request that was interrupted has left behind.

interface Closing {
  after(close: () => unknown): void
}

export interface WatchedStorage {
  readonly storage: <Item extends object>(shape: Shape) => Storage<Item>
  prepare(definition: Definition): Promise<void>
  /** What is not as before any request: busy connections, open transactions, requests that wait. */
  findRemains(): Promise<string[]>
  readonly proxy?: Proxy | undefined
  /** Runs a statement outside of the pool of the storage. */
  run?(text: string): Promise<unknown[]>
}

export interface WatchedDatabase {
  readonly name: 'memory' | 'sqlite' | 'postgres' | 'mysql'
  readonly skip: string | false
  /** A server can be reached through a proxy, to make it silent. */
  open(t: Closing, isProxied?: boolean): Promise<WatchedStorage>
}

/** The size of each pool: fewer connections than requests of any test. */
const poolSize = 2

export const watchedDatabases: readonly WatchedDatabase[] = [
  {
    name: 'memory',
    skip: false,
    open: async () => ({ storage: memory(), async prepare () {}, findRemains: async () => [] })
  },
  {
    name: 'sqlite',
    skip: false,
    async open (t) {
      const database = new DatabaseSync(':memory:')
      t.after(() => database.close())
      const adapter = sqlite(database)
      return {
        storage: adapter,
        run: async (text) => database.prepare(text).all(),
        prepare: (definition) => adapter.createTable(definition),
        findRemains: async () => database.isTransaction ? ['an open transaction'] : []
      }
    }
  },
  {
    name: 'postgres',
    skip: noServers,
    async open (t, isProxied = false) {
      const server = await startPostgres()
      t.after(() => server.end())
      const proxy = isProxied ? await startProxy(server.port) : undefined
      t.after(() => proxy?.end())
      const pool = server.pool({
        max: poolSize,
        application_name: 'watched',
        connectionTimeoutMillis: 10_000,
        ...proxy && { port: proxy.port }
      })
      const watcher = server.pool({ max: 1 })
      const adapter = postgres(pool)
      return {
        storage: adapter,
        proxy,
        run: async (text) => (await watcher.query(text)).rows,
        prepare: (definition) => adapter.createTable(definition),
        async findRemains () {
          const { rows } = await watcher.query(
            "SELECT state, query FROM pg_stat_activity WHERE application_name = 'watched' AND state <> 'idle'"
          )
          const remains = rows.map(({ state, query }) => `${state}: ${query}`)
          if (pool.idleCount < pool.totalCount) remains.push(`${pool.totalCount - pool.idleCount} busy connections`)
          if (pool.waitingCount > 0) remains.push(`${pool.waitingCount} requests wait`)
          return remains
        }
      }
    }
  },
  {
    name: 'mysql',
    skip: noMysql,
    async open (t, isProxied = false) {
      const proxy = isProxied ? await startProxy(Number(new URL(process.env['MYSQL_URL']!).port)) : undefined
      const { pool, name, end } = await mysqlPool({ connectionLimit: poolSize, ...proxy && { port: proxy.port } })
      t.after(async () => {
        await end()
        await proxy?.end()
      })
      const { pool: watcher, end: endWatcher } = await mysqlPool({ connectionLimit: 1 })
      t.after(endWatcher)
      const adapter = mysql(pool)
      return {
        storage: adapter,
        proxy,
        async run (text) {
          await watcher.query(`USE ${name}`)
          return (await watcher.query(text))[0] as unknown[]
        },
        prepare: (definition) => adapter.createTable(definition),
        async findRemains () {
          const [rows] = await watcher.query(`SELECT p.COMMAND AS command, t.trx_state AS state, p.INFO AS query
            FROM information_schema.PROCESSLIST p LEFT JOIN information_schema.INNODB_TRX t ON t.trx_mysql_thread_id = p.ID
            WHERE p.DB = '${name}' AND p.ID <> CONNECTION_ID() AND (t.trx_id IS NOT NULL OR p.COMMAND <> 'Sleep')`)
          const remains = (rows as Array<Record<string, unknown>>).map((row) => JSON.stringify(row))
          const busy = countBusy(pool)
          if (busy > 0) remains.push(`${busy} busy connections`)
          return remains
        }
      }
    }
  }
]

/** mysql2 has no public counters. */
function countBusy (pool: MysqlPool): number {
  const { _allConnections: all, _freeConnections: free } = pool.pool as unknown as
    Record<'_allConnections' | '_freeConnections', { readonly length: number }>
  return all.length - free.length
}

/** Waits until a request has left nothing behind. A rollback ends after the response to a client that has left. */
export async function waitForRest ({ findRemains }: WatchedStorage): Promise<string[]> {
  for (let turn = 0; turn < 100; turn++) {
    const remains = await findRemains()
    if (remains.length === 0) return []
    // INNODB_TRX is up to date only if nobody has read it for 100 milliseconds.
    await delay(turn < 10 ? 15 : 150)
  }
  return findRemains()
}
