import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { define } from '../../lib/index.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { isMariadb, mysqlPool, noMysql } from './databases.ts'

// `npm run failover` counts what this changes on a cluster. A single MariaDB has the same variable.

const Note = Type.Object({ id: Type.String({ format: 'uuid' }), text: Type.String() })

const noGalera = noMysql === false && !await isMariadb() ? 'MySQL has no wsrep_sync_wait' : noMysql

test('statements wait for a cluster with the line that docs/storage-sql.md shows', { skip: noGalera }, async (t) => {
  const { pool, end } = await mysqlPool({ connectionLimit: 1 })
  t.teardown(end)
  pool.on('connection', (connection) => { connection.query('SET SESSION wsrep_sync_wait = 7') })
  const storage = mysql(pool)
  await storage.createTable(define({ name: 'notes', schema: Note, storage }))
  t.same((await pool.query('SELECT @@wsrep_sync_wait AS value'))[0], [{ value: 7 }])
})
