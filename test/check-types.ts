import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { composePrograms, needsTestAll, resolveImports } from './docs.ts'
import { nativeCompiler, root, runProgram } from './example.ts'

// Checks the types of the library, its tests and examples, the type tests and the programs of the docs, in one run of
// the compiler. `node test/check-types.ts all` has those that need the packages of `npm run test:all` instead.
//
// The type tests, in test/types, are compiled as copies without `@ts-expect-error`, which would accept any error: each
// has to be followed by an error whose message contains the rest of its line.

const isAll = process.argv[2] === 'all'
const folder = join(root, isAll ? 'test/all/.tap/types' : '.tap/types')
/** What the docs show is there to be read: a program may declare what it does not use. */
const unused = /: error TS(6133|6192|6196|6198|6199): /
const directive = /\/\/ @ts-expect-error ?(.*)/

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
for (const program of composePrograms(folder)) {
  if (needsTestAll(program) === isAll) writeFileSync(program.file, program.code)
}
const typeTests = isAll ? [] : globSync('test/types/*.ts', { cwd: root })
const expected = typeTests.flatMap(copyTypeTest)

const configuration = join(root, isAll ? 'test/all/tsconfig.json' : 'tsconfig.json')
const { include, exclude } = JSON.parse(readFileSync(configuration, 'utf8')) as { include: string[], exclude: string[] }
const fromFolder = (name: string) => relative(folder, join(dirname(configuration), name))
writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({
  extends: relative(folder, configuration),
  include: ['.', ...include.map(fromFolder)],
  exclude: [...exclude.map(fromFolder), relative(folder, join(root, 'test/types'))]
}))

const { status, output } = runProgram(nativeCompiler, '-p', folder, '--pretty', 'false')
// The lines of a message after the first are indented.
const errors = output.split(/\n(?! |$)/).map((error) => error.trimEnd()).filter((error) => error !== '')
const unmet = expected.filter(({ place, message }) => {
  const index = errors.findIndex((error) => error.startsWith(place) && error.includes(message))
  if (index >= 0) errors.splice(index, 1)
  return index < 0
})
const failures = [
  ...errors
    .filter((error) => !(error.startsWith(relative(root, folder)) && unused.test(error)))
    .map((error) => typeTests.reduce((text, file) => text.replace(getCopy(file), file), error)),
  ...unmet.map(({ file, line, message }) => `${file}(${line}): the compiler does not report "${message}" here.`)
]
if (failures.length > 0) console.error(failures.join('\n'))
if (failures.length > 0 || (status !== 0 && output === '')) process.exitCode = 1

interface ExpectedError {
  readonly file: string
  readonly line: number
  /** How the compiler names the place of the error. */
  readonly place: string
  readonly message: string
}

/** The name of the copy of a type test, relative to the root. */
function getCopy (file: string): string {
  return join(relative(root, folder), file.replaceAll('/', '-'))
}

/** Copies a type test without its directives, and returns the errors that they expect. */
function copyTypeTest (file: string): ExpectedError[] {
  const code = readFileSync(join(root, file), 'utf8')
  const lines = code.split('\n')
  const copy = code
    .replace(/from '(\..*?)'/g, (_, target: string) => `from '${relative(folder, join(root, dirname(file), target))}'`)
    .replaceAll('// @ts-expect-error', '// expected:')
  writeFileSync(join(root, getCopy(file)), resolveImports(copy, folder))
  return lines.flatMap((text, index) => {
    const message = directive.exec(text)?.[1]
    if (message === undefined) return []
    if (message === '') throw new Error(`${file}(${index + 1}): State the message of the expected error.`)
    const line = index + 2
    return [{ file, line, place: `${getCopy(file)}(${line},`, message }]
  })
}
