import { setTimeout as delay } from 'node:timers/promises'
import driver from 'mysql2/promise'
import pg from 'pg'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import type { SqlAdapter } from '../../lib/storage/sql.ts'
import { defineOrders, timeLimit } from './orders.ts'

export const poolSize = 10

export interface Opened {
  readonly storage: SqlAdapter
  close (): Promise<void>
}

/** A pool with the settings that docs/scaling.md recommends. With `waits`, reads wait for writes on other servers. */
export function openDatabase (url: string, { waits = false } = {}): Opened {
  if (url.startsWith('postgres:')) {
    const pool = new pg.Pool({ connectionString: url, max: poolSize, connectionTimeoutMillis: timeLimit })
    return { storage: postgres(pool), close: () => pool.end() }
  }
  const pool = driver.createPool({ uri: url, connectionLimit: poolSize, connectTimeout: timeLimit, timezone: 'Z' })
  if (waits) pool.on('connection', (connection) => { connection.query('SET SESSION wsrep_sync_wait = 7') })
  return { storage: mysql(pool), close: () => pool.end() }
}

/** A cluster that has just started may refuse the first attempts. */
export async function createTables (url: string): Promise<void> {
  const { storage, close } = openDatabase(url)
  for (let attempt = 1; ; attempt++) {
    try {
      await storage.createTable(defineOrders(storage))
      return await close()
    } catch (error) {
      if (attempt === 20) throw error
      await delay(500)
    }
  }
}
