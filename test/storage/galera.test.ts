import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import collection, { define } from '../../lib/index.ts'
import { mysql, type MysqlPool } from '../../lib/storage/mysql.ts'
import { isMariadb, mysqlPool, noMysql } from './databases.ts'

// `npm run failover` counts what this changes on a cluster. A single MariaDB has the same variable.

const Note = Type.Object({ id: Type.String({ format: 'uuid' }), text: Type.String() })

const noGalera = noMysql === false && !await isMariadb() ? 'MySQL has no wsrep_sync_wait' : noMysql

test('consistentReads sets wsrep_sync_wait once on each connection', { skip: noGalera }, async (t) => {
  const { pool, end } = await mysqlPool({ connectionLimit: 1 })
  t.teardown(end)
  const texts: string[] = []
  const watched: MysqlPool = {
    async getConnection () {
      const connection = await pool.getConnection()
      return {
        connection: connection.connection,
        execute: (query) => connection.execute(query),
        query (text) {
          texts.push(text)
          return connection.query(text)
        },
        release: () => connection.release(),
        destroy: () => connection.destroy()
      }
    }
  }
  const readVariable = async () => (await pool.query('SELECT @@wsrep_sync_wait AS value'))[0]

  const plain = mysql(watched)
  await plain.createTable(define({ name: 'notes', schema: Note, storage: plain }))
  t.same(await readVariable(), [{ value: 0 }])

  const consistent = mysql(watched, { consistentReads: true })
  const notes = define({ name: 'notes', schema: Note, storage: consistent })
  await consistent.createTable(notes)
  await consistent.createTable(notes)
  t.same(await readVariable(), [{ value: 7 }])
  t.equal(texts.filter((text) => text.startsWith('SET')).length, 1)
})

test('consistentReads on a server that has no wsrep_sync_wait is a boot error, and closes the connection', { skip: noMysql }, async (t) => {
  const { pool, end } = await mysqlPool({ connectionLimit: 1 })
  t.teardown(end)
  let destroyed = 0
  const storage = mysql({
    async getConnection () {
      const connection = await pool.getConnection()
      return {
        execute: (query) => connection.execute(query),
        query: (text) => connection.query(text.replace('wsrep_sync_wait', 'no_such_variable')),
        release: () => connection.release(),
        destroy () {
          destroyed++
          connection.destroy()
        }
      }
    }
  }, { consistentReads: true })
  const notes = define({ name: 'notes', schema: Note, storage })
  const message = /consistentReads is true, but the server has no variable wsrep_sync_wait: .* Remove the option/
  await t.rejects(storage.createTable(notes), { code: 'FST_COLLECTION_BAD_STORAGE', message })
  t.equal(destroyed, 1)

  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(collection, notes)
  await t.rejects(async () => { await app.ready() }, { message })
})
