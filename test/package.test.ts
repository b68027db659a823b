import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { test } from 'tap'
import { install, pack, root, run } from './packed.ts'

t.setTimeout(600_000)

const bin = join(root, 'node_modules/.bin')
const scratch = mkdtempSync(join(realpathSync(tmpdir()), 'fastify-collections-'))
// Also where the packing itself fails.
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }))

const { tarball, files } = pack(scratch)

test('the package contains the files that a user needs, and no others', async (t) => {
  const sources = readdirSync(join(root, 'lib'), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.ts'))
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  // Without what lies there untracked: npm leaves out what .gitignore names.
  const folders = ['articles', 'minimal', 'products', 'redis', 'shared', 'users'].map((name) => `examples/${name}`)
  const starters = execFileSync('git', ['ls-files', ...folders], { cwd: root, encoding: 'utf8' }).trim().split('\n')
  t.same(
    files.filter((name) => !name.endsWith('.d.ts')).toSorted(),
    [
      'LICENSE',
      'README.md',
      'package.json',
      ...starters,
      ...pages.map((name) => `docs/${name}`),
      ...sources.map((name) => `dist/${name.replace(/\.ts$/, '.js')}`)
    ].toSorted()
  )
})

test('the pages of the package link only to files of the package', async (t) => {
  const links = files.filter((file) => file.endsWith('.md')).flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/(?<!!\[[^\]]*)\]\((?!https?:|#)([^)#]+)/g)]
      .map(([, target = '']) => ({ page, file: join(dirname(page), target) }))
  )
  t.ok(links.length > 100)
  t.same(links.filter(({ file }) => !files.includes(file)), [])
})

test('publint reports no problems', async (t) => {
  const { status, output } = run(join(bin, 'publint'), ['run', '--strict', tarball], scratch)
  t.equal(status, 0, output)
})

test('the types resolve for ES modules', async (t) => {
  const { status, output } = run(join(bin, 'attw'), [tarball, '--profile', 'esm-only', '--no-color'], scratch)
  t.equal(status, 0, output)
})

/** An app with the package unpacked into it and, beside it, what the package depends on and these. */
function app (name: string, type: 'module' | 'commonjs', packages: readonly string[]): string {
  const folder = join(scratch, name)
  install(folder, tarball, ['typescript', '@types/node', ...packages])
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, type, private: true }))
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        module: 'nodenext',
        target: 'es2023',
        strict: true,
        types: ['node'],
        outDir: 'out',
        rootDir: '.',
        skipLibCheck: name !== 'esm'
      },
      files: ['app.ts']
    })
  )
  return folder
}

/** `main` is the same for every kind of module: an app that is started and called. */
const source = (typebox: string): string => `
import Fastify from 'fastify'
import { Type } from '${typebox}'
import collection, { define } from 'fastify-collections'
import { memory } from 'fastify-collections/memory'
import { service } from 'fastify-collections/service'

declare module 'fastify-collections' {
  interface CollectionTypes { caller: { id: number, role: 'admin' | 'member' } }
}

const User = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  email: Type.String({ format: 'email' }),
  age: Type.Optional(Type.Integer())
})

const users = define({
  name: 'users',
  schema: User,
  unique: ['email'],
  storage: memory(),
  access: {
    authenticate: () => ({ id: 1, role: 'admin' }),
    allow: ({ caller }) => caller?.role === 'admin'
  },
  hooks: {
    beforeValidation ({ item, caller }) {
      const email: string = item.email.toLowerCase()
      const age: number | undefined = item.age
      const role: 'admin' | 'member' | undefined = caller?.role
      // @ts-expect-error the property is no number
      const wrong: number = item.email
      return { ...item, email, ...age !== undefined && { age }, ...wrong === undefined && { role } }
    }
  }
})

// @ts-expect-error a caller has another type
try { define({ name: 'users', schema: User, storage: memory(), access: { authenticate: () => 'ada' } }) } catch {}

// @ts-expect-error there is no such property
try { define({ name: 'users', schema: User, unique: ['mail'], storage: memory() }) } catch {}

async function main () {
  const app = Fastify()
  await app.register(collection, { ...users, prefix: '/v1' })
  await app.register(service, { client: true })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const response = await fetch(address + '/v1/users', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"email":"Ada@example.com","age":36}' })
  const { id, ...rest } = await response.json() as { id: string }
  console.log(response.status, JSON.stringify(rest), (await fetch(address + response.headers.get('location'))).status)
  const source = await (await fetch(address + '/client.js')).text()
  const module: object = await import('data:text/javascript,' + encodeURIComponent(source))
  console.log(Object.keys(module).sort().join())
  await app.close()
}

main()
`

const expected = '201 {"email":"ada@example.com","age":36} 200\nProblemError,StaleError,client\n'

for (const [name, type, typebox] of [
  ['esm', 'module', '@sinclair/typebox'],
  ['commonjs', 'commonjs', '@sinclair/typebox'],
  ['newer', 'module', 'typebox']
] as const) {
  test(
    `an app (${type}, ${typebox}) that installs the package compiles, starts and responds`,
    async (t) => {
      const folder = app(name, type, ['fastify', typebox])
      writeFileSync(join(folder, 'app.ts'), source(typebox))
      const compiled = run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.'], folder)
      t.equal(compiled.status, 0, compiled.output)
      t.equal(
        existsSync(join(folder, 'node_modules/typebox')),
        typebox === 'typebox',
        'there is one generation of TypeBox alone'
      )
      const { status, output } = run(process.execPath, ['--no-warnings', 'out/app.js'], folder)
      t.same({ status, output }, { status: 0, output: expected })
    }
  )
}

test('the package has the types that its paths need, and no others', async (t) => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: Record<string, unknown> }
  const paths = Object.keys(exports).filter((path) => path !== './package.json')
  const folder = app('types', 'module', ['fastify', '@sinclair/typebox'])
  const imports = paths.map((path, index) => `export type * as path${index} from '${join('fastify-collections', path)}'`)
  writeFileSync(join(folder, 'app.ts'), imports.join('\n'))
  const options = ['-p', '.', '--noEmit', '--skipLibCheck', 'false', '--listFilesOnly']
  const { output } = run(process.execPath, ['node_modules/typescript/bin/tsc', ...options], folder)
  const used = [...output.matchAll(/(?<=fastify-collections\/)dist\/.*\.d\.ts/g)].map(([path]) => path)
  t.same(used.toSorted(), files.filter((name) => name.endsWith('.d.ts')).toSorted())
  const compiled = run(process.execPath, ['node_modules/typescript/bin/tsc', ...options.slice(0, -1)], folder)
  t.equal(compiled.status, 0, compiled.output)
})

test('TypeScript that compiles to CommonJS accepts the package with the values of module that the docs list', async (t) => {
  const folder = app('modules', 'commonjs', ['fastify', '@sinclair/typebox'])
  writeFileSync(join(folder, 'app.ts'), source('@sinclair/typebox'))
  for (const [module, error] of [['node20', ''], ['node16', 'TS1479']] as const) {
    const options = ['node_modules/typescript/bin/tsc', '-p', '.', '--noEmit', '--module', module]
    const { status, output } = run(process.execPath, options, folder)
    t.equal(status === 0, error === '', output)
    t.match(output, error)
  }
})

test('require() returns the plugin', async (t) => {
  const folder = app('required', 'commonjs', ['fastify', '@sinclair/typebox'])
  writeFileSync(
    join(folder, 'app.js'),
    `
const app = require('fastify')()
const { Type } = require('@sinclair/typebox')
const { define } = require('fastify-collections')
const { memory } = require('fastify-collections/memory')
const schema = Type.Object({ id: Type.String({ format: 'uuid' }) })
app.register(require('fastify-collections'), define({ name: 'things', schema, storage: memory() }))
app.inject('/things').then(({ statusCode, body }) => console.log(statusCode, body, typeof require('fastify-collections/conformance').conformance))
`
  )
  const { status, output } = run(process.execPath, ['--no-warnings', 'app.js'], folder)
  t.same({ status, output }, { status: 0, output: '200 [] function\n' })
})

test('the command of the package prints the SQL for the tables of a module', async (t) => {
  const folder = app('command', 'module', ['fastify', '@sinclair/typebox'])
  writeFileSync(
    join(folder, 'things.ts'),
    `
import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import { define } from 'fastify-collections'
import { sqlite } from 'fastify-collections/sqlite'
const schema = Type.Object({ id: Type.String({ format: 'uuid' }) })
export const things = define({ name: 'things', schema, storage: sqlite(new DatabaseSync(':memory:')) })
`
  )
  const own = join(folder, 'node_modules/fastify-collections')
  const { bin } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')) as { bin: Record<string, string> }
  const command = join(own, bin['fastify-collections'] ?? '')
  const { status, output } = run(process.execPath, ['--no-warnings', command, 'schema', 'things.ts'], folder)
  t.equal(status, 0, output)
  t.match(output, /^-- things\nCREATE TABLE IF NOT EXISTS "things" \(/)
})
