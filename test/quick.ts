import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'

// Runs the test files that need no server outside npm's packages. Several files share a process: loading and compiling
// the library, Fastify and tap takes longer than most files. `npm run test:all` runs each file in its own process.
// With paths, such as lib/engine, it runs only what belongs to them: see `belongs`.

/** These need servers, or take long. Those in `test/all` need packages that only `npm run test:all` installs. */
const excluded = [
  'bench', 'caches', 'crashes', 'example-service', 'examples', 'engine/interruptions',
  'storage/balancer', 'storage/encrypted', 'storage/galera', 'storage/pgbouncer', 'storage/pools', 'storage/servers',
  'transfers', 'doors/batch/transfers'
]

const root = join(import.meta.dirname, '..')
const folder = join(root, '.tap', 'quick')
const parameters = process.argv.slice(2)
const paths = parameters.filter((parameter) => !parameter.startsWith('-')).map((path) => relative(root, path))
const files = globSync('test/**/*.test.ts', { cwd: root })
  .filter((file) => !file.startsWith(join('test', 'all')) && !excluded.includes(file.slice(5, -8)))
  .filter((file) => paths.length === 0 || paths.some((path) => belongs(file, path)))
  // Each process gets some of the files that take long, and the longest start first.
  .sort((a, b) => estimateTime(b) - estimateTime(a))
if (files.length === 0) throw new Error(`No test belongs to ${paths.join(', ')}.`)

/**
 * Whether a test file belongs to a path: it is below it, or below that of the same name in `test`; it compares what all
 * of the library sends; or it imports the file that the path names.
 */
function belongs (file: string, path: string): boolean {
  const own = path.replace(/^lib\b/, 'test').replace(/\.ts$/, '')
  if (file.startsWith(`${own}/`) || file.startsWith(`${own}.`) || file.startsWith(`${own}-`)) return true
  if (path === 'docs' || path.startsWith('docs/')) return file === join('test', 'docs.test.ts')
  if (!path.startsWith('lib')) return false
  if (file === join('test', 'corpus.test.ts') || file === join('test', 'architecture.test.ts')) return true
  const imports = readFileSync(join(root, file), 'utf8').matchAll(/from '(\..*?)'/g)
  return Array.from(imports, ([, target = '']) => join(dirname(file), target)).includes(path)
}

/** Large files take longer. test/docs.test.ts is short, and runs every program of the docs. */
function estimateTime (file: string): number {
  return file === join('test', 'docs.test.ts') ? Infinity : statSync(join(root, file)).size
}

/** A file that replaces a global has a process of its own. */
function replacesGlobal (file: string): boolean {
  return /\bglobalThis\.\w+ = /.test(readFileSync(join(root, file), 'utf8'))
}

const cores = availableParallelism()
const shared = files.filter((file) => !replacesGlobal(file))
const count = Math.min(paths.length > 0 ? cores : cores * 3, shared.length)
const groups = [
  ...Array.from({ length: count }, (_, index) => shared.filter((_, position) => position % count === index)),
  ...files.filter(replacesGlobal).map((file) => [file])
]
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const tests = groups.map((group, index) => {
  const test = join(folder, `${index + 1}-of-${groups.length}.test.ts`)
  writeFileSync(test, group.map((file) => `import '../../${file}'\n`).join(''))
  return test
})

// On the version of Node.js that runs this file.
// Some files wait for timers, or for programs that they start.
const command = [join(root, 'node_modules', '.bin', 'tap'), 'run', '--disable-coverage', `--jobs=${cores + 1}`]
const options = parameters.filter((parameter) => parameter.startsWith('-'))
const tap = spawn(process.execPath, [...command, ...options, ...tests], {
  cwd: root,
  // A module is compiled by the first process that loads it.
  env: { ...process.env, TESTS: 'quick', NODE_COMPILE_CACHE: join(root, '.tap', 'compile-cache') },
  stdio: 'inherit'
})
const [code] = await once(tap, 'close') as [number | null]
process.exitCode = code ?? 1
