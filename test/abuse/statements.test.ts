import { DatabaseSync } from 'node:sqlite'
import { test } from 'tap'
import type { Test } from 'tap'
import type { Thing } from '../../lib/storage/conformance.ts'
import type { Context, Filter, Storage } from '../../lib/storage/index.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { PreparedStatements } from '../../lib/storage/sql/prepared-statements.ts'
import { sqlite, type SqliteDatabase } from '../../lib/storage/sqlite.ts'
import { mysqlPool, noMysql, noServers } from '../storage/databases.ts'
import { startPostgres } from '../storage/servers.ts'
import { query } from './query.ts'
import { things } from '../storage/things.ts'

// Clients that send a different filter each time, and long ones: prepared statements are limited in number and in
// length.

const context: Context = { signal: new AbortController().signal, scope: undefined }

/** The bounds of docs/limits.md. */
const most = { recurring: 150, others: 50, characters: 150 * 10_000 + 50 * 2000 }

const signs = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'] as const

/** No two have the same shape. */
function shape (number: number): Filter {
  const digits = number.toString(signs.length).padStart(5, '0')
  return { all: [...digits].map((digit) => ({ property: 'rank', is: signs[Number(digit)]!, value: 1 })) }
}

function long (conditions: number): Filter {
  return { any: Array.from({ length: conditions }, (_, index) => ({ property: 'name', is: 'eq', value: `n${index}` })) }
}

async function flood (storage: Storage<Thing>): Promise<void> {
  await storage.insert({ id: 'a', name: 'a' }, context)
  for (let number = 0; number < 400; number++) await storage.list({ ...query, filter: shape(number) }, context)
  for (let number = 0; number < 60; number++) await storage.list({ ...query, filter: long(200 + number) }, context)
  for (let number = 0; number < 200; number++) {
    await storage.list(
      {
        ...query,
        properties: ['id', 'name', 'rank', 'price', 'done', 'note', 'at', 'place', 'tags'].filter(
          (_, bit) => (number >> bit) & 1
        )
      },
      context
    )
  }
  for (let times = 0; times < 3; times++) await storage.find('a', context)
}

test('other statements do not evict recurring ones, and long statements are not cached', async (t) => {
  let prepared = 0
  const released: string[] = []
  const statements = new PreparedStatements(
    (text) => {
      prepared++
      return text
    },
    (text) => {
      released.push(text)
    }
  )
  const get = (text: string, recurring?: true) =>
    statements.get({ text, values: [], context, ...(recurring && { recurring }) })
  t.equal(get('find', true), 'find')
  for (let number = 0; number < 1000; number++) get(`list ${number}`)
  t.equal(released.length, 1000 - most.others)
  t.notOk(released.includes('find'))
  const before = prepared
  t.equal(get('find', true), 'find')
  t.equal(prepared, before)
  t.equal(get('x'.repeat(2001)), undefined)
  t.equal(get('x'.repeat(10_001), true), undefined)
  for (let number = 0; number < 1000; number++) get(`scoped ${number}`, true)
  t.equal(prepared - released.length, most.recurring + most.others)
})

test('sqlite: the statement that finds an item is prepared once', async (t) => {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  const texts: string[] = []
  const counted: SqliteDatabase = {
    exec: (text) => database.exec(text),
    prepare (text) {
      texts.push(text)
      return database.prepare(text)
    }
  }
  const adapter = sqlite(counted)
  await adapter.createTable(things)
  const storage = adapter<Thing>(things)
  await storage.find('a', context)
  await flood(storage)
  t.equal(texts.filter((text) => text.endsWith(' WHERE "id" COLLATE BINARY = ?')).length, 1)
  const projections = new Set(texts.filter((text) => / FROM "things" ORDER BY /.test(text)))
  t.ok(projections.size <= 101, `${projections.size} selections`)
})

test('postgres: the number and size of prepared statements per connection are limited', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const pool = server.pool({ max: 1 })
  const adapter = postgres(pool)
  await adapter.createTable(things)
  const storage = adapter<Thing>(things)
  await flood(storage)
  const readPrepared = async () =>
    (
      await pool.query(
        'SELECT count(*)::int AS count, sum(length(statement))::int AS characters, max(length(statement))::int AS longest FROM pg_prepared_statements'
      )
    ).rows[0]
  const { count, characters, longest } = await readPrepared()
  t.ok(count > 0 && count <= most.recurring + most.others, `${count} statements`)
  t.ok(characters <= most.characters, `${characters} characters`)
  t.ok(longest <= 2000, `the longest has ${longest} characters`)
  t.equal(
    (
      await pool.query(
        'SELECT count(*)::int AS count FROM pg_prepared_statements WHERE statement LIKE \'%WHERE "id" = $1\''
      )
    ).rows[0].count,
    1
  )
  const [{ bytes }] = (await pool.query('SELECT sum(total_bytes)::int AS bytes FROM pg_backend_memory_contexts')).rows
  t.ok(bytes < 64 * 1024 * 1024, `${bytes} bytes in the backend`)
  await checkResults(t, storage)
})

test('mysql: the number of prepared statements per connection is limited', { skip: noMysql }, async (t) => {
  const { pool, end } = await mysqlPool({ connectionLimit: 1 })
  t.teardown(end)
  const adapter = mysql(pool)
  await adapter.createTable(things)
  const storage = adapter<Thing>(things)
  const counter = async (name: string): Promise<number> => {
    const [rows] = await pool.query('SHOW SESSION STATUS LIKE ?', [name])
    return Number((rows as Array<{ Value: string }>)[0]!.Value)
  }
  await flood(storage)
  const [prepared, closed] = [await counter('Com_stmt_prepare'), await counter('Com_stmt_close')]
  t.ok(prepared - closed <= most.recurring + most.others, `${prepared} prepared, ${closed} closed`)
  t.ok(prepared > 400, 'the statements were prepared')
  for (let times = 0; times < 20; times++) await storage.find('a', context)
  t.equal(await counter('Com_stmt_prepare'), prepared, 'the statement that finds an item is still prepared')
  await checkResults(t, storage)
})

/** Checks that removed statements are prepared again. */
async function checkResults (t: Test, storage: Storage<Thing>): Promise<void> {
  for (const number of [0, 1, 399]) {
    t.equal((await storage.list({ ...query, filter: shape(number) }, context)).entries.length, 0)
  }
  t.equal((await storage.list(query, context)).entries.length, 1)
  await t.rejects(storage.list({ ...query, filter: { property: 'missing.name', is: 'null', value: true } }, context))
  t.equal((await storage.list({ ...query, filter: long(300) }, context)).entries.length, 0)
}
