import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import pg from 'pg'
import collection, { define } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { build, request } from '../app.ts'
import { databases, noServers } from './databases.ts'
import type { Available, SqlOptions } from './databases.ts'
import { startPostgres } from './servers.ts'

// Columns in which the database takes different texts for equal. No caller may find the rows of another by that.

interface ColumnType {
  readonly type: string
  /** Texts that are equal in such a column, but not in the collection. */
  readonly equal: readonly [string, string]
}

const setup: Partial<Record<Available['name'], readonly string[]>> = {
  postgres: [
    'CREATE EXTENSION citext',
    "CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    'CREATE DOMAIN label AS citext'
  ]
}

const columnTypes: Readonly<Record<Available['name'], readonly ColumnType[]>> = {
  sqlite: [
    { type: 'TEXT COLLATE NOCASE', equal: ['bob', 'BOB'] },
    { type: 'TEXT COLLATE RTRIM', equal: ['bob', 'bob  '] }
  ],
  postgres: [
    { type: 'citext', equal: ['bob', 'BOB'] },
    { type: 'label', equal: ['bob', 'BOB'] },
    { type: 'text COLLATE no_case', equal: ['bob', 'BOB'] },
    { type: 'varchar(50) COLLATE no_case', equal: ['bob', 'Bob'] }
  ],
  mysql: [
    { type: 'VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci', equal: ['bob', 'BOB'] },
    { type: 'VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci', equal: ['zoe', 'zoé'] },
    { type: 'VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin', equal: ['bob', 'bob  '] },
    { type: 'VARCHAR(50) CHARACTER SET latin1 COLLATE latin1_swedish_ci', equal: ['bob', 'BOB'] }
  ]
}

const Note = Type.Object({
  id: Type.String({ maxLength: 50 }),
  owner: Type.String({ maxLength: 50 }),
  label: Type.Optional(Type.String({ maxLength: 50 }))
})

function notes (storage: never, table: string): Definition {
  return define({
    name: table,
    schema: Note,
    id: { generate: 'client' },
    storage,
    access: {
      authenticate: ({ request }) => decodeURIComponent(String(request?.headers['x-user'])),
      scope: ({ caller }) => ({ values: { owner: String(caller) } })
    }
  })
}

for (const { name, skip, open } of databases) {
  test(`${name}: columns in which different texts are equal`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    await database.run(...setup[name] ?? [])

    for (const [index, { type, equal: [one, other] }] of columnTypes[name].entries()) {
      const ways: ReadonlyArray<readonly [what: string, options: SqlOptions, column: string]> = [
        ['derived', { version: { derived: true } }, ''],
        ['random', { version: { column: 'version', as: 'random' } }, ', version VARCHAR(40) NOT NULL'],
        // The table of createTable, but for its collations.
        ...name === 'sqlite' ? [['created', {}, ', version TEXT NOT NULL']] as const : []
      ]
      for (const [what, options, column] of ways) {
        await t.test(`${type}, version: ${what}`, async (t) => {
          const table = `notes_${index}_${what}`
          const columns = `id ${type} NOT NULL PRIMARY KEY, owner ${type} NOT NULL, label ${type} NULL`
          await database.run(`CREATE TABLE ${table} (${columns}${column})`)
          const app = await build(t, notes(database.adapter(options) as never, table))
          const as = (user: string, target: string, content?: unknown) => {
            return request(app, target, { content, fields: { 'x-user': encodeURIComponent(user) } })
          }
          const at = `/${table}/${encodeURIComponent(one)}`
          const elsewhere = `/${table}/${encodeURIComponent(other)}`
          t.equal((await as(one, `POST /${table}`, { id: one, label: one })).statusCode, 201)
          t.equal((await as(one, `POST /${table}`, { id: 'zz' })).statusCode, 201)

          for (const target of [`GET ${at}`, `PUT ${at}`, `PATCH ${at}`, `DELETE ${at}`]) {
            const content = target.startsWith('P') ? { id: one, label: 'mine' } : undefined
            t.equal((await as(other, target, content)).statusCode, 404, `${other}: ${target}`)
          }
          t.same((await as(other, `GET /${table}`)).json(), [], 'the list of another caller')
          t.equal((await as(other, `GET /${table}?count=true`)).headers['x-total-count'], '0')

          for (const target of [`GET ${elsewhere}`, `PUT ${elsewhere}`, `PATCH ${elsewhere}`, `DELETE ${elsewhere}`]) {
            const content = target.startsWith('P') ? { label: 'x' } : undefined
            t.equal((await as(one, target, content)).statusCode, 404, `another id: ${target}`)
          }
          const [same, different] = [encodeURIComponent(one), encodeURIComponent(other)]
          for (const [search, ids] of [
            [`label=${same}`, [one]],
            [`label=${different}`, []],
            [`label.in=${same},x`, [one]],
            [`label.in=${different},x,y`, []],
            [`label.ne=${same}`, ['zz']],
            [`label.ne=${different}`, [one, 'zz']],
            [`label.nin=${different},x,y`, [one, 'zz']],
            [`label.like=${same}`, [one]],
            [`label.like=${different}`, []],
            [`label.like=${encodeURIComponent(other.slice(0, 2))}*${encodeURIComponent(other.slice(2))}`, []],
            [`id=${different}`, []],
            [`id.in=${different},zz`, ['zz']]
          ] as const) {
            const found = (await as(one, `GET /${table}?sort=id&${search}`)).json().map(({ id }: { id: string }) => id)
            t.same(found, ids, search)
          }
          t.equal((await as(one, `PATCH ${at}`, { label: 'changed' })).statusCode, 200)
          t.match((await as(one, `GET ${at}`)).json(), { id: one, owner: one, label: 'changed' })
          t.equal((await as(one, `DELETE ${at}`)).statusCode, 204)
        })
      }

      await t.test(`${type} in a table of createTable is a boot error, or does not matter`, async (t) => {
        const table = `created_${index}`
        const columns = `id ${type} NOT NULL PRIMARY KEY, owner ${type} NOT NULL, label ${type} NULL`
        await database.run(`CREATE TABLE ${table} (${columns}, version VARCHAR(40) NOT NULL)`)
        const app = Fastify()
        t.teardown(() => app.close())
        app.register(collection, notes(database.adapter({ table }) as never, table))
        if (name === 'sqlite') {
          await app.ready()
          return
        }
        await t.rejects(async () => app.ready(), { code: 'FST_COLLECTION_BAD_TABLE', message: /owner.*different texts.*as: 'random'/ })
      })
    }

    await t.test('a table of createTable has no such column', async (t) => {
      const storage = database.adapter({ table: 'plain' })
      const plain = notes(storage as never, 'plain')
      await storage.createTable(plain)
      await build(t, plain).then((app) => app.ready())
    })
  })
}

test('postgres: existing tables are still read with their indexes', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const pool = server.pool({ max: 1 })
  await pool.query(`CREATE TABLE notes (id text PRIMARY KEY, owner text NOT NULL, label char(10));
    INSERT INTO notes SELECT n::text, 'owner ' || n % 1000, 'x' FROM generate_series(1, 20000) n;
    CREATE INDEX ON notes (owner);
    ANALYZE notes`)
  const statements: Array<{ text: string, values: unknown[] }> = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const { text = '', values = [] } = given[0] as { text?: string, values?: unknown[] }
    if (text.startsWith('SELECT "')) statements.push({ text, values: [...values] })
    return Reflect.apply(query, this, given)
  } as typeof query
  t.teardown(() => {
    pg.Client.prototype.query = query
  })
  const storage = postgres(pool, { table: 'notes', version: { derived: true } })
  const app = await build(t, notes(storage as never, 'notes'))
  const fields = { 'x-user': 'owner 7' }
  t.equal((await request(app, 'GET /notes/7', { fields })).statusCode, 200)
  t.equal((await request(app, 'GET /notes?sort=label', { fields })).json().length, 20)
  t.equal((await request(app, 'GET /notes?label=x', { fields })).json().length, 20, 'character(n) is padded')
  t.equal(statements.length, 3)
  for (const { text, values } of statements) {
    const { rows } = await pool.query(`EXPLAIN ${text}`, values)
    t.match(JSON.stringify(rows), /Index Cond/, text)
  }
})
