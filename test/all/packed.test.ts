import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { install, pack, root, run } from '../packed.ts'

// What npm installs does what lib/ does: a bundler can drop code that it takes to have no effect.

const scratch = mkdtempSync(join(realpathSync(tmpdir()), 'fastify-collections-'))
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }))

const peers = ['fastify', '@sinclair/typebox', 'typebox', 'mysql2', 'pg', '@modelcontextprotocol/server']
install(scratch, pack(scratch).tarball, peers)
const packed = join(scratch, 'node_modules/fastify-collections')
const hook = new URL('../packed-entries.ts', import.meta.url).href

const agents = ['tools', 'calls', 'http', 'matrix'].map((suite) => `doors/agents/${suite}`)

for (const suite of ['corpus', 'doors', 'storage/conformance', ...agents]) {
  test(`the package passes test/${suite}.test.ts`, (t) => {
    const file = join(root, 'test', `${suite}.test.ts`)
    const { status, output } = run(process.execPath, ['--import', hook, file], root, { PACKED: packed })
    const failures = output.split('\n').filter((line) => /^ *not ok|^# |Error/.test(line))
    t.equal(status, 0, failures.slice(0, 20).join('\n') || output.slice(-2000))
    t.match(output, /\n# \{ total: [1-9]|\n1\.\.[1-9]/, 'tests have run')
    t.end()
  })
}
