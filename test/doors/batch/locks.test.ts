import { test } from 'tap'
import { postgres } from '../../../lib/storage/postgres.ts'
import { noServers } from '../../storage/databases.ts'
import { startPostgres } from '../../storage/servers.ts'
import { defineShop, sendBatch, serveShop } from './shop.ts'

test('a batch that only reads waits for no lock, and takes none', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const pool = server.pool()
  const storage = postgres(pool)
  const shop = defineShop({ storage })
  for (const definition of Object.values(shop)) await storage.createTable(definition)
  const app = await serveShop(t, shop, { timeout: 5000 })
  await app.collection(shop.stock).create({ id: 'a', left: 1 })

  const client = await pool.connect()
  await client.query('BEGIN')
  await client.query('SELECT * FROM stock FOR UPDATE')
  const read = { method: 'GET', path: '/stock/a' }
  t.match((await sendBatch(app, [read, { method: 'GET', path: '/stock' }])).json(), [{ status: 200 }, { status: 200 }])
  // The lock is there.
  const writing = await sendBatch(app, [read, { method: 'POST', path: '/stock', content: { id: 'b', left: 1 } }])
  t.equal(writing.statusCode, 503)
  await client.query('ROLLBACK')
  client.release()
})
