import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

test('the server of a test file that is killed ends, and its folder is removed', async (t) => {
  const child = fork(fileURLToPath(new URL('fixtures/abandoned-server.ts', import.meta.url)), { execArgv: [] })
  const [{ pid, folder }] = (await once(child, 'message')) as [{ pid: number; folder: string }]
  t.ok(isRunning(pid))
  t.ok(existsSync(folder))
  child.kill('SIGKILL')
  // The time limit of the file ends this loop if the server does not end.
  while (isRunning(pid) || existsSync(folder)) await delay(50)
  t.pass('both have ended')
})

function isRunning (pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
