import { Type } from '@sinclair/typebox'
import driver, { type Pool } from 'mysql2/promise'
import { test } from 'tap'
import { bulk } from '../../lib/features/bulk.ts'
import { define } from '../../lib/index.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { build, request } from '../app.ts'
import { mysqlPool, noMysql, noServers } from './databases.ts'
import { noMariadb, startMariadb } from './servers.ts'

// Databases whose default character set does not have every character.

const Place = Type.Object({
  id: Type.String({ maxLength: 60 }),
  name: Type.String(),
  tags: Type.Array(Type.String()),
  open: Type.Boolean({ default: false })
})

/** latin1 has none of these characters, and utf8mb3 not the last one. */
const ids = ['Ωμέγα', 'Жук', '日本', '😀']

const places = ids.map((id) => ({ id, name: `${id} é`, tags: [id, 'a'], open: false }))

const openings: ReadonlyArray<{
  readonly what: string
  readonly skip: string | boolean
  readonly open: () => Promise<{ pool: Pool, end: () => Promise<void> }>
}> = [
  ...['latin1', 'utf8mb3'].map((characterSet) => ({
    what: `a database with the character set ${characterSet}`,
    skip: noMysql,
    open: () => mysqlPool({}, characterSet)
  })),
  {
    what: 'a server with the character set latin1',
    skip: noServers || noMariadb,
    async open () {
      const server = await startMariadb('--character-set-server=latin1', '--collation-server=latin1_swedish_ci')
      const connection = await driver.createConnection({ uri: server.url })
      await connection.query('CREATE DATABASE places')
      await connection.end()
      const pool = driver.createPool({ uri: server.url, database: 'places' })
      return {
        pool,
        async end () {
          await pool.end()
          await server.end()
        }
      }
    }
  }
]

for (const { what, skip, open } of openings) {
  test(`${what} stores, finds, changes and removes every character`, { skip }, async (t) => {
    const { pool, end } = await open()
    t.teardown(end)
    const storage = mysql(pool)
    const definition = define({
      name: 'places',
      schema: Place,
      id: { generate: 'client' },
      list: { filter: ['id', 'name', 'tags'] },
      storage
    }).with(bulk({ update: true, remove: true }))
    await storage.createTable(definition)
    const app = await build(t, definition)

    const created = await request(app, 'POST /places', { content: places })
    t.equal(created.statusCode, 201)
    t.strictSame((await request(app, 'GET /places?sort=id')).json(), places)
    for (const place of places) {
      const value = encodeURIComponent(place.id)
      for (const filter of [`tags.contains=${value}`, `tags.overlaps=x,${value}`, `name=${encodeURIComponent(place.name)}`]) {
        t.strictSame((await request(app, `GET /places?${filter}`)).json(), [place], filter)
      }
    }

    const opened = places.map((place) => ({ ...place, open: true }))
    const changed = await request(app, 'PATCH /places?tags.contains=a', {
      content: { open: true },
      type: 'application/merge-patch+json'
    })
    t.equal(changed.statusCode, 200, changed.payload)
    t.strictSame((await request(app, 'GET /places?sort=id')).json(), opened)

    const removed = await request(app, `DELETE /places?id.in=${ids.map(encodeURIComponent).join()}`)
    t.equal(removed.statusCode, 200, removed.payload)
    t.strictSame((await request(app, 'GET /places')).json(), [])
  })
}
