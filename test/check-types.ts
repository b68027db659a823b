import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { composePrograms } from './docs.ts'
import { nativeCompiler, root } from './example.ts'

// Checks the types of the library, its tests and examples, and the programs of the docs, in one run of the compiler.

const folder = join(root, '.tap', 'types')
/** What the docs show is there to be read: a program may declare what it does not use. */
const unused = /: error TS(6133|6192|6196|6198|6199): /

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
for (const { file, code } of composePrograms(folder)) writeFileSync(file, code)
const { include } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as { include: string[] }
writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({
  extends: '../../tsconfig.json',
  include: ['.', ...include.map((name) => join('../..', name))]
}))

const { stdout, stderr, status } = spawnSync(
  process.execPath,
  [nativeCompiler, '-p', folder, '--pretty', 'false'],
  { cwd: root, encoding: 'utf8' }
)
const lines = `${stdout}${stderr}`.split('\n').filter((line) => {
  return line !== '' && !(line.startsWith(relative(root, folder)) && unused.test(line))
})
if (lines.length > 0) console.error(lines.join('\n'))
if (lines.length > 0 || (status !== 0 && stdout === '')) process.exitCode = 1
