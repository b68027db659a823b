import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { openSync, closeSync } from 'node:fs'
import { chmod, mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort, isListening } from '../ports.ts'
import { watchServer } from '../watchdog.ts'

// A server program for this test run: in the foreground, on a free port of the loopback interface, in a new
// folder.

export interface Place {
  readonly folder: string
  readonly port: number
}

export interface Program {
  readonly name: string
  readonly binary: string
  /** Writes the files of the program into the folder, and returns its arguments. */
  prepare(place: Place): Promise<readonly string[]>
}

export interface Daemon {
  readonly port: number
  end(): Promise<void>
  /** What it wrote to its output and into its logs. */
  log(): Promise<string>
}

// Includes the folders of system programs, which the PATH of some users omits.
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/local/sbin:/usr/sbin` }

export function isInstalled (binary: string): boolean {
  return spawnSync(binary, ['-v'], { stdio: 'ignore', env }).error === undefined
}

export async function start (program: Program): Promise<Daemon> {
  if (!isInstalled(program.binary)) throw new Error(`${program.binary} is not installed`)
  const folder = await mkdtemp(join(tmpdir(), `collections-${program.name}-`))
  // If the tests run as root, the program changes its user and still needs its folder.
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
  // The program ends with the test run in any case.
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
  const text = await logs(folder)
  await end()
  throw new Error(`${program.name} did not start.\n${text}`)
}

async function logs (folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.log'))
  const texts = await Promise.all(names.map(async (name) => `${name}:\n${await readFile(join(folder, name), 'utf8')}`))
  return texts.join('\n')
}
