// Databases of the bench, each with a fast statement that fills it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StatementSync } from 'node:sqlite'
import type { Adapter, Shape } from '../lib/storage/contract.ts'
import { HandWrittenStorage, type Driver } from './hand-written-storage.ts'
import type { User } from './user.ts'

/** A storage of one process, and how it is filled if not item by item. */
export interface Opened {
  readonly adapter: Adapter<User>
  /** The same table with a hand-written storage. */
  readonly handWritten?: Adapter<User>
  readonly fill?: (shape: Shape, items: number) => Promise<void>
}

/**
 * The columns and values of `seed` in bench/user.ts, where `n` is the number of the item and `hex` the last part of
 * its id.
 */
function buildInsert (hex: string) {
  return `INSERT INTO users ("id", "email", "name", "password", "createdAt", "version")
    SELECT ${hex}, 'user' || n || '@example.com', 'User number ' || n, 'correct horse battery staple', '2026-01-01T00:00:00.000Z', 'seed' || n`
}

/** The path of a new database, which is removed when the process ends. */
export function createFile () {
  const folder = mkdtempSync(join(tmpdir(), 'collections-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'bench.db')
}

export async function openSqlite (): Promise<Opened> {
  const { DatabaseSync } = await import('node:sqlite')
  const { sqlite } = await import('../lib/storage/sqlite.ts')
  const database = new DatabaseSync(createFile())
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  const adapter = sqlite(database)
  const statements = new Map<string, StatementSync>()
  const prepare = (text: string) => {
    const known = statements.get(text) ?? database.prepare(text)
    statements.set(text, known)
    return known
  }
  return {
    adapter,
    handWritten: () =>
      new HandWrittenStorage({
        // The columns of the one table.
        rows: async (text, values) => prepare(text).all(...values) as unknown as Awaited<ReturnType<Driver['rows']>>,
        change: async (text, values) => Number(prepare(text).run(...values).changes),
        placeholder: () => '?',
        isNotUnique: (error) => error instanceof Error && error.message.startsWith('UNIQUE constraint failed')
      }),
    async fill (shape, items) {
      await adapter.createTable(shape)
      database.exec(`WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers LIMIT ${items})
        ${buildInsert("'01800000-0000-7000-8000-' || printf('%012x', n)")} FROM numbers`)
      database.exec('PRAGMA wal_checkpoint(TRUNCATE); ANALYZE')
    }
  }
}

/** The URL of a new database on the server that POSTGRES_URL names: bench/growth.ts and bench/run.ts start one. */
export async function createDatabase (): Promise<string> {
  const { default: pg } = await import('pg')
  const url = new URL(process.env['POSTGRES_URL'] ?? '')
  const first = new pg.Client({ connectionString: url.href })
  await first.connect()
  const name = `bench_${process.pid}`
  await first.query(`CREATE DATABASE ${name}`)
  await first.end()
  url.pathname = name
  return url.href
}

export async function openPostgres (): Promise<Opened> {
  const { default: pg } = await import('pg')
  const { postgres } = await import('../lib/storage/postgres.ts')
  const pool = new pg.Pool({ connectionString: await createDatabase() })
  const adapter = postgres(pool)
  const names = new Map<string, string>()
  const nameStatement = (text: string, values: unknown[]) => {
    const name = names.get(text) ?? `statement_${names.size}`
    names.set(text, name)
    return { name, text, values }
  }
  return {
    adapter,
    handWritten: () =>
      new HandWrittenStorage({
        rows: async (text, values) => (await pool.query(nameStatement(text, values))).rows,
        change: async (text, values) => (await pool.query(nameStatement(text, values))).rowCount ?? 0,
        placeholder: (number) => `$${number}`,
        isNotUnique: (error) => error instanceof Error && 'code' in error && error.code === '23505'
      }),
    async fill (shape, items) {
      await adapter.createTable(shape)
      await pool.query(`${buildInsert("('01800000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid").replace("'2026-01-01T00:00:00.000Z'", "timestamptz '2026-01-01T00:00:00.000Z'")}
        FROM generate_series(0, ${items - 1}) AS n`)
      await pool.query('VACUUM ANALYZE users')
    }
  }
}

/** Starts the servers of the stores, and sets the environment of the processes that use them. */
export async function serve (stores: readonly string[]): Promise<() => Promise<void>> {
  if (!stores.includes('postgres')) return async () => {}
  const { startPostgres } = await import('../test/storage/servers.ts')
  const server = await startPostgres()
  process.env['POSTGRES_URL'] = `postgres://postgres:postgres@127.0.0.1:${server.port}/postgres`
  return () => server.end()
}
