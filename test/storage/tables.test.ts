import { setTimeout as wait } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import collection, { define, schemaSql } from '../../lib/index.ts'
import { service } from '../../lib/app/service.ts'
import type { Definition } from '../../lib/index.ts'
import type { Shape, Storage } from '../../lib/storage/index.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { timeout } from '../../lib/features/timeout.ts'
import { memory } from '../../lib/storage/memory.ts'
import type { SqlAdapter } from '../../lib/storage/sql.ts'
import { within } from '../../lib/features/within.ts'
import { build, logged, modified, notes, request } from '../app.ts'
import { databases, type Available, type Database } from './databases.ts'
import { printTables } from './recorder.ts'

// Tables of collections: how they are created, and what is checked of them when the app starts.

const User = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  tenant: Type.String({ default: 'main', maxLength: 50 }),
  email: Type.String({ format: 'email', maxLength: 100 }),
  removedAt: Type.Optional(Type.String({ format: 'date-time' }))
})

const described = {
  name: 'users',
  schema: User,
  unique: ['email', ['tenant', 'id']]
} as const

for (const { name, skip, open } of databases) {
  test(`${name}: createTable`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())

    for (const way of ['options', 'definition'] as const) {
      await t.test(`a table created from the ${way} of a collection keeps unique properties unique`, async (t) => {
        const storage = database.adapter({ table: `users_by_${way}` })
        const options = { ...described, storage }
        const users = define(options).with(idempotency(), softDelete({ property: 'removedAt' }))
        await storage.createTable(way === 'options' ? { ...options, receipts: true } : users)
        const app = await build(t, users)
        const content = { email: 'ada@example.com' }
        const posts = Array.from({ length: 200 }, async () => (await request(app, 'POST /users', { content })).statusCode)
        const statuses = await Promise.all(posts)
        t.same(
          [201, 409].map((status) => statuses.filter((given) => given === status).length),
          [1, 199]
        )
        const key = { 'idempotency-key': '"first"' }
        const other = { email: 'grace@example.com' }
        for (const count of [1, 2]) {
          const answer = await request(app, 'POST /users', { content: other, fields: key })
          t.equal(answer.statusCode, 201, `there is a table for receipts: ${count}`)
        }
      })
    }

    await t.test('a definition and its options create the same tables', async (t) => {
      const options = { ...described, storage: database.adapter() }
      const users = define(options).with(idempotency(), softDelete({ property: 'removedAt' }))
      const { unique, schema } = described
      const texts = await Promise.all([
        users,
        users.with(within(define({ ...options, storage: memory() }), 'tenant')),
        { ...options, receipts: true },
        { name: 'users', schema, unique, receipts: true }
      ].map((collection) => printTables(name, collection)))
      t.equal(new Set(texts).size, 1)
      t.match(texts[0], /UNIQUE \(.email.\)[^]*UNIQUE \(.tenant., .id.\)[^]*users_receipts/)
    })
  })
}

for (const { name, skip, open } of databases) {
  test(`${name}: tables with long and similar names have their own indexes`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const text = Type.String({ maxLength: 20 })
    const create = async (table: string, properties: readonly string[], options: object) => {
      const storage = database.adapter({ table })
      const texts = Object.fromEntries(properties.map((property) => [property, text]))
      const schema = Type.Object({ id: Type.Integer(), ...texts })
      const definition = define({ name: 'things', schema, id: { generate: 'client' }, storage, ...options })
      await storage.createTable({ ...definition, receipts: true })
      t.equal(await schemaSql(definition), '-- things: the table matches the definition.\n', table)
      return definition
    }
    await create('a', ['b_c', 'd'], { list: { filter: ['b_c', 'd'] } })
    await create('a_b', ['c', 'd'], { list: { filter: ['c', 'd'] } })
    const long = 'p'.repeat(40)
    for (const first of ['x', 'y']) {
      const table = `${first}${'t'.repeat(45)}`
      await create(table, [long, `${long}é`], { list: { filter: [long, `${long}é`] } })
      await create(`${table}2`, [long], { unique: [long] })
    }

    const properties = ['a', 'b_c', 'a_b', 'c', `x${long.padEnd(59, 'p')}`, `y${long.padEnd(59, 'p')}`]
    const unique = [['a', 'b_c'], ['a_b', 'c'], ...properties.slice(4)]
    const app = await build(t, await create('things', properties, { unique }))
    const toItem = (id: number, same: Record<string, string>) => {
      return { id, ...Object.fromEntries(properties.map((property) => [property, `${property[0]}${id}`])), ...same }
    }
    t.equal((await request(app, 'POST /things', { content: toItem(1, {}) })).statusCode, 201)
    for (const [index, names] of unique.entries()) {
      const same = Object.fromEntries([names].flat().map((property) => [property, `${property[0]}1`]))
      const answer = await request(app, 'POST /things', { content: toItem(2 + index, same) })
      t.match(answer.json(), { status: 409 })
      t.same(answer.json().errors.map(({ pointer }: { pointer: string }) => pointer), [names].flat().map((property) => `/${property}`))
    }
  })
}

/** Returns the options of `define()`, which the error about an unknown option lists. */
function getOptionNames (): string[] {
  try {
    define({ name: 'users', unknown: true } as never)
    return []
  } catch (error) {
    return /Available options: (.*)\./.exec((error as Error).message)![1]!.split(', ')
  }
}

test('createTable accepts every option of a definition, also without a storage', async (t) => {
  const { name, schema, unique } = described
  const others = getOptionNames().filter(
    (option) => !option.includes('.') && !['name', 'schema', 'id', 'unique', 'list'].includes(option)
  )
  const options = { ...Object.fromEntries(others.map((option) => [option, () => {}])), name, schema, unique }
  t.equal(await printTables('sqlite', options), await printTables('sqlite', { name, schema, unique }))
})

test('createTable accepts the id as in a definition', async (t) => {
  const Tag = Type.Object({ id: Type.Integer(), slug: Type.String() })
  const print = (id: object) => printTables('sqlite', { name: 'tags', schema: Tag, id })
  t.match(await print({ property: 'slug' }), /"slug" TEXT NOT NULL PRIMARY KEY/)
  t.match(await print({ generate: 'storage' }), /"id" INTEGER PRIMARY KEY AUTOINCREMENT/)
  t.match(await print({ by: () => 1 }), /"id" INTEGER NOT NULL PRIMARY KEY/)
})

test(
  'createTable creates a table, its indexes and its receipts in an attached SQLite database',
  { skip: databases[0]!.skip },
  async (t) => {
    const database = await databases[0]!.open()
    t.teardown(() => database.end())
    await database.run("ATTACH ':memory:' AS sales")
    const storage = database.adapter({ table: 'sales.users', indexes: [['email']] })
    const { name, schema, unique } = described
    await storage.createTable({ name, schema, unique, receipts: true })
    const indexes = await database.rows(
      "SELECT name, tbl_name AS 'table' FROM sales.sqlite_schema WHERE type = 'index' AND name LIKE '%_index' ORDER BY name"
    )
    t.same(indexes, [
      { name: 'users_email_index', table: 'users' },
      { name: 'users_receipts_expires_index', table: 'users_receipts' }
    ])
  }
)

test(
  'createTable rejects anything that does not describe a table, and states what to pass',
  { skip: databases[0]!.skip },
  async (t) => {
    const database = await databases[0]!.open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    const usage = /Pass what define\(\) returned, or \{ name, schema \}/
    const mistakes: ReadonlyArray<readonly [what: string, given: unknown, message: RegExp]> = [
      ['nothing', undefined, usage],
      ['a name', 'users', usage],
      ['a schema alone', User, /was given a schema without a name.*\{ name, schema \}/],
      ['no schema', { name: 'users' }, usage],
      ['a schema of text', { name: 'users', schema: Type.String() }, /schema .*Type\.Object/],
      ['an unknown key', { name: 'users', schema: User, uniqe: ['email'] }, /"uniqe".*unique/],
      [
        'a unique property that is no list',
        { name: 'users', schema: User, unique: 'email' },
        /unique is "email".*a list/
      ],
      ['an unknown unique property', { name: 'users', schema: User, unique: ['mail'] }, /no column for mail/],
      ['an id that is a name', { name: 'users', schema: User, id: 'email' }, /id is "email".*\{ property, generate \}/],
      ['a list that is a name', { name: 'users', schema: User, list: 'email' }, /list is "email".*\{ order, filter \}/]
    ]
    for (const [what, given, message] of mistakes) {
      await t.rejects(storage.createTable(given as never), { name: 'TypeError', message }, what)
    }
    t.same(await database.rows('SELECT name FROM sqlite_schema'), [])
  }
)

type Words = Readonly<Record<Available['name'], string>>

const quote = (name: Available['name'], word: string) => (name === 'mysql' ? `\`${word}\`` : `"${word}"`)

/**
 * How an existing table keeps an e-mail address of a tenant unique. None of the indexes has the name that createTable
 * would give it.
 */
interface Index {
  readonly what: string
  readonly statements: readonly string[]
  readonly unique?: ReadonlyArray<'email' | ReadonlyArray<'tenant' | 'email'>>
  readonly only?: ReadonlyArray<Available['name']>
}

const enforcing: readonly Index[] = [
  { what: 'a unique index', statements: ['CREATE UNIQUE INDEX x ON users (email)'] },
  {
    what: 'a unique index in another order',
    statements: ['CREATE UNIQUE INDEX x ON users (email, tenant)'],
    unique: [['tenant', 'email']]
  },
  {
    what: 'a unique index over a part of the properties',
    statements: ['CREATE UNIQUE INDEX x ON users (email)'],
    unique: [['tenant', 'email']]
  },
  {
    what: 'a constraint',
    statements: ['ALTER TABLE users ADD CONSTRAINT x UNIQUE (email)'],
    only: ['postgres', 'mysql']
  },
  {
    what: 'a constraint that is checked at the end',
    statements: ['ALTER TABLE users ADD CONSTRAINT x UNIQUE (email) DEFERRABLE'],
    only: ['postgres']
  },
  {
    what: 'a unique index over an expression',
    statements: ['CREATE UNIQUE INDEX x ON users (lower(email))'],
    only: ['sqlite', 'postgres']
  },
  {
    what: 'a unique index that leaves out nulls',
    statements: ['CREATE UNIQUE INDEX x ON users (email)\nWHERE email IS NOT NULL'],
    only: ['sqlite', 'postgres']
  },
  {
    what: 'a unique index that includes another column',
    statements: ['CREATE UNIQUE INDEX x ON users (email) INCLUDE (tenant)'],
    only: ['postgres']
  },
  {
    what: 'a unique index that compares nulls',
    statements: ['CREATE UNIQUE INDEX x ON users (email) NULLS NOT DISTINCT'],
    only: ['postgres']
  },
  {
    what: 'a unique index over the beginning of a text',
    statements: ['CREATE UNIQUE INDEX x ON users (email(20))'],
    only: ['mysql']
  },
  { what: 'a view', statements: ['ALTER TABLE users RENAME TO people', 'CREATE VIEW users AS SELECT * FROM people'] }
]

const failing: readonly Index[] = [
  { what: 'no index', statements: [] },
  { what: 'an index that is not unique', statements: ['CREATE INDEX x ON users (email)'] },
  { what: 'a unique index over more columns', statements: ['CREATE UNIQUE INDEX x ON users (tenant, email)'] },
  {
    what: 'a unique index over an expression of another column',
    statements: ['CREATE UNIQUE INDEX x ON users (lower(tenant))'],
    only: ['sqlite', 'postgres']
  },
  {
    what: 'a unique index over an expression of more columns',
    statements: ['CREATE UNIQUE INDEX x ON users ((email || tenant))'],
    only: ['sqlite', 'postgres']
  },
  {
    what: 'a unique index for some rows',
    statements: ["CREATE UNIQUE INDEX x ON users (email) WHERE tenant = 'main'"],
    only: ['sqlite', 'postgres']
  },
  {
    what: 'a unique index for rows without another null',
    statements: ['CREATE UNIQUE INDEX x ON users (email) WHERE tenant IS NOT NULL'],
    only: ['sqlite', 'postgres']
  },
  {
    what: 'a unique index that could not be built',
    statements: ["UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'x'::regclass"],
    only: ['postgres']
  }
]

const integer: Words = { sqlite: 'INTEGER', postgres: 'integer', mysql: 'INT' }

const existing = { version: { derived: true } } as const
const Member = Type.Object({ id: Type.String({ maxLength: 50 }), tenant: Type.String(), email: Type.String() })

async function freshTable (
  { run }: Database,
  columns = 'id VARCHAR(50) NOT NULL PRIMARY KEY, tenant VARCHAR(50) NOT NULL, email VARCHAR(100) NOT NULL'
): Promise<void> {
  await run('DROP VIEW IF EXISTS users', 'DROP TABLE IF EXISTS people').catch(
    async () => await run('DROP TABLE IF EXISTS people')
  )
  await run('DROP TABLE IF EXISTS users', `CREATE TABLE users (${columns})`)
}

/** Starts an app with the collection, and closes it. */
async function start (definition: Definition, logger: object | false = false): Promise<void> {
  const app = Fastify({ logger })
  try {
    await app.register(collection, definition)
    await app.ready()
  } finally {
    await app.close()
  }
}

for (const { name, skip, open } of databases) {
  const q = (word: string) => quote(name, word)

  test(`${name}: the table is checked at boot`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const users = (unique: Index['unique'] = ['email']) =>
      define({ name: 'users', schema: Member, id: { generate: 'client' }, unique, storage: database.adapter(existing) })

    for (const { what, statements, unique, only } of enforcing) {
      if (only?.includes(name) === false) continue
      await freshTable(database)
      await database.run(...statements)
      await t.resolves(start(users(unique)), `${what} makes it unique`)
    }

    for (const { what, statements, only } of failing) {
      if (only?.includes(name) === false) continue
      await freshTable(database)
      if (what.includes('could not be built')) await database.run('CREATE UNIQUE INDEX x ON users (email)')
      await database.run(...statements)
      const refused: unknown = await start(users()).catch((error: unknown) => error)
      t.match(
        refused,
        {
          code: 'FST_COLLECTION_BAD_TABLE',
          message: /^Collection users: the table .users. does not keep email unique/
        },
        what
      )
      const [fix] = /CREATE UNIQUE INDEX .*(?=, or remove)/.exec(String(refused)) ?? ['']
      await database.run(fix)
      await t.resolves(start(users()), `${what}: the statement in the message is the fix`)
    }

    await t.test('an id without a unique constraint fails at boot, unless the database generates it', async (t) => {
      await freshTable(database, 'id VARCHAR(50) NOT NULL, tenant VARCHAR(50) NOT NULL, email VARCHAR(100) NOT NULL')
      await t.rejects(start(users([])), {
        message: /does not keep id unique: .* Run CREATE UNIQUE INDEX .users_id_unique. ON .users. \(.id.\)\.$/
      })
      await freshTable(database, `id ${integer[name]} NOT NULL PRIMARY KEY, tenant VARCHAR(50), email VARCHAR(100)`)
      const Numbered = Type.Object({ id: Type.Integer(), tenant: Type.String(), email: Type.String() })
      await t.resolves(
        start(
          define({ name: 'users', schema: Numbered, id: { generate: 'client' }, storage: database.adapter(existing) })
        )
      )
      await freshTable(database, `id ${integer[name]}, tenant VARCHAR(50), email VARCHAR(100)`)
      await t.resolves(
        start(
          define({ name: 'users', schema: Numbered, id: { generate: 'storage' }, storage: database.adapter(existing) })
        )
      )
    })

    await t.test('missing columns are reported together', async (t) => {
      await freshTable(database)
      const More = Type.Object({ ...Member.properties, nick: Type.String(), homePage: Type.String() })
      const options = { name: 'users', schema: More, id: { generate: 'client' }, unique: ['nick'] } as const
      const storage = database.adapter({ columns: { homePage: 'home' }, version: { column: 'etag', as: 'random' } })
      const refused = await start(define({ ...options, storage })).catch(({ message }: Error) => message)
      const add = `Run ALTER TABLE ${q('users')} ADD COLUMN`
      t.match(String(refused).split('\n'), [
        `Collection users: the table ${q('users')} has no column ${q('nick')}, so every request would fail. ${add} ${q('nick')} `,
        `Collection users: the table ${q('users')} has no column ${q('home')}, so every request would fail. ${add} ${q('home')} `,
        `Collection users: the table ${q('users')} has no column ${q('etag')} for the version of a row, so every request would fail. Add it, or state with the storage option "version" how the table stores versions.`,
        `Collection users: the table ${q('users')} does not keep nick unique`
      ])
      t.match(refused, /, or name the column of "nick" with the storage option "columns"\.\n/)
      t.match(refused, /, or correct the storage option "columns"\.\n/)
      await t.rejects(start(define({ ...options, unique: [], storage: database.adapter() })), {
        message: /no column .version. for/
      })
      const Nullable = Type.Object({
        ...Member.properties,
        nick: Type.Optional(Type.Union([Type.String(), Type.Null()]))
      })
      await t.rejects(start(define({ ...options, unique: [], schema: Nullable, storage: database.adapter() })), {
        message: /no column .nulls.,/
      })
    })

    await t.test('tables in a named schema and tables made by createTable are checked', async (t) => {
      const schema =
        name === 'mysql'
          ? ((await database.rows('SELECT DATABASE() AS name')) as Array<{ name: string }>)[0]!.name
          : name === 'sqlite'
            ? 'main'
            : 'public'
      await freshTable(database)
      const elsewhere = define({
        name: 'members',
        schema: Member,
        id: { generate: 'client' },
        unique: ['email'],
        storage: database.adapter({ ...existing, table: `${schema}.users` })
      })
      await t.rejects(start(elsewhere), { message: /does not keep email unique/ })
      const storage = database.adapter({ table: `${schema}.made`, columns: 'snake_case' })
      const created = define({ ...described, storage })
      await storage.createTable(created)
      await t.resolves(start(created))
    })

    await t.test('a table that does not exist yet is logged, and checked again by the readiness probe', async (t) => {
      await database.run('DROP TABLE IF EXISTS users')
      const lines: Array<{ msg: string; err?: { message: string } }> = []
      const app = Fastify({
        logger: {
          level: 'warn',
          stream: {
            write: (line: string) => {
              lines.push(JSON.parse(line))
            }
          }
        }
      })
      t.teardown(() => app.close())
      await app.register(collection, users())
      await app.register(service, { audit: false })
      await app.ready()
      t.match(lines, [
        { msg: 'the storage of the collection users could not be checked', err: { message: /users.* does not exist/ } }
      ])
      /** Waits for a status: the result of a check is reused, and a busy machine may not respond in time. */
      const waitForStatus = async (status: number): Promise<void> => {
        while ((await app.inject('/readyz')).statusCode !== status) await wait(100)
      }
      await waitForStatus(503)
      await freshTable(database)
      lines.length = 0
      while (!lines.some(({ err }) => Object(err).code === 'FST_COLLECTION_BAD_TABLE')) {
        t.equal((await app.inject('/readyz')).statusCode, 503)
        await wait(100)
      }
      t.match(lines.at(-1), { err: { message: /does not keep email unique/ } })
      await database.run('CREATE UNIQUE INDEX x ON users (email)')
      await waitForStatus(200)
      await database.run(name === 'mysql' ? 'DROP INDEX x ON users' : 'DROP INDEX x')
      await wait(1100)
      await waitForStatus(200)
    })
  })
}

for (const { name, skip, open } of databases) {
  test(`${name}: without a logger, a missing table is a warning of the process that says what to run`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const warnings: Array<Error & { code?: string }> = []
    const onWarning = (warning: Error): unknown => warnings.push(warning)
    process.on('warning', onWarning)
    t.teardown(() => process.off('warning', onWarning))
    const start = async (adapter: SqlAdapter, withReceipts = false): Promise<string[]> => {
      warnings.length = 0
      const users = define({ ...described, storage: adapter })
      const app = Fastify()
      t.teardown(() => app.close())
      await app.register(collection, withReceipts ? users.with(idempotency()) : users)
      await app.register(service, { audit: false })
      // Each repeats the check.
      for (let count = 0; count < 3; count++) await app.inject('/readyz')
      t.same(warnings.map(({ code }) => code), ['FST_COLLECTION_NO_TABLE'], 'it is printed once')
      return warnings.map(({ message }) => message)
    }
    const storage = database.adapter()
    t.match(await start(storage), [
      /^The table .users. does not exist\. Create it with await storage\.createTable\(definition\), or run the SQL that/
    ])
    t.match(await start(database.adapter({ version: { derived: true } })), [
      /^The table .users. does not exist\. Run the migration that creates it, or correct the storage option "table"\.$/
    ])
    await storage.createTable(described)
    t.match(await start(storage, true), [
      /^The table .users_receipts. does not exist\. The feature idempotency needs it\. Create it with await/
    ])
  })
}

test('every storage is checked once, also with timeout, softDelete and a parent', async (t) => {
  const checks: string[] = []
  const storage = (result: () => Promise<readonly string[]>) =>
    modified(() => ({
      async check () {
        checks.push('check')
        return await result()
      }
    }))
  const Note = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    text: Type.String(),
    removedAt: Type.Optional(Type.String({ format: 'date-time' }))
  })
  const options = { name: 'notes', schema: Note } as const
  const features = [timeout(1000), softDelete({ property: 'removedAt' })]
  const current = define({ ...options, storage: storage(async () => []) as never }).with(...features)
  const app = await build(t, [current, current.with(within(notes({ name: 'books' }), 'text'))])
  await app.ready()
  t.equal(checks.length, 1)

  const wrong = define({ ...options, storage: storage(async () => ['it is full. Empty it.']) as never }).with(
    ...features
  )
  await t.rejects(start(wrong), {
    code: 'FST_COLLECTION_BAD_TABLE',
    message: 'Collection notes: it is full. Empty it.'
  })
  const { lines, logger } = logged()
  await t.resolves(
    start(
      define({
        ...options,
        storage: storage(async () => {
          throw new Error('no permission')
        }) as never
      }),
      { ...logger, level: 'warn' }
    )
  )
  t.match(lines, [
    { msg: 'the storage of the collection notes could not be checked', err: { message: 'no permission' } }
  ])
})

test('storages that do not respond delay the start by two seconds in total, and are logged', async (t) => {
  const { lines, logger } = logged()
  const app = Fastify({ logger: { ...logger, level: 'warn' } })
  t.teardown(() => app.close())
  const signals: AbortSignal[] = []
  const silent = modified(() => ({
    check: async ({ signal }: Parameters<NonNullable<Storage<object>['check']>>[0]) => {
      signals.push(signal)
      return await new Promise<never>(() => {})
    }
  }))
  for (const name of ['a', 'b', 'c']) await app.register(collection, notes({ name, storage: silent as never }))
  await app.ready()
  t.same(
    signals.map(({ aborted }) => aborted),
    [true, true, true]
  )
  t.match(
    lines.map(({ err }) => (err as Error).message),
    ['a', 'b', 'c'].map(() => 'The storage did not respond within 2000 ms.')
  )
})

const Named = Type.Object({ id: Type.String({ format: 'uuid' }), name: Type.String() })

test('createTable accepts the shape that a storage function receives', { skip: databases[0]!.skip }, async (t) => {
  const database = await databases[0]!.open()
  t.teardown(() => database.end())
  const storage = database.adapter()
  const shapes: Shape[] = []
  define({
    name: 'users',
    schema: Named,
    unique: ['name'],
    storage: (shape) => {
      shapes.push(shape)
      return storage(shape)
    }
  })
  t.equal(shapes.length, 1)
  t.equal(
    await printTables('sqlite', shapes[0]!),
    await printTables('sqlite', { name: 'users', schema: Named, unique: ['name'] })
  )
})
