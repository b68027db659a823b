import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test, type Test } from 'tap'
import collection, { define, schemaSql } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import type { Shape } from '../../lib/storage/index.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { timeout } from '../../lib/features/timeout.ts'
import { memory } from '../../lib/storage/memory.ts'
import { logged, request } from '../app.ts'
import { databases, type Available, type Database } from './databases.ts'
import type { SqlOptions } from './databases.ts'

// Tables that follow the schema: what differs is reported at boot, and the SQL that removes the difference is printed.

const Task = Type.Object({
  id: Type.String({ maxLength: 50 }),
  title: Type.String({ maxLength: 100 }),
  done: Type.Boolean(),
  rank: Type.Integer()
})

/** The same, with more properties. */
const NewTask = Type.Object({
  ...Task.properties,
  status: Type.String({ default: "it's open", maxLength: 20 }),
  weight: Type.Number({ default: 1.5 }),
  urgent: Type.Boolean({ default: true }),
  note: Type.Optional(Type.String()),
  color: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  tags: Type.Array(Type.String(), { default: [] }),
  dueAt: Type.Optional(Type.String({ format: 'date-time' })),
  owner: Type.String()
})

const options = { name: 'tasks', id: { generate: 'client' }, put: { create: true } } as const

type Words = Readonly<Record<Available['name'], string>>

/** Splits the output as a migration tool does, and runs it. */
async function runSql ({ run }: Database, sql: string): Promise<void> {
  const statements = sql.replaceAll(/^--.*$/gm, '').split(/;\n/).map((text) => text.trim())
  await run(...statements.filter((text) => text !== ''))
}

/** Starts an app, and returns the mistakes and warnings that it reports. */
async function start (t: Test, definition: unknown) {
  const { lines, logger } = logged()
  const app = Fastify({ logger: { ...logger, level: 'warn' } })
  t.teardown(() => app.close())
  await app.register(collection, definition as Definition)
  const mistakes = await app.ready().then(() => [], ({ message }: Error) => message.split('\n'))
  return { app, mistakes, warnings: lines.map(({ msg }) => String(msg)) }
}

for (const { name, skip, open } of databases) {
  const quote = (word: string) => name === 'mysql' ? `\`${word}\`` : `"${word}"`

  test(`${name}: the SQL from one definition to the next`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    const first = define({ ...options, schema: Task, storage })
    const created = await schemaSql(first)
    t.match(created, /^-- tasks\nCREATE TABLE /)
    t.same(await schemaSql(first), created, 'nothing is run')
    await runSql(database, created)
    t.equal(await schemaSql(first), '-- tasks: the table matches the definition.\n')
    const { app: before, mistakes: none, warnings: noWarnings } = await start(t, first)
    t.same([none, noWarnings], [[], []])
    const old = { title: 'first', done: true, rank: 1 }
    for (const id of ['a', 'b']) t.equal((await request(before, `PUT /tasks/${id}`, { content: old })).statusCode, 201)

    const next = define({
      ...options,
      schema: NewTask,
      unique: ['dueAt'],
      list: { order: ['rank'], filter: ['status', 'rank', 'done'] },
      storage
    }).with(idempotency())
    const { mistakes } = await start(t, next)
    t.equal(mistakes.length, 10, mistakes.join('\n'))
    t.match(mistakes[0], `Collection tasks: the table ${quote('tasks')} has no column ${quote('status')}`)
    t.match(mistakes.join('\n'), /has no column .nulls./)
    t.match(mistakes.join('\n'), /does not keep dueAt unique/)

    const sql = await schemaSql(next)
    await runSql(database, sql)
    const after = await start(t, next)
    t.same(after.mistakes, [], sql)
    t.same(after.warnings, [], sql)
    t.equal(await schemaSql(next), '-- tasks: the table matches the definition.\n')
    t.strictSame((await request(after.app, 'GET /tasks/a')).json(), {
      id: 'a',
      ...old,
      status: "it's open",
      weight: 1.5,
      urgent: true,
      tags: []
    }, 'defaults of the schema are those of existing rows')
    const whole = {
      ...old, status: 'x', weight: 2, urgent: false, note: 'n', color: null, tags: ['t'], owner: 'o'
    }
    const written = await request(after.app, 'PUT /tasks/b', { content: whole })
    t.equal(written.statusCode, 200, written.payload)
    t.strictSame((await request(after.app, 'GET /tasks/b')).json(), { id: 'b', ...whole })
    const keyed = { content: { id: 'c', ...whole }, fields: { 'idempotency-key': '"1"' } }
    t.equal((await request(after.app, 'POST /tasks', keyed)).statusCode, 201)
    t.equal((await request(before, 'GET /tasks/a')).statusCode, 200, 'an app with the old definition reads on')
  })

  test(`${name}: an optional property is added to the definition of an existing table`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const text = name === 'mysql' ? 'VARCHAR(50)' : 'TEXT'
    await database.run(
      `CREATE TABLE tasks (id VARCHAR(50) NOT NULL PRIMARY KEY, title ${text} NOT NULL)`,
      "INSERT INTO tasks VALUES ('a', 'first')"
    )
    const { id, title } = Task.properties
    const define2 = (more: object) => define({
      ...options,
      schema: Type.Object({ id, title, ...more }),
      storage: database.adapter({ version: { derived: true } })
    })
    t.same((await start(t, define2({}))).mistakes, [])
    const next = define2({ note: Type.Optional(Type.String()) })
    const { mistakes } = await start(t, next)
    t.match(mistakes, [/has no column .note., so every request would fail\. Run ALTER TABLE .tasks. ADD COLUMN .note. /])
    const [statement = ''] = /ALTER TABLE .*(?=, or name)/.exec(String(mistakes)) ?? []
    await database.run(statement)
    const { app } = await start(t, next)
    t.strictSame((await request(app, 'GET /tasks/a')).json(), { id: 'a', title: 'first' })
    t.equal((await request(app, 'PUT /tasks/a', { content: { title: 'x', note: 'y' } })).statusCode, 200)
    t.strictSame((await request(app, 'GET /tasks/a')).json(), { id: 'a', title: 'x', note: 'y' })
  })

  test(`${name}: what cannot be changed without loss`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const bool = name === 'postgres' ? 'BOOLEAN' : 'INT'
    await database.run(`CREATE TABLE tasks (
      id VARCHAR(50) NOT NULL PRIMARY KEY,
      title VARCHAR(100) NOT NULL,
      done ${bool} NOT NULL,
      rank_number VARCHAR(20) NOT NULL,
      note VARCHAR(20) NOT NULL,
      color VARCHAR(20) NOT NULL DEFAULT 'red',
      tenant VARCHAR(20) NOT NULL,
      harmless VARCHAR(20),
      counted INT NOT NULL DEFAULT 0)`)
    const schema = Type.Object({
      ...Task.properties,
      note: Type.Optional(Type.String()),
      color: Type.Union([Type.String(), Type.Null()])
    })
    const adapter = (more: SqlOptions = {}) =>
      database.adapter({ columns: { rank: 'rank_number' }, version: { derived: true }, ...more })
    const tasks = define({ ...options, schema, storage: adapter() })
    const { mistakes } = await start(t, tasks)
    t.match(mistakes, [
      /the column .rank_number. of the table .tasks. has the type \w+.*, but "rank" is stored as /,
      /the column .note. of the table .tasks. is NOT NULL, but "note" can be missing, so such items cannot be stored/,
      /the column .color. of the table .tasks. is NOT NULL, but "color" can be null, so such items cannot be stored/,
      /the column .tenant. of the table .tasks. is NOT NULL without a default and belongs to no property/
    ])
    t.equal(mistakes.length, 4)
    const sql = await schemaSql(tasks)
    t.match(sql, /^-- The column .rank_number. .* Change the type of the column with a migration/m)
    t.match(sql, /^-- The column .tenant. .* drop it with a migration\.$/m)
    t.notMatch(sql, /^(?!--).*(?:DROP COLUMN|rank_number|tenant)/m, 'nothing that loses data is run')
    await runSql(database, sql)
    if (name === 'postgres') t.equal((await start(t, tasks)).mistakes.length, 2, 'NOT NULL is removed')

    const readOnly = define({ ...options, schema, actions: ['list', 'read'], storage: adapter() })
    t.match((await start(t, readOnly)).mistakes, [/has the type/], 'a collection that only reads can do without')
    await database.run('DROP TABLE tasks')
    t.match(
      await schemaSql(define({ ...options, schema, storage: adapter() })),
      /^-- tasks\n-- The table .tasks. does not exist\. According to the storage option "version"/
    )
  })

  test(`${name}: a table that does not exist is created with the indexes of its lists`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const Person = Type.Object({
      id: Type.String({ format: 'uuid', readOnly: true }),
      email: Type.String({ maxLength: 50 }),
      team: Type.String({ maxLength: 50 }),
      number: Type.Integer(),
      role: Type.Union([Type.Literal('admin'), Type.Literal('member')]),
      state: Type.String({ enum: ['active', 'gone'] }),
      nick: Type.Union([Type.String({ maxLength: 80 }), Type.Null()]),
      text: Type.String(),
      active: Type.Boolean()
    })
    const people = define({
      name: 'people',
      schema: Person,
      unique: ['email', ['team', 'number']],
      list: { order: ['team'], filter: ['email', 'number', 'role', 'state', 'nick', 'text', 'active'] },
      storage: database.adapter()
    })
    const sql = await schemaSql(people)
    const indexed = [...sql.matchAll(/^(?:CREATE INDEX IF NOT EXISTS| {2}INDEX) .people_(\w+)_index./gm)].map(([, property]) => property)
    const long = name === 'postgres' ? [] : ['text']
    t.same(indexed, ['number', 'role', 'state', 'nick', ...long], 'unique properties have an index')
    await runSql(database, sql)
    t.equal(await schemaSql(people), '-- people: the table matches the definition.\n')
    const { app, mistakes, warnings } = await start(t, people)
    t.same([mistakes, warnings], [[], []])
    const person = { email: 'a@example.com', team: 'red', number: 1, role: 'admin', state: 'gone', nick: null, active: true }
    const text = Array.from({ length: 5000 }, (_, index) => index.toString(36)).join('')
    t.equal((await request(app, 'POST /people', { content: { ...person, text } })).statusCode, 201, 'of any length')
  })

  test(`${name}: a table without the column of the id`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    await database.run('CREATE TABLE tasks (task_id VARCHAR(50) NOT NULL PRIMARY KEY, title VARCHAR(100) NOT NULL)')
    const { id, title } = Task.properties
    const schema = Type.Object({ id, title })
    const tasks = define({ ...options, schema, storage: database.adapter({ version: { derived: true } }) })
    const { mistakes } = await start(t, tasks)
    t.match(mistakes[0], /has no column .id., .* Add it as the primary key, or name the column of "id" with the storage/)
    t.notMatch(await schemaSql(tasks), /ADD COLUMN/)
  })

  test(`${name}: lists without an index are logged, and work`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    const lists = { order: ['-rank'], filter: ['title', 'done'] } as const
    const tasks = define({ ...options, schema: Task, list: lists, storage })
    await storage.createTable({ ...options, schema: Task })
    await storage.createTable(tasks)
    const { app, warnings } = await start(t, tasks)
    // createTable() does not change a table that exists.
    t.match(warnings, [
      /^Collection tasks: lists are ordered by rank, but no index of the table .tasks. begins with that/,
      /^Collection tasks: lists are filtered by title, but no index .* Run CREATE INDEX .tasks_title_index. ON .tasks. \(/
    ])
    t.equal(warnings.length, 2, 'there is none for the boolean')
    t.equal((await request(app, 'GET /tasks?title=x')).statusCode, 200)
    await runSql(database, await schemaSql(tasks))
    t.same((await start(t, tasks)).warnings, [])
    const unindexable = define({ ...options, schema: Task, list: { order: ['rank', '-title'] }, storage })
    t.same((await start(t, unindexable)).warnings, [], 'nor for mixed directions')
  })

  test(`${name}: createTable creates the indexes for lists together with the table`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const list = { order: ['-rank'], filter: ['title', 'done'] } as const
    for (const way of ['definition', 'features', 'options', 'shape', 'schemaSql']) {
      const storage = database.adapter({ table: `tasks_${way}` })
      const given = { ...options, schema: Task, list }
      let shape: Shape | undefined
      const tasks = define({
        ...given,
        storage: (opened) => {
          shape = opened
          return storage(opened)
        }
      }).with(timeout(30_000))
      if (way === 'schemaSql') await runSql(database, await schemaSql(tasks))
      else if (way === 'features') await storage.createTable(tasks)
      else if (way === 'definition') await storage.createTable(define({ ...given, storage }))
      else await storage.createTable(way === 'options' ? given : shape!)
      t.same((await start(t, tasks)).warnings, [], way)
      t.equal(await schemaSql(tasks), '-- tasks: the table matches the definition.\n', way)
      await t.resolves(storage.createTable(tasks), 'it can be called again')
    }
  })

  test(`${name}: the indexes that are suggested for long texts can be created`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const state = name === 'mysql' ? "ENUM('open', 'done')" : 'VARCHAR(10)'
    await database.run(
      `CREATE TABLE tasks (id VARCHAR(50) NOT NULL PRIMARY KEY, title VARCHAR(1000) NOT NULL, state ${state} NOT NULL)`
    )
    const existing = define({
      ...options,
      schema: Type.Object({ id: Task.properties.id, title: Type.String(), state: Type.String({ enum: ['open', 'done'] }) }),
      list: { filter: ['title', 'state'] },
      storage: database.adapter({ version: { derived: true } })
    })
    const sql = await schemaSql(existing)
    // The others have no index for it: see canFind().
    const key = name === 'mysql' ? '`title`(191)' : undefined
    t.equal(/CREATE INDEX .tasks_title_index. ON .tasks. \((.*)\);/.exec(sql)?.[1], key)
    await runSql(database, sql)
    t.equal(await schemaSql(existing), '-- tasks: the table matches the definition.\n')

    // Each is in a key of its own, but both together are too long for one.
    const Pair = Type.Object({ id: Task.properties.id, first: Type.String(), second: Type.String() })
    const storage = database.adapter()
    const pairs = define({
      ...options,
      name: 'pairs',
      schema: Pair,
      unique: ['first', 'second'],
      list: { order: ['first', 'second'] },
      storage
    })
    await runSql(database, await schemaSql(pairs))
    t.equal(await schemaSql(pairs), '-- pairs: the table matches the definition.\n')
    const content = { first: 'a', second: 'b' }
    const { app } = await start(t, pairs)
    t.equal((await request(app, 'PUT /pairs/a', { content })).statusCode, 201)
  })
}

const types: ReadonlyArray<readonly [type: Words, accepted: readonly string[], refused: readonly string[]]> = [
  [{ sqlite: 'INTEGER', postgres: 'bigint', mysql: 'BIGINT' }, ['integer', 'number', 'boolean'], ['uuid', 'date-time']],
  [{ sqlite: 'REAL', postgres: 'double precision', mysql: 'DOUBLE' }, ['integer', 'number'], ['date', 'json']],
  [{ sqlite: 'TEXT', postgres: 'text', mysql: 'TEXT' }, ['text', 'uuid', 'date', 'date-time', 'json'], ['number']],
  [{ sqlite: 'DATETIME', postgres: 'timestamptz', mysql: 'DATETIME(3)' }, ['date-time'], []],
  [{ sqlite: 'JSON', postgres: 'jsonb', mysql: 'JSON' }, ['json'], []]
]

const kinds = {
  boolean: [Type.Boolean(), true],
  integer: [Type.Integer(), 7],
  number: [Type.Number(), 7],
  text: [Type.String(), 'some text'],
  uuid: [Type.String({ format: 'uuid' }), '4a1d0f0e-6b9c-4f0f-8a53-2c1f4d1d8f11'],
  date: [Type.String({ format: 'date' }), '2026-01-02'],
  'date-time': [Type.String({ format: 'date-time' }), '2026-01-02T03:04:05.678Z'],
  json: [Type.Object({ a: Type.Integer() }), { a: 1 }]
} as const

for (const { name, skip, open } of databases) {
  test(`${name}: types of columns`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    for (const [index, [{ [name]: type }, accepted, refused]] of types.entries()) {
      const table = `tasks_${index}`
      await database.run(`CREATE TABLE ${table} (id VARCHAR(50) PRIMARY KEY, x ${type})`)
      for (const kind of [...accepted, ...refused] as Array<keyof typeof kinds>) {
        const [x, value] = kinds[kind]
        const schema = Type.Object({ id: Type.String({ maxLength: 50 }), x })
        const storage = database.adapter({ table, version: { derived: true } })
        const { app, mistakes } = await start(t, define({ ...options, schema, storage }))
        if (refused.includes(kind)) {
          t.match(mistakes, [/^Collection tasks: the column .x. of the table .tasks_\d. has the type /], `${kind} ${type}`)
          continue
        }
        t.same(mistakes, [], `${kind} in ${type}`)
        t.equal((await request(app, `PUT /tasks/${kind}`, { content: { x: value } })).statusCode, 201)
        t.strictSame((await request(app, `GET /tasks/${kind}`)).json(), { id: kind, x: value }, `${kind} in ${type}`)
      }
    }
  })
}

for (const { name, skip, open } of databases.filter(({ name }) => name !== 'sqlite')) {
  test(`${name}: a trigger may set columns that no property has`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    await database.run(
      'CREATE TABLE tasks (id VARCHAR(50) NOT NULL PRIMARY KEY, x VARCHAR(9) NOT NULL, y VARCHAR(9) NOT NULL)'
    )
    const schema = Type.Object({ id: Type.String({ maxLength: 50 }), x: Type.String() })
    const tasks = define({ ...options, schema, storage: database.adapter({ version: { derived: true } }) })
    t.equal((await start(t, tasks)).mistakes.length, 1)
    await database.run(...name === 'mysql'
      ? ["CREATE TRIGGER set_y BEFORE INSERT ON tasks FOR EACH ROW SET NEW.y = 'y'"]
      : [
          "CREATE FUNCTION set_y() RETURNS trigger AS $$ BEGIN NEW.y := 'y'; RETURN NEW; END $$ LANGUAGE plpgsql",
          'CREATE TRIGGER set_y BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION set_y()'
        ])
    const { app, mistakes } = await start(t, tasks)
    t.same(mistakes, [])
    t.equal((await request(app, 'PUT /tasks/a', { content: { x: 'x' } })).statusCode, 201)
  })
}

test('a storage without tables has a comment instead of SQL', async (t) => {
  t.equal(
    await schemaSql(define({ ...options, schema: Task, storage: memory() })),
    '-- tasks: the storage memory has no tables.\n'
  )
})

test('schemaSql() accepts only definitions', async (t) => {
  await t.rejects(schemaSql({ name: 'tasks', schema: Task }), { code: 'FST_COLLECTION_NO_DEFINITION' })
})

test('the command prints the SQL of a module, and runs nothing', async (t) => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const folder = await mkdtemp(join(tmpdir(), 'collections-schema-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'node_modules'))
  await symlink(root, join(folder, 'node_modules/fastify-collections'))
  await symlink(join(root, 'node_modules/fastify'), join(folder, 'node_modules/fastify'))
  const file = join(folder, 'app.db')
  const source = `
    import { DatabaseSync } from 'node:sqlite'
    import Fastify from 'fastify'
    import collection, { define } from 'fastify-collections'
    import { sqlite } from 'fastify-collections/sqlite'
    const storage = sqlite(new DatabaseSync(${JSON.stringify(file)}))
    const schema = { type: 'object', required: ['id'], properties: { id: { type: 'string' }, n: { type: 'integer' } } }
    const create = (name: string) => define({ name, schema, id: { generate: 'client' }, storage } as never)
  `
  /** Writes a module, and returns the output of the command for it. */
  const print = async (code: string, ...more: string[]) => {
    const module = join(folder, 'module.mts')
    await writeFile(module, code)
    return await promisify(execFile)(process.execPath, [
      '--conditions=fastify-collections-source', join(root, 'lib/cli.ts'), 'schema', module, ...more
    ])
  }
  const { stdout } = await print(`${source}
    export const users = create('users')
    export default Promise.resolve([create('notes')])
    export const other = 1
    setInterval(() => {}, 1000)`)
  t.match(stdout, /^-- notes\nCREATE TABLE IF NOT EXISTS "notes"/m)
  t.match(stdout, /^-- users\nCREATE TABLE IF NOT EXISTS "users"/m)
  const database = new DatabaseSync(file)
  t.teardown(() => database.close())
  t.same(database.prepare('SELECT name FROM sqlite_schema').all(), [], 'nothing was created')
  database.exec(stdout)
  database.exec('ALTER TABLE users DROP COLUMN n')
  const changed = await print(`${source}
    const app = Fastify()
    app.register(collection, create('users'))
    app.register(collection, create('notes'))
    export default app`)
  t.equal(changed.stdout, '-- users\n' +
    '-- The table "users" has no column "n", so every request would fail.\n' +
    'ALTER TABLE "users" ADD COLUMN "n" INTEGER;\n\n' +
    '-- notes: the table matches the definition.\n')
  const related = await print(`${source}
    import { relate } from 'fastify-collections/relations'
    export const shop = relate({ users: create('users'), orders: create('orders') }, {})
    export const { users } = shop`)
  t.match(related.stdout, /^-- orders\nCREATE TABLE IF NOT EXISTS "orders"/m)
  t.equal(related.stdout.match(/^-- users/gm)?.length, 1, 'once, although it is exported twice')
  const getFailure = (printing: Promise<unknown>) => printing.catch((error: unknown) => error)
  t.match(await getFailure(print('export const nothing = 1')), {
    stderr: /exports no definition\. Pass a module that exports what define\(\) returns/
  })
  t.match(await getFailure(print('export const nothing = 1', 'more')), { stderr: /^Usage: npx fastify-collections schema/ })
  t.match(await getFailure(print(`${source}
    const app = Fastify()
    app.register(async () => { throw new Error('it does not start') })
    export default app`)), { stderr: /it does not start/ })
  const help = await promisify(execFile)(process.execPath, [join(root, 'lib/cli.ts'), '--help'])
  t.match(help.stdout, /^Usage: npx fastify-collections schema/)
})
