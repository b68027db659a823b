import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { test } from 'tap'
import { root, run } from './packed.ts'
import { noServers } from './storage/databases.ts'
import { startPostgres } from './storage/servers.ts'

// The programs of docs/orm.md, on a real PostgreSQL, and what they print.

// Within the repository, so that the programs find its packages.
const scratch = join(root, '.tap', `orm-${process.pid}`)
const page = readFileSync(join(root, 'docs/orm.md'), 'utf8')
const programs = page.split(/^## /m).flatMap((section) => {
  const [, code] = /^```typescript\n(.*?)^```$/ms.exec(section) ?? []
  const [name = ''] = section.split('\n', 1)
  return code === undefined ? [] : [{ name, code, file: join(scratch, `${name.toLowerCase()}.ts`) }]
})

/** Not development dependencies: the optional peers of drizzle-orm conflict with those of others. */
const drizzle = ['drizzle-orm@0.45.4', 'drizzle-typebox@0.3.3']

mkdirSync(scratch, { recursive: true })
t.teardown(() => rmSync(scratch, { recursive: true, force: true }))
writeFileSync(join(scratch, 'package.json'), JSON.stringify({ name: 'orm', private: true, type: 'module' }))
writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify({
  extends: '../../tsconfig.json',
  compilerOptions: { rootDir: root },
  include: ['*.ts']
}))
const noDrizzle = noServers || installDrizzle()
mkdirSync(join(scratch, 'node_modules'), { recursive: true })
symlinkSync(root, join(scratch, 'node_modules/fastify-collections'))
for (const name of ['kysely', 'knex']) {
  symlinkSync(join(root, 'test/all/node_modules', name), join(scratch, 'node_modules', name))
}
const skips: Readonly<Record<string, string | false>> = { Kysely: noServers, Knex: noServers, Drizzle: noDrizzle }
const runnable = programs.filter(({ name }) => skips[name] === false)
for (const { file, code } of runnable) writeFileSync(file, code)

/** Installs Drizzle from the registry. Returns why that is not possible; in CI nothing is skipped. */
function installDrizzle (): string | false {
  const options = ['--no-audit', '--no-fund', '--no-package-lock', '--legacy-peer-deps', '--ignore-scripts']
  const { status, output } = run('npm', ['install', ...options, ...drizzle], scratch)
  if (status === 0) return false
  if (process.env['CI'] === 'true') throw new Error(output)
  return 'npm cannot install Drizzle'
}

test('the page has a program for each query builder', async (t) => {
  t.strictSame(programs.map(({ name }) => name), Object.keys(skips))
})

test('the programs pass type checking', { skip: noServers }, async (t) => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', scratch, '--listFiles'], { encoding: 'utf8', cwd: root })
  const lines = stdout.split('\n')
  for (const { file } of runnable) t.ok(lines.includes(file))
  // The source of the library is checked with the types that the programs declare; an app has only its declarations.
  t.strictSame(lines.filter((line) => line.includes('error TS') && !line.startsWith('lib/')), [])
})

for (const { name, code, file } of programs) {
  test(`${name}: the program prints what the page says`, { skip: skips[name] ?? false }, async (t) => {
    const server = await startPostgres()
    t.teardown(() => server.end())
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--no-warnings', '--conditions=fastify-collections-source', file],
      {
        env: {
          ...process.env,
          NODE_OPTIONS: '',
          PGHOST: '127.0.0.1',
          PGPORT: String(server.port),
          PGUSER: 'postgres',
          PGPASSWORD: 'postgres',
          PGDATABASE: 'postgres'
        }
      }
    )
    const printed = [...code.matchAll(/^console\.log\(.*\) \/\/ (.*)$/gm)].map(([, line]) => line)
    t.ok(printed.length > 1)
    t.strictSame(stdout.trim().split('\n'), printed)
  })
}
