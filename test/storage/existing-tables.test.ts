import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import collection, { define } from '../../lib/index.ts'
import type { Thing } from '../../lib/storage/conformance.ts'
import type { Context, Entry, Query, Refusal, Shape, Storage } from '../../lib/storage/index.ts'
import { build, created, request } from '../app.ts'
import { databases, type Available } from './databases.ts'
import type { SqlOptions } from './databases.ts'

const context: Context = { signal: new AbortController().signal, scope: undefined }
const never: Context = { signal: AbortSignal.timeout(60_000), scope: { any: [] } }

function query (options: Partial<Query> = {}): Query {
  return {
    filter: undefined,
    search: undefined,
    order: orderBy('id'),
    after: undefined,
    before: undefined,
    limit: 100,
    properties: undefined,
    count: false,
    ...options
  }
}

function orderBy (...properties: readonly string[]): Query['order'] {
  return properties.map((property) => ({ property: property.replace(/^-/, ''), descending: property.startsWith('-') }))
}

function toEntry (result: Entry<Thing> | Refusal | undefined): Entry<Thing> {
  if (result === undefined || 'refused' in result) throw new Error(`not kept: ${JSON.stringify(result)}`)
  return result
}

type JsonSchema = Shape['schema']

const string: JsonSchema = { type: 'string' }
const orNull = (type: string, more: object = {}): JsonSchema => ({ type: [type, 'null'], ...more })

/** The words of each dialect for the same thing. */
type Words = Readonly<Record<Available['name'], string>>
const serial: Words = {
  sqlite: 'INTEGER PRIMARY KEY',
  postgres: 'SERIAL PRIMARY KEY',
  mysql: 'INT AUTO_INCREMENT PRIMARY KEY'
}
const instant: Words = { sqlite: 'DATETIME', postgres: 'TIMESTAMP', mysql: 'DATETIME' }
const precise: Words = { sqlite: 'TEXT', postgres: 'TIMESTAMPTZ', mysql: 'DATETIME(6)' }
const json: Words = { sqlite: 'TEXT', postgres: 'JSONB', mysql: 'JSON' }
const quote = (name: Available['name'], word: string) => (name === 'mysql' ? `\`${word}\`` : `"${word}"`)

/** Names in capitals, integer keys from the database, decimal prices, a foreign key, and no version column. */
const chinook = (database: Available['name']) => {
  const q = (word: string) => quote(database, word)
  return [
    `CREATE TABLE ${q('Artist')} (${q('ArtistId')} ${serial[database]}, ${q('Name')} VARCHAR(120))`,
    `CREATE TABLE ${q('Track')} (
      ${q('TrackId')} ${serial[database]},
      ${q('Name')} VARCHAR(200) NOT NULL,
      ${q('ArtistId')} INT REFERENCES ${q('Artist')} (${q('ArtistId')}),
      ${q('Milliseconds')} INT NOT NULL,
      ${q('Bytes')} INT,
      ${q('UnitPrice')} NUMERIC(10, 2) NOT NULL,
      ${q('AddedOn')} ${instant[database]},
      ${q('Legacy')} VARCHAR(20) DEFAULT 'untouched')`
  ]
}

const tracks: Shape = {
  name: 'tracks',
  schema: {
    type: 'object',
    required: ['id', 'name', 'milliseconds', 'unitPrice'],
    properties: {
      id: { type: 'integer', readOnly: true },
      name: string,
      artistId: orNull('integer'),
      milliseconds: { type: 'integer' },
      bytes: orNull('integer'),
      unitPrice: { type: 'number' },
      addedOn: orNull('string', { format: 'date-time' })
    }
  },
  id: { property: 'id', generate: 'storage' },
  unique: []
}

const chinookOptions: SqlOptions = {
  table: 'Track',
  columns: {
    id: 'TrackId',
    name: 'Name',
    artistId: 'ArtistId',
    milliseconds: 'Milliseconds',
    bytes: 'Bytes',
    unitPrice: 'UnitPrice',
    addedOn: 'AddedOn'
  },
  version: { derived: true }
}

/** Natural keys in a collation that ignores letter case, defaults in the database, and unique keys with other names. */
const northwind = (database: Available['name']) => [
  `CREATE TABLE customers (
    customer_id VARCHAR(5)${database === 'sqlite' ? ' COLLATE NOCASE' : ''} NOT NULL PRIMARY KEY,
    company_name VARCHAR(40)${database === 'mysql' ? ' CHARACTER SET latin1 COLLATE latin1_swedish_ci' : ''} NOT NULL,
    contact_name VARCHAR(30),
    country VARCHAR(15) NOT NULL DEFAULT 'Nowhere',
    tax_number VARCHAR(20),
    settings ${json[database]},
    discontinued ${database === 'postgres' ? 'BOOLEAN' : 'TINYINT'} NOT NULL DEFAULT ${database === 'postgres' ? 'false' : '0'},
    row_count INT NOT NULL DEFAULT 1,
    updated_at ${precise[database]},
    display_name VARCHAR(80) GENERATED ALWAYS AS (${database === 'mysql' ? "CONCAT(company_name, '!')" : "company_name || '!'"}) STORED)`,
  'CREATE UNIQUE INDEX whatever ON customers (country, tax_number)'
]

const customers: Shape = {
  name: 'customers',
  schema: {
    type: 'object',
    required: ['customerId', 'companyName'],
    properties: {
      customerId: { type: 'string', maxLength: 5 },
      companyName: string,
      contactName: orNull('string'),
      country: string,
      taxNumber: string,
      settings: { type: 'object', properties: { theme: string } },
      discontinued: { type: 'boolean' },
      displayName: { type: 'string', readOnly: true }
    }
  },
  id: { property: 'customerId', generate: 'client' },
  unique: [['country', 'taxNumber']]
}

const versions: ReadonlyArray<
  readonly [what: string, version: NonNullable<SqlOptions['version']>, where?: Available['name']]
> = [
  ['derived from the row', { derived: true }],
  ['counted in a column', { column: 'row_count', as: 'integer' }],
  ['the time of the last change', { column: 'updated_at', as: 'timestamp' }],
  ['maintained by the database', { column: 'xmin', as: 'system' }, 'postgres']
]

/** 50 concurrent writes, as many as the pool allows: exactly one may succeed. */
async function race (storage: Storage<Thing>, id: string | number, change: (runner: number) => Thing): Promise<number> {
  const { version } = toEntry(await storage.find(id, context))
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, runner) => storage.replace(id, change(runner), version, context))
  )
  return results.filter((result) => !('refused' in result)).length
}

for (const { name, skip, open } of databases) {
  test(`${name}: existing tables`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    await database.run(...chinook(name), ...northwind(name))

    await t.test('Chinook: own names, keys of the database, decimals, times without a zone, no version', async (t) => {
      const q = (word: string) => quote(name, word)
      await database.run(
        `INSERT INTO ${q('Artist')} (${q('Name')}) VALUES ('AC/DC')`,
        `INSERT INTO ${q('Track')} (${q('Name')}, ${q('ArtistId')}, ${q('Milliseconds')}, ${q('Bytes')}, ${q('UnitPrice')}, ${q('AddedOn')}) VALUES
          ('For Those About To Rock', 1, 343719, 11170334, 0.99, '2009-01-01 00:00:00'), ('Balls to the Wall', NULL, 342562, NULL, 0.99, '2009-01-02 10:30:00')`
      )
      const storage = database.adapter(chinookOptions)<Thing>(tracks)
      const first = toEntry(await storage.find(1, context))
      t.same(first.item, {
        id: 1,
        name: 'For Those About To Rock',
        artistId: 1,
        milliseconds: 343719,
        bytes: 11170334,
        unitPrice: 0.99,
        addedOn: '2009-01-01T00:00:00.000Z'
      })
      const added = toEntry(
        await storage.insert(
          { name: 'Inject The Venom', milliseconds: 210834, unitPrice: 1.5, addedOn: '2009-01-01T12:00:00.000Z' },
          context
        )
      )
      t.same(added, {
        id: 3,
        item: {
          id: 3,
          name: 'Inject The Venom',
          artistId: null,
          milliseconds: 210834,
          bytes: null,
          unitPrice: 1.5,
          addedOn: '2009-01-01T12:00:00.000Z'
        },
        version: added.version
      })
      t.same(
        (await storage.list(query({ order: orderBy('addedOn', 'id') }), context)).entries.map(({ id }) => id),
        [1, 3, 2],
        'times in several forms are ordered by time'
      )
      t.same(
        (
          await storage.list(
            query({ filter: { property: 'addedOn', is: 'eq', value: '2009-01-01T00:00:00Z' }, properties: ['name'] }),
            context
          )
        ).entries,
        [first],
        'a derived version needs the whole row'
      )
      t.equal(await race(storage, 1, (runner) => ({ ...first.item, bytes: runner })), 1)
      t.same(await storage.replace(1, { ...first.item }, first.version, context), { refused: 'stale' })
      const present = toEntry(await storage.find(1, context))
      await database.run(`UPDATE ${q('Track')} SET ${q('Legacy')} = 'changed' WHERE ${q('TrackId')} = 1`)
      t.equal(
        toEntry(await storage.find(1, context)).version,
        present.version,
        'columns that are not in the schema do not change the version'
      )
      for (const milliseconds of [9, 100, 20]) {
        toEntry(await storage.insert({ name: 'short', milliseconds, unitPrice: milliseconds }, context))
      }
      const short: Query['filter'] = { property: 'name', is: 'eq', value: 'short' }
      for (const property of ['milliseconds', 'unitPrice']) {
        t.same(
          (await storage.list(query({ filter: short, order: orderBy(property, 'id') }), context)).entries.map(
            ({ item }) => item['milliseconds']
          ),
          [9, 20, 100],
          'numbers are ordered as numbers'
        )
      }
      const next = toEntry(await storage.replace(1, { ...first.item, name: 'x' }, present.version, context))
      t.same(await database.rows(`SELECT ${q('Legacy')} AS legacy FROM ${q('Track')} WHERE ${q('TrackId')} = 1`), [
        { legacy: 'changed' }
      ])
      t.same(await storage.remove(1, present.version, context), { refused: 'stale' })
      t.same(await storage.remove(1, next.version, never), { refused: 'not-found' })
      t.equal(await storage.remove(1, next.version, context), undefined)
      t.same(await storage.remove(1, next.version, context), { refused: 'not-found' })
      t.same(await storage.replace(1, first.item, next.version, context), { refused: 'not-found' })
    })

    for (const [what, version, where = name] of versions) {
      if (where !== name) continue
      await t.test(`Northwind: natural keys, defaults, JSON, generated columns; the version is ${what}`, async (t) => {
        const storage = database.adapter({ columns: 'snake_case', version, generated: ['displayName'] })<Thing>(
          customers
        )
        const added = toEntry(
          await storage.insert(
            { customerId: 'ALFKI', companyName: 'Alfreds ünd', taxNumber: '1', settings: { theme: 'dark' } },
            context
          )
        )
        const whole = {
          customerId: 'ALFKI',
          companyName: 'Alfreds ünd',
          contactName: null,
          country: 'Nowhere',
          taxNumber: '1',
          settings: { theme: 'dark' },
          discontinued: false,
          displayName: 'Alfreds ünd!'
        }
        t.same(
          added,
          { id: 'ALFKI', item: whole, version: added.version },
          'the result is the row as the database stored it'
        )
        t.same(toEntry(await storage.find('ALFKI', context)), added)
        t.equal(await storage.find('alfki', context), undefined, 'ids are case-sensitive, whatever the collation')
        t.same(
          (
            await storage.list(
              query({
                order: orderBy('customerId'),
                filter: { property: 'companyName', is: 'eq', value: 'ALFREDS ÜND' }
              }),
              context
            )
          ).entries,
          []
        )
        t.same(
          (
            await storage.list(
              query({
                order: orderBy('-companyName', 'customerId'),
                filter: {
                  any: [
                    { property: 'companyName', is: 'like', value: '*ü*' },
                    { property: 'settings.theme', is: 'eq', value: 'light' }
                  ]
                }
              }),
              context
            )
          ).entries,
          [added]
        )
        t.same(await storage.insert({ customerId: 'BONAP', companyName: 'B', taxNumber: '1' }, context), {
          refused: 'not-unique',
          properties: ['country', 'taxNumber']
        })
        t.same(await storage.insert({ customerId: 'ALFKI', companyName: 'B' }, context), {
          refused: 'not-unique',
          properties: ['customerId']
        })
        const plain = {
          customerId: 'ALFKI',
          companyName: 'A',
          ...(name === 'sqlite' ? { country: 'X', discontinued: true } : {})
        }
        const replaced = toEntry(await storage.replace('ALFKI', plain, added.version, context))
        t.same(
          replaced.item,
          {
            contactName: null,
            displayName: 'A!',
            ...(name === 'sqlite' ? {} : { country: 'Nowhere', discontinued: false }),
            ...plain
          },
          'missing properties get their defaults'
        )
        t.not(replaced.version, added.version)
        t.same(await storage.replace('ALFKI', plain, added.version, context), { refused: 'stale' })
        t.same(await storage.replace('ALFKI', plain, 'no version', context), { refused: 'stale' })
        t.same(await storage.replace('alfki', plain, undefined, context), { refused: 'not-found' })
        t.same(await storage.remove('ALFKI', replaced.version, never), { refused: 'not-found' })
        t.equal(await race(storage, 'ALFKI', (runner) => ({ ...whole, contactName: `${runner}` })), 1)
        const seen = new Set<string>()
        for (let turn = 0; turn < 20; turn++) {
          seen.add(
            toEntry(await storage.replace('ALFKI', { ...whole, contactName: `again ${turn}` }, undefined, context))
              .version
          )
        }
        t.equal(seen.size, 20, 'every change sets another version')
        await storage.transaction?.(async (inner) => {
          t.same(await inner.insert({ customerId: 'ALFKI', companyName: 'B' }, context), {
            refused: 'not-unique',
            properties: ['customerId']
          })
          toEntry(await inner.insert({ customerId: 'BONAP', companyName: 'B', country: 'France' }, context))
        }, context)
        t.equal(await storage.remove('BONAP', undefined, context), undefined)
        t.equal(
          await storage.remove('ALFKI', toEntry(await storage.find('ALFKI', context)).version, context),
          undefined
        )
      })
    }

    await t.test('a table with database defaults in every column accepts an empty item', async (t) => {
      await database.run(`CREATE TABLE counters (id ${serial[name]}, note VARCHAR(20) DEFAULT 'made')`)
      const shape: Shape = {
        name: 'counters',
        schema: { type: 'object', properties: { id: { type: 'integer' }, note: string } },
        id: { property: 'id', generate: 'storage' },
        unique: []
      }
      const storage = database.adapter({ version: { derived: true }, generated: ['note'] })<Thing>(shape)
      t.same(toEntry(await storage.insert({}, context)).item, { id: 1, note: 'made' })
      t.same(toEntry(await storage.replace(1, { id: 1 }, undefined, context)).item, { id: 1, note: 'made' })
    })

    await t.test('a version column that is also a property is read, and written only by the storage', async (t) => {
      await database.run(
        `CREATE TABLE notes (id VARCHAR(10) PRIMARY KEY, body VARCHAR(20), updated_at ${precise[name]})`
      )
      const shape: Shape = {
        name: 'notes',
        schema: {
          type: 'object',
          properties: { id: string, body: string, updatedAt: { type: 'string', format: 'date-time' } }
        },
        id: { property: 'id', generate: 'client' },
        unique: []
      }
      const storage = database.adapter({
        columns: 'snake_case',
        version: { column: 'updated_at', as: 'timestamp' }
      })<Thing>(shape)
      const { item, version } = toEntry(
        await storage.insert({ id: 'a', body: 'x', updatedAt: '2000-01-01T00:00:00Z' }, context)
      )
      t.match(item['updatedAt'], /^20[2-9]\d-.*Z$/)
      toEntry(await storage.replace('a', { id: 'a', body: 'y' }, version, context))
    })

    await t.test('dates and UUIDs are sorted and compared correctly in any type of column', async (t) => {
      await database.run('CREATE TABLE events (id CHAR(36) PRIMARY KEY, held DATE, at VARCHAR(30))')
      const shape: Shape = {
        name: 'events',
        schema: {
          type: 'object',
          properties: { id: { type: 'string', format: 'uuid' }, held: { type: 'string', format: 'date' }, at: string }
        },
        id: { property: 'id', generate: 'client' },
        unique: []
      }
      const storage = database.adapter({ version: { derived: true } })<Thing>(shape)
      const ids = ['00000000-0000-4000-8000-00000000000A', '00000000-0000-4000-8000-00000000000b']
      for (const [index, id] of ids.entries()) {
        toEntry(await storage.insert({ id, held: `2024-02-0${2 - index}`, at: 'x' }, context))
      }
      t.same(
        (await storage.list(query(), context)).entries.map(({ id }) => id),
        ids,
        'the letter case is kept'
      )
      t.same(
        (await storage.list(query({ order: orderBy('held', 'id') }), context)).entries.map(({ id }) => id),
        ids.toReversed()
      )
      t.same(
        (
          await storage.list(
            query({
              filter: {
                all: [
                  { property: 'held', is: 'gt', value: '2024-02-01' },
                  { property: 'at', is: 'like', value: 'x' }
                ]
              }
            }),
            context
          )
        ).entries.map(({ item }) => item['held']),
        ['2024-02-02']
      )
    })

    await t.test('a unique key on a column outside the schema is reported by the name of the column', async (t) => {
      await database.run("CREATE TABLE badges (id VARCHAR(10) PRIMARY KEY, hidden VARCHAR(10) DEFAULT 'same' UNIQUE)")
      const shape: Shape = {
        name: 'badges',
        schema: { type: 'object', properties: { id: string } },
        id: { property: 'id', generate: 'client' },
        unique: []
      }
      const storage = database.adapter({ version: { derived: true } })<Thing>(shape)
      toEntry(await storage.insert({ id: 'a' }, context))
      t.same(await storage.insert({ id: 'b' }, context), { refused: 'not-unique', properties: ['hidden'] })
    })

    await t.test(
      'a violated check is a conflict, a missing target returns 422, and a referenced row 409',
      async (t) => {
        await database.run(
          'CREATE TABLE regions (id VARCHAR(10) PRIMARY KEY)',
          `CREATE TABLE cities (id VARCHAR(10) PRIMARY KEY, region VARCHAR(10), twin VARCHAR(10), inhabitants INT CHECK (inhabitants >= 0),
          FOREIGN KEY (region) REFERENCES regions (id), FOREIGN KEY (twin) REFERENCES regions (id) ON DELETE RESTRICT)`,
          "INSERT INTO regions VALUES ('north'), ('south'), ('east')"
        )
        const City = Type.Object({
          id: Type.String({ maxLength: 10 }),
          region: Type.String(),
          twin: Type.Optional(Type.String()),
          inhabitants: Type.Optional(Type.Integer())
        })
        const regions = {
          name: 'regions',
          schema: Type.Object({ id: Type.String({ maxLength: 10 }) }),
          id: { property: 'id', generate: 'client' } as const,
          unique: []
        }
        const cities = { name: 'cities', schema: City, id: { property: 'id', generate: 'client' } as const, unique: [] }
        const adapter = database.adapter({ version: { derived: true } })
        const [region, city] = [adapter<Thing>(regions), adapter<Thing>(cities)]
        const conflict = { refused: 'conflict' }
        const referenced = { refused: 'referenced' }
        const missing = (...properties: string[]) => ({ refused: 'missing-target', properties })
        t.same(await city.insert({ id: 'a', region: 'west' }, context), missing('region'))
        t.same(await city.insert({ id: 'a', region: 'north', twin: 'west' }, context), missing('twin'))
        t.same(await city.insert({ id: 'a', region: 'north', inhabitants: -1 }, context), conflict)
        const { version } = toEntry(await city.insert({ id: 'a', region: 'north', twin: 'south' }, context))
        for (const expected of [undefined, version]) {
          t.same(await city.replace('a', { id: 'a', region: 'west' }, expected, context), missing('region'))
          t.same(await city.replace('a', { id: 'a', region: 'north', inhabitants: -1 }, expected, context), conflict)
        }
        for (const id of ['north', 'south']) {
          t.same(await region.remove(id, undefined, context), referenced)
          t.same(await region.remove(id, toEntry(await region.find(id, context)).version, context), referenced)
        }
        await region.transaction?.(async (inner) => {
          t.same(await inner.remove('north', undefined, context), referenced)
          t.equal(await inner.remove('east', undefined, context), undefined, 'the transaction continues')
        }, context)
        t.equal(await region.find('east', context), undefined)
        t.equal(toEntry(await city.find('a', context)).version, version, 'the row is unchanged')

        const app = Fastify()
        await app.register(collection, define({ ...regions, storage: adapter }))
        await app.register(collection, define({ ...cities, storage: adapter }))
        t.match((await app.inject({ method: 'DELETE', url: '/regions/north' })).json(), {
          status: 409,
          code: 'conflict',
          detail: 'Other items refer to this item. Delete or change them first.'
        })
        const created = await app.inject({ method: 'POST', url: '/cities', payload: { id: 'b', region: 'west' } })
        t.match(created.json(), {
          status: 422,
          code: 'validation-failed',
          detail: 'There is no item with this region.',
          errors: [{ pointer: '/region', message: 'must refer to an existing item' }]
        })
        await app.close()
      }
    )

    await t.test('decimals of the database are returned as text if the schema has a string', async (t) => {
      await database.run('CREATE TABLE prices (id VARCHAR(10) PRIMARY KEY, amount NUMERIC(12, 2))')
      const shape: Shape = {
        name: 'prices',
        schema: { type: 'object', properties: { id: string, amount: { type: 'string', format: 'decimal' } } },
        id: { property: 'id', generate: 'client' },
        unique: []
      }
      const storage = database.adapter({ version: { column: 'amount', as: 'system' } })<Thing>(shape)
      await database.run("INSERT INTO prices VALUES ('a', 1234567890.25)")
      t.same(toEntry(await storage.find('a', context)).item, { id: 'a', amount: '1234567890.25' })
    })

    await t.test('an existing table can have a column with a random version', async (t) => {
      await database.run('CREATE TABLE tagged (id VARCHAR(10) PRIMARY KEY, etag VARCHAR(40) NOT NULL)')
      const shape: Shape = {
        name: 'tagged',
        schema: { type: 'object', properties: { id: string } },
        id: { property: 'id', generate: 'client' },
        unique: []
      }
      const storage = database.adapter({ version: { column: 'etag', as: 'random' } })<Thing>(shape)
      const { version } = toEntry(await storage.insert({ id: 'a' }, context))
      t.not(toEntry(await storage.replace('a', { id: 'a' }, version, context)).version, version)
    })

    await t.test('two definitions with different schemas over one table lose no writes of each other', async (t) => {
      const email = Type.String({ format: 'email', maxLength: 100 })
      const ids = { id: Type.String({ format: 'uuid', readOnly: true }) }
      const city = Type.Optional(Type.String())
      const storage = database.adapter()
      const current = define({
        name: 'users',
        schema: Type.Object({ ...ids, email, tags: Type.Optional(Type.Array(Type.String())), city }),
        unique: ['email'],
        storage
      })
      const old = define({
        name: 'users',
        schema: Type.Object({ ...ids, mail: email, city }),
        unique: ['mail'],
        storage: database.adapter({ table: 'users', columns: { mail: 'email' } })
      })
      await storage.createTable(current)
      const app = await build(t, [{ ...current, prefix: '/v2' }, { ...old, prefix: '/v1' }])
      await app.ready()
      const { at: newer, tag, item: { id } } = await created(app, '/v2/users', { email: 'a@example.com', tags: ['x'] })
      const older = `/v1/users/${String(id)}`
      t.strictSame((await request(app, 'GET /v1/users?mail=a@example.com')).json(), [{ id, mail: 'a@example.com' }])
      const read = await request(app, `GET ${older}`)
      for (const [target, other] of [[older, tag], [newer, String(read.headers.etag)]] as const) {
        const refused = await request(app, `PATCH ${target}`, { content: {}, fields: { 'if-match': other } })
        t.equal(refused.statusCode, 412, 'a tag of the other definition does not match')
      }
      const fields = { 'if-match': String(read.headers.etag) }
      const put = await request(app, `PUT ${older}`, { content: { mail: 'b@example.com' }, fields })
      t.equal(put.statusCode, 200)
      t.strictSame((await request(app, `GET ${newer}`)).json(), { id, email: 'b@example.com', tags: ['x'] })
      const twin = await created(app, '/v2/users', { email: 'c@example.com' })
      const taken = await request(app, `PATCH ${twin.at.replace('v2', 'v1')}`, { content: { mail: 'b@example.com' } })
      t.match(taken.json(), { code: 'not-unique', errors: [{ pointer: '/mail' }] })

      const changes = Array.from({ length: 10 }, (_, index) => index % 2 === 0
        ? request(app, `PATCH ${older}`, { content: { city: `${index}` } })
        : request(app, `PATCH ${newer}`, { content: { tags: [`${index}`] } }))
      t.same((await Promise.all(changes)).map(({ statusCode }) => statusCode), Array(10).fill(200))
      t.match((await request(app, `GET ${newer}`)).json(), { email: 'b@example.com', city: /^\d$/, tags: [/^\d$/] })
    })
  })
}
