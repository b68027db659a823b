import { deepStrictEqual } from 'node:assert/strict'
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { aggregates } from '../../lib/features/aggregates.ts'
import collection, { define } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Definition, Options } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { request } from '../app.ts'
import { databases, noServers } from '../storage/databases.ts'
import type { Database } from '../storage/databases.ts'
import { startPostgres } from '../storage/servers.ts'

// Figures are the same on every database, and as a naive evaluator computes them.

const Sale = Type.Object({
  id: Type.Integer(),
  team: Type.Union([Type.String(), Type.Null()]),
  amount: Type.Optional(Type.Integer()),
  price: Type.Optional(Type.Number()),
  place: Type.Optional(Type.Object({ city: Type.Optional(Type.String()), floor: Type.Optional(Type.Integer()) })),
  isPaid: Type.Optional(Type.Boolean()),
  owner: Type.Optional(Type.String({ format: 'uuid' })),
  day: Type.Optional(Type.String({ format: 'date' })),
  at: Type.Optional(Type.String({ format: 'date-time' }))
})

interface Row {
  readonly id: number
  readonly team: string | null
  readonly amount?: number
  readonly price?: number
  readonly place?: { readonly city?: string, readonly floor?: number }
  readonly isPaid?: boolean
  readonly owner?: string
  readonly day?: string
  readonly at?: string
}

const by = [
  'team', 'amount', 'place.city', 'place.floor', 'isPaid', 'owner', 'day', 'day.year', 'day.month', 'day.day',
  'at', 'at.year', 'at.month', 'at.day', 'at.hour'
] as const

const of = {
  team: ['distinct', 'min', 'max'],
  amount: ['distinct', 'sum', 'avg', 'min', 'max'],
  price: ['distinct', 'sum', 'avg', 'min', 'max'],
  'place.city': ['distinct', 'min', 'max'],
  'place.floor': ['distinct', 'sum', 'avg', 'min', 'max'],
  day: ['distinct', 'min', 'max'],
  at: ['distinct', 'min', 'max'],
  owner: ['distinct', 'min', 'max'],
  isPaid: ['distinct']
} as const

function sales (options: Pick<Options<typeof Sale>, 'storage'> & Partial<Options<typeof Sale>>) {
  return define({ name: 'sales', schema: Sale, id: { generate: 'client' }, ...options }).with(aggregates({ by, of }))
}

async function serve (
  t: { after(close: () => Promise<unknown>): void },
  definition: Definition
): Promise<FastifyInstance> {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  await app.register(collection, definition)
  await app.ready()
  return app
}

interface OpenDatabase {
  readonly storage: Options<typeof Sale>['storage']
  prepare (definition: Definition): Promise<void>
  readonly database: Database | undefined
}

const all: ReadonlyArray<{ name: string, skip: string | false, open: () => Promise<OpenDatabase> }> = [
  { name: 'memory', skip: false, open: async () => ({ storage: memory(), async prepare () {}, database: undefined }) },
  ...databases.map(({ name, skip, open }) => ({
    name,
    skip,
    async open () {
      const database = await open()
      const adapter = database.adapter()
      return { storage: adapter, prepare: (definition: Definition) => adapter.createTable(definition), database }
    }
  }))
]

async function getGroups (app: FastifyInstance, search: string): Promise<unknown> {
  const answer = await request(app, `GET /sales/aggregate?${search}`)
  if (answer.statusCode !== 200) throw new Error(answer.payload)
  return answer.json().groups
}

for (const { name, skip, open } of all) {
  test(`long texts that begin alike are groups of their own: ${name}`, { skip }, async (t) => {
    const { storage, prepare, database } = await open()
    const definition = sales({ storage })
    await prepare(definition)
    const app = await serve(t, definition)
    t.after(async () => database?.end())
    const beginning = 'x'.repeat(2000)
    for (let id = 1; id <= 6; id++) {
      const team = `${beginning}${id % 2}`
      await app.collection(definition).create({ id, team, amount: id, place: { city: team } })
    }
    for (const property of ['team', 'place.city']) {
      t.strictSame(await getGroups(app, `by=${property}&distinct=amount&count=true&sum=amount&sort=sum.amount`), [
        { by: { [property]: `${beginning}1` }, count: 3, distinct: { amount: 3 }, sum: { amount: 9 } },
        { by: { [property]: `${beginning}0` }, count: 3, distinct: { amount: 3 }, sum: { amount: 12 } }
      ], property)
    }
  })

  test(`texts of groups have a maximum length: ${name}`, { skip }, async (t) => {
    const { storage, prepare, database } = await open()
    const definition = sales({ storage })
    await prepare(definition)
    const app = await serve(t, definition)
    t.after(async () => database?.end())
    const longest = 'é'.repeat(10_000)
    await app.collection(definition).create({ id: 1, team: longest, amount: 1, place: { city: longest } })
    const searches = ['team', 'place.city'].flatMap((property) => [
      `by=${property}`, `min=${property}`, `max=${property}`, `by=${property}&distinct=amount`
    ])
    for (const search of searches) t.match(JSON.stringify(await getGroups(app, search)), longest, search)
    await app.collection(definition).update(1, { team: `${longest}x`, place: { city: `${longest}x` } })
    for (const search of searches) {
      t.match((await request(app, `GET /sales/aggregate?${search}`)).json(), {
        status: 400, code: 'invalid-query', detail: /^A text is longer than the 10000 characters/
      }, search)
    }
    t.strictSame(await getGroups(app, 'distinct=team,place.city'), [{ by: {}, distinct: { team: 1, 'place.city': 1 } }])
    if (database === undefined) return
    const query = { filter: undefined, search: undefined, order: [{ at: 0, descending: false }], limit: 1 } as const
    const { groups } = await definition.storage.aggregate!({
      ...query,
      by: [{ property: 'team' }],
      figures: [{ figure: 'max', property: 'team' }],
      maxTextLength: 4
    }, { signal: new AbortController().signal, scope: undefined })
    t.strictSame(groups, [{ by: ['ééééé'], figures: ['ééééé'] }], 'the database sends no more than that')
  })

  test(`integers are added exactly or refused, and months end in UTC: ${name}`, { skip }, async (t) => {
    const { storage, prepare, database } = await open()
    const definition = sales({ storage })
    await prepare(definition)
    const app = await serve(t, definition)
    t.after(async () => database?.end())
    t.strictSame(await getGroups(app, 'sum=amount&avg=price&min=at&count=true'), [
      { by: {}, count: 0, sum: { amount: null }, avg: { price: null }, min: { at: null } }
    ])
    t.strictSame(await getGroups(app, 'by=team,at.month'), [])
    const largest = Number.MAX_SAFE_INTEGER
    const rows: Row[] = [
      { id: 1, team: 'a', amount: largest, at: '2024-02-29T23:59:59.999Z', day: '2024-02-29' },
      { id: 2, team: 'a', amount: -3, at: '2024-03-01T00:00:00Z', day: '2024-03-01' },
      { id: 3, team: 'b', amount: largest, at: '2024-02-29T23:30:00-01:00' },
      { id: 4, team: 'b', amount: largest, at: '2024-12-31T23:59:59.999+00:00' },
      { id: 5, team: null, at: '2025-01-01T00:00:00+00:30', day: '2024-12-31' },
      { id: 6, team: 'c' }
    ]
    for (const row of rows) await app.collection(definition).create(row)
    t.strictSame(await getGroups(app, 'sum=amount&avg=amount&team=a'), [
      { by: {}, sum: { amount: largest - 3 }, avg: { amount: (largest - 3) / 2 } }
    ])
    for (const search of ['sum=amount', 'avg=amount', 'by=team&sum=amount', 'avg=amount&team=b']) {
      t.match((await request(app, `GET /sales/aggregate?${search}`)).json(), {
        status: 400, code: 'invalid-query', detail: /^A sum or a value is too large to be exact/
      }, search)
    }
    t.strictSame(await getGroups(app, 'max=amount&distinct=amount'), [
      { by: {}, distinct: { amount: 2 }, max: { amount: largest } }
    ], 'other figures need no sum')
    t.strictSame(await getGroups(app, 'by=at.month'), [
      { by: { 'at.month': '2024-02' }, count: 1 },
      { by: { 'at.month': '2024-03' }, count: 2 },
      { by: { 'at.month': '2024-12' }, count: 2 },
      { by: { 'at.month': null }, count: 1 }
    ])
    t.strictSame(await getGroups(app, 'by=day.month,team&sort=-day.month'), [
      { by: { 'day.month': null, team: 'b' }, count: 2 },
      { by: { 'day.month': null, team: 'c' }, count: 1 },
      { by: { 'day.month': '2024-12', team: null }, count: 1 },
      { by: { 'day.month': '2024-03', team: 'a' }, count: 1 },
      { by: { 'day.month': '2024-02', team: 'a' }, count: 1 }
    ])
  })

  test(`sums of numbers that no double can represent are refused: ${name}`, { skip }, async (t) => {
    const { storage, prepare, database } = await open()
    const definition = sales({ storage })
    await prepare(definition)
    const app = await serve(t, definition)
    t.after(async () => database?.end())
    for (const id of [1, 2]) await app.collection(definition).create({ id, team: 'a', price: 1.5e308 })
    for (const search of ['sum=price', 'avg=price', 'by=team&sum=price', 'sum=price&team=a']) {
      t.match((await request(app, `GET /sales/aggregate?${search}`)).json(), {
        status: 400, code: 'invalid-query', detail: /^A sum or a value is too large to be exact/
      }, search)
    }
    t.strictSame(await getGroups(app, 'max=price'), [{ by: {}, max: { price: 1.5e308 } }])
  })

  test(`random queries have the groups of a naive evaluator: ${name}`, { skip }, async (t) => {
    const { storage, prepare, database } = await open()
    const definition = sales({ storage })
    await prepare(definition)
    const app = await serve(t, definition)
    t.after(async () => database?.end())
    const drawQueries = fc.array(drawQuery, { minLength: 5, maxLength: 5 })
    await fc.assert(fc.asyncProperty(drawRows, drawQueries, async (rows, queries) => {
      for await (const { id } of app.collection(definition).list()) await app.collection(definition).remove(id)
      for (const row of rows) await app.collection(definition).create(row)
      for (const query of queries) {
        const expected = evaluate(rows, query)
        const answer = await request(app, `GET /sales/aggregate?${toSearch(query)}`)
        deepStrictEqual(answer.json(), expected)
        const { team, ...rest } = query
        const filter = team === undefined ? {} : { filter: { team } }
        deepStrictEqual(await app.collection(definition).aggregate({ ...rest, ...filter }), expected)
      }
    }), { numRuns: name === 'memory' || name === 'sqlite' ? 60 : 12 })
    t.pass('all are equal')
  })
}

interface Query {
  readonly by?: typeof by[number][]
  readonly count?: boolean
  readonly sum?: Array<'amount' | 'price' | 'place.floor'>
  readonly avg?: Array<'amount' | 'price' | 'place.floor'>
  readonly min?: Array<'team' | 'amount' | 'price' | 'place.city' | 'owner' | 'day' | 'at'>
  readonly max?: Array<'team' | 'amount' | 'price' | 'place.city' | 'owner' | 'day' | 'at'>
  readonly distinct?: Array<keyof typeof of>
  readonly sort?: never[]
  readonly limit?: number
  readonly team?: string
}

const drawRows = fc.array(fc.record({
  team: fc.constantFrom('red', 'Red', 'blue', 'ä', '😀', null),
  amount: fc.integer({ min: -5, max: 5 }),
  // Sums of quarters are exact, whatever their order.
  price: fc.integer({ min: -8, max: 8 }).map((quarters) => quarters === 0 ? 0 : quarters / 4),
  place: fc.record({ city: fc.constantFrom('Rome', 'Bonn'), floor: fc.integer({ min: 0, max: 3 }) }, { requiredKeys: [] }),
  isPaid: fc.boolean(),
  owner: fc.constantFrom('0190a000-0000-7000-8000-00000000000a', 'f190a000-0000-4000-8000-000000000000'),
  day: fc.constantFrom('2023-12-31', '2024-01-01', '2024-02-29', '2024-03-01'),
  at: fc.constantFrom(
    '2023-12-31T23:59:59.999Z', '2024-01-01T00:00:00.000Z', '2024-02-29T23:00:00.000Z', '2024-02-29T23:59:59.000Z'
  )
}, { requiredKeys: ['team'] }), { maxLength: 12 }).map((rows) => rows.map((row, index): Row => ({ id: index + 1, ...row })))

const names = <Name extends string>(available: readonly Name[], maxLength = 2) => {
  return fc.uniqueArray(fc.constantFrom(...available), { minLength: 1, maxLength })
}

const drawQuery = fc.record({
  by: names(by, 3),
  count: fc.boolean(),
  sum: names(['amount', 'price', 'place.floor'] as const),
  avg: names(['amount', 'price', 'place.floor'] as const),
  min: names(['team', 'amount', 'price', 'place.city', 'owner', 'day', 'at'] as const),
  max: names(['team', 'amount', 'price', 'place.city', 'owner', 'day', 'at'] as const),
  distinct: names(Object.keys(of) as Array<keyof typeof of>),
  limit: fc.integer({ min: 1, max: 6 }),
  team: fc.constantFrom('red', 'ä', 'none'),
  isDescending: fc.boolean(),
  sorted: fc.nat()
}, { requiredKeys: ['isDescending', 'sorted'] }).map(({ isDescending, sorted, ...query }): Query => {
  const figures = (['distinct', 'sum', 'avg', 'min', 'max'] as const).flatMap((figure) => {
    return (query[figure] ?? []).map((property) => `${figure}.${property}`)
  })
  const columns = [...query.by ?? [], ...figures]
  const count = figures.length === 0 ? { count: true } : {}
  const name = columns[sorted % (columns.length + 1)]
  // A name that the query has.
  const sort = name === undefined ? {} : { sort: [isDescending ? `-${name}` : name] as never[] }
  return { ...query, ...count, ...sort }
})

function toSearch ({ team, ...query }: Query): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) search.set(name, String(value))
  if (team !== undefined) search.set('team', team)
  return String(search)
}

type Value = string | number | boolean | null

function getValue (row: object, path: string): Value {
  const parts: Record<string, number> = { year: 4, month: 7, day: 10, hour: 13 }
  let value: unknown = row
  for (const name of path.split('.')) {
    value = typeof value === 'string' ? value.slice(0, parts[name]) : (value as Record<string, unknown> | undefined)?.[name]
  }
  return (value ?? null) as Value
}

/** Null is greater than every value, and strings are compared by code point. */
function compare (a: Value, b: Value): number {
  if (a === b) return 0
  if (a === null || b === null) return a === null ? 1 : -1
  if (typeof a !== 'string') return Number(a) - Number(b)
  return Buffer.compare(Buffer.from(a), Buffer.from(String(b)))
}

const figures: Readonly<Record<string, (values: readonly Value[]) => Value>> = {
  distinct: (values) => new Set(values).size,
  sum: (values) => values.length === 0 ? null : values.reduce<number>((sum, value) => sum + Number(value), 0),
  avg: (values) => values.length === 0 ? null : Number(figures.sum!(values)) / values.length,
  min: (values) => values.toSorted(compare)[0] ?? null,
  max: (values) => values.toSorted(compare).at(-1) ?? null
}

/** Filters, groups, computes, sorts and limits, one after another. */
function evaluate (rows: readonly Row[], query: Query): unknown {
  const matching = rows.filter(({ team }) => query.team === undefined || team === query.team)
  const groupNames = query.by ?? []
  const grouped = new Map<string, Row[]>(groupNames.length === 0 ? [['[]', []]] : [])
  for (const row of matching) {
    const key = JSON.stringify(groupNames.map((name) => getValue(row, name)))
    grouped.set(key, [...grouped.get(key) ?? [], row])
  }
  const groups = [...grouped].map(([key, members]) => {
    const values: Value[] = JSON.parse(key)
    const group: Record<string, unknown> = {
      by: Object.fromEntries(groupNames.map((name, index) => [name, values[index]]))
    }
    if (query.count === true) group.count = members.length
    const columns = new Map<string, Value>(groupNames.map((name, index) => [name, values[index]!]))
    for (const figure of ['distinct', 'sum', 'avg', 'min', 'max'] as const) {
      const properties = query[figure]
      if (properties === undefined) continue
      group[figure] = Object.fromEntries(properties.map((property) => {
        const present = members.map((row) => getValue(row, property)).filter((value) => value !== null)
        const value = figures[figure]!(present)
        columns.set(`${figure}.${property}`, value)
        return [property, value]
      }))
    }
    return { group, columns }
  })
  const sort: readonly string[] = [...query.sort ?? [], ...groupNames]
  groups.sort((a, b) => {
    for (const key of sort) {
      const name = key.replace(/^-/, '')
      const difference = compare(a.columns.get(name)!, b.columns.get(name)!)
      if (difference !== 0) return key.startsWith('-') ? -difference : difference
    }
    return 0
  })
  const limit = query.limit ?? 1000
  return { groups: groups.slice(0, limit).map(({ group }) => group), more: groups.length > limit }
}

test('sums of decimal columns are exact or refused', { skip: noServers }, async (t) => {
  for (const { name, skip, open } of databases) {
    if (name === 'sqlite' || skip !== false) continue
    const database = await open()
    t.after(() => database.end())
    await database.run(
      'CREATE TABLE prices (id INTEGER PRIMARY KEY, team INTEGER NOT NULL, price NUMERIC(20, 4) NOT NULL, ' +
        'version VARCHAR(40) NOT NULL)',
      "INSERT INTO prices VALUES (1, 1, 0.1, '1'), (2, 1, 0.2, '1'), " +
        "(3, 2, 9007199254740.9931, '1'), (4, 2, 9007199254740.9933, '1')"
    )
    const schema = Type.Object({ id: Type.Integer(), team: Type.Integer(), price: Type.Number() })
    const storage = database.adapter({ table: 'prices' })
    const definition = define({ name: 'sales', schema, id: { generate: 'client' }, storage })
      .with(aggregates({ by: ['team'], of: { price: ['sum', 'avg'] } }))
    const app = await serve(t, definition)
    t.strictSame(await getGroups(app, 'sum=price&team=1'), [{ by: {}, sum: { price: 0.3 } }], name)
    t.match((await request(app, 'GET /sales/aggregate?sum=price&team=2')).json(), { status: 400 }, name)
  }
})

const nonFinite: Readonly<Record<string, readonly string[]>> = {
  sqlite: ['9e999', '-9e999'],
  postgres: ["'NaN'", "'Infinity'", "'-Infinity'"]
}

for (const { name, skip, open } of databases) {
  const values = nonFinite[name]
  if (values === undefined) continue

  test(`NaN and infinity of another program count as null: ${name}`, { skip }, async (t) => {
    const database = await open()
    t.after(() => database.end())
    const storage = database.adapter()
    const definition = define({ name: 'sales', schema: Sale, id: { generate: 'client' }, storage, list: { search: ['team'] } })
      .with(aggregates({ by: [...by, 'price'], of }))
    await storage.createTable(definition)
    const app = await serve(t, definition)
    for (const [id, price] of [1, 1.5, undefined, 0, 0, 0].entries()) {
      await app.collection(definition).create({ id, team: 'é', ...price === undefined ? {} : { price } })
    }
    for (const [index, value] of values.entries()) {
      await database.run(`UPDATE sales SET price = ${value} WHERE id = ${3 + index}`)
    }
    if (values.length < 3) await database.run('DELETE FROM sales WHERE id = 5')
    t.equal((await request(app, 'GET /sales')).json().length, 3, 'a list leaves these rows out')
    const nulls = values.length + 1
    // On SQLite, such a search is computed in the process.
    for (const search of ['', '&q=%C3%89']) {
      t.strictSame(await getGroups(app, `by=price${search}`), [
        { by: { price: 1 }, count: 1 },
        { by: { price: 1.5 }, count: 1 },
        { by: { price: null }, count: nulls }
      ], search)
      t.strictSame(await getGroups(app, `count=true&distinct=price&sum=price&avg=price&min=price&max=price${search}`), [{
        by: {},
        count: nulls + 2,
        distinct: { price: 2 },
        sum: { price: 2.5 },
        avg: { price: 1.25 },
        min: { price: 1 },
        max: { price: 1.5 }
      }], search)
    }
  })

  test(`integers of another program that no double represents are refused: ${name}`, { skip }, async (t) => {
    const database = await open()
    t.after(() => database.end())
    await database.run(
      'CREATE TABLE counts (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount BIGINT, level DOUBLE PRECISION)',
      "INSERT INTO counts VALUES (1, 'é', 1, 1), (2, 'é', 9007199254740993, " + values[0] + ')'
    )
    const storage = database.adapter({ table: 'counts', version: { derived: true } })
    const integer = Type.Optional(Type.Integer())
    const schema = Type.Object({ id: Type.Integer(), name: Type.String(), amount: integer, level: integer })
    const figures = ['sum', 'avg', 'min', 'max', 'distinct'] as const
    const definition = define({ name: 'sales', schema, id: { generate: 'client' }, storage, list: { search: ['name'] } })
      .with(aggregates({ by: ['amount', 'level'], of: { amount: figures, level: figures } }))
    const app = await serve(t, definition)
    for (const search of ['', '&q=%C3%89']) {
      for (const query of ['by=amount', 'sum=amount', 'avg=amount', 'max=amount']) {
        t.match((await request(app, `GET /sales/aggregate?${query}${search}`)).json(), {
          status: 400, code: 'invalid-query', detail: /^A sum or a value is too large to be exact/
        }, query + search)
      }
      t.strictSame(await getGroups(app, `sum=level&max=level&distinct=level${search}`), [
        { by: {}, distinct: { level: 1 }, sum: { level: 1 }, max: { level: 1 } }
      ], 'infinity in a column of integers counts as null')
      t.strictSame(await getGroups(app, `by=level${search}`), [{ by: { level: 1 }, count: 1 }, { by: { level: null }, count: 1 }])
    }
    t.strictSame(await getGroups(app, 'min=amount&distinct=amount'), [{ by: {}, distinct: { amount: 2 }, min: { amount: 1 } }])
  })

  test(`a number of JSON beyond the range of a double is refused: ${name}`, { skip }, async (t) => {
    const database = await open()
    t.after(() => database.end())
    await database.run(
      `CREATE TABLE counts (id INTEGER PRIMARY KEY, size ${name === 'postgres' ? 'JSONB' : 'TEXT'})`,
      'INSERT INTO counts VALUES (1, \'{"width":1}\'), (2, \'{"width":1e999}\')'
    )
    const storage = database.adapter({ table: 'counts', version: { derived: true } })
    const schema = Type.Object({ id: Type.Integer(), size: Type.Object({ width: Type.Number() }) })
    const definition = define({ name: 'sales', schema, id: { generate: 'client' }, storage })
      .with(aggregates({ by: ['size.width'], of: { 'size.width': ['sum', 'avg', 'max'] } }))
    const app = await serve(t, definition)
    for (const query of ['by=size.width', 'sum=size.width', 'avg=size.width', 'max=size.width']) {
      const { status, code } = (await request(app, `GET /sales/aggregate?${query}`)).json()
      t.strictSame([status, code], [400, 'invalid-query'], query)
    }
  })
}

test('each row counts once if an integer is larger than SQLite drivers return by default', async (t) => {
  const database = await databases.find(({ name }) => name === 'sqlite')!.open()
  t.after(() => database.end())
  await database.run(
    'CREATE TABLE counts (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount INTEGER, done INTEGER)',
    "INSERT INTO counts VALUES (1, 'é', 1, 1), (2, 'é', 9007199254740994, 1)"
  )
  const storage = database.adapter({ table: 'counts', version: { derived: true } })
  const schema = Type.Object({ id: Type.Integer(), name: Type.String(), amount: Type.Number(), done: Type.Boolean() })
  const definition = define({ name: 'sales', schema, id: { generate: 'client' }, storage, list: { search: ['name'] } })
    .with(aggregates({ by: ['done'], of: { amount: ['max'] } }))
  const app = await serve(t, definition)
  for (const search of ['', '&q=%C3%89']) {
    t.strictSame(await getGroups(app, `by=done&count=true&max=amount${search}`), [
      { by: { done: true }, count: 2, max: { amount: 9007199254740994 } }
    ], search)
  }
})

test('the time zone of a PostgreSQL session does not matter, with and without a zone', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.after(() => server.end())
  const pool = server.pool({ options: '-c TimeZone=America/New_York' })
  await pool.query('CREATE TABLE visits (id INTEGER PRIMARY KEY, plain TIMESTAMP, zoned TIMESTAMPTZ, day DATE)')
  await pool.query("INSERT INTO visits VALUES (1, '2026-01-31 23:30:00', '2026-01-31 23:30:00Z', '2026-01-31')")
  const instant = Type.Optional(Type.String({ format: 'date-time' }))
  const schema = Type.Object({ id: Type.Integer(), plain: instant, zoned: instant, day: Type.Optional(Type.String({ format: 'date' })) })
  const storage = postgres(pool, { table: 'visits', version: { derived: true } })
  const definition = define({ name: 'sales', schema, id: { generate: 'client' }, storage }).with(aggregates({
    by: ['plain.hour', 'zoned.hour', 'day'],
    of: { plain: ['min'], zoned: ['max'] }
  }))
  const app = await serve(t, definition)
  const [item] = (await request(app, 'GET /sales')).json()
  t.match(item, { plain: '2026-01-31T23:30:00.000Z', zoned: '2026-01-31T23:30:00.000Z', day: '2026-01-31' })
  t.strictSame(await getGroups(app, 'by=plain.hour,zoned.hour,day&min=plain&max=zoned'), [{
    by: { 'plain.hour': '2026-01-31T23', 'zoned.hour': '2026-01-31T23', day: '2026-01-31' },
    min: { plain: item.plain },
    max: { zoned: item.zoned }
  }])
})

/** Values of date and date-time columns that no item can have, as SQL. */
const unreadableDates: Readonly<Record<string, Record<'at' | 'day' | 'setup', readonly string[]>>> = {
  sqlite: { at: ["'soon'", "'0000-01-01T00:00:00.000Z'"], day: ["'soon'", "'0000-01-01'"], setup: [] },
  postgres: {
    at: ["'infinity'", "'-infinity'", "'0044-03-15 BC'", "'10000-01-02'"],
    day: ["'infinity'", "'-infinity'", "'0044-03-15 BC'", "'10000-01-02'"],
    setup: []
  },
  mysql: {
    at: ["'0000-00-00'"],
    day: ["'0000-00-00'", "'2026-01-00'"],
    setup: ["SET SESSION sql_mode = ''"]
  }
}

for (const { name, skip, open } of databases) {
  test(`dates of another program that cannot be read count as null: ${name}`, { skip }, async (t) => {
    const { at, day, setup } = unreadableDates[name]!
    const database = await open()
    t.after(() => database.end())
    const storage = database.adapter()
    const definition = define({ name: 'sales', schema: Sale, id: { generate: 'client' }, storage, list: { search: ['team'] } })
      .with(aggregates({ by, of }))
    await storage.createTable(definition)
    const app = await serve(t, definition)
    const instant = '2026-02-01T10:00:00.000Z'
    const later = '9999-12-31T23:59:59.999Z'
    for (const [id, given] of [instant, instant, '0001-01-01T00:00:00.000Z', later].entries()) {
      await app.collection(definition).create({ id, team: 'é', at: given, day: given.slice(0, 10) })
    }
    await app.collection(definition).create({ id: 4, team: 'é' })
    const updates = [...at.map((value) => ['at', value]), ...day.map((value) => ['day', value])]
    for (const [index, [column, value]] of updates.entries()) {
      await app.collection(definition).create({ id: 5 + index, team: 'é' })
      // One query, so that all of it has the same connection.
      await database.run(...setup, `UPDATE sales SET ${column} = ${value} WHERE id = ${5 + index}`)
    }
    t.equal((await request(app, 'GET /sales')).json().length, 5, 'a list leaves these rows out')
    const nulls = 1 + updates.length
    // On SQLite, such a search is computed in the process.
    for (const search of ['', '&q=%C3%89']) {
      for (const [group, length] of [['at', 24], ['at.year', 4], ['at.hour', 13], ['day', 10], ['day.month', 7]] as const) {
        t.strictSame(await getGroups(app, `by=${group}${search}`), [
          { by: { [group]: '0001-01-01T00:00:00.000Z'.slice(0, length) }, count: 1 },
          { by: { [group]: instant.slice(0, length) }, count: 2 },
          { by: { [group]: later.slice(0, length) }, count: 1 },
          { by: { [group]: null }, count: nulls }
        ], `${group}${search}`)
      }
      t.strictSame(await getGroups(app, `count=true&distinct=at,day&min=at,day&max=at,day${search}`), [{
        by: {},
        count: nulls + 4,
        distinct: { at: 3, day: 3 },
        min: { at: '0001-01-01T00:00:00.000Z', day: '0001-01-01' },
        max: { at: later, day: later.slice(0, 10) }
      }], search)
    }
  })
}
