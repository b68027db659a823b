import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'tap'

// Histories of the simulation run in a process of their own, because they replace the clock, timers and random numbers.

const isQuick = process.env.TESTS === 'quick'

async function runHistories (...options: string[]): Promise<{ code: number, output: string }> {
  const file = join(import.meta.dirname, 'run.ts')
  const node = spawn(process.execPath, ['--conditions=fastify-collections-source', file, '--stop', '3', ...options])
  let output = ''
  for (const stream of [node.stdout, node.stderr]) stream.setEncoding('utf8').on('data', (text) => { output += text })
  const [code] = await once(node, 'close') as [number]
  return { code, output }
}

test('the histories that have found a bug have no violation', { timeout: 600_000 }, async (t) => {
  const { code, output } = await runHistories('--known')
  t.equal(code, 0, output)
})

test('300 histories have no violation', { timeout: 600_000 }, async (t) => {
  const { code, output } = await runHistories('--count', '300')
  t.equal(code, 0, output)
})

test('histories from a random seed have no violation', {
  skip: isQuick && 'npm run test:all has it',
  timeout: 3_600_000
}, async (t) => {
  const seed = Math.floor(Math.random() * 1_000_000_000)
  t.comment(`from seed ${seed}`)
  const { code, output } = await runHistories('--from', String(seed), '--cpu', '120')
  t.equal(code, 0, `from seed ${seed}\n${output}`)
})
