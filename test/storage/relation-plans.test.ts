import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import pg from 'pg'
import { test } from 'tap'
import { define } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { build, request } from '../app.ts'
import { mysqlPool, noMysql, noServers, type SqlAdapter } from './databases.ts'
import { startPostgres } from './servers.ts'

// The plans of the statements of relations have the indexes that createTable creates.

interface Statement {
  readonly text: string
  readonly values: unknown[]
}

interface Explained {
  readonly adapter: SqlAdapter
  run (text: string): Promise<void>
  /** The statements that were run since the last call. */
  takeStatements (): Statement[]
  explain (statement: Statement): Promise<string>
  end (): Promise<void>
}

const servers: ReadonlyArray<{ name: string, skip: string | false, open: () => Promise<Explained> }> = [
  {
    name: 'sqlite',
    skip: false,
    async open () {
      const database = new DatabaseSync(':memory:')
      let statements: Statement[] = []
      const recording = {
        exec: (text: string) => database.exec(text),
        prepare (text: string) {
          statements.push({ text, values: [] })
          return database.prepare(text)
        },
        get isTransaction () {
          return database.isTransaction
        }
      }
      return {
        adapter: sqlite(recording),
        run: async (text) => database.exec(text),
        takeStatements: () => {
          const taken = statements
          statements = []
          return taken
        },
        // The plan does not depend on the values.
        explain: async ({ text }) => JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${text}`).all()),
        end: async () => database.close()
      }
    }
  },
  {
    name: 'postgres',
    skip: noServers,
    async open () {
      const server = await startPostgres()
      const pool = server.pool()
      let statements: Statement[] = []
      const { query } = pg.Client.prototype
      pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
        const { text = '', values = [] } = Object(given[0]) as Partial<Statement>
        statements.push({ text, values: [...values] })
        return Reflect.apply(query, this, given)
      } as typeof query
      return {
        adapter: postgres(pool),
        run: async (text) => { await pool.query(text) },
        takeStatements: () => {
          const taken = statements
          statements = []
          return taken
        },
        explain: async ({ text, values }) => JSON.stringify((await pool.query(`EXPLAIN ${text}`, values)).rows),
        async end () {
          pg.Client.prototype.query = query
          await server.end()
        }
      }
    }
  },
  {
    name: 'mysql',
    skip: noMysql,
    async open () {
      const { pool, end } = await mysqlPool()
      let statements: Statement[] = []
      const recording = new Proxy(pool, {
        get (target, property) {
          if (property !== 'getConnection') return Reflect.get(target, property)
          return async () => {
            const connection = await target.getConnection()
            return new Proxy(connection, {
              get (inner, name) {
                const value: unknown = Reflect.get(inner, name)
                if (typeof value !== 'function') return value
                return (...given: unknown[]) => {
                  if (name === 'execute') {
                    const { sql, values } = given[0] as { sql: string, values: unknown[] }
                    statements.push({ text: sql, values })
                  }
                  return Reflect.apply(value, inner, given) as unknown
                }
              }
            })
          }
        }
      })
      return {
        adapter: mysql(recording),
        run: async (text) => { await pool.query(text.replaceAll('"', '`')) },
        takeStatements: () => {
          const taken = statements
          statements = []
          return taken
        },
        async explain ({ text, values }) {
          const [rows] = await pool.execute(`EXPLAIN ${text}`, values as string[])
          return JSON.stringify(rows)
        },
        end
      }
    }
  }
]

const User = Type.Object({ id: Type.Integer(), name: Type.String({ maxLength: 50 }) })
const Article = Type.Object({ id: Type.Integer(), title: Type.String({ maxLength: 50 }), authorId: Type.Integer() })
const Comment = Type.Object({
  id: Type.Integer(),
  text: Type.String({ maxLength: 50 }),
  rank: Type.Integer(),
  articleId: Type.Integer()
})

function defineBlog (storage: SqlAdapter): Definition[] {
  const id = { generate: 'storage' } as const
  return Object.values(relate({
    users: define({ name: 'users', schema: User, id, storage }),
    articles: define({ name: 'articles', schema: Article, id, storage }),
    comments: define({ name: 'comments', schema: Comment, id, storage })
  }, {
    articles: {
      author: { to: 'users', property: 'authorId', references: true },
      comments: { to: 'comments', by: 'articleId', order: ['-rank'] }
    },
    comments: { article: { to: 'articles', property: 'articleId' } }
  }))
}

function createRows (count: number, create: (number: number) => string): string {
  return Array.from({ length: count }, (_, index) => `(${create(index + 1)}, 'v')`).join()
}

/** 300 users, 3,000 articles, and 10 comments on each. */
const rows = [
  `INSERT INTO users (id, name, version) VALUES ${createRows(300, (n) => `${n}, 'User ${n}'`)}`,
  'INSERT INTO articles (id, title, "authorId", version) VALUES ' +
    createRows(3000, (n) => `${n}, 'Title ${n}', ${1 + n % 299}`),
  'INSERT INTO comments (id, text, "rank", "articleId", version) VALUES ' +
    createRows(30_000, (n) => `${n}, 'Text ${n}', ${n * 7 % 1000}, ${1 + n % 3000}`)
]

/** The index of the ids of articles, as a plan names it. */
const primaryKeys: Readonly<Record<string, RegExp>> = {
  sqlite: /SEARCH (?:related|sorted)_1 (?:EXISTS )?USING INTEGER PRIMARY KEY/,
  postgres: /articles_pkey/,
  mysql: /"table":"(?:related|sorted)_1"[^}]*"key":"PRIMARY"/
}

for (const { name, skip, open } of servers) {
  test(`${name}: statements of relations use indexes`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const definitions = defineBlog(database.adapter)
    for (const definition of definitions) await database.adapter.createTable(definition)
    for (const text of rows) await database.run(text)
    for (const table of ['users', 'articles', 'comments']) {
      await database.run(name === 'mysql' ? `ANALYZE TABLE ${table}` : `ANALYZE ${table}`)
    }
    const app = await build(t, definitions)
    await app.ready()

    const commentsIndex = /comments_articleId_rank_index/
    const primaryKey = primaryKeys[name]!
    const cases: ReadonlyArray<[line: string, plans: readonly RegExp[]]> = [
      ['GET /articles?limit=5&expand=comments', [commentsIndex]],
      ['GET /articles?limit=5&expand=comments&expand.comments.limit=0', [commentsIndex]],
      ['GET /articles?id.lte=5&comments.some.rank.gte=0', [commentsIndex]],
      ['GET /articles?id.lte=5&comments.none.rank.gte=500', [commentsIndex]],
      ['GET /articles?id.lte=5&comments.count.gte=3', [commentsIndex]],
      ['GET /comments?id.lte=5&article.title.ne=x', [primaryKey]],
      ['GET /comments?limit=5&articleId=7&sort=article.title', [commentsIndex, primaryKey]],
      ['DELETE /users/7', [/articles_authorId_index/]]
    ]
    for (const [line, expected] of cases) {
      database.takeStatements()
      const { statusCode } = await request(app, line)
      t.equal(statusCode, line.startsWith('GET') ? 200 : 409)
      const statements = database.takeStatements().filter(({ text }) => /^(?:SELECT|WITH|\()/.test(text))
      const plans = await Promise.all(statements.map(database.explain))
      t.ok(plans.some((plan) => expected.every((part) => part.test(plan))), line, { plans })
    }
  })
}
