import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { noServers } from '../storage/databases.ts'

test('a content with millions of errors needs no more memory than its parts, and 100 errors are listed', async (t) => {
  const every = noServers === false ? 1 : 4
  const child = fork(fileURLToPath(new URL('many-errors.ts', import.meta.url)), [String(every)], {
    execArgv: ['--max-old-space-size=128'],
    // Without the options of the test runner for coverage, which needs memory too.
    env: {},
    stdio: ['ignore', 'inherit', 'pipe', 'ipc']
  })
  let failure = ''
  child.stderr!.on('data', (chunk: Buffer) => {
    failure += chunk.toString()
  })
  let answers: Record<string, string> = {}
  child.on('message', (message) => {
    answers = message as Record<string, string>
  })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  t.strictSame([code, signal], [0, null], failure.slice(0, 500))
  // They are all about the same object.
  const { 'names of properties': names, 'a long name': longName, ...others } = answers
  t.strictSame([names, longName], ['422 1', every === 1 ? '422 1' : undefined])
  t.equal(Object.keys(others).length, every === 1 ? 19 : 9)
  for (const [name, answer] of Object.entries(others)) t.equal(answer, '422 100', name)
})
