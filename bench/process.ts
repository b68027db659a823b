import { fork, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

/** Two cores and `taskset` give the server and the driver one core each; otherwise the system assigns them. */
export const pinned =
  process.platform === 'linux' && availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0

export interface Launch {
  args?: string[]
  flags?: string[]
  core: number
}

/** `base` is a file of the bench/ folder that contains `file`: in this checkout, or in another one. */
export function launch (
  file: string,
  { args = [], flags = [], core }: Launch,
  base: string | URL = import.meta.url
): ChildProcess {
  const path = fileURLToPath(new URL(file, base))
  const stdio: Array<'ignore' | 'inherit' | 'ipc'> = ['ignore', 'inherit', 'inherit', 'ipc']
  if (!pinned) return fork(path, args, { execArgv: flags, stdio })
  return fork(path, args, { execPath: 'taskset', execArgv: ['-c', String(core), process.execPath, ...flags], stdio })
}

/** The server process, which can collect its garbage at any time. */
export function launchServer (args: string[], base?: string | URL): ChildProcess {
  return launch('server.ts', { args, flags: ['--expose-gc'], core: 0 }, base)
}

/** Receives the next message of a child, and throws its errors. The caller knows the type of the message. */
export async function receive<Message> (child: ChildProcess): Promise<Message> {
  const gone = new AbortController()
  const exit = (code: number | null) => gone.abort(new Error(`a process of the bench ended with ${code}`))
  child.once('exit', exit)
  try {
    const [message] = await once(child, 'message', { signal: gone.signal })
    if (message.error !== undefined) throw new Error(message.error)
    return message
  } catch (error) {
    throw gone.signal.aborted ? gone.signal.reason : error
  } finally {
    child.off('exit', exit)
  }
}

export function ask<Message> (child: ChildProcess, message: object): Promise<Message> {
  const reply = receive<Message>(child)
  child.send(message)
  return reply
}

export async function end (child: ChildProcess) {
  if (child.exitCode !== null || !child.connected) return
  child.disconnect()
  await once(child, 'exit')
}
