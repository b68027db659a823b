import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import type { TObject } from '@sinclair/typebox'
import { test } from 'tap'
import { define, schemaSql } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { build, request } from '../app.ts'
import { databases, type Database, type SqlAdapter } from './databases.ts'

// The foreign keys of relations with references: createTable and schemaSql write them.

const Team = Type.Object({ id: Type.String(), name: Type.String(), leaderId: Type.Optional(Type.Integer()) })
const Member = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  teamId: Type.String(),
  mentorId: Type.Optional(Type.Integer())
})
const Note = Type.Object({ id: Type.String({ format: 'uuid' }), text: Type.String(), memberId: Type.Integer() })

/** Teams and members refer to each other, and members to members. */
function defineTeams (storage: SqlAdapter) {
  const plain = {
    teams: define({ name: 'teams', schema: Team, id: { generate: 'client' }, storage }),
    members: define({ name: 'members', schema: Member, id: { generate: 'client' }, storage }),
    notes: define({ name: 'notes', schema: Note, storage })
  }
  const related = relate(plain, {
    teams: { leader: { to: 'members', property: 'leaderId', references: true } },
    members: {
      team: { to: 'teams', property: 'teamId', references: true },
      sameTeam: { to: 'teams', property: 'teamId', references: true },
      mentor: { to: 'members', property: 'mentorId', references: true },
      notes: { to: 'notes', by: 'memberId' }
    },
    notes: { member: { to: 'members', property: 'memberId', references: true } }
  })
  return { plain, related }
}

const columns: Readonly<Record<string, readonly string[]>> = {
  // InnoDB could not remove a row that refers to itself.
  mysql: ['members.teamId teams', 'notes.memberId members', 'teams.leaderId members'],
  sqlite: ['members.mentorId members', 'members.teamId teams', 'notes.memberId members', 'teams.leaderId members'],
  postgres: ['members.mentorId members', 'members.teamId teams', 'notes.memberId members', 'teams.leaderId members']
}

/** The foreign keys of all tables, as "table.column other". */
async function listForeignKeys (name: string, { rows }: Database): Promise<string[]> {
  const queries: Readonly<Record<string, string>> = {
    sqlite: `SELECT s.name || '.' || k."from" || ' ' || k."table" AS found
      FROM sqlite_schema AS s JOIN pragma_foreign_key_list(s.name) AS k WHERE s.type = 'table'`,
    postgres: `SELECT s.relname || '.' || a.attname || ' ' || t.relname AS found FROM pg_constraint c
      JOIN pg_class s ON s.oid = c.conrelid JOIN pg_class t ON t.oid = c.confrelid
      JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] WHERE c.contype = 'f'`,
    mysql: `SELECT CONCAT(TABLE_NAME, '.', COLUMN_NAME, ' ', REFERENCED_TABLE_NAME) AS found
      FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME IS NOT NULL`
  }
  const found = await rows(queries[name]!) as Array<{ found: string }>
  return found.map((row) => row.found).sort()
}

/** Splits the output as a migration tool does, and runs it. */
async function runSql ({ run }: Database, sql: string): Promise<void> {
  const statements = sql.replaceAll(/^--.*$/gm, '').split(/;\n/).map((text) => text.trim())
  await run(...statements.filter((text) => text !== ''))
}

function describeMatching (definitions: readonly Definition[]): string {
  return definitions.map((definition) => `-- ${definition.name}: the table matches the definition.\n`).join('\n')
}

const context = { signal: new AbortController().signal, scope: undefined }

for (const { name, skip, open } of databases) {
  const quote = (text: string) => name === 'mysql' ? text.replaceAll('"', '`') : text

  for (const order of [['teams', 'members', 'notes'], ['notes', 'members', 'teams'], ['members', 'notes', 'teams']] as const) {
    test(`${name}: tables are created with foreign keys, in the order ${order.join(', ')}`, { skip }, async (t) => {
      for (const way of ['createTable', 'schemaSql']) {
        const database = await open()
        t.teardown(() => database.end())
        const storage = database.adapter()
        const { related } = defineTeams(storage)
        const definitions: Definition[] = order.map((key) => related[key])
        if (way === 'schemaSql') await runSql(database, await schemaSql(...definitions))
        else for (const definition of definitions) await storage.createTable(definition)
        t.same(await listForeignKeys(name, database), columns[name], way)
        t.equal(await schemaSql(...definitions), describeMatching(definitions), `${way}: nothing is proposed again`)
        for (const definition of definitions) await storage.createTable(definition)
        t.same(await listForeignKeys(name, database), columns[name], 'it can be called again')
      }
    })
  }

  test(`${name}: tables with long and similar names, and a property with two targets`, { skip }, async (t) => {
    const long = 'p'.repeat(60)
    const properties = { order_id: Type.Integer(), id: Type.Integer(), [long]: Type.Integer(), [`${long.slice(1)}é`]: Type.Integer() }
    const Row = Type.Object({ id: Type.Integer() })
    for (const isReversed of [false, true]) {
      const database = await open()
      t.teardown(() => database.end())
      const defineTable = (table: string, schema: TObject) => {
        const storage = database.adapter({ table })
        return { storage, definition: define({ name: table.replaceAll('_', '-').slice(0, 20), schema, id: { generate: 'client' }, storage }) }
      }
      const tables = {
        orders: defineTable('orders', Row),
        offers: defineTable('offers', Row),
        // Without a digest, the foreign keys of both would be shop_items_orderId_orders_reference.
        shop: defineTable('shop', Type.Object({ id: Type.Integer(), items_orderId: Type.Integer() })),
        items: defineTable('shop_items', Type.Object({ id: Type.Integer(), orderId: Type.Integer() })),
        long: defineTable('t'.repeat(50), Type.Object(properties))
      }
      const { orders, offers, shop, items, long: longTable } = tables
      const related: Record<string, Definition> = relate({
        orders: orders.definition,
        offers: offers.definition,
        shop: shop.definition,
        items: items.definition,
        long: longTable.definition
      }, {
        shop: { order: { to: 'orders', property: 'items_orderId', references: true } },
        items: {
          order: { to: 'orders', property: 'orderId', references: true },
          offer: { to: 'offers', property: 'orderId', references: true }
        },
        long: Object.fromEntries(Object.keys(properties).filter((property) => property !== 'id').map((property, index) => {
          return [`order${index}`, { to: 'orders', property, references: true }]
        }))
      })
      const keys = Object.keys(tables) as Array<keyof typeof tables>
      if (isReversed) keys.reverse()
      for (const key of [...keys, ...keys]) await tables[key].storage.createTable(related[key]!)
      const found = await listForeignKeys(name, database)
      t.same(found.filter((key) => key.startsWith('shop')), [
        'shop.items_orderId orders', 'shop_items.orderId offers', 'shop_items.orderId orders'
      ])
      t.equal(found.length, 6)
      const definitions = keys.filter((key) => key !== 'shop' && key !== 'items').map((key) => related[key]!)
      t.equal(await schemaSql(...definitions), describeMatching(definitions), 'nothing is proposed again')
    }
  })

  test(`${name}: schemaSql writes the foreign keys of new tables`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    const { plain, related } = defineTeams(storage)
    for (const definition of [plain.teams, related.members, related.notes]) {
      await runSql(database, await schemaSql(definition))
    }
    t.same(await listForeignKeys(name, database), columns[name]!.filter((key) => !key.startsWith('teams.')))
  })

  test(`${name}: schemaSql proposes the foreign keys that existing tables do not have`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    const { related } = defineTeams(storage)
    const definitions: Definition[] = Object.values(related)
    for (const { name, schema, id } of definitions) await storage.createTable({ name, schema, id })
    t.same(await listForeignKeys(name, database), [])
    for (const definition of definitions) await storage.createTable(definition)
    t.same(await listForeignKeys(name, database), [], 'createTable does not change a table that exists')
    const sql = await schemaSql(...definitions)
    await runSql(database, sql)
    if (name === 'sqlite') {
      t.match(sql, /^-- TeamId refers to rows of "teams", but the table "members" has no foreign key for it/m)
      t.match(sql, /SQLite cannot add one to a table/)
      return
    }
    // The column teamId is LONGTEXT on MySQL and MariaDB, because the table was created without relations.
    const expected = columns[name]!.filter((key) => name !== 'mysql' || !key.startsWith('members.teamId'))
    t.same(await listForeignKeys(name, database), expected, sql)
    t.equal(await schemaSql(...definitions), describeMatching(definitions))
  })

  test(`${name}: a new column gets its foreign key`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    const { related } = defineTeams(storage)
    const { memberId, ...properties } = Note.properties
    await storage.createTable(related.teams)
    await storage.createTable(related.members)
    await storage.createTable({ name: 'notes', schema: Type.Object(properties) })
    await runSql(database, await schemaSql(related.notes))
    t.same(await listForeignKeys(name, database), columns[name])
    t.equal(await schemaSql(related.notes), describeMatching([related.notes]))
  })

  test(`${name}: a table with rows gets no foreign key from createTable`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    const { related } = defineTeams(storage)
    await storage.createTable(related.notes)
    if (name === 'sqlite') {
      t.same(await listForeignKeys(name, database), ['notes.memberId members'])
      return
    }
    await related.notes.storage.insert({ id: randomUUID(), text: 'x', memberId: 7 }, context)
    t.equal((await database.rows('SELECT * FROM notes')).length, 1)
    await storage.createTable(related.members)
    t.same(await listForeignKeys(name, database), columns[name]!.filter((key) => key === 'members.mentorId members'))
  })

  test(`${name}: a violation is 422 with a pointer, or 409`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    const { plain, related } = defineTeams(storage)
    for (const definition of Object.values(related)) await storage.createTable(definition)
    // Without relations, only the database checks the references.
    const app = await build(t, Object.values(plain))
    t.equal((await request(app, 'POST /teams', { content: { id: 'a', name: 'A' } })).statusCode, 201)
    const missing = await request(app, 'POST /members', { content: { id: 1, name: 'Ada', teamId: 'b' } })
    t.equal(missing.statusCode, 422)
    t.match(missing.json(), { errors: [{ pointer: '/teamId', message: 'must refer to an existing item' }] })
    t.equal((await request(app, 'POST /members', { content: { id: 1, name: 'Ada', teamId: 'a' } })).statusCode, 201)
    const referred = await request(app, 'DELETE /teams/a')
    t.equal(referred.statusCode, 409)
    t.match(referred.json(), { code: 'conflict' })
    await t.rejects(database.run(quote('UPDATE members SET "teamId" = \'c\'')), 'other programs cannot violate it either')
  })

  test(`${name}: columns of different types have no foreign key`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    const definitions: Definition[] = Object.values(relate({
      teams: define({ name: 'teams', schema: Type.Object({ id: Type.String({ format: 'uuid' }) }), storage }),
      members: define({ name: 'members', schema: Type.Object({ id: Type.Integer(), teamId: Type.String() }), id: { generate: 'storage' }, storage })
    }, { members: { team: { to: 'teams', property: 'teamId', references: true } } }))
    for (const definition of definitions) await storage.createTable(definition)
    t.same(await listForeignKeys(name, database), [])
    t.equal(await schemaSql(...definitions), describeMatching(definitions))
  })

  test(`${name}: existing tables can have a foreign key as well`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    await database.run(
      'CREATE TABLE teams (id VARCHAR(20) NOT NULL PRIMARY KEY)',
      'CREATE TABLE clubs (id VARCHAR(20) NOT NULL)',
      'CREATE TABLE members (id INT NOT NULL PRIMARY KEY, team_id VARCHAR(20) NOT NULL, club_id VARCHAR(20) NOT NULL, mentor_id BIGINT)'
    )
    const storage = database.adapter({ version: { derived: true }, columns: 'snake_case' })
    const id = { generate: 'client' } as const
    const actions = ['list', 'read'] as const
    const schema = Type.Object({
      id: Type.Integer(), teamId: Type.String(), clubId: Type.String(), mentorId: Type.Optional(Type.Integer())
    })
    const { members } = relate({
      teams: define({ name: 'teams', schema: Type.Object({ id: Type.String() }), id, actions, storage }),
      clubs: define({ name: 'clubs', schema: Type.Object({ id: Type.String() }), id, actions, storage }),
      members: define({ name: 'members', schema, id, actions, storage })
    }, {
      members: {
        team: { to: 'teams', property: 'teamId', references: true },
        club: { to: 'clubs', property: 'clubId', references: true },
        mentor: { to: 'members', property: 'mentorId', references: true }
      }
    })
    const sql = await schemaSql(members)
    await runSql(database, sql)
    const found = await listForeignKeys(name, database)
    t.same(found, name === 'sqlite' ? [] : ['members.team_id teams'], 'not to ids that are not unique, or of another type')
    if (name !== 'sqlite') t.notMatch(await schemaSql(members), /FOREIGN KEY/)
  })
}

for (const { name, skip, open } of databases.filter((database) => database.name !== 'sqlite')) {
  test(`${name}: a table of the same name in another schema is another table`, { skip }, async (t) => {
    const database = await open()
    const schemas = [`shop_${randomUUID().slice(0, 8)}`, `old_${randomUUID().slice(0, 8)}`] as const
    const [shop, old] = schemas
    t.teardown(async () => {
      for (const schema of schemas) await database.run(`DROP SCHEMA ${schema}${name === 'postgres' ? ' CASCADE' : ''}`).catch(() => {})
      await database.end()
    })
    for (const schema of schemas) await database.run(`CREATE SCHEMA ${schema}`)
    const id = { generate: 'client' } as const
    const User = Type.Object({ id: Type.Integer(), email: Type.String({ maxLength: 50 }) })
    const Order = Type.Object({ id: Type.Integer(), userId: Type.Integer(), status: Type.String({ maxLength: 20 }) })
    const storages = {
      users: database.adapter({ table: `${shop}.users` }),
      oldUsers: database.adapter({ table: `${old}.users` }),
      orders: database.adapter({ table: `${shop}.orders` }),
      oldOrders: database.adapter({ table: `${old}.orders` })
    }
    const plain = {
      users: define({ name: 'users', schema: User, id, unique: ['email'], storage: storages.users }),
      oldUsers: define({ name: 'old-users', schema: User, id, unique: ['email'], storage: storages.oldUsers }),
      orders: define({ name: 'orders', schema: Order, id, list: { filter: ['status'] }, storage: storages.orders }),
      oldOrders: define({ name: 'old-orders', schema: Order, id, list: { filter: ['status'] }, storage: storages.oldOrders })
    }
    const toOld = relate(plain, {
      orders: { oldUser: { to: 'oldUsers', property: 'userId', references: true } },
      oldOrders: { user: { to: 'oldUsers', property: 'userId', references: true } }
    })
    const toBoth = relate(plain, {
      orders: {
        oldUser: { to: 'oldUsers', property: 'userId', references: true },
        user: { to: 'users', property: 'userId', references: true }
      }
    })
    await storages.oldUsers.createTable(toOld.oldUsers)
    await storages.oldOrders.createTable(toOld.oldOrders)
    t.match(await schemaSql(toOld.users), /CREATE TABLE/, 'a table of another schema is not taken for this one')
    await storages.users.createTable(toOld.users)
    await storages.orders.createTable(toOld.orders)
    const definitions: Definition[] = Object.values(toOld)
    t.equal(await schemaSql(...definitions), describeMatching(definitions), 'each has its indexes, constraints and foreign keys')

    const sql = await schemaSql(toBoth.orders)
    t.match(sql, new RegExp(`ADD CONSTRAINT .* REFERENCES .${shop}.\\..users.`), 'a foreign key to the other schema is not that')
    t.notMatch(sql, new RegExp(`REFERENCES .${old}.`))
    await runSql(database, sql)
    t.equal(await schemaSql(toBoth.orders), describeMatching([toBoth.orders]))
  })
}

test('SQLite checks foreign keys if the connection enables them, which the storage leaves as it is', async (t) => {
  for (const enabled of [true, false]) {
    const database = new DatabaseSync(':memory:', { enableForeignKeyConstraints: enabled })
    const storage = sqlite(database)
    const { plain, related } = defineTeams(storage)
    for (const definition of Object.values(related)) await storage.createTable(definition)
    const app = await build(t, Object.values(plain))
    const { statusCode } = await request(app, 'POST /members', { content: { id: 1, name: 'Ada', teamId: 'b' } })
    t.equal(statusCode, enabled ? 422 : 201)
    t.same(database.prepare('PRAGMA foreign_keys').get(), { foreign_keys: enabled ? 1 : 0 })
    const checked = await build(t, Object.values(related))
    const refused = await request(checked, 'POST /members', { content: { id: 2, name: 'Bob', teamId: 'b' } })
    t.equal(refused.statusCode, 422, 'the library checks references in any case')
  }
})
