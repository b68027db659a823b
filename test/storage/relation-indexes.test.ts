import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test, type Test } from 'tap'
import collection, { define, schemaSql } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Definition } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { logged, request } from '../app.ts'
import { databases, type Database, type SqlAdapter } from './databases.ts'
import { printTables } from './recorder.ts'

// The indexes that relations need: createTable creates them, schemaSql proposes them, and the app warns without them.

const User = Type.Object({
  id: Type.Integer(),
  name: Type.String({ maxLength: 50 }),
  managerId: Type.Optional(Type.Integer())
})
const Article = Type.Object({
  id: Type.Integer(),
  title: Type.String({ maxLength: 50 }),
  rank: Type.Integer(),
  authorId: Type.Integer()
})
const Comment = Type.Object({
  id: Type.Integer(),
  text: Type.String(),
  articleId: Type.Integer(),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  nick: Type.Optional(Type.String())
})

/** The same collections, without relations and with them. */
function defineBlog (storage: SqlAdapter) {
  const id = { generate: 'storage' } as const
  const plain = {
    users: define({ name: 'users', schema: User, id, storage }),
    articles: define({ name: 'articles', schema: Article, id, storage, list: { order: ['-rank'], filter: ['authorId'] } }),
    comments: define({ name: 'comments', schema: Comment, id, storage, list: { filter: ['articleId'] } })
  }
  const related = relate(plain, {
    users: {
      articles: { to: 'articles', by: 'authorId' },
      manager: { to: 'users', property: 'managerId', references: true }
    },
    articles: {
      author: { to: 'users', property: 'authorId' },
      comments: { to: 'comments', by: 'articleId', order: ['-createdAt'] },
      named: { to: 'comments', by: 'articleId', order: ['nick', '-createdAt'] }
    }
  })
  return { plain, related }
}

async function start (t: Test, definitions: readonly Definition[]) {
  const { lines, logger } = logged()
  const app = Fastify({ logger: { ...logger, level: 'warn' } })
  t.teardown(() => app.close())
  await app.register(registry)
  for (const definition of definitions) await app.register(collection, definition)
  await app.ready()
  return { app, warnings: lines.map(({ msg }) => String(msg)) }
}

/** Splits the output as a migration tool does, and runs it. */
async function runSql ({ run }: Database, sql: string): Promise<void> {
  const statements = sql.replaceAll(/^--.*$/gm, '').split(/;\n/).map((text) => text.trim())
  await run(...statements.filter((text) => text !== ''))
}

const matching = ['users', 'articles', 'comments'].map((name) => `-- ${name}: the table matches the definition.\n`).join('\n')

for (const { name, skip, open } of databases) {
  test(`${name}: new tables have the indexes of relations`, { skip }, async (t) => {
    for (const way of ['createTable', 'schemaSql']) {
      const database = await open()
      const storage = database.adapter()
      const definitions = Object.values(defineBlog(storage).related)
      if (way === 'schemaSql') await runSql(database, await schemaSql(...definitions))
      else for (const definition of definitions) await storage.createTable(definition)
      t.equal(await schemaSql(...definitions), matching, way)
      t.same((await start(t, definitions)).warnings, [], way)
      await database.end()
    }
  })

  test(`${name}: the app warns if a relation has no index, and works`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    const { plain, related } = defineBlog(storage)
    for (const definition of Object.values(plain)) await storage.createTable(definition)
    const definitions = Object.values(related)
    // createTable() does not change a table that exists.
    for (const definition of definitions) await storage.createTable(definition)
    t.same((await start(t, Object.values(plain))).warnings, [], 'without relations')

    const { app, warnings } = await start(t, definitions)
    t.match(warnings, [
      /^Collection users: relations find items by managerId, but no index of the table .users. begins with that, so the database reads all rows\. Run CREATE INDEX .users_managerId_index. ON .users. \(/,
      /^Collection articles: relations find items by authorId in the order of rank, but no index of the table .articles. begins with that, so the database reads all items that are related to one\. Run CREATE INDEX /,
      /^Collection comments: relations find items by articleId in the order of createdAt, but no index .* Run CREATE INDEX .comments_articleId_createdAt_index. ON .comments. \(.articleId., .createdAt. DESC/
    ])
    t.equal(warnings.length, 3, 'an order that no index has needs no further one')
    t.equal((await request(app, 'GET /articles?expand=comments')).statusCode, 200)

    await runSql(database, await schemaSql(...definitions))
    t.same((await start(t, definitions)).warnings, [])
    // SQLite cannot add the foreign key of managerId.
    if (name === 'sqlite') t.notMatch(await schemaSql(...definitions), /^(?!--)./m)
    else t.equal(await schemaSql(...definitions), matching)
  })

  test(`${name}: ids of any length are indexed`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const storage = database.adapter()
    const id = { generate: 'client' } as const
    const definitions = Object.values(relate({
      users: define({ name: 'users', schema: Type.Object({ id: Type.String() }), id, storage }),
      articles: define({ name: 'articles', schema: Type.Object({ id: Type.String(), userId: Type.String() }), id, storage })
    }, { users: { articles: { to: 'articles', by: 'userId' } } }))
    for (const definition of definitions) await storage.createTable(definition)
    const { app, warnings } = await start(t, definitions)
    t.same(warnings, [])
    t.match(await printTables(name, definitions[1]!), 'articles_userId_index')
    const longest = 'ü'.repeat(700)
    const user = await request(app, 'POST /users', { content: { id: longest } })
    t.equal(user.statusCode, 201)
    t.equal((await request(app, 'POST /articles', { content: { id: 'a', userId: longest } })).statusCode, 201)
    const { statusCode } = await request(app, 'POST /articles', { content: { id: 'b', userId: 'ü'.repeat(701) } })
    t.equal(statusCode, name === 'mysql' ? 422 : 201, 'longer ids do not exist there')
    const included = await request(app, 'GET /users?expand=articles')
    t.match(included.json(), [{ articles: { items: [{ id: 'a' }] } }])
  })
}
