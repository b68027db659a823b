// The programs of a cluster: what has to be installed, and processes that end with this one.
import { spawn, spawnSync, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../test/ports.ts'
import { watchServer } from '../../test/watchdog.ts'

/** By program, the Debian package that has it. */
export type Needed = Readonly<Record<string, string>>

const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/bin']

export function findProgram (name: string): string | undefined {
  if (name.startsWith('/')) return existsSync(name) ? name : undefined
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

/** The folder of the newest PostgreSQL that Debian has installed. */
export function findPostgres (): string | undefined {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  return versions.map((version) => join(root, version, 'bin')).find((path) => existsSync(join(path, 'initdb')))
}

export function findMissing (needed: Needed): string[] {
  const missing = Object.entries(needed).filter(([program]) => findProgram(program) === undefined)
  return [...new Set(missing.map(([, debianPackage]) => debianPackage))]
}

interface Identity {
  readonly uid?: number
  readonly gid?: number
}

/** Database servers refuse to run as root: for root, they run as the user that their package has created. */
function findUser (name: string): Identity {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout))
  if (!uid || !gid) throw new Error(`The user ${name} does not exist: its package creates it.`)
  return { uid, gid }
}

/** A running program, and how to end it. */
export interface Program {
  readonly pid: number
  /** Sends a signal to the process and to all that it has started. */
  signal (name: NodeJS.Signals): void
}

/** The files and processes of one cluster. */
export class Programs {
  readonly folder: string
  readonly #identity: Identity
  readonly #children: Array<{ child: ChildProcess, stopWatching: () => void }> = []
  readonly #ports = new Set<number>()

  private constructor (folder: string, identity: Identity) {
    this.folder = folder
    this.#identity = identity
  }

  /** `user` runs the programs if this process is root's. */
  static async create (user: string): Promise<Programs> {
    const folder = await mkdtemp(join(existsSync('/tmp') ? '/tmp' : tmpdir(), 'collections-failover-'))
    await chmod(folder, 0o755)
    const programs = new Programs(folder, findUser(user))
    programs.#own(folder)
    return programs
  }

  createFolder (name: string): string {
    const path = join(this.folder, name)
    mkdirSync(path, { mode: 0o700 })
    this.#own(path)
    return path
  }

  #own (path: string): void {
    const { uid, gid } = this.#identity
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
  }

  /** A port that no other program of the cluster has. */
  async port (): Promise<number> {
    for (;;) {
      const port = await freePort()
      if (this.#ports.has(port)) continue
      this.#ports.add(port)
      return port
    }
  }

  /** Starts a program. What it prints is in the folder, in a file with the given name. */
  start (log: string, command: string, args: readonly string[], options: SpawnOptions = {}): Program {
    const output = openSync(join(this.folder, `${log}.log`), 'a')
    const child = spawn(findProgram(command) ?? command, args, {
      cwd: this.folder,
      ...options,
      ...this.#identity,
      stdio: ['ignore', output, output]
    })
    child.on('error', (error) => { throw error })
    const { pid } = child
    if (pid === undefined) throw new Error(`${command} cannot be started`)
    this.#children.push({ child, stopWatching: watchServer(pid, 'TERM', this.folder) })
    return { pid, signal: (name) => signalAll([pid, ...findDescendants(pid)], name) }
  }

  /** Runs a program to its end. */
  run (command: string, args: readonly string[]): void {
    const { status, stderr } = spawnSync(findProgram(command) ?? command, args, {
      cwd: this.folder,
      ...this.#identity,
      encoding: 'utf8'
    })
    if (status !== 0) throw new Error(`${command} failed: ${stderr}`)
  }

  readLog (log: string): string {
    return readFileSync(join(this.folder, `${log}.log`), 'utf8')
  }

  /** Ends all programs, the last one first. */
  async stop (): Promise<void> {
    for (const { child, stopWatching } of this.#children.reverse()) {
      const closed = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, 'exit')
      const started = child.pid === undefined ? [] : [child.pid, ...findDescendants(child.pid)]
      signalAll(started, 'SIGCONT')
      child.kill('SIGTERM')
      if (await Promise.race([closed, delay(15_000, 'late', { ref: false })]) === 'late') signalAll(started, 'SIGKILL')
      stopWatching()
    }
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** The processes that a process has started, and those that they have started. */
export function findDescendants (pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  const parents = stdout.trim().split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  const find = (parent: number): number[] => parents
    .filter(([, ppid]) => ppid === parent)
    .flatMap(([child = 0]) => [child, ...find(child)])
  return find(pid)
}

export function signalAll (pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // It has ended already.
    }
  }
}

/** Waits until a check succeeds. */
export async function waitFor (what: string, check: () => Promise<boolean>, seconds = 90): Promise<void> {
  const end = Date.now() + seconds * 1000
  while (!await check().catch(() => false)) {
    if (Date.now() > end) throw new Error(`${what}: not within ${seconds} seconds`)
    await delay(200)
  }
}
