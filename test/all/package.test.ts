import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { test } from 'tap'
import { countLoaded, listSteps } from '../../bench/structure/loading.ts'
import { install, pack, root, run } from '../packed.ts'

t.setTimeout(1_800_000)

const bin = join(root, 'test/all/node_modules/.bin')
const scratch = mkdtempSync(join(realpathSync(tmpdir()), 'fastify-collections-'))
// Also where the packing itself fails.
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }))

const { tarball, files, size } = pack(scratch)

interface Manifest {
  readonly bin: Record<string, string>
  readonly exports: Record<string, string | { readonly default: string }>
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest

/** The paths that an app can import, such as `fastify-collections/memory`. */
const specifiers = Object.keys(manifest.exports)
  .filter((path) => path !== './package.json')
  .map((path) => join('fastify-collections', path))

test('the package contains the files that a user needs, and no others', async (t) => {
  const targets = Object.values(manifest.exports).flatMap((target) => typeof target === 'string' ? [] : target.default)
  const entries = [...targets, ...Object.values(manifest.bin)].map((path) => join(path))
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  // Without what lies there untracked: npm leaves out what .gitignore names.
  const folders = ['articles', 'minimal', 'products', 'redis', 'shared', 'users'].map((name) => `examples/${name}`)
  const starters = execFileSync('git', ['ls-files', ...folders], { cwd: root, encoding: 'utf8' }).trim().split('\n')
  // What is shared and also imported on demand is two files, of which the second has a number.
  const isShared = (name: string) => /^dist\/chunks\/[a-z-]+\d?\.js$/.test(name)
  t.same(
    files.filter((name) => !/\.d\.ts$|\.js\.map$/.test(name) && !isShared(name)).toSorted(),
    [
      'LICENSE',
      'README.md',
      'package.json',
      'skills/fastify-collections/SKILL.md',
      ...starters,
      ...pages.map((name) => `docs/${name}`),
      ...entries
    ].toSorted()
  )
  t.ok(files.filter(isShared).length < 30, 'what several entries share is in few files')
  t.ok(size < 1_400_000, `${size} bytes`)
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
  console.log(Object.keys(module).sort().join(), source.includes('sourceMappingURL'))
  await app.close()
}

main()
`

const expected = '201 {"email":"ada@example.com","age":36} 200\nResponseError,StaleError,batchClient,client false\n'

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
  const folder = app('types', 'module', ['fastify', '@sinclair/typebox'])
  const imports = specifiers.map((path, index) => `export type * as path${index} from '${path}'`)
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

/** Definitions, calls and clients as the modules of an app export them, without a type of their own. */
const exported = {
  'definitions.ts': `
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { Type } from '@sinclair/typebox'
import { corsOptions, define, defineWith } from 'fastify-collections'
import { action } from 'fastify-collections/action'
import { aggregates } from 'fastify-collections/aggregates'
import { bulk } from 'fastify-collections/bulk'
import { idempotency } from 'fastify-collections/idempotency'
import { memory } from 'fastify-collections/memory'
import { postgres } from 'fastify-collections/postgres'
import { relate } from 'fastify-collections/relations'
import { softDelete } from 'fastify-collections/soft-delete'
import { sqlite } from 'fastify-collections/sqlite'
import { timeout } from 'fastify-collections/timeout'
import { within } from 'fastify-collections/within'
import { z } from 'zod'

const Author = Type.Object({ id: Type.Integer(), name: Type.String() })
const Article = z.object({
  id: z.int(),
  title: z.string(),
  authorId: z.int(),
  status: z.enum(['draft', 'published']).default('draft'),
  words: z.int().default(0),
  deletedAt: z.iso.datetime().exactOptional()
})

export const storage = sqlite(new DatabaseSync(':memory:'))
export const pooled = { ...postgres(new pg.Pool()) }
export const seeded = memory({ items: [{ id: 1, name: 'Ada' }] })
export const defineHere = defineWith({ storage }, timeout(1000))
export const plain = defineHere({ name: 'authors', schema: Author, id: { generate: 'storage' } })
export const featured = define({ name: 'articles', schema: Article, id: { generate: 'storage' }, storage: memory() })
  .with(idempotency(), softDelete({ property: 'deletedAt' }))
export const nested = featured.with(within(plain, 'authorId'))
export const publish = action('publish', { input: z.object({ at: z.iso.date() }), run: () => undefined })
export const complete = featured.with(
  bulk({ update: true, remove: true }),
  action('statistics', { on: 'collection', output: z.object({ words: z.int() }), run: () => ({ output: { words: 1 } }) }),
  aggregates({ by: ['status'], of: { words: ['sum'] } }),
  publish
)
export const blog = relate({ authors: plain, articles: complete }, {
  authors: { articles: { to: 'articles', by: 'authorId' } },
  articles: { author: { to: 'authors', property: 'authorId', references: true } }
})
export const { authors, articles } = blog
export const cors = corsOptions()
`,
  'app.ts': `
import Fastify from 'fastify'
import collection from 'fastify-collections'
import { registry } from 'fastify-collections/registry'
import { batchClient, client } from 'fastify-collections/client'
import { articles, authors } from './definitions.js'

export const app = Fastify()
await app.register(registry)
await app.register(collection, articles)
export const calls = app.collection(articles)
export const called = await calls.read(1, { expand: ['author'] })
export const groups = await calls.aggregate({ by: ['status'], sum: ['words'] })
export const changed = await calls.updateMany({ filter: { title: 'Notes' } }, { words: 1 })
export const readAuthor = () => calls.transaction((transaction) => transaction.collection(authors).read(1))

export const sender = client<typeof articles>('http://localhost/articles')
export const batches = batchClient<{ '/articles': typeof articles, '/authors': typeof authors }>('http://localhost/batch')
export const read = await sender.read(1, { expand: ['author'] })
export const page = await sender.list({ filter: { 'author.name': 'Ada' }, expand: ['author'] })
export const statistics = await sender.statistics({})
export const results = await batches.batch([{ method: 'POST', path: '/authors', content: { name: 'Ada' } }])
`
}

test('an app that emits declarations can export definitions, calls and clients', async (t) => {
  const folder = app('declarations', 'module', ['fastify', '@sinclair/typebox', 'zod', 'pg', '@types/pg'])
  for (const [name, content] of Object.entries(exported)) writeFileSync(join(folder, name), content)
  const options = ['node_modules/typescript/bin/tsc', '-p', '.', '--declaration']
  const { status, output } = run(process.execPath, options, folder)
  t.equal(status, 0, output)
  t.match(readFileSync(join(folder, 'out/definitions.d.ts'), 'utf8'), 'import("fastify-collections/bulk").AddedBulk<')
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

/** Starts a program in an app that has the package. */
function start (name: string, type: 'module' | 'commonjs', program: string, ...options: string[]): string {
  const folder = app(name, type, ['fastify', '@sinclair/typebox'])
  writeFileSync(join(folder, 'app.js'), program)
  const { status, output } = run(process.execPath, ['--no-warnings', ...options, 'app.js'], folder)
  if (status !== 0) throw new Error(output)
  return output
}

test('every path exports what its file in lib exports, under the same names', async (t) => {
  const program = `
const found = {}
for (const path of ${JSON.stringify(specifiers)}) {
  found[path] = Object.entries(await import(path)).map(([name, value]) => [name, typeof value, value?.name])
}
console.log(JSON.stringify(found))
`
  const found = JSON.parse(start('names', 'module', program)) as Record<string, unknown>
  for (const path of specifiers) {
    const target = manifest.exports[path.replace('fastify-collections', '.')] as { default: string }
    const file = target.default.replace(/^\.\/dist\/(.*)\.js$/, 'lib/$1.ts')
    const exported = await import(pathToFileURL(join(root, file)).href) as Record<string, { name?: unknown }>
    const expected = Object.entries(exported).map(([name, value]) => [name, typeof value, value?.name])
    t.same(found[path], JSON.parse(JSON.stringify(expected)), path)
  }
})

test('docs/loaded.md has a row for each path, with the files and kB that it loads', async (t) => {
  const folder = app('loaded', 'module', ['fastify', '@sinclair/typebox', '@fastify/swagger'])
  const table = readFileSync(join(root, 'docs/loaded.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()))
  const steps = listSteps(specifiers)
  t.same(table.map(([name]) => name), steps.map(({ name }) => name), 'npm run loaded writes the table')
  for (const [index, step] of steps.entries()) {
    const { own, others } = countLoaded(folder, step)
    const [, ownFiles, ownKb, otherFiles, otherKb] = (table[index] ?? []).map(Number)
    t.ok(isNear(own.files, ownFiles, 2), `${step.name} loads ${own.files} files; npm run loaded writes the table`)
    t.ok(isNear(own.kB, ownKb, 10), `${step.name} loads ${own.kB} kB`)
    // Versions of other packages differ between installations.
    t.ok(isNear(others.files, otherFiles, 20), `${step.name} loads ${others.files} files of others`)
    t.ok(isNear(others.kB, otherKb, 100), `${step.name} loads ${others.kB} kB of others`)
  }
})

/** Small changes of the library are not reasons to write the table again. */
function isNear (actual: number, documented = NaN, slack: number): boolean {
  return Math.abs(actual - documented) <= slack + documented / 10
}

/** Problems cross the borders between entries: the core, features, a storage, the service and formats. */
const crossing = `
const main = async (load) => {
  const { default: Fastify } = await load('fastify')
  const { Type } = await load('@sinclair/typebox')
  const core = await load('fastify-collections')
  const { default: collection, define, json, problem, Problem, ProblemError } = core
  const { registry } = await load('fastify-collections/registry')
  const { memory } = await load('fastify-collections/memory')
  const { action } = await load('fastify-collections/action')
  const { softDelete } = await load('fastify-collections/soft-delete')
  const { service } = await load('fastify-collections/service')
  const { xml } = await load('fastify-collections/xml')
  const schema = Type.Object({
    id: Type.String(),
    text: Type.String(),
    deletedAt: Type.Optional(Type.String({ format: 'date-time', readOnly: true }))
  })
  const refuse = () => { throw problem('conflict', { detail: 'No.' }) }
  const notes = define({
    name: 'notes',
    schema,
    id: { generate: 'client' },
    storage: memory(),
    formats: [json, xml],
    hooks: { beforeValidation: ({ item }) => item.text === 'refuse' ? refuse() : item }
  }).with(action('refuse', { run: refuse }), softDelete({ property: 'deletedAt' }))
  const app = Fastify()
  await app.register(registry)
  await app.register(service)
  await app.register(collection, notes)
  const send = async (method, url, payload) => (await app.inject({ method, url, payload })).statusCode
  const statuses = [
    await send('POST', '/notes', { id: 'a', text: 'x' }),
    await send('PUT', '/notes/a', { text: 'refuse' }),
    await send('POST', '/notes/a/refuse'),
    await send('DELETE', '/notes/a'),
    await send('GET', '/notes/a'),
    await send('GET', '/nowhere')
  ]
  const thrown = await app.collection(notes).update('b', { text: 'y' }).catch((error) => error)
  const isOne = [thrown instanceof ProblemError, thrown.problem instanceof Problem]
  console.log(JSON.stringify([statuses, isOne]))
}
`

for (const [type, load] of [
  ['module', '(path) => import(path)'],
  ['commonjs', '(path) => ({ default: require(path), ...require(path) })']
] as const) {
  test(`an app (${type}) that imports several paths has one Problem`, async (t) => {
    const output = start(`crossing-${type}`, type, `${crossing}\nmain(${load})`)
    t.same(JSON.parse(output), [[201, 409, 409, 204, 410, 404], [true, true]])
  })
}

/** An app that prints which files of the package are loaded. */
const loading = (before: string): string => `
import { registerHooks } from 'node:module'
const files = []
registerHooks({ load (url, context, next) { files.push(url.split('/fastify-collections/')[1]); return next(url, context) } })
const { default: Fastify } = await import('fastify')
const { Type } = await import('@sinclair/typebox')
const { default: collection, define } = await import('fastify-collections')
const { memory } = await import('fastify-collections/memory')
const app = Fastify()
${before}
const schema = Type.Object({ id: Type.String({ format: 'uuid' }) })
await app.register(collection, define({ name: 'things', schema, storage: memory() }))
console.log(JSON.stringify(files.filter((file) => file !== undefined)))
`

test('a definition loads a few files, and those for OpenAPI only if the app has a generator', async (t) => {
  const smallest = JSON.parse(start('smallest', 'module', loading(''))) as string[]
  t.ok(smallest.length <= 5, smallest.join(', '))
  const described = JSON.parse(start('described', 'module', loading("app.decorate('swagger', () => ({}))"))) as string[]
  t.same(smallest.filter((file) => !described.includes(file)), [])
  t.ok(described.some((file) => !smallest.includes(file) && /description/.test(file)), described.join(', '))
})

test('source maps lead from the files of the package to those of lib', async (t) => {
  const own = join(scratch, 'maps/node_modules/fastify-collections')
  const program = `
import { define } from 'fastify-collections'
import { memory } from 'fastify-collections/memory'
const schema = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
try { define({ name: 'things', schema, unique: ['other'], storage: memory() }) } catch (error) { console.log(error.stack) }
`
  const output = start('maps', 'module', program, '--enable-source-maps')
  const frames = [...output.matchAll(/at (\S+) \((?:file:\/\/)?(.*\/fastify-collections)\/(lib\/.*\.ts):(\d+):(\d+)\)/g)]
    .map(([, name = '', , file = '', line, column]) => ({
      name,
      rest: readFileSync(join(root, file), 'utf8').split('\n')[Number(line) - 1]?.slice(Number(column) - 1) ?? ''
    }))
  t.equal(frames.at(-1)?.name, 'define', output)
  t.match(frames[0]?.rest, /^new \w+\(/, 'where the error is thrown')
  for (const [index, { name }] of frames.slice(0, -1).entries()) {
    t.ok(frames[index + 1]!.rest.startsWith(`${name}(`), `where ${name} is called`)
  }

  // For debuggers: the package has no lib/.
  const maps = files.filter((name) => name.endsWith('.map'))
  t.ok(maps.length > 20)
  for (const name of maps) {
    const { sources, sourcesContent } = JSON.parse(readFileSync(join(own, name), 'utf8')) as Record<string, string[]>
    for (const [index, source] of sources!.entries()) {
      const file = relative(own, join(own, dirname(name), source))
      if (file.startsWith('lib')) t.equal(sourcesContent![index], readFileSync(join(root, file), 'utf8'), file)
    }
  }
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
