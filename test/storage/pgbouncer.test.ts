import { setTimeout as delay } from 'node:timers/promises'
import { test, type Test } from 'tap'
import { conformance, type Thing } from '../../lib/storage/conformance.ts'
import type { Shape, Storage } from '../../lib/storage/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { noPgbouncer, preparedStatementLimits, startPgbouncer, startPostgres } from './servers.ts'

// PgBouncer in transaction mode. Before version 1.21, or with the limit 0, it does not support prepared statements.

const shape: Shape = {
  name: 'things',
  schema: { type: 'object', properties: { id: { type: 'string' }, name: { type: 'string' } }, required: ['id', 'name'] },
  id: { property: 'id', generate: 'client' },
  unique: []
}

const context = { signal: new AbortController().signal, scope: undefined }

for (const limit of preparedStatementLimits) {
  const title = limit === undefined ? 'PgBouncer' : `PgBouncer with max_prepared_statements = ${limit}`

  const startServers = async (t: Test) => {
    const server = await startPostgres()
    t.teardown(() => server.end())
    const pooler = await startPgbouncer(server.port, limit)
    t.teardown(() => pooler.end())
    return { server, createPool: (max: number) => server.pool({ port: pooler.port, max }) }
  }

  test(`${title}: the storage conforms`, { skip: noPgbouncer }, async (t) => {
    const { createPool } = await startServers(t)
    const pool = createPool(10)
    let count = 0
    const open = async (shape: Shape): Promise<Storage<Thing>> => {
      const adapter = postgres(pool, { table: `things_${count++}` })
      await adapter.createTable({ ...shape, receipts: true })
      return adapter<Thing>(shape)
    }
    await t.test('keeps every sentence of the contract', async (t) => {
      conformance((sentence, { skip }, body) => t.test(sentence, { skip }, body), open)
    })
  })

  test(`${title}: parallel requests are done`, { skip: noPgbouncer }, async (t) => {
    const { createPool } = await startServers(t)
    const pool = createPool(10)
    const adapter = postgres(pool)
    await adapter.createTable(shape)
    const storage = adapter<Thing>(shape)
    const unnamed = postgres(createPool(10), { preparedStatements: false })<Thing>(shape)
    await storage.insert({ id: 'a', name: 'a' }, context)
    for (const opened of [storage, unnamed]) {
      const found = await Promise.all(Array.from({ length: 200 }, () => opened.find('a', context)))
      t.equal(found.filter((entry) => entry?.id === 'a').length, 200)
    }
    // At the same time, so that each connection to the server gets one.
    const results = await Promise.all(Array.from({ length: 5 }, () => pool.query(
      "SELECT name FROM pg_prepared_statements, pg_sleep(0.5) WHERE name LIKE 'PGBOUNCER%'"
    )))
    const isPrepared = results.some(({ rows }) => rows.length > 0)
    t.equal(isPrepared, limit === 100, 'statements stay prepared if PgBouncer supports it')

    await pool.query('ALTER TABLE things ALTER name TYPE varchar(100)')
    const found = await Promise.all(Array.from({ length: 200 }, () => storage.find('a', context)))
    t.equal(found.filter((entry) => entry?.id === 'a').length, 200, 'also after the type of a column has changed')

    await pool.query('ALTER TABLE things ALTER name TYPE integer USING 1')
    const numbers = postgres(createPool(10))<{ id: string, name: number }>({
      ...shape,
      schema: { ...shape.schema, properties: { id: { type: 'string' }, name: { type: 'integer' } } }
    })
    await Promise.all(Array.from({ length: 20 }, (_, index) => numbers.insert({ id: `n${index}`, name: 1 }, context)))
    await pool.query('ALTER TABLE things ALTER name TYPE bigint')
    const inserted = await Promise.all(Array.from({ length: 20 }, (_, index) => {
      return numbers.insert({ id: `m${index}`, name: 3_000_000_000 }, context)
    }))
    t.equal(inserted.filter((entry) => 'version' in entry).length, 20, 'values of the new type are stored')
  })

  /** A table with an item, a session that can lock it, and a function that waits for the item only a while. */
  const prepareLock = async (t: Test) => {
    const { server, createPool } = await startServers(t)
    const pool = createPool(10)
    const adapter = postgres(pool)
    await adapter.createTable(shape)
    const storage = adapter<Thing>(shape)
    await storage.insert({ id: 'a', name: 'a' }, context)
    const locker = server.pool({ max: 1 })
    const session = await locker.connect()
    t.teardown(() => session.release())
    return {
      pool,
      createPool,
      session,
      lock: () => session.query('BEGIN; LOCK TABLE things IN ACCESS EXCLUSIVE MODE'),
      unlock: () => session.query('ROLLBACK'),
      find: (milliseconds: number) => storage
        .find('a', { signal: AbortSignal.timeout(milliseconds), scope: undefined })
        .then(() => 'found', (error: { unreachable?: boolean }) => error.unreachable === true ? 'cancelled' : 'failed')
    }
  }

  test(`${title}: a cancellation does not affect others`, { skip: noPgbouncer }, async (t) => {
    const { pool, session, lock, unlock, find } = await prepareLock(t)
    const others = Array.from({ length: 3 }, () => pool.query('SELECT pg_sleep(2)').then(() => 'done'))
    await lock()
    t.equal(await find(300), 'cancelled')
    t.strictSame(await Promise.all(others), ['done', 'done', 'done'])
    const { rows } = await session.query("SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    t.strictSame(rows, [{ count: 0 }], 'the statement is canceled')
    await unlock()
  })

  // https://github.com/pgbouncer/pgbouncer/pull/927
  const canCrash = limit === undefined && 'PgBouncer before 1.21 can crash when statements are cancelled'

  test(`${title}: cancellations of statements that end do not affect others`, { skip: noPgbouncer || canCrash }, async (t) => {
    const { createPool, lock, unlock, find } = await prepareLock(t)
    const stranger = createPool(10)
    const counts: Record<string, number> = { found: 0, cancelled: 0, failed: 0, strangersDone: 0, strangersFailed: 0 }
    const count = (outcome: string) => { counts[outcome]!++ }
    const ending = new AbortController()
    const runStatements = async () => {
      while (!ending.signal.aborted) {
        await stranger.query('SELECT pg_sleep(0.005)').then(() => count('strangersDone'), () => count('strangersFailed'))
      }
    }
    const strangers = Promise.all(Array.from({ length: 10 }, runStatements))
    // The lock ends at about the time of the cancellations, and the connections serve others next.
    for (let round = 0; round < 40; round++) {
      await lock()
      const finds = Array.from({ length: 5 }, (_, index) => find(60 + index * 5))
      await delay(70)
      await unlock()
      for (const outcome of await Promise.all(finds)) count(outcome)
    }
    ending.abort()
    await strangers
    t.comment(JSON.stringify(counts))
    t.match(counts, { failed: 0, strangersFailed: 0 })
    t.ok(counts['cancelled']! > 0 && counts['strangersDone']! > 0)
  })
}
