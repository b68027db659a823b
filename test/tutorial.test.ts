import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { test } from 'tap'
import { parseCommands, toPattern } from './conversation.ts'
import { isInstalled, scratch } from './example.ts'
import { install, pack, root, run } from './packed.ts'
import { freePort, isListening } from './ports.ts'
import { watchServer } from './watchdog.ts'

// The tutorial as a reader follows it: in an empty folder, with the packed library. Two things differ: the packages
// that `npm install` names are linked instead of downloaded, and the service listens on a free port instead of 3000.

t.setTimeout(600_000)

const tutorial = readFileSync(join(root, 'docs/tutorial.md'), 'utf8').replace(/^## Starters[^]*/m, '')
const blocks = [...tutorial.matchAll(/(?:`([\w.]+\.ts)`[^\n]*\n\n)?```(sh|ts|console)\n([^]*?)```/g)].map(
  ([, name, language, code = '']) => ({ name, language, code })
)

test('every step of the tutorial works as written', { skip: !isInstalled('curl') && 'there is no curl' }, async (t) => {
  const place = scratch()
  const folder = join(place, 'app')
  mkdirSync(folder)
  const { tarball } = pack(place)
  const port = String(await freePort())
  const withPort = (text: string) => text.replaceAll('localhost:3000', `127.0.0.1:${port}`).replace('3000', port)
  const shell = openShell(folder)
  t.teardown(() => shell.end())
  let stop = async () => {}
  t.teardown(() => stop())

  for (const { name, language, code } of blocks) {
    if (language === 'ts') {
      t.ok(name, 'the text names the file of each program')
      writeFileSync(join(folder, name ?? ''), withPort(code))
    } else if (language === 'console') {
      for (const { run, shown } of parseCommands(code)) {
        t.match(await shell.send(withPort(run)), shown.length === 0 ? /^$/ : toPattern(shown), run)
      }
    } else {
      for (const line of code.trim().split('\n')) {
        if (line.startsWith('npm install ')) {
          install(folder, tarball, line.split(' ').slice(2).filter((name) => name !== 'fastify-collections'))
        } else if (line === 'npm start') {
          await stop()
          stop = await startService(folder, Number(port))
        } else {
          const { status, output } = run('bash', ['-c', line], folder)
          t.equal(status, 0, `${line}\n${output}`)
        }
      }
    }
  }
})

/** Runs `npm start` until the returned function is called, as Ctrl+C does. */
async function startService (folder: string, port: number): Promise<() => Promise<void>> {
  // A group of its own: npm, and the service that it starts.
  const child = spawn('npm', ['start'], {
    cwd: folder,
    stdio: 'ignore',
    detached: true,
    env: { ...process.env, NODE_OPTIONS: '' }
  })
  const group = -(child.pid ?? 0)
  const stopWatching = watchServer(group, 'KILL')
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}`)
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

/** One shell for all commands, which keeps their variables. */
function openShell (cwd: string) {
  const child = spawn('bash', { cwd, stdio: ['pipe', 'pipe', 'inherit'] })
  const end = '-- end of output --'
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += String(chunk)
  })
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
