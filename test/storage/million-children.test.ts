import { DatabaseSync } from 'node:sqlite'
import { test } from 'tap'
import type { Context, Filter, Query, Shape, Storage } from '../../lib/storage/index.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { mysqlPool, noMysql, noServers, type SqlAdapter, type SqlOptions } from './databases.ts'
import { startPostgres } from './servers.ts'

// One parent has a million children, and many others have few. Pages and conditions must not read all of them.

const integer = { type: 'integer' } as const

const parents: Shape = {
  name: 'parents',
  schema: { type: 'object', properties: { id: integer, name: { type: 'string' } }, required: ['id', 'name'] },
  id: { property: 'id', generate: 'client' },
  unique: []
}

const children: Shape = {
  name: 'children',
  schema: {
    type: 'object',
    properties: { id: integer, parentId: integer, rank: integer, label: { type: 'string' } },
    required: ['id', 'parentId', 'rank', 'label']
  },
  id: { property: 'id', generate: 'client' },
  unique: []
}

const context: Context = { signal: new AbortController().signal, scope: undefined }

interface Measured {
  adapter (options: SqlOptions): SqlAdapter
  run (text: string): Promise<void>
  /** The numbers from 1 to a million, as rows of `n`. */
  readonly numbers: string
  /** Returns how many rows, or entries of an index, were read meanwhile. */
  countReads (read: () => Promise<unknown>): Promise<number>
  end (): Promise<void>
}

const servers: ReadonlyArray<{ name: string, skip: string | false, open: () => Promise<Measured> }> = [
  {
    name: 'sqlite',
    skip: noServers,
    async open () {
      const database = new DatabaseSync(':memory:')
      // Every filter of the test calls it for each row.
      let reads = 0
      database.function('glob', (_pattern, _text) => {
        reads++
        return 1
      })
      return {
        adapter: (options) => sqlite(database, options),
        run: async (text) => database.exec(text),
        numbers: '(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000) SELECT n FROM c)',
        async countReads (read) {
          reads = 0
          await read()
          return reads
        },
        end: async () => database.close()
      }
    }
  },
  {
    name: 'postgres',
    skip: noServers,
    async open () {
      const server = await startPostgres()
      // Statistics are those of one session.
      const pool = server.pool({ max: 1 })
      const countAll = async () => {
        await pool.query('SELECT pg_stat_force_next_flush()')
        const { rows: [row] } = await pool.query<{ reads: string }>(
          `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables) +
            (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes) AS reads`
        )
        return Number(row?.reads)
      }
      return {
        adapter: (options) => postgres(pool, options),
        run: async (text) => { await pool.query(text) },
        numbers: '(SELECT n FROM generate_series(1, 1000000) AS n)',
        async countReads (read) {
          const before = await countAll()
          await read()
          return await countAll() - before
        },
        end: () => server.end()
      }
    }
  },
  {
    name: 'mysql',
    skip: noMysql,
    async open () {
      // Statistics are those of one session.
      const { pool, end } = await mysqlPool({ connectionLimit: 1 })
      const countAll = async () => {
        const [rows] = await pool.query("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return (rows as Array<{ Value: string }>).reduce((sum, { Value }) => sum + Number(Value), 0)
      }
      const digits = '(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 ' +
        'UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)'
      const factors = [1, 10, 100, 1000, 10_000, 100_000]
      const sum = factors.map((factor, index) => `t${index}.d * ${factor}`).join(' + ')
      const tables = factors.map((_, index) => `${digits} AS t${index}`).join(' CROSS JOIN ')
      return {
        adapter: (options) => mysql(pool, options),
        run: async (text) => { await pool.query(text) },
        numbers: `(SELECT 1 + ${sum} AS n FROM ${tables})`,
        async countReads (read) {
          const before = await countAll()
          const own = await countAll() - before
          await read()
          return await countAll() - before - 2 * own
        },
        end
      }
    }
  }
]

function query (options: Partial<Query> = {}): Query {
  return {
    filter: { property: 'label', is: 'like', value: 'x*' },
    search: undefined,
    order: [{ property: 'id', descending: false }],
    after: undefined,
    before: undefined,
    limit: 5,
    properties: undefined,
    count: false,
    ...options
  }
}

for (const { name, skip, open } of servers) {
  test(`${name}: pages and conditions read a few of a million children`, { skip, timeout: 600_000 }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const adapters = {
      parents: database.adapter({}),
      children: database.adapter({ columns: 'snake_case', indexes: [['parentId'], ['parentId', 'rank']] })
    }
    await adapters.parents.createTable(parents)
    await adapters.children.createTable(children)
    const q = name === 'mysql' ? '`' : '"'
    const columns = ['id', 'parent_id', 'rank', 'label', 'version'].map((column) => `${q}${column}${q}`).join(', ')
    const insert = `INSERT INTO children (${columns}) SELECT`
    await database.run(`${insert} n, 1, (n * 1999) % 1000003, 'x', 'v' FROM ${database.numbers} AS numbers`)
    // 50,000 parents have 3 children each.
    await database.run(
      `${insert} n + 1000000, n % 50000 + 2, n, 'x', 'v' FROM ${database.numbers} AS numbers WHERE n <= 150000`
    )
    await database.run(name === 'mysql' ? 'ANALYZE TABLE children' : 'ANALYZE')
    const parentStorage = adapters.parents<object>(parents)
    const childStorage = adapters.children<object>(children) as Storage<{ id: number, rank: number }>
    for (const id of [1, 2, 3, 60_000]) await parentStorage.insert({ id, name: `${id}` }, context)

    const assertFew = async (title: string, read: () => Promise<unknown>) => {
      const reads = await database.countReads(read)
      t.ok(reads > 0 && reads < 200, `${title} reads ${reads} rows`)
    }
    const by = { property: 'parentId', values: [1, 2, 3, 60_000] }
    for (const descending of [false, true]) {
      const order = [{ property: 'id', descending }]
      await assertFew(`a page ${descending ? 'down' : 'up'} by id`, async () => {
        const pages = await childStorage.listBy!(by, query({ order }), context)
        const first = descending ? [1_000_000, 999_999] : [1, 2]
        t.same(pages[0]?.entries.slice(0, 2).map(({ id }) => id), first)
        t.same(pages.map(({ entries }) => entries.length), [5, 3, 3, 0])
        t.same(pages.map(({ more }) => more), [true, false, false, false])
      })
    }
    await assertFew('a page in another order', async () => {
      const order = [{ property: 'rank', descending: false }, { property: 'id', descending: false }]
      const pages = await childStorage.listBy!(by, query({ order }), context)
      const ranks = pages[0]?.entries.map(({ item }) => item.rank)
      t.same(ranks, [...ranks!].sort((a, b) => a - b))
      t.same(pages.map(({ entries }) => entries.length), [5, 3, 3, 0])
    })

    const related = { storage: childStorage as Storage<object>, property: 'id', equals: 'parentId', filter: query().filter }
    const expectations: ReadonlyArray<readonly [filter: Filter, ids: readonly number[]]> = [
      [{ related }, [1, 2, 3]],
      [{ not: { related } }, [60_000]],
      [{ related, count: { is: 'gte', value: 3 } }, [1, 2, 3]],
      [{ related, count: { is: 'gt', value: 3 } }, [1]],
      [{ related, count: { is: 'lte', value: 3 } }, [2, 3, 60_000]],
      [{ related, count: { is: 'eq', value: 0 } }, [60_000]]
    ]
    for (const [filter, expected] of expectations) {
      const { count } = filter as { count?: object }
      await assertFew(`the condition ${JSON.stringify(count ?? Object.keys(filter))}`, async () => {
        const { entries } = await parentStorage.list(query({ filter }), context)
        t.same(entries.map(({ id }) => id), expected)
      })
    }
    const [page] = await childStorage.listBy!({ ...by, values: [1] }, query({ count: true }), context)
    t.equal(page?.total, 1_000_000)
  })
}
