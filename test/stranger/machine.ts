import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { isListening } from '../ports.ts'
import { watchServer } from '../watchdog.ts'

/** What a stranger has: an empty folder, and an environment without anything of the repository. */
export interface Machine {
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
}

/** Runs a command, and returns its output. If it fails, the error has the output. */
export async function run ({ folder, environment }: Machine, command: string, input = ''): Promise<string> {
  // Not synchronous: npm installs packages from the registry of this process.
  const child = spawn('bash', ['-c', command], { cwd: folder, env: environment, stdio: ['pipe', 'pipe', 'pipe'] })
  let [output, errors] = ['', '']
  child.stdout.on('data', (chunk) => { output += String(chunk) })
  child.stderr.on('data', (chunk) => { errors += String(chunk) })
  child.stdin.end(input)
  const [status] = await once(child, 'close') as [number | null]
  if (status !== 0) throw new Error(`${command} ended with ${status}\n${output}${errors}`)
  return output
}

/** Runs `npm start` until the returned function is called, as Ctrl+C does. */
export async function startService ({ folder, environment }: Machine, port: number): Promise<() => Promise<void>> {
  // A group of its own: npm, and the service that it starts.
  const child = spawn('npm', ['start'], { cwd: folder, env: environment, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { output += String(chunk) })
  const group = -(child.pid ?? 0)
  const stopWatching = watchServer(group, 'KILL')
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}\n${output}`)
    await delay(50)
  }
  return async () => {
    const ended = once(child, 'exit')
    process.kill(group, 'SIGINT')
    await ended
    while (await isListening(port)) await delay(50)
    stopWatching()
  }
}

/** Opens one shell for all commands, which keeps their variables. */
export function openShell ({ folder, environment }: Machine) {
  const child = spawn('bash', { cwd: folder, env: environment, stdio: ['pipe', 'pipe', 'ignore'] })
  const end = '-- end of output --'
  let output = ''
  child.stdout.on('data', (chunk) => { output += String(chunk) })
  return {
    async send (command: string): Promise<string> {
      output = ''
      child.stdin.write(`${command}\necho; echo '${end}'\n`)
      while (!output.endsWith(`${end}\n`)) await once(child.stdout, 'data')
      const text = output.slice(0, -end.length - 1).replaceAll('\r', '').trimEnd()
      return text === '' ? '' : `${text}\n`
    },
    end: () => child.stdin.end()
  }
}
