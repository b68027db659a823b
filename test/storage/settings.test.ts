import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { define } from '../../lib/index.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import type { SqlAdapter } from '../../lib/storage/sql.ts'
import { build, request } from '../app.ts'
import { isMariadb, mysqlPool, noMysql, noServers } from './databases.ts'
import { startPostgres } from './servers.ts'

// Settings of a connection with which values would be lost, changed or misread are errors at boot.

const Reading = Type.Object({
  id: Type.String({ maxLength: 20 }),
  text: Type.String(),
  day: Type.String({ format: 'date' }),
  at: Type.String({ format: 'date-time' }),
  value: Type.Number()
})

const reading = { id: 'a', text: '', day: '2024-02-03', at: '2024-02-03T04:05:06.789Z', value: 0.1 + 0.2 }

const readings = (storage: SqlAdapter, actions?: ReadonlyArray<'list' | 'read'>) => define({
  name: 'readings',
  schema: Reading,
  id: { generate: 'client' },
  storage,
  ...actions !== undefined && { actions }
})

async function refuses (t: Test, storage: SqlAdapter, message: RegExp): Promise<void> {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(collection, readings(storage))
  await t.rejects(async () => app.ready(), { code: 'FST_COLLECTION_BAD_TABLE', message }, String(message))
}

test('postgres: DateStyle and extra_float_digits', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  await postgres(server.pool()).createTable(readings(postgres(server.pool())))
  for (const [options, message] of [
    ['-c DateStyle=SQL,DMY', /DateStyle = 'SQL, DMY', so dates and times cannot be read\. .*'-c DateStyle=ISO'/],
    ['-c DateStyle=German', /DateStyle = 'German, /],
    ['-c extra_float_digits=0', /extra_float_digits = '0', so numbers .*'-c extra_float_digits=1'/]
  ] as const) {
    await refuses(t, postgres(server.pool({ options })), message)
  }
  // As the messages advise.
  await server.pool().query("ALTER DATABASE postgres SET DateStyle = 'SQL, DMY'")
  await server.pool().query('ALTER DATABASE postgres SET extra_float_digits = -3')
  await refuses(t, postgres(server.pool()), /DateStyle.*\n.*extra_float_digits/)
  const pool = server.pool({ options: '-c DateStyle=ISO -c extra_float_digits=1' })
  const app = await build(t, readings(postgres(pool)))
  t.equal((await request(app, 'POST /readings', { content: reading })).statusCode, 201)
  t.strictSame((await request(app, 'GET /readings/a')).json(), reading)
})

test('mysql: sql_mode and the character set of the connection', { skip: noMysql }, async (t) => {
  const open = async ({ modes = [], ...options }: { charset?: string, modes?: readonly string[] }) => {
    const { pool, end } = await mysqlPool(options)
    t.teardown(end)
    for (const mode of modes) pool.on('connection', (connection) => connection.query(`SET sql_mode = '${mode}'`))
    const storage = mysql(pool)
    await storage.createTable(readings(storage))
    return storage
  }
  const message = /character_set_client = 'latin1', so other characters would be lost\. Remove the option charset/
  await refuses(t, await open({ charset: 'latin1' }), message)
  // The server would shorten texts and change numbers that a column cannot store.
  for (const mode of ['', 'NO_ZERO_DATE', 'PAD_CHAR_TO_FULL_LENGTH,STRICT_TRANS_TABLES']) {
    await refuses(t, await open({ modes: [mode] }), /the setting sql_mode = .*SET sql_mode = 'STRICT_TRANS_TABLES'/)
  }
  for (const mode of ['STRICT_ALL_TABLES', 'TRADITIONAL', 'ANSI,STRICT_TRANS_TABLES']) {
    await (await build(t, readings(await open({ modes: [mode] })))).ready()
  }
  await (await build(t, readings(await open({ modes: [''] }), ['list', 'read']))).ready()
  if (!await isMariadb()) return
  for (const mode of ['ORACLE', 'EMPTY_STRING_IS_NULL']) {
    const advice = 'STRICT_TRANS_TABLES'
    await refuses(t, await open({ modes: [mode] }), new RegExp(`sql_mode = '.*${mode}.*SET sql_mode = '${advice}'`))
    const app = await build(t, readings(await open({ modes: [mode, advice] })))
    t.equal((await request(app, 'POST /readings', { content: reading })).statusCode, 201)
    t.strictSame((await request(app, 'GET /readings/a')).json(), reading)
  }
})
