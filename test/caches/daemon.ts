import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { openSync, closeSync } from 'node:fs'
import { chmod, mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort, isListening } from '../ports.ts'
import { watchServer } from '../watchdog.ts'

// A server program of this test run's own: in the foreground, on a free port of the loopback interface, in a folder
// of its own.

export interface Place {
  readonly folder: string
  readonly port: number
}

export interface Program {
  readonly name: string
  readonly binary: string
  /** Writes what the program needs into the folder, and tells its arguments. */
  prepare(place: Place): Promise<readonly string[]>
}

export interface Daemon {
  readonly port: number
  end(): Promise<void>
  /** What it wrote to its output and into its logs. */
  log(): Promise<string>
}

// Where the programs of a system are, also for those users whose PATH is without it.
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/local/sbin:/usr/sbin` }

export function installed (binary: string): boolean {
  return spawnSync(binary, ['-v'], { stdio: 'ignore', env }).error === undefined
}

export async function start (program: Program): Promise<Daemon> {
  if (!installed(program.binary)) throw new Error(`${program.binary} is not installed`)
  const folder = await mkdtemp(join(tmpdir(), `collections-${program.name}-`))
  // Where the tests run as root, the program gives that up and still needs its folder.
  await chmod(folder, 0o777)
  const port = await freePort()
  const args = await program.prepare({ folder, port })
  const output = openSync(join(folder, 'output.log'), 'a')
  const child = spawn(program.binary, args, { stdio: ['ignore', output, output], env })
  closeSync(output)
  const stopWatching = watchServer(child.pid ?? 0, 'TERM', folder)
  const exited = once(child, 'exit')
  const kill = (): void => {
    child.kill('SIGKILL')
  }
  // Whatever ends the test run ends the program with it.
  process.once('exit', kill)

  async function end (): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      const late = setTimeout(kill, 5_000)
      await exited
      clearTimeout(late)
    }
    stopWatching()
    process.off('exit', kill)
    await rm(folder, { recursive: true, force: true })
  }

  for (let turn = 0; turn < 500 && child.exitCode === null; turn++) {
    if (await isListening(port)) return { port, end, log: () => logs(folder) }
    await delay(20)
  }
  const told = await logs(folder)
  await end()
  throw new Error(`${program.name} did not start.\n${told}`)
}

async function logs (folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.log'))
  const texts = await Promise.all(names.map(async (name) => `${name}:\n${await readFile(join(folder, name), 'utf8')}`))
  return texts.join('\n')
}
