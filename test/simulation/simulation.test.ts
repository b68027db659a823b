import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { test } from 'tap'
import type { Test } from 'tap'

// Histories of the simulation run in a process of their own, because they replace the clock, timers and random numbers.

const isQuick = process.env.TESTS === 'quick'

// Without tap's runner, a file has 30 seconds.
t.setTimeout(3_600_000)

function runHistories (t: Test, ...options: string[]): Promise<{ code: number, output: string }> {
  return runProgram(t, 'run.ts', '--stop', '3', ...options)
}

async function runProgram (t: Test, name: string, ...options: string[]): Promise<{ code: number, output: string }> {
  const file = join(import.meta.dirname, name)
  const node = spawn(process.execPath, ['--conditions=fastify-collections-source', file, ...options])
  // A test that ends early leaves no process behind.
  t.teardown(() => node.kill())
  let output = ''
  for (const stream of [node.stdout, node.stderr]) stream.setEncoding('utf8').on('data', (text) => { output += text })
  const [code] = await once(node, 'close') as [number]
  return { code, output }
}

test('the histories that have found a bug have no violation', { timeout: 600_000 }, async (t) => {
  const { code, output } = await runHistories(t, '--known')
  t.equal(code, 0, output)
})

test('every fault of the list of mutants can be inserted', async (t) => {
  const { code, output } = await runProgram(t, 'mutants.ts', '--check')
  t.equal(code, 0, output)
})

test('300 histories have no violation', { timeout: 600_000 }, async (t) => {
  const { code, output } = await runHistories(t, '--count', '300')
  t.equal(code, 0, output)
})

test('histories from a random seed have no violation', {
  skip: isQuick && 'npm run test:all has it',
  timeout: 3_600_000
}, async (t) => {
  const { SIMULATION_SEED = Math.floor(Math.random() * 1_000_000_000) } = process.env
  const seed = Number(SIMULATION_SEED)
  t.comment(`from seed ${seed}`)
  const { code, output } = await runHistories(t, '--from', String(seed), '--cpu', '120')
  t.equal(code, 0, `from seed ${seed}\n${output}`)
})
