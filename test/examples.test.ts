import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { test } from 'tap'
import type { Test } from 'tap'
import { alone, waitForEnd, root, scratch } from './example.ts'
import type { Running } from './example.ts'
import { pack, run } from './packed.ts'
import { freePort } from './ports.ts'
import { startPostgres } from './storage/servers.ts'

// Each starter as users get it: copied from the packed library, which is installed into it, and started.

t.setTimeout(600_000)

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
const library = join(folder, 'library')

t.before(() => {
  mkdirSync(library)
  execFileSync('tar', ['-xzf', pack(folder).tarball, '--strip-components=1', '-C', library])
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

const scaffold = join(library, 'bin/fastify-collections.js')

interface Starter {
  readonly name: string
  /** Starts what the starter needs, and returns its settings. */
  readonly settings: (t: Test) => Promise<Record<string, string>>
  /** The message that it ends with if a setting is missing. */
  readonly missing: string
  readonly drive: (t: Test, address: string) => Promise<void>
}

const json = (content: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(content)
})

const starters: readonly Starter[] = [
  {
    name: 'users',
    settings: async () => ({
      JWT_SECRET: 'a secret of at least thirty-two characters',
      DATABASE_FILE: join(folder, 'users.db')
    }),
    missing: "The service cannot start: env must have required property 'JWT_SECRET'\n",
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
    settings: async () => ({
      WRITER_KEY: 'the-key-of-a-writer',
      EDITOR_KEY: 'the-key-of-an-editor',
      DATABASE_FILE: join(folder, 'articles.db')
    }),
    missing:
      "The service cannot start: env must have required property 'WRITER_KEY', env must have required property 'EDITOR_KEY'\n",
    async drive (t, address) {
      const headers = { authorization: 'Bearer the-key-of-an-editor', 'content-type': 'application/json' }
      const author = await fetch(`${address}/authors`, { ...json({ name: 'Ada' }), headers })
      await fetch(`${address}${author.headers.get('location')}/articles`, {
        ...json({ title: 'Hello world', status: 'published' }),
        headers
      })
      const article = await fetch(`${address}/articles/hello-world`)
      t.ok(article.redirected)
      t.match(await article.json(), { slug: 'hello-world', status: 'published' })
    }
  },
  {
    name: 'products',
    async settings (t) {
      const server = await startPostgres()
      t.teardown(() => server.end())
      return { DATABASE_URL: `postgres://postgres:postgres@127.0.0.1:${server.port}/postgres` }
    },
    missing: "The service cannot start: env must have required property 'DATABASE_URL'\n",
    async drive (t, address) {
      t.equal(
        (await fetch(`${address}/products`, json({ sku: 'loom', name: 'Loom', price: '199.00', stock: 3 }))).status,
        201
      )
      const buyers = await Promise.all(
        Array.from({ length: 20 }, async () => await fetch(`${address}/products/loom/purchases`, json({})))
      )
      t.equal(buyers.filter(({ status }) => status === 201).length, 3)
      t.match(await (await fetch(`${address}/products/loom`)).json(), { price: '199.00', stock: 0 })
    }
  }
]

for (const { name, settings, missing, drive } of starters) {
  test(
    `the starter ${name} can be copied out of the package, compiles, passes its tests, starts, responds and stops`,
    async (t) => {
      const place = join(folder, `my-${name}`)
      const copied = run(process.execPath, [scaffold, name, place], folder)
      t.match(copied, { status: 0, output: 'npm start' })
      const own = manifest(place)
      t.match(own, { name: `my-${name}`, dependencies: { 'fastify-collections': `^${version}` } })
      t.same(
        readdirSync(place, { recursive: true }).toSorted(),
        readdirSync(join(root, 'examples', name), { recursive: true }).toSorted(),
        'all files are copied'
      )
      install(place, own)
      const environment = await settings(t)

      const types = run(process.execPath, ['node_modules/typescript/bin/tsc'], place)
      t.equal(types.status, 0, types.output)
      const tested = await waitForEnd(
        alone(process.execPath, ['--test', 'test/*.test.ts'], { cwd: place, environment })
      )
      t.equal(tested.status, 0, tested.output)
      t.match(tested.output, /pass [1-9]/)
      t.match(
        await waitForEnd(alone(process.execPath, ['src/server.ts'], { cwd: place })),
        { status: 1, errors: missing }
      )

      const port = String(await freePort())
      writeFileSync(
        join(place, '.env'),
        Object.entries({ ...environment, PORT: port })
          .map((entry) => entry.join('='))
          .join('\n')
      )
      const running = alone(process.execPath, ['src/server.ts'], { cwd: place })
      t.teardown(() => running.child.kill('SIGKILL'))
      const address = `http://127.0.0.1:${port}`
      await listening(running)
      t.match(await waitForEnd(alone(process.execPath, ['src/server.ts'], { cwd: place })), {
        status: 1,
        errors: /^The service cannot start: listen EADDRINUSE.*\n$/
      })
      await drive(t, address)
      running.child.kill('SIGTERM')
      t.match(await waitForEnd(running), { status: 0 })
    }
  )
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
}

async function listening ({ child, output, errors }: Running): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', () => {
      if (output().includes('Server listening at')) resolve()
    })
    child.once('exit', () => reject(new Error(output() + errors())))
  })
}

test('the starters depend on the versions that they are tested with', async (t) => {
  for (const { name } of starters) {
    const own = manifest(join(root, 'examples', name))
    const tested: Readonly<Record<string, string | undefined>> = {
      ...peerDependencies,
      ...devDependencies,
      ...dependencies,
      fastify: peerDependencies['fastify'],
      'fastify-collections': `^${version}`
    }
    for (const [dependency, range] of Object.entries({ ...own.dependencies, ...own.devDependencies })) {
      t.equal(range, tested[dependency], `${name}: ${dependency}`)
    }
  }
})

test('a starter that cannot be copied is reported in one sentence', async (t) => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const names = starters
    .map(({ name }) => name)
    .sort()
    .join(', ')
  const usage = `Pass the name of a starter (${names}) and a new folder: npx fastify-collections users my-app\n`
  const cases: ReadonlyArray<readonly [string[], string]> = [
    [[], usage],
    [['users'], usage],
    [['users', 'my', 'app'], usage],
    [['../lib', 'app'], `There is no starter "../lib". Use one of ${names}: npx fastify-collections users my-app\n`],
    [['users', library], `The folder ${library} is not empty. Use another folder, or empty it first.\n`],
    [['users', file], `${file} is not a readable folder. Use another folder.\n`]
  ]
  for (const [parameters, output] of cases) {
    t.same(run(process.execPath, [scaffold, ...parameters], folder), { status: 1, output })
  }
})
