import { test, type Test } from 'tap'
import type { Id } from '../../lib/index.ts'
import type { Shape, Storage } from '../../lib/storage/index.ts'
import { postgres, type PostgresPool } from '../../lib/storage/postgres.ts'
import type { PositionalQuery } from '../../lib/storage/postgres/positional-query.ts'
import type { Statement } from '../../lib/storage/sql/session.ts'
import { databases, noServers, type Database, type SqlOptions } from './databases.ts'
import { startPostgres } from './servers.ts'

// A migration changes the type of a column while the app runs, with statements that were prepared for the old one.

type JsonSchema = Shape['schema']
type Scalar = string | number

interface Thing {
  readonly id: number
  readonly value?: Scalar
}

interface Change {
  readonly from: string
  readonly to: string
  readonly schema: JsonSchema
  /** A value for both types. */
  readonly before: Scalar
  /** A value for the new type. */
  readonly after: Scalar
}

const context = { signal: new AbortController().signal, scope: undefined }

const createShape = (schema: JsonSchema): Shape => ({
  name: 'things',
  schema: { type: 'object', properties: { id: { type: 'integer' }, value: schema }, required: ['id'] },
  id: { property: 'id', generate: 'client' },
  unique: []
})

const integer: JsonSchema = { type: 'integer' }
const number: JsonSchema = { type: 'number' }
const string: JsonSchema = { type: 'string' }
const dateTime: JsonSchema = { type: 'string', format: 'date-time' }
const midnight = '2026-01-01T00:00:00.000Z'
const noon = '2026-01-01T12:00:00.000Z'

/** The first changes make old statements fail. The others would store or compare another value. */
const changes: Record<'sqlite' | 'postgres' | 'mysql', readonly Change[]> = {
  sqlite: [
    { from: 'integer', to: 'text', schema: string, before: '1', after: '007' },
    { from: 'integer', to: 'real', schema: number, before: 1, after: 1.5 }
  ],
  postgres: [
    { from: 'integer', to: 'bigint', schema: integer, before: 1, after: 3_000_000_000 },
    { from: 'integer', to: 'text', schema: string, before: '1', after: 'one' },
    { from: 'integer', to: 'numeric', schema: number, before: 1, after: 1.5 },
    { from: 'text', to: 'integer', schema: integer, before: 1, after: 2 },
    { from: 'integer', to: 'text', schema: string, before: '1', after: '007' },
    { from: 'real', to: 'double precision', schema: number, before: 1, after: 0.1 },
    { from: 'timestamp', to: 'timestamptz', schema: dateTime, before: midnight, after: noon },
    { from: 'date', to: 'timestamptz', schema: dateTime, before: midnight, after: noon }
  ],
  mysql: [
    { from: 'integer', to: 'bigint', schema: integer, before: 1, after: 3_000_000_000 },
    { from: 'integer', to: 'varchar(50)', schema: string, before: '1', after: '007' },
    { from: 'float', to: 'double', schema: number, before: 1, after: 0.1 },
    { from: 'date', to: 'datetime(3)', schema: dateTime, before: midnight, after: noon }
  ]
}

/** Existing tables: one with a column for the version, and one whose version is a digest of the row. */
const versions: ReadonlyArray<readonly [name: string, option: SqlOptions['version'], column: string]> = [
  ['a random version', { column: 'version', as: 'random' }, ', version varchar(60)'],
  ['a digest as version', { derived: true }, '']
]

/** Uses a storage so that its statements are prepared: twice, because those of the last table may fail at first. */
async function prepareStatements (storage: Storage<Thing>, value: Scalar): Promise<void> {
  for (const id of [1, 2]) {
    await storage.insert({ id, value }, context)
    await storage.find(id, context)
    await storage.replace(id, { id, value }, undefined, context)
    await list(storage, value)
    await storage.remove(id, undefined, context)
  }
}

async function list (storage: Storage<Thing>, value: Scalar): Promise<readonly [ids: Id[], total: number | undefined]> {
  const filter = { property: 'value', is: 'eq', value } as const
  const order = [{ property: 'id', descending: false }]
  const first = { search: undefined, after: undefined, before: undefined, properties: undefined }
  const page = await storage.list({ ...first, filter, order, limit: 10, count: true }, context)
  return [page.entries.map(({ id }) => id), page.total]
}

const ways: Record<string, (name: string, change: Change, column: string) => string[]> = {
  altered: (name, { to }) => name === 'mysql'
    ? [`ALTER TABLE things MODIFY value ${to}`]
    : [`ALTER TABLE things ALTER COLUMN value TYPE ${to} USING value::${to}`],
  'dropped and created again': (_, { to }, column) => ['DROP TABLE things', createThings(to, column)]
}

function createThings (type: string, column: string): string {
  return `CREATE TABLE things (id bigint PRIMARY KEY, value ${type}${column})`
}

async function changeTypes (t: Test, name: 'sqlite' | 'postgres' | 'mysql', database: Database): Promise<void> {
  for (const [version, option, column] of versions) {
    for (const [way, buildStatements] of Object.entries(ways)) {
      // SQLite has no such ALTER TABLE.
      if (name === 'sqlite' && way === 'altered') continue
      for (const change of changes[name]) {
        const { from, to, schema, before, after } = change
        const title = `${from} to ${to}, ${way}, ${version}, ${String(after)}`
        await database.run('DROP TABLE IF EXISTS things', createThings(from, column))
        const storage = database.adapter({ version: option! })<Thing>(createShape(schema))
        await prepareStatements(storage, before)
        await database.run(...buildStatements(name, change, column))
        t.match(await storage.insert({ id: 3, value: after }, context), { item: { value: after } }, `${title}: inserted`)
        t.match(await storage.find(3, context), { item: { id: 3, value: after } }, `${title}: found`)
        t.strictSame(await list(storage, after), [[3], 1], `${title}: filtered and counted`)
        t.match(
          await storage.replace(3, { id: 3, value: after }, undefined, context),
          { item: { value: after } },
          `${title}: replaced`
        )
        t.equal(await storage.remove(3, undefined, context), undefined, `${title}: removed`)
      }
    }
  }
}

for (const { name, skip, open } of databases) {
  test(`${name}: values of the new type of a column are stored and compared`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    await changeTypes(t, name, database)
  })
}

test('postgres', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())

  /** A table of integers, and a storage whose statements are prepared on each of its two connections. */
  const prepareTable = async (table: string, toPool = (pool: PostgresPool) => pool) => {
    const pool = server.pool({ max: 2 })
    const storage = postgres(toPool(pool), { table, version: { derived: true } })<Thing>(createShape(integer))
    await pool.query(`CREATE TABLE ${table} (id integer PRIMARY KEY, value integer)`)
    await storage.insert({ id: 1, value: 1 }, context)
    await Promise.all([storage.find(1, context), storage.find(1, context)])
    await Promise.all([2, 3].map((id) => storage.insert({ id, value: 1 }, context)))
    return {
      storage,
      widen: () => pool.query(`ALTER TABLE ${table} ALTER id TYPE bigint, ALTER value TYPE bigint`),
      getRows: async () => (await pool.query(`SELECT id, value FROM ${table} ORDER BY id`)).rows.map(Object.values)
    }
  }

  await t.test('a write in a transaction is repeated in it, and the function runs once', async (t) => {
    const { storage, widen, getRows } = await prepareTable('written')
    await widen()
    let calls = 0
    await storage.transaction!(async (inner) => {
      calls++
      await inner.insert({ id: 4, value: 4 }, context)
      await inner.insert({ id: 5, value: 5_000_000_000 }, context)
    }, context)
    t.equal(calls, 1)
    t.strictSame(await getRows(), [['1', '1'], ['2', '1'], ['3', '1'], ['4', '4'], ['5', '5000000000']])
  })

  await t.test('a read in a transaction rolls it back, and the function runs again', async (t) => {
    const { storage, widen, getRows } = await prepareTable('locked')
    await widen()
    await storage.insert({ id: 3_000_000_000, value: 1 }, context)
    const found = await storage.transaction!(async (inner) => {
      await inner.insert({ id: 4, value: 4 }, context)
      return await inner.find(3_000_000_000, { ...context, lock: true })
    }, context)
    t.match(found, { item: { id: 3_000_000_000 } })
    t.strictSame(await getRows(), [['1', '1'], ['2', '1'], ['3', '1'], ['4', '4'], ['3000000000', '1']])
  })

  await t.test('an item whose id only the new type has is found', async (t) => {
    const { storage, widen } = await prepareTable('found')
    t.equal(await storage.find(3_000_000_000, context), undefined)
    await widen()
    await storage.insert({ id: 3_000_000_000, value: 1 }, context)
    const finds = Array.from({ length: 4 }, () => storage.find(3_000_000_000, context))
    t.match(await Promise.all(finds), Array.from({ length: 4 }, () => ({ item: { id: 3_000_000_000 } })))
    t.equal(await storage.remove(3_000_000_000, undefined, context), undefined)
  })

  await t.test('a value that the column cannot store is still refused', async (t) => {
    const { storage, getRows } = await prepareTable('refused')
    const refusal = { refused: 'unstorable', properties: ['value'] }
    t.strictSame(await storage.insert({ id: 4, value: 5_000_000_000 }, context), refusal)
    let calls = 0
    await storage.transaction!(async (inner) => {
      calls++
      t.strictSame(await inner.insert({ id: 4, value: 5_000_000_000 }, context), refusal)
      await inner.insert({ id: 5, value: 5 }, context)
    }, context)
    t.equal(calls, 1)
    t.strictSame(await getRows(), [[1, 1], [2, 1], [3, 1], [5, 5]])
  })

  await t.test('also with a wrapper around pg, which cannot close statements', async (t) => {
    const { storage, widen } = await prepareTable('wrapped', (pool) => ({
      on: (event, listener) => pool.on(event, listener),
      connect: (callback) => pool.connect((error, client) => {
        if (client === undefined) return callback(error)
        callback(undefined, {
          query: (query, onResult) => client.query(query, onResult),
          release: (broken) => client.release(broken),
          on: (event, listener) => client.on(event, listener),
          removeListener: (event, listener) => client.removeListener(event, listener)
        })
      })
    }))
    await widen()
    const inserted = await Promise.all([4, 5, 6].map((id) => storage.insert({ id, value: 5_000_000_000 }, context)))
    t.match(inserted, [{ id: 4 }, { id: 5 }, { id: 6 }])
    await storage.insert({ id: 3_000_000_000, value: 1 }, context)
    t.match(await storage.find(3_000_000_000, context), { item: { id: 3_000_000_000 } })
  })

  await t.test('statements stay prepared on a connection that several copies of the library use', async (t) => {
    const copies = await Promise.all(['?one', '?other'].map(async (copy) => {
      return await import(`../../lib/storage/postgres/positional-query.ts${copy}`) as { PositionalQuery: typeof PositionalQuery }
    }))
    const client = await server.pool({ max: 1 }).connect()
    const run = async (copy: number, text: string, values: string[]): Promise<[rows: unknown, isNew: boolean]> => {
      const query = new copies[copy]!.PositionalQuery({ text, values, recurring: true } as Statement, true)
      const result = await new Promise((resolve, reject) => {
        client.query(query as never, (error: unknown) => {
          if (error === undefined) resolve(query.rows)
          else reject(error as Error)
        })
      })
      return [result, query.isNew]
    }
    const text = 'SELECT 6 / $1::integer'
    await t.rejects(run(0, text, ['0']), { code: '22012' })
    t.strictSame(await run(0, text, ['2']), [[['3']], true], 'a new statement that fails is closed')
    t.strictSame(await run(0, text, ['3']), [[['2']], false])
    t.strictSame(await run(1, text, ['3']), [[['2']], true])
    t.strictSame(await run(1, text, ['6']), [[['1']], false])
    const { rows } = await client.query('SELECT name FROM pg_prepared_statements')
    client.release()
    t.equal(rows.length, 2)
  })
})
