import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { dirname, join } from 'node:path'
import t, { test } from 'tap'
import type { Test } from 'tap'
import { alone, waitForEnd, machineNode, root, scratch } from './example.ts'
import type { Running } from './example.ts'
import { pack, run } from './packed.ts'
import { freePort } from './ports.ts'
import { mysqlPool, noMysql } from './storage/databases.ts'
import { startPostgres } from './storage/servers.ts'

// Each starter as its users have it: created by the packed package of `npm create` out of the packed library, which is
// installed into it, and run there.

t.setTimeout(1_200_000)

interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

const manifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

const { version, exports, dependencies, devDependencies, peerDependencies } = manifest(root)
const folder = scratch()
const library = join(folder, 'node_modules/fastify-collections')
const creator = join(folder, 'node_modules/create-fastify-collections')
const program = join(creator, 'index.js')

function unpack (tarball: string, place: string): void {
  mkdirSync(place, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', place])
}

t.before(() => {
  unpack(pack(folder).tarball, library)
  const [{ filename }] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: join(root, 'create'),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore']
    })
  ) as [{ filename: string }]
  unpack(join(folder, filename), creator)
})

test('every export has a source condition for the examples of the repository', async (t) => {
  for (const [path, target] of Object.entries(exports)) {
    if (typeof target === 'string') continue
    const [first] = Object.entries(target)
    t.same(
      first,
      ['fastify-collections-source', target['default']?.replace(/^\.\/dist\/(.*)\.js$/, './lib/$1.ts')],
      path
    )
  }
})

interface Starter {
  readonly name: string
  /** Settings that replace those of .env. */
  readonly settings?: Readonly<Record<string, string>>
  /** Settings that are required. */
  readonly required?: readonly string[]
  /** The file with a definition, whose schema gets another property. */
  readonly definition: string
  /** Settings that it refuses: their names, values and messages. */
  readonly refused?: ReadonlyArray<readonly [setting: string, value: string, message: string]>
  /** What it warns of at start. */
  readonly warning?: string
  readonly drive: (t: Test, address: string) => Promise<void>
}

const json = (content: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(content)
})

async function driveTasks (t: Test, address: string): Promise<void> {
  t.equal((await fetch(`${address}/tasks`, json({ title: 'Test' }))).status, 201)
  t.match(await (await fetch(`${address}/tasks`)).json(), [{ title: 'Test', done: false }])
  t.match(await (await fetch(`${address}/tasks`, { headers: { accept: 'text/html' } })).text(), '<!DOCTYPE html>')
}

async function startPostgresFor (t: Test): Promise<Record<string, string>> {
  const server = await startPostgres()
  t.teardown(() => server.end())
  return { DATABASE_URL: `postgres://postgres:postgres@127.0.0.1:${server.port}/postgres` }
}

async function createMysqlDatabase (t: Test): Promise<Record<string, string>> {
  const { name, end } = await mysqlPool()
  t.teardown(() => end())
  const url = new URL(process.env['MYSQL_URL'] ?? '')
  url.pathname = `/${name}`
  return { DATABASE_URL: url.href }
}

const editorKey = 'the-key-of-an-editor-in-the-tests'

/** By database: starts it, and returns settings that replace those of .env. */
const databases: Readonly<Record<string, (t: Test) => Promise<Record<string, string>>>> = {
  sqlite: async () => ({}),
  postgres: startPostgresFor,
  mysql: createMysqlDatabase
}

const starters: readonly Starter[] = [
  {
    name: 'minimal',
    definition: 'src/tasks.ts',
    warning: 'Everyone may read and write tasks.',
    drive: driveTasks
  },
  {
    name: 'users',
    definition: 'src/account.ts',
    required: ['JWT_SECRET'],
    refused: [
      ['ADMIN_EMAIL', 'root', 'must match pattern'],
      ['ADMIN_PASSWORD', 'short', 'must match pattern']
    ],
    async drive (t, address) {
      const ada = { email: 'ada@example.com', password: 'analytical' }
      t.equal((await fetch(`${address}/users`, json({ ...ada, name: 'Ada' }))).status, 201)
      const { token } = (await (await fetch(`${address}/login`, json(ada))).json()) as { token: string }
      const users = (await (
        await fetch(`${address}/users`, { headers: { authorization: `Bearer ${token}` } })
      ).json()) as Array<{ email: string }>
      t.same(
        users.map(({ email }) => email),
        ['ada@example.com']
      )
    }
  },
  {
    name: 'articles',
    definition: 'src/authors.ts',
    settings: { EDITOR_KEY: editorKey },
    required: ['WRITER_KEY', 'EDITOR_KEY'],
    async drive (t, address) {
      const headers = { authorization: `Bearer ${editorKey}`, 'content-type': 'application/json' }
      const author = await fetch(`${address}/authors`, { ...json({ name: 'Ada' }), headers })
      const draft = await fetch(`${address}${author.headers.get('location')}/articles`, {
        ...json({ title: 'Hello world' }),
        headers
      })
      const publish = `${address}${draft.headers.get('location')}/publish`
      t.equal((await fetch(publish, { ...json({}), headers })).status, 200)
      const article = await fetch(`${address}/articles/hello-world`)
      t.ok(article.redirected)
      t.match(await article.json(), { slug: 'hello-world', status: 'published' })
      const [expanded] = await (await fetch(`${address}/articles?expand=author,comments&author.name=Ada`)).json() as unknown[]
      t.match(expanded, { author: { name: 'Ada' }, comments: { items: [] } })
    }
  },
  {
    name: 'products',
    definition: 'src/products.ts',
    settings: { EDITOR_KEY: editorKey },
    required: ['EDITOR_KEY'],
    async drive (t, address) {
      const product = json({ sku: 'loom', name: 'Loom', price: '199.00', stock: 3 })
      t.equal((await fetch(`${address}/products`, product)).status, 401)
      const headers = { ...product.headers, authorization: `Bearer ${editorKey}` }
      t.equal((await fetch(`${address}/products`, { ...product, headers })).status, 201)
      const buyers = await Promise.all(
        Array.from({ length: 20 }, async () => await fetch(`${address}/products/loom/purchase`, json({})))
      )
      t.equal(buyers.filter(({ status }) => status === 200).length, 3)
      t.match(await (await fetch(`${address}/products/loom`)).json(), { price: '199.00', stock: 0 })
    }
  }
]

const combinations = starters.flatMap((starter) => {
  return Object.entries(databases).map(([database, start]) => ({ ...starter, database, start }))
})

for (const combination of combinations) {
  const { name, database, start, definition, settings, required = [], refused = [], warning, drive } = combination
  const skip = database === 'mysql' && noMysql
  test(
    `the starter ${name} with ${database} can be created, compiles, passes its tests, starts, responds and stops`,
    { skip },
    async (t) => {
      const place = join(folder, `my-${name}-${database}`)
      const created = run(process.execPath, [program, place, '--starter', name, '--database', database], folder)
      t.match(created, { status: 0, output: /npm install\n[^]*npm test\n {2}npm start\n/ })
      t.equal(created.output.includes('docker compose up'), database !== 'sqlite')
      const own = manifest(place)
      t.match(own, { name: `my-${name}-${database}`, dependencies: { 'fastify-collections': `^${version}` } })
      t.match(readdirSync(place), ['.dockerignore', '.env', '.env.example', '.gitignore', 'Dockerfile', 'README.md'])
      t.notOk(existsSync(join(place, 'databases')))
      t.match(readFileSync(join(place, 'compose.yaml'), 'utf8'), database === 'sqlite' ? 'DATABASE_FILE' : `${database}:`)
      checkNamedFiles(t, place)
      checkVersions(t, own)
      install(place, own)

      const env = join(place, '.env')
      const port = String(await freePort())
      const content = Object.entries({ ...await start(t), ...settings, PORT: port }).reduce(
        (content, [setting, value]) => content.replace(RegExp(`^${setting}=.*$`, 'm'), `${setting}=${value}`),
        readFileSync(env, 'utf8')
      )
      const secrets = [...content.matchAll(/^(\w+_(?:SECRET|KEY))=(.*)$/gm)]
      for (const [, setting = '', secret = ''] of secrets) t.ok(secret.length >= 32, setting)
      writeFileSync(env, content)

      const types = run(process.execPath, ['node_modules/typescript/bin/tsc'], place)
      t.equal(types.status, 0, types.output)
      const tested = await waitForEnd(alone(process.execPath, ['--test', 'test/*.test.ts'], { cwd: place }))
      t.equal(tested.status, 0, tested.output)
      t.match(tested.output, /pass [1-9]/)
      const missing = [...database === 'sqlite' ? [] : ['DATABASE_URL'], ...required]
        .map((setting) => `env must have required property '${setting}'`)
      if (missing.length > 0) {
        rmSync(env)
        t.match(await waitForEnd(alone(process.execPath, ['src/server.ts'], { cwd: place })), {
          status: 1,
          errors: `The service cannot start: ${missing.join(', ')}\n`
        })
        writeFileSync(env, content)
      }
      const short = secrets.map(([, setting = '']) => {
        return [setting, 'x'.repeat(31), 'must NOT have fewer than 32 characters'] as const
      })
      for (const [setting, value, message] of [...short, ...refused]) {
        writeFileSync(env, content.replace(RegExp(`^${setting}=.*$`, 'm'), `${setting}=${value}`))
        t.match(await waitForEnd(alone(process.execPath, ['src/server.ts'], { cwd: place })), {
          status: 1,
          errors: `The service cannot start: env/${setting} ${message}`
        })
      }
      writeFileSync(env, content)

      const running = alone(process.execPath, ['src/server.ts'], { cwd: place })
      t.teardown(() => running.child.kill('SIGKILL'))
      const address = `http://127.0.0.1:${port}`
      await listening(running)
      const warnings = running.output().split('\n').filter((line) => line.startsWith('{"level":40'))
      t.match(warnings, warning === undefined ? [] : [warning])
      t.equal(warnings.length, warning === undefined ? 0 : 1)
      t.match(await waitForEnd(alone(process.execPath, ['src/server.ts'], { cwd: place })), {
        status: 1,
        errors: /^The service cannot start: listen EADDRINUSE.*\n$/
      })
      t.equal((await fetch(`${address}/readyz`)).status, 200)
      await drive(t, address)
      running.child.kill('SIGTERM')
      t.match(await waitForEnd(running), { status: 0 })
      await changeTable(t, place, definition)
    }
  )
}

/** Adds a property to the schema, and changes the table with the scripts of the starter. */
async function changeTable (t: Test, place: string, definition: string): Promise<void> {
  const script = (name: string) => waitForEnd(alone('npm', ['run', '--silent', name], { cwd: place }))
  const unchanged = await script('db:diff')
  t.match(unchanged, { status: 0, output: /^(?:\n?-- \w+: the table matches the definition\.\n)+$/ })
  t.match(await script('db:apply'), { status: 0, output: unchanged.output }, 'nothing to change')

  const file = join(place, definition)
  const before = readFileSync(file, 'utf8')
  writeFileSync(file, before.replace(/(?<=^const \w+ = Type\.Object\(\{\n)(?= +(?:id|sku): )/m,
    '  shelfMark: Type.String({ default: "none", maxLength: 20 }),\n'))
  const statement = /ALTER TABLE .\w+. ADD COLUMN .shelf_?mark. .* DEFAULT \(?'none'/i
  const server = alone(process.execPath, ['src/server.ts'], { cwd: place })
  t.match(await waitForEnd(server), { status: 1, errors: statement }, 'the service refuses the old table')
  for (const name of ['db:diff', 'db:apply']) t.match(await script(name), { status: 0, output: statement }, name)
  t.match(await script('db:diff'), { status: 0, output: unchanged.output })
  const running = alone(process.execPath, ['src/server.ts'], { cwd: place })
  t.teardown(() => running.child.kill('SIGKILL'))
  await listening(running)
  running.child.kill('SIGTERM')
  t.match(await waitForEnd(running), { status: 0 })
}

/** Checks that the files that the README of a starter names exist. */
function checkNamedFiles (t: Test, place: string): void {
  const text = readFileSync(join(place, 'README.md'), 'utf8')
  const names = text.match(/(?<=`)(src|migrations|scripts)\/[\w./-]*(?=`)|\b\w+\.csv\b/g) ?? []
  t.ok(names.length > 0)
  for (const name of names) t.ok(existsSync(join(place, name)), name)
}

/** Checks that a starter depends on the versions that it is tested with. */
function checkVersions (t: Test, own: Manifest): void {
  const tested: Readonly<Record<string, string | undefined>> = {
    ...peerDependencies,
    ...devDependencies,
    ...dependencies,
    fastify: peerDependencies['fastify'],
    'fastify-collections': `^${version}`
  }
  for (const [dependency, range] of Object.entries({ ...own.dependencies, ...own.devDependencies })) {
    t.equal(range, tested[dependency], dependency)
  }
}

/** The library, and links to what else it and the starter depend on. */
function install (place: string, own: Manifest): void {
  cpSync(library, join(place, 'node_modules/fastify-collections'), { recursive: true })
  for (const name of Object.keys({ ...dependencies, ...own.dependencies, ...own.devDependencies })) {
    const link = join(place, 'node_modules', name)
    if (existsSync(link)) continue
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), link)
  }
  const command = join(place, 'node_modules/.bin/fastify-collections')
  mkdirSync(dirname(command))
  symlinkSync('../fastify-collections/dist/cli.js', command)
  chmodSync(command, 0o755)
}

async function listening ({ child, output, errors }: Running): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', () => {
      if (output().includes('Server listening at')) resolve()
    })
    child.once('exit', () => reject(new Error(output() + errors())))
  })
}

test('the package of npm create has the version of the library', async (t) => {
  t.match(manifest(creator), { version, dependencies: { 'fastify-collections': `^${version}` } })
})

test('missing values are prompted for, and an empty answer selects the default', async (t) => {
  const create = (parameters: readonly string[], input: string): string => {
    return spawnSync(process.execPath, [program, ...parameters], { cwd: folder, encoding: 'utf8', input }).stdout
  }
  const asked = create([], 'asked\n\npostgres\n')
  t.match(asked, /^Folder \[my-app\]: Starter \(minimal, .*\) \[minimal\]: Database \(.*\) \[sqlite\]: \nasked is ready/)
  t.match(manifest(join(folder, 'asked')).dependencies, { pg: String })
  t.match(create(['named', '--database', 'mysql'], 'users\n'), /^Starter \(.*\) \[minimal\]: \nnamed is ready.* with a new JWT_SECRET/)
  t.match(create(['piped', '--starter', 'minimal'], ''), /^Database \(.*\) \[sqlite\]: sqlite\n\npiped is ready/)
  for (const option of ['--help', '-h']) t.match(create([option], ''), /^Usage: npm create fastify-collections/)
  t.match(
    create([], `${library}\nwrong\nrails\nminimal\noracle\nmysql\n`),
    new RegExp('^Folder .*: The folder .* is not empty\\. .*\nFolder .*: Starter .*: There is no starter "rails"\\. Use ' +
      'one of: .*\nStarter .*: Database .*: The database "oracle" is not supported\\. Use .*\n' +
      'Database .*: \nwrong is ready'),
    'a wrong answer is explained, and the question is repeated'
  )
})

test('npm create passes --starter and --database also without --', async (t) => {
  const home = join(folder, 'npm')
  mkdirSync(join(home, 'node_modules/.bin'), { recursive: true })
  symlinkSync(creator, join(home, 'node_modules/create-fastify-collections'))
  symlinkSync('../create-fastify-collections/index.js', join(home, 'node_modules/.bin/create-fastify-collections'))
  writeFileSync(join(home, 'package.json'), '{ "name": "home", "version": "1.0.0" }')
  chmodSync(program, 0o755)
  for (const [name, ...options] of [
    ['spaced', '--starter', 'minimal', '--database', 'postgres'],
    ['equal', '--starter=minimal', '--database=postgres'],
    ['after', '--', '--starter', 'minimal', '--database', 'postgres']
  ] as const) {
    const created = run('npm', ['create', 'fastify-collections', '--offline', name, ...options], home)
    t.match(created, { status: 0, output: `${name} is ready` }, created.output)
    t.match(manifest(join(home, name)).dependencies, { pg: String }, name)
  }
})

test('only the user can read the settings of a new app', {
  skip: process.platform === 'win32' && 'files have no mode'
}, async (t) => {
  const place = join(folder, 'private')
  const created = run(process.execPath, [program, place, '--starter', 'users'], folder)
  t.equal(created.status, 0, created.output)
  t.equal(statSync(join(place, '.env')).mode & 0o777, 0o600)
})

test('a starter that cannot be created is reported in one sentence', async (t) => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const cases: ReadonlyArray<readonly [parameters: string[], output: RegExp]> = [
    [[], /^Folder \[my-app\]: \nThe answer is missing\.\nUsage: /],
    [['my', 'app'], /^"app" is not expected: pass one folder\.\nUsage: /],
    [['app', '--colour', 'red'], /^Unknown option '--colour'.*\nUsage: /],
    [['app', '--starter', '../lib'], /^There is no starter "\.\.\/lib"\. Use one of: minimal, users, articles, products\.\n$/],
    [
      ['app', '--starter', 'users', '--database', 'oracle'],
      /^The database "oracle" is not supported\. Use one of: sqlite, postgres, mysql\.\n$/
    ],
    [[library], /^The folder .* is not empty\. Use another folder, or empty it first\.\n$/],
    [[file], /file is not a readable folder\. Use another folder\.\n$/]
  ]
  for (const [parameters, output] of cases) {
    t.match(run(process.execPath, [program, ...parameters], folder), { status: 1, output })
  }
  t.notOk(existsSync(join(folder, 'app')))
})

const machineVersion = machineNode === undefined ? '' : run(machineNode, ['--version'], root).output.trim()
const isOld = /^v(1\d|20|21)\./.test(machineVersion)

test('an unsupported version of Node.js is refused in one sentence', {
  skip: !isOld && 'the Node.js of this machine is supported, or there is none'
}, async (t) => {
  const { status, output } = run(machineNode!, [program, 'old', '--starter', 'minimal', '--database', 'sqlite'], folder)
  t.same({ status, output }, {
    status: 1,
    output: `This is Node.js ${machineVersion.slice(1)}. The starters need 22.18 or newer.\n`
  })
  t.notOk(existsSync(join(folder, 'old')))
})
