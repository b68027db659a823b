import { test } from 'tap'
import { conformance, type Thing } from '../../lib/storage/conformance.ts'
import type { Shape, Storage } from '../../lib/storage/contract.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { noPgbouncer, startPgbouncer, startPostgres } from './servers.ts'

// PgBouncer in transaction mode, of a version or with a setting that does not support prepared statements.

test('the storage conforms behind PgBouncer', { skip: noPgbouncer }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const pooler = await startPgbouncer(server.port)
  t.teardown(() => pooler.end())
  const pool = server.pool({ port: pooler.port, max: 10 })
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

test('parallel requests behind PgBouncer are done, and a cancellation does not affect others', { skip: noPgbouncer }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const pooler = await startPgbouncer(server.port)
  t.teardown(() => pooler.end())
  const shape: Shape = {
    name: 'things',
    schema: { type: 'object', properties: { id: { type: 'string' }, name: { type: 'string' } }, required: ['id', 'name'] },
    id: { property: 'id', generate: 'client' },
    unique: []
  }
  const pool = server.pool({ port: pooler.port, max: 10 })
  const adapter = postgres(pool)
  await adapter.createTable(shape)
  const storage = adapter<Thing>(shape)
  const unnamed = postgres(server.pool({ port: pooler.port, max: 10 }), { preparedStatements: false })<Thing>(shape)
  const context = { signal: new AbortController().signal, scope: undefined }
  await storage.insert({ id: 'a', name: 'a' }, context)
  const found = await Promise.all(Array.from({ length: 200 }, () => storage.find('a', context)))
  t.equal(found.filter((entry) => entry?.id === 'a').length, 200)
  const foundAgain = await Promise.all(Array.from({ length: 200 }, () => unnamed.find('a', context)))
  t.equal(foundAgain.filter((entry) => entry?.id === 'a').length, 200)

  const others = Array.from({ length: 3 }, () => pool.query('SELECT pg_sleep(2)').then(() => 'done'))
  const locker = await server.pool({ max: 1 }).connect()
  await locker.query('BEGIN; LOCK TABLE things IN ACCESS EXCLUSIVE MODE')
  const leaving = new AbortController()
  setTimeout(() => leaving.abort(), 300)
  const error = await storage.find('a', { signal: leaving.signal, scope: undefined }).catch((error: unknown) => error)
  t.match(error, { unreachable: true })
  t.strictSame(await Promise.all(others), ['done', 'done', 'done'])
  const { rows } = await locker.query("SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
  t.strictSame(rows, [{ count: 0 }], 'the statement is canceled')
  await locker.query('ROLLBACK')
  locker.release()
})
