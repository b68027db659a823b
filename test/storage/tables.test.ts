import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { define, version, within } from '../../lib/index.ts'
import type { Collection } from '../../lib/index.ts'
import { optionNames } from '../../lib/options.ts'
import { memory } from '../../lib/storage/memory.ts'
import { ask, build } from '../app.ts'
import { databases } from './databases.ts'

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
  unique: ['email', ['tenant', 'id']],
  idempotency: { required: false },
  tombstones: { member: 'removedAt' }
} as const

for (const { name, skip, open } of databases) {
  test(`${name}: createTable`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())

    for (const way of ['options', 'definition'] as const) {
      await t.test(`a table made of the ${way} of a collection keeps unique members unique`, async (t) => {
        const storage = database.adapter({ table: `users_by_${way}` })
        const options = { ...described, storage }
        const users = define(options)
        await storage.createTable(way === 'options' ? options : users)
        const app = await build(t, users as Collection)
        const content = { email: 'ada@example.com' }
        const posts = Array.from({ length: 200 }, async () => (await ask(app, 'POST /users', { content })).statusCode)
        const statuses = await Promise.all(posts)
        t.same([201, 409].map((status) => statuses.filter((given) => given === status).length), [1, 199])
        const key = { 'idempotency-key': '"first"' }
        const other = { email: 'grace@example.com' }
        for (const count of [1, 2]) {
          const answer = await ask(app, 'POST /users', { content: other, fields: key })
          t.equal(answer.statusCode, 201, `there is a table for receipts: ${count}`)
        }
      })
    }

    await t.test('a definition and its options make the same tables', async (t) => {
      const storage = database.adapter()
      const options = { ...described, storage }
      const users = define(options)
      const { unique, idempotency, schema } = described
      const texts = [
        storage.createTableSql(users),
        storage.createTableSql(within(define({ ...options, storage: memory() }), users, 'tenant')),
        storage.createTableSql(options),
        storage.createTableSql({ name: 'users', schema, unique, idempotency })
      ]
      t.equal(new Set(texts).size, 1)
      t.match(texts[0], /UNIQUE \(.email.\)[^]*UNIQUE \(.tenant., .id.\)[^]*users_receipts/)
    })
  })
}

test('createTable takes every option of a definition, also without a storage', { skip: databases[0]!.skip }, async (t) => {
  const database = await databases[0]!.open()
  t.teardown(() => database.end())
  const storage = database.adapter()
  const { name, schema, unique, idempotency } = described
  const others = [...optionNames].filter((option) => !['name', 'schema', 'id', 'unique', 'idempotency'].includes(option))
  const options = { ...Object.fromEntries(others.map((option) => [option, () => {}])), name, schema, unique, idempotency }
  t.equal(storage.createTableSql(options), storage.createTableSql({ name, schema, unique, idempotency }))
})

test('createTable takes the id as a definition has it', { skip: databases[0]!.skip }, async (t) => {
  const database = await databases[0]!.open()
  t.teardown(() => database.end())
  const storage = database.adapter()
  const Tag = Type.Object({ id: Type.Integer(), slug: Type.String() })
  const text = (id: object): string => storage.createTableSql({ name: 'tags', schema: Tag, id })
  t.match(text({ member: 'slug' }), /"slug" TEXT NOT NULL PRIMARY KEY/)
  t.match(text({ by: 'storage' }), /"id" INTEGER PRIMARY KEY AUTOINCREMENT/)
  t.match(text({ by: () => 1 }), /"id" INTEGER NOT NULL PRIMARY KEY/)
})

test('createTable makes a table, its indexes and its receipts in an attached SQLite database', { skip: databases[0]!.skip }, async (t) => {
  const database = await databases[0]!.open()
  t.teardown(() => database.end())
  await database.run("ATTACH ':memory:' AS sales")
  const storage = database.adapter({ table: 'sales.users', indexes: [['email']] })
  const { name, schema, unique, idempotency } = described
  await storage.createTable({ name, schema, unique, idempotency })
  const indexes = await database.rows("SELECT name, tbl_name AS 'table' FROM sales.sqlite_schema WHERE type = 'index' AND name LIKE '%_index' ORDER BY name")
  t.same(indexes, [{ name: 'users_email_index', table: 'users' }, { name: 'users_receipts_expires_index', table: 'users_receipts' }])
})

test('createTable refuses what does not describe a table, and says what to pass', { skip: databases[0]!.skip }, async (t) => {
  const database = await databases[0]!.open()
  t.teardown(() => database.end())
  const storage = database.adapter()
  const current = define({ name: 'users', schema: User, storage, unique: ['email'] })
  const older = version(current, 'v1', {
    schema: Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), mail: Type.String() }),
    present: ({ id, email }) => ({ id, mail: email }),
    accept: ({ mail }) => ({ email: mail })
  })
  const usage = /Pass what define\(\) returned, or \{ name, schema \}/
  const mistakes: ReadonlyArray<readonly [what: string, given: unknown, message: RegExp]> = [
    ['nothing', undefined, usage],
    ['a name', 'users', usage],
    ['a schema alone', User, /is a schema without a name.*\{ name, schema \}/],
    ['no schema', { name: 'users' }, usage],
    ['a schema of text', { name: 'users', schema: Type.String() }, /schema .*Type\.Object/],
    ['an unknown key', { name: 'users', schema: User, uniqe: ['email'] }, /"uniqe".*unique/],
    ['a unique member that is no list', { name: 'users', schema: User, unique: 'email' }, /unique is "email".*a list/],
    ['an unknown unique member', { name: 'users', schema: User, unique: ['mail'] }, /no column for mail/],
    ['an id that is a name', { name: 'users', schema: User, id: 'email' }, /id is "email".*\{ member, by \}/],
    ['an older version', older, /older version of users/]
  ]
  for (const [what, given, message] of mistakes) {
    t.throws(() => storage.createTableSql(given as never), { name: 'TypeError', message }, what)
    await t.rejects(storage.createTable(given as never), { name: 'TypeError', message }, what)
  }
  t.same(await database.rows('SELECT name FROM sqlite_schema'), [])
})
