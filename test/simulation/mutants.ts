import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { mutants } from './mutant-list.ts'
import type { Mutant } from './mutant-list.ts'

// node test/simulation/mutants.ts [--cpu 60] [--tests] [--check] [part of a promise ...]
// Breaks one promise at a time in a copy, and prints whether the simulation finds it. With --tests, the tests that are
// named after it run if the simulation does not find it. With --check, only whether the faults can still be inserted.

const { values: { cpu, tests: runsTests, check: isCheck }, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    cpu: { type: 'string', default: '60' },
    tests: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false }
  }
})

const root = join(import.meta.dirname, '..', '..')

function readMutated ({ promise, file, old, next }: Mutant): string {
  const text = readFileSync(join(root, 'lib', file), 'utf8')
  const count = text.split(old).length - 1
  if (count === 0) throw new Error(`${promise}: lib/${file} does not contain ${old}`)
  return text.replace(old, () => next)
}

function createCopy (): string {
  const folder = mkdtempSync(join(tmpdir(), 'mutant-'))
  const filter = (path: string): boolean => !path.endsWith('node_modules')
  for (const part of ['lib', 'test', 'package.json']) {
    cpSync(join(root, part), join(folder, part), { recursive: true, filter })
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

function runNode (folder: string, ...command: string[]): { isRed: boolean, output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--conditions=fastify-collections-source', ...command], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 1e9,
    timeout: 1_200_000,
    env: { ...process.env, TESTS: 'quick', TAP_TIMEOUT: '300' }
  })
  return { isRed: status !== 0, output: stdout + stderr }
}

/** What finds the mutant; undefined if nothing does. */
function findMutant (folder: string, { tests }: Mutant): string | undefined {
  const { isRed, output } = runNode(folder, 'test/simulation/run.ts', '--cpu', cpu, '--stop', '1')
  // Such as `seed 17 {...}, after 2.0 s of CPU`, or an error when an app starts.
  const [line = 'an error'] = output.split('\n')
  if (isRed) return line.replace(/ \{.*\}/, '')
  return runsTests ? tests.find((test) => runNode(folder, `test/${test}.test.ts`).isRed) : undefined
}

const chosen = mutants.filter(({ promise }) => {
  return positionals.length === 0 || positionals.some((part) => promise.includes(part))
})
const survivors: string[] = []
const folder = isCheck ? '' : createCopy()
try {
  for (const mutant of chosen) {
    const { promise, file } = mutant
    const mutated = readMutated(mutant)
    if (isCheck) continue
    writeFileSync(join(folder, 'lib', file), mutated)
    const found = findMutant(folder, mutant)
    console.log(`${found === undefined ? 'SURVIVES' : found} | ${promise} | ${file}`)
    if (found === undefined) survivors.push(promise)
    cpSync(join(root, 'lib', file), join(folder, 'lib', file))
  }
} finally {
  if (!isCheck) rmSync(folder, { recursive: true, force: true })
}
if (!isCheck) console.log(`${chosen.length} mutants, ${survivors.length} survivors: ${survivors.join('; ')}`)
