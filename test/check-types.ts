import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { composePrograms, needsTestAll } from './docs.ts'
import { nativeCompiler, root, runProgram } from './example.ts'

// Checks the types of the library, its tests and examples, and the programs of the docs, in one run of the compiler.
// `node test/check-types.ts all` has those that need the packages of `npm run test:all` instead.

const isAll = process.argv[2] === 'all'
const folder = join(root, isAll ? 'test/all/.tap/types' : '.tap/types')
/** What the docs show is there to be read: a program may declare what it does not use. */
const unused = /: error TS(6133|6192|6196|6198|6199): /

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
for (const program of composePrograms(folder)) {
  if (needsTestAll(program) === isAll) writeFileSync(program.file, program.code)
}
const configuration = join(root, isAll ? 'test/all/tsconfig.json' : 'tsconfig.json')
const { include } = JSON.parse(readFileSync(configuration, 'utf8')) as { include: string[] }
writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({
  extends: relative(folder, configuration),
  include: ['.', ...include.map((name) => relative(folder, join(dirname(configuration), name)))]
}))

const { status, output } = runProgram(nativeCompiler, '-p', folder, '--pretty', 'false')
const lines = output.split('\n').filter((line) => {
  return line !== '' && !(line.startsWith(relative(root, folder)) && unused.test(line))
})
if (lines.length > 0) console.error(lines.join('\n'))
if (lines.length > 0 || (status !== 0 && output === '')) process.exitCode = 1
