import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import collection, { define } from '../../lib/index.ts'
import type { Context, Entry, Refusal, Shape, Storage } from '../../lib/storage/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { databases } from './databases.ts'
import type { Available, Database, SqlOptions } from './databases.ts'

// The versions that clients see. In an existing table, the database or the app may give a
// row a version that another row of the same id had before.

const Note = Type.Object({ id: Type.Integer(), tenant: Type.String(), text: Type.String() })

type Words = Readonly<Record<Available['name'], string>>
const precise: Words = { sqlite: 'TEXT', postgres: 'TIMESTAMPTZ', mysql: 'DATETIME(6)' }
// SQLite reuses the highest rowid once its row is deleted.
const generated: Words = {
  sqlite: 'INTEGER PRIMARY KEY',
  postgres: 'SERIAL PRIMARY KEY',
  mysql: 'INT AUTO_INCREMENT PRIMARY KEY'
}

interface Setting {
  readonly name: string
  readonly version: SqlOptions['version']
  /** The column that the setting names. */
  readonly column: string
  /**
   * How another writer gives a row the version of its predecessor; undefined if that is impossible.
   */
  readonly repeat?: string
  readonly only?: Available['name']
}

const settings = (database: Available['name']): readonly Setting[] => [
  { name: 'createTable', version: undefined, column: '' },
  { name: 'random', version: { column: 'etag', as: 'random' }, column: 'etag VARCHAR(40) NOT NULL' },
  { name: 'derived', version: { derived: true }, column: '', repeat: '' },
  { name: 'integer', version: { column: 'revision', as: 'integer' }, column: 'revision INT NOT NULL', repeat: '1' },
  {
    name: 'timestamp',
    version: { column: 'changed', as: 'timestamp' },
    column: `changed ${precise[database]} NOT NULL`,
    repeat: "'2026-01-01 00:00:00'"
  },
  { name: 'system', version: { column: 'stamp', as: 'system' }, column: 'stamp INT NOT NULL DEFAULT 7', repeat: '7' },
  { name: 'xmin', version: { column: 'xmin', as: 'system' }, column: '', only: 'postgres' }
]

let tables = 0

/** Creates a table for the setting, and returns its name. */
async function makeTable (database: Database, { version, column }: Setting, id: string): Promise<string> {
  const table = `notes${tables++}`
  const columns = [
    `id ${id}`,
    'tenant VARCHAR(20) NOT NULL',
    'text VARCHAR(100) NOT NULL',
    ...(column === '' ? [] : [column])
  ]
  if (version !== undefined) await database.run(`CREATE TABLE ${table} (${columns.join(', ')})`)
  return table
}

async function serve (
  database: Database,
  { version }: Setting,
  { table, generate }: { table: string; generate: 'client' | 'storage' }
): Promise<FastifyInstance> {
  const adapter = database.adapter({ table, ...(version !== undefined && { version }) })
  if (version === undefined) {
    await adapter.createTable({ name: 'notes', schema: Note, id: { property: 'id', generate } })
  }
  const app = Fastify()
  await app.register(
    collection,
    define({
      name: 'notes',
      schema: Note,
      storage: adapter,
      id: { generate },
      access: {
        authenticate: ({ request }) => request.headers['x-tenant']?.toString(),
        scope: ({ caller: tenant = '' }) => ({ values: { tenant } })
      }
    })
  )
  return app
}

const context: Context = { signal: new AbortController().signal, scope: undefined }

function toEntry<Item> (result: Entry<Item> | Refusal | undefined): Entry<Item> {
  if (result === undefined || 'refused' in result) throw new Error(`not stored: ${JSON.stringify(result)}`)
  return result
}

interface Item {
  id: number
  tenant: string
  text: string
}

const shape: Shape = { name: 'notes', schema: Note, id: { property: 'id', generate: 'client' }, unique: [] }

/**
 * Whether two versions have so much in common that the rest could be a counter, or come in the order in which they
 * were created.
 */
async function looksCounted (storage: Storage<Item>): Promise<boolean> {
  const versions: string[] = []
  for (let id = 1; id <= 40; id++) {
    versions.push(toEntry(await storage.insert({ id, tenant: 'ada', text: 'x' }, context)).version)
  }
  const sorted = versions.toSorted()
  const near = sorted.some((version, index) => index > 0 && version.slice(0, 8) === sorted[index - 1]!.slice(0, 8))
  const byLength = versions.toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1))
  return near || [sorted, byLength].some((ordered) => ordered.join() === versions.join())
}

test('memory: versions do not reveal the number of writes', async (t) => {
  t.notOk(await looksCounted(memory()<Item>(shape)))
})

for (const { name, skip, open } of databases) {
  test(`${name}: repeated versions`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())

    for (const setting of settings(name).filter(({ only = name }) => only === name)) {
      await t.test(`${setting.name}: versions do not reveal the number of writes`, async (t) => {
        const table = await makeTable(database, setting, 'INT NOT NULL PRIMARY KEY')
        const adapter = database.adapter({ table, ...(setting.version !== undefined && { version: setting.version }) })
        if (setting.version === undefined) await adapter.createTable(shape)
        t.notOk(await looksCounted(adapter<Item>(shape)))
      })

      for (const by of name === 'sqlite' ? (['client', 'storage'] as const) : (['client'] as const)) {
        await t.test(
          `${setting.name}: an id that ${by === 'client' ? 'another client chooses' : 'SQLite uses'} again reveals nothing of the previous item`,
          async (t) => {
            const table = await makeTable(
              database,
              setting,
              by === 'client' ? 'INT NOT NULL PRIMARY KEY' : generated[name]
            )
            const app = await serve(database, setting, { table, generate: by })
            const request = async (
              method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
              url: string,
              tenant: string,
              { payload, match }: { payload?: object; match?: string } = {}
            ) =>
              app.inject({
                method,
                url,
                headers: { 'x-tenant': tenant, ...(match !== undefined && { 'if-match': match }) },
                ...(payload && { payload })
              })
            const given = by === 'client' ? { id: 1 } : {}

            const first = await request('POST', '/notes', 'ada', { payload: { ...given, text: 'secret of ada' } })
            t.equal(first.statusCode, 201)
            const at = String(first.headers.location)
            const lists = [await request('GET', '/notes', 'ada'), await request('GET', '/notes', 'ada')]
            t.match(lists[1]!.body, /secret of ada/)
            t.equal((await request('DELETE', at, 'ada')).statusCode, 204)

            const second = await request('POST', '/notes', 'bob', { payload: { ...given, text: 'note of bob' } })
            t.equal(second.statusCode, 201)
            const list = await request('GET', '/notes', 'bob')
            t.same(
              list.json().map(({ text }: { text: string }) => text),
              ['note of bob']
            )
            t.not(list.headers.etag, lists[0]!.headers.etag)
            if (second.headers.location !== at) return // the database generated another id
            t.not(second.headers.etag, first.headers.etag)
            for (const match of [String(first.headers.etag), '"1.json"', '"7.json"']) {
              t.equal((await request('PATCH', at, 'bob', { payload: { text: 'lost' }, match })).statusCode, 412, match)
              t.equal((await request('DELETE', at, 'bob', { match })).statusCode, 412, match)
            }
            t.equal((await request('GET', at, 'bob')).json().text, 'note of bob')
            const written = await request('PATCH', at, 'bob', {
              payload: { text: 'new' },
              match: String(second.headers.etag)
            })
            t.equal(written.statusCode, 200)
            t.equal((await request('DELETE', at, 'bob', { match: String(written.headers.etag) })).statusCode, 204)
            await app.close()
          }
        )
      }

      const { repeat } = setting
      if (repeat === undefined) continue
      await t.test(
        `${setting.name}: a write that expects the previous row does not change the row in its place`,
        async (t) => {
          const table = await makeTable(database, setting, 'INT NOT NULL PRIMARY KEY')
          const storage = database.adapter({ table, version: setting.version! })<Item>(shape)
          const insert = (text: string) =>
            database.run(`INSERT INTO ${table} VALUES (1, 'ada', '${text}'${repeat === '' ? '' : `, ${repeat}`})`)
          const change = { id: 1, tenant: 'ada', text: 'changed' }

          await insert('first')
          const before = toEntry(await storage.find(1, context))
          await database.run(`DELETE FROM ${table}`)
          await insert('second')
          t.same(await storage.replace(1, change, before.version, context), { refused: 'stale' })
          t.same(await storage.remove(1, before.version, context), { refused: 'stale' })
          const present = toEntry(await storage.find(1, context))
          t.equal(present.item.text, 'second')
          t.not(present.version, before.version)
          t.equal(
            (
              await storage.list(
                {
                  filter: undefined,
                  search: undefined,
                  order: [{ property: 'id', descending: false }],
                  after: undefined,
                  before: undefined,
                  limit: 1,
                  properties: ['id'],
                  count: false
                },
                context
              )
            ).entries[0]?.version,
            present.version,
            'also if only some properties are requested'
          )
          const written = toEntry(await storage.replace(1, change, present.version, context))
          t.equal(written.item.text, 'changed')
          t.equal(await storage.remove(1, written.version, context), undefined)
        }
      )

      if (setting.name === 'derived') continue
      await t.test(`${setting.name}: a version set by another writer makes a pending write stale`, async (t) => {
        const table = await makeTable(database, setting, 'INT NOT NULL PRIMARY KEY')
        const storage = database.adapter({ table, version: setting.version! })<Item>(shape)
        await database.run(`INSERT INTO ${table} VALUES (1, 'ada', 'same', ${repeat})`)
        const before = toEntry(await storage.find(1, context))
        const [, column] = /^(\w+)/.exec(setting.column)!
        await database.run(
          `UPDATE ${table} SET ${column} = ${setting.name === 'timestamp' ? "'2026-01-02 00:00:00'" : '8'}`
        )
        t.same(await storage.replace(1, { ...before.item, text: 'lost' }, before.version, context), {
          refused: 'stale'
        })
        t.not(toEntry(await storage.find(1, context)).version, before.version)
      })
    }
  })
}
