import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess, SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { watchServer } from './watchdog.ts'

// The example service as `npm start` runs it, as a separate process, on the Node.js version that runs the tests.

export const root = fileURLToPath(new URL('..', import.meta.url))

export const nativeCompiler = join(root, '.ci/compiler/node_modules/typescript/bin/tsc')

/** The parameters of Node.js in the command of `npm start`. */
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } }
export const parameters = scripts.start.replace(/^exec node /, '').split(' ')

/** The Node.js installation of the machine. */
export const machineNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find(existsSync)

/** A folder that is removed when the process ends. */
export function scratch (): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'collections-example-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface Running {
  readonly child: ChildProcess
  readonly output: () => string
  readonly errors: () => string
}

interface Start extends SpawnOptions {
  readonly node?: string
  readonly environment?: Record<string, string>
}

/**
 * A command without the environment of tap: examples are not part of the coverage, and write no files
 * of tap.
 */
export function alone (
  program: string,
  words: readonly string[],
  { environment = {}, ...options }: Omit<Start, 'node'> = {}
): Running {
  const child = spawn(
    'env',
    [
      '-i',
      `PATH=${process.env['PATH'] ?? ''}`,
      // node:sqlite of Node.js 22 prints one.
      'NODE_OPTIONS=--disable-warning=ExperimentalWarning',
      // `npm test` sets it.
      ...(process.env['NODE_COMPILE_CACHE'] === undefined ? [] : [`NODE_COMPILE_CACHE=${process.env['NODE_COMPILE_CACHE']}`]),
      ...Object.entries(environment).map((entry) => entry.join('=')),
      program,
      ...words
    ],
    options
  )
  if (child.pid !== undefined) child.once('exit', watchServer(child.pid, 'KILL'))
  return { child, output: collectOutput(child.stdout), errors: collectOutput(child.stderr) }
}

export function run ({ node = process.execPath, ...options }: Start = {}): Running {
  return alone(node, parameters, { cwd: root, ...options })
}

/** Runs a JavaScript program to its end, without the options of tap. */
export function runProgram (...words: string[]): { status: number | null, output: string } {
  const command = ['-u', 'NODE_OPTIONS', process.execPath, ...words]
  const { status, stdout, stderr } = spawnSync('env', command, { encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

export function collectOutput (stream: NodeJS.ReadableStream | null): () => string {
  let content = ''
  stream?.on('data', (chunk) => {
    content += String(chunk)
  })
  return () => content
}

/** Starts the example service on a free port with a new file, and waits until it listens. */
export async function example (
  environment: Record<string, string> = {}
): Promise<Running & { address: string; file: string }> {
  const file = join(scratch(), 'service.db')
  const running = run({ environment: { PORT: '0', SQLITE_FILE: file, ...environment } })
  await new Promise<void>((resolve, reject) => {
    running.child.stdout?.on('data', () => {
      if (running.output().includes('Ctrl+C')) resolve()
    })
    running.child.once('exit', () => reject(new Error(running.errors())))
  })
  return { ...running, address: /http:\/\/[\d.]+:\d+/.exec(running.output())![0], file }
}

/** Waits for the end of a process, and returns its exit code and output. */
export async function waitForEnd ({
  child,
  output,
  errors
}: Running): Promise<{ status: number | null; output: string; errors: string }> {
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, output: output(), errors: errors() }
}

export const isInstalled = (program: string): boolean => spawnSync(program, ['--version']).status === 0
