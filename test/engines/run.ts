import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import driver from 'mysql2/promise'
import pg from 'pg'
import { conformance } from '../../lib/storage/conformance.ts'
import type { Open } from '../../lib/storage/conformance.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import type { SqlAdapter, SqlOptions } from '../../lib/storage/sql.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { freePort } from '../ports.ts'
import { startPostgres } from '../storage/servers.ts'

// Runs the conformance suite with every database and driver that is available here: `npm run engines`. Those from npm
// are installed at the first run. POSTGRES_URL and MYSQL_URL name other servers; their tables are not removed.

const folder = fileURLToPath(new URL('.', import.meta.url))

interface Engine {
  /** With its version. */
  readonly name: string
  readonly driver: string
  adapter(options: SqlOptions): SqlAdapter
  end(): Promise<unknown> | void
}

type SqliteDriver = Parameters<typeof sqlite>[0]

function install (): void {
  if (existsSync(join(folder, 'node_modules'))) return
  const options = ['--no-package-lock', '--no-audit', '--no-fund']
  const { status } = spawnSync('npm', ['install', ...options], { cwd: folder, stdio: 'inherit' })
  if (status !== 0) throw new Error('The engines cannot be installed. Check the connection to the npm registry.')
}

function getVersion (name: string): string {
  const places = [folder, join(folder, '../..')].map((place) => join(place, 'node_modules', name, 'package.json'))
  const file = places.find(existsSync)
  return file === undefined ? '' : String(JSON.parse(readFileSync(file, 'utf8')).version)
}

async function openSqlite (name: string): Promise<Engine> {
  // Installed on demand, so its types are not known.
  const { default: Database } = (await import(name)) as {
    default: new (path: string) => SqliteDriver & { close(): void }
  }
  const database = name === 'node:sqlite' ? new DatabaseSync(':memory:') : new Database(':memory:')
  const [row] = database.prepare('SELECT sqlite_version() AS version').all() as Array<{ version: string }>
  return {
    name: `SQLite ${row!.version}`,
    driver: name === 'node:sqlite' ? `node:sqlite of Node.js ${process.versions.node}` : `${name} ${getVersion(name)}`,
    adapter: (options) => sqlite(database, options),
    end: () => database.close()
  }
}

async function openPostgres (pool: pg.Pool, end: () => Promise<unknown>): Promise<Engine> {
  const { rows: [row] } = await pool.query<{ version: string }>("SELECT current_setting('server_version') AS version")
  return {
    name: `PostgreSQL ${row!.version.split(' ')[0]}`,
    driver: `pg ${getVersion('pg')}, pool of ${pool.options.max}`,
    adapter: (options) => postgres(pool, options),
    end
  }
}

async function openPglite (): Promise<Engine> {
  const { PGlite } = (await import('@electric-sql/pglite' as string)) as { PGlite: { create(): Promise<object> } }
  const { PGLiteSocketServer } = (await import('@electric-sql/pglite-socket' as string)) as {
    PGLiteSocketServer: new (options: object) => { start(): Promise<void>, stop(): Promise<void> }
  }
  const port = await freePort()
  const server = new PGLiteSocketServer({ db: await PGlite.create(), port, host: '127.0.0.1' })
  await server.start()
  // There is one session behind the socket.
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres', max: 1 })
  const engine = await openPostgres(pool, async () => {
    await pool.end()
    await server.stop()
  })
  return { ...engine, name: `PGlite ${getVersion('@electric-sql/pglite')} (${engine.name})` }
}

async function openMysql (uri: string): Promise<Engine> {
  const pool = driver.createPool({ uri, timezone: 'Z' })
  const [[row]] = (await pool.query('SELECT VERSION() AS version')) as unknown as [[{ version: string }]]
  const { version } = row
  return {
    name: version.includes('MariaDB') ? `MariaDB ${version.split('-')[0]}` : `MySQL ${version}`,
    driver: `mysql2 ${getVersion('mysql2')}`,
    adapter: (options) => mysql(pool, options),
    end: () => pool.end()
  }
}

const { POSTGRES_URL, MYSQL_URL } = process.env

const engines: ReadonlyArray<() => Promise<Engine>> = [
  () => openSqlite('node:sqlite'),
  () => openSqlite('better-sqlite3'),
  () => openSqlite('libsql'),
  async () => {
    const server = await startPostgres()
    return openPostgres(server.pool({ max: 10 }), () => server.end())
  },
  openPglite,
  ...(POSTGRES_URL === undefined
    ? []
    : [() => {
        const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 10 })
        return openPostgres(pool, () => pool.end())
      }]),
  ...(MYSQL_URL === undefined ? [] : [() => openMysql(MYSQL_URL)])
]

/** Returns how many cases there are, and the titles of those that fail. */
async function runSuite (open: Open): Promise<{ count: number, failed: string[] }> {
  const cases: Array<{ title: string, body: () => Promise<void> }> = []
  conformance((title, _, body) => cases.push({ title, body }), open)
  const failed: string[] = []
  for (const { title, body } of cases) await body().catch((error) => failed.push(`${title}: ${error}`))
  return { count: cases.length, failed }
}

let tables = 0
let caseCount = 0

install()
console.log('| database | driver | conformance |\n|---|---|---|')
for (const open of engines) {
  const engine = await open()
  const { count, failed } = await runSuite(async (shape) => {
    const adapter = engine.adapter({ table: `things_${process.pid}_${tables++}` })
    await adapter.createTable({ ...shape, receipts: true })
    return adapter(shape)
  })
  const result = failed.length === 0 ? 'all cases' : `${count - failed.length} of ${count}`
  console.log(`| ${engine.name} | ${engine.driver} | ${result} |`)
  caseCount = count
  for (const text of failed) console.error(text)
  if (failed.length > 0) process.exitCode = 1
  await engine.end()
}
console.log(`\nThe suite has ${caseCount} cases.`)
