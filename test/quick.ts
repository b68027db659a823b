import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

// Runs the test files that need no server outside npm's packages. Several files share a process: loading and compiling
// the library, Fastify and tap takes longer than most files. `npm run test:all` runs each file in its own process.

/** These need servers, or take long. Those in `test/all` need packages that only `npm run test:all` installs. */
const excluded = [
  'bench', 'caches', 'crashes', 'example-service', 'examples', 'engine/interruptions',
  'storage/balancer', 'storage/encrypted', 'storage/galera', 'storage/pgbouncer', 'storage/pools', 'storage/servers',
  'transfers', 'batch/transfers'
]

const root = join(import.meta.dirname, '..')
const folder = join(root, '.tap', 'quick')
const files = globSync('test/**/*.test.ts', { cwd: root })
  .filter((file) => !file.startsWith(join('test', 'all')) && !excluded.includes(file.slice(5, -8)))
  // Each process gets some of the files that take long, and the longest start first.
  .sort((a, b) => estimateTime(b) - estimateTime(a))

/** Large files take longer. test/docs.test.ts is short, and runs every program of the docs. */
function estimateTime (file: string): number {
  return file === join('test', 'docs.test.ts') ? Infinity : statSync(join(root, file)).size
}

const cores = availableParallelism()
const count = cores * 4
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const groups = Array.from({ length: count }, (_, index) => join(folder, `${index + 1}-of-${count}.test.ts`))
for (const [index, group] of groups.entries()) {
  const imports = files.filter((_, position) => position % count === index).map((file) => `import '../../${file}'\n`)
  writeFileSync(group, imports.join(''))
}

// On the version of Node.js that runs this file.
const command = [join(root, 'node_modules', '.bin', 'tap'), 'run', '--disable-coverage', `--jobs=${cores}`]
const tap = spawn(process.execPath, [...command, ...process.argv.slice(2), ...groups], {
  cwd: root,
  env: { ...process.env, TESTS: 'quick' },
  stdio: 'inherit'
})
const [code] = await once(tap, 'close') as [number | null]
process.exitCode = code ?? 1
