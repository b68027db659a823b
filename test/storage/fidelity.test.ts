import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { test } from 'tap'
import type { Thing } from '../../lib/storage/conformance.ts'
import type { Context, Entry, Filter, Query, Shape, Storage } from '../../lib/storage/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { parseJson } from '../../lib/storage/sql/parse-json.ts'
import { databases } from './databases.ts'

const context: Context = { signal: new AbortController().signal, scope: undefined }

/** A schema, valid values of it, and whether its values are ordered. */
interface Sort {
  readonly schema: Shape['schema']
  readonly values: fc.Arbitrary<unknown>
  readonly ordered: boolean
}

const text = fc.string({ unit: 'binary', maxLength: 12 }).filter((value) => !value.includes('\0'))
const instant = fc
  .date({ min: new Date('1000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
  .map((date) => date.toISOString())
/** Minus zero is zero in JSON. JSON.parse cannot show it: it confuses some names, see parse-json.ts. */
function plain (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]))
  }
  return typeof value === 'number' ? value + 0 : value
}

/** The names that V8 confuses, more often than by chance. */
const name = fc
  .oneof(fc.constantFrom('h', '\\', '"', '\n', '\uE0000', 'a\\b'), text)
  .filter((name) => name !== '__proto__')
const json = fc
  .letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 2 },
      fc.jsonValue({ maxDepth: 0 }).filter((value) => typeof value !== 'number' || isExactInJson(value)),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true })
    )
  }))
  .value.map(plain)

/** SQLite before 3.53, as in Node.js 22, does not read very large and very small numbers in JSON exactly. */
function isExactInJson (value: number): boolean {
  const [major = 0, minor = 0] = (process.versions['sqlite'] ?? '').split('.').map(Number)
  if (major > 3 || (major === 3 && minor >= 53)) return true
  const magnitude = Math.abs(value)
  return value === 0 || (magnitude > 1e-50 && magnitude < 1e100)
}

const sorts: readonly Sort[] = [
  { schema: { type: 'string' }, values: text, ordered: true },
  { schema: { type: 'integer' }, values: fc.maxSafeInteger(), ordered: true },
  {
    schema: { type: 'number' },
    values: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    ordered: true
  },
  { schema: { type: 'boolean' }, values: fc.boolean(), ordered: true },
  { schema: { type: 'string', format: 'uuid' }, values: fc.uuid(), ordered: true },
  { schema: { type: 'string', format: 'date' }, values: instant.map((value) => value.slice(0, 10)), ordered: true },
  { schema: { type: 'string', format: 'date-time' }, values: instant, ordered: true },
  {
    schema: { type: 'string', format: 'decimal' },
    values: fc
      .tuple(fc.maxSafeInteger(), fc.nat(99))
      .map(([whole, part]) => `${whole}.${String(part).padStart(2, '0')}`),
    ordered: true
  },
  { schema: { enum: ['draft', 'published', ''] }, values: fc.constantFrom('draft', 'published', ''), ordered: true },
  { schema: { anyOf: [{ const: 1 }, { const: 2 }] }, values: fc.constantFrom(1, 2), ordered: true },
  {
    schema: { anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'boolean' }] },
    values: fc.oneof(fc.nat(5), fc.constantFrom('1', 'x', ''), fc.boolean()),
    ordered: false
  },
  { schema: { type: 'array' }, values: fc.array(json, { maxLength: 3 }), ordered: false },
  {
    schema: { type: 'object' },
    values: fc.dictionary(name, json, { maxKeys: 3, noNullPrototype: true }),
    ordered: false
  },
  { schema: {}, values: json.filter((value) => value !== null), ordered: false }
]

interface Property {
  readonly name: string
  readonly sort: Sort
  readonly nullable: boolean
  readonly required: boolean
}

interface Plan {
  readonly shape: Shape
  readonly properties: readonly Property[]
  readonly items: readonly Thing[]
}

/** Names with a meaning in a query language, and names like them. */
const names = ['name', 'order', 'group', 'select', 'Upper', 'with space', 'quo"te', "apo'strophe", 'back`tick', 'ünï']

const plans: fc.Arbitrary<Plan> = fc
  .uniqueArray(
    fc.record({
      name: fc.constantFrom(...names),
      sort: fc.constantFrom(...sorts),
      nullable: fc.boolean(),
      required: fc.boolean()
    }),
    { selector: ({ name }) => name, minLength: 1, maxLength: 5 }
  )
  .chain((properties) => {
    const schema: Shape['schema'] = {
      type: 'object',
      required: ['id', ...properties.filter(({ required }) => required).map(({ name }) => name)],
      properties: {
        id: { type: 'string', maxLength: 40 },
        ...Object.fromEntries(
          properties.map(({ name, nullable, sort: { schema } }) => [
            name,
            nullable ? { anyOf: [schema, { type: 'null' }] } : schema
          ])
        )
      }
    }
    const entries = properties.map(({ sort: { values }, nullable, required }) => {
      const present = nullable ? fc.option(values, { nil: null, freq: 3 }) : values
      return required ? present : fc.option(present, { nil: undefined, freq: 3 })
    })
    return fc.array(fc.tuple(...entries), { minLength: 1, maxLength: 8 }).map((rows): Plan => ({
      shape: { name: 'random', schema, id: { property: 'id', generate: 'client' }, unique: [] },
      properties,
      items: rows.map((row, index) =>
        Object.fromEntries(
          [['id', `i${index}`], ...row.map((value, column) => [properties[column]?.name, value])].filter(
            ([, value]) => value !== undefined
          )
        )
      )
    }))
  })

type Scalar = string | number | boolean

const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

/** Each condition with each value of the items. */
function filters ({ properties, items }: Plan): Filter[] {
  return properties.flatMap(({ name: property, sort: { ordered } }) => {
    const values = items.map((item) => item[property]).filter(isScalar)
    const compared = values
      .slice(0, 2)
      .flatMap((value): Filter[] => [
        { property, is: 'eq', value },
        { property, is: 'ne', value },
        ...(ordered ? (['lt', 'lte', 'gt', 'gte'] as const).map((is) => ({ property, is, value })) : [])
      ])
    return [
      ...compared,
      { property, is: 'in', value: values },
      { not: { property, is: 'in', value: values.slice(1) } },
      { property, is: 'null', value: true }
    ]
  })
}

function query (options: Partial<Query>): Query {
  return {
    filter: undefined,
    search: undefined,
    order: [{ property: 'id', descending: false }],
    after: undefined,
    before: undefined,
    limit: 100,
    properties: undefined,
    count: false,
    ...options
  }
}

async function ids (storage: Storage<Thing>, options: Partial<Query>): Promise<unknown[]> {
  return (await storage.list(query(options), context)).entries.map(({ id }) => id)
}

const getItem = (entry: Entry<Thing> | undefined): unknown => plain(entry?.item)

function check (actual: unknown, expected: unknown, what: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) {
    throw new Error(`${JSON.stringify(what)} gives ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`)
  }
}

test('names with escapes are parsed correctly, even if JSON.parse returns other names', async (t) => {
  JSON.parse('{"h":[],"\\\\":0}')
  t.same(parseJson('{"h":1,"\\"":2}'), { h: 1, '"': 2 })
  t.same(parseJson('{"h":1,"\\n":{"a\\\\":[{"\\"":"\\"x\\":"}]},"\uE0000":true,"\\uE0001":null}'), {
    h: 1,
    '\n': { 'a\\': [{ '"': '"x":' }] },
    '\uE0000': true,
    '\uE0001': null
  })
  t.same(parseJson('["\\"",{ "plain" : "\\\\" }]'), ['"', { plain: '\\' }])
  for (const text of ['{"\\', '{"a":"\\n', '{"\\x":1}']) t.throws(() => parseJson(text), SyntaxError, text)
  fc.assert(
    fc.property(json, (value) => isDeepStrictEqual(parseJson(JSON.stringify(value)), value)),
    { numRuns: 1000 }
  )
})

for (const { name, skip, open } of databases) {
  test(`${name}: a number in JSON that is not a safe integer is found by its value`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const shape: Shape = {
      name: 'huge',
      schema: { type: 'object', properties: { id: { type: 'string', maxLength: 40 }, any: {} } },
      id: { property: 'id', generate: 'client' },
      unique: []
    }
    const adapter = database.adapter({ table: 'huge' })
    await adapter.createTable(shape)
    const storage = adapter<Thing>(shape)
    const values = [153841933206596130, -153841933206596130, 2 ** 53, 1e300, 5, 0.1]
    for (const value of values) await storage.insert({ id: String(value), any: value }, context)
    for (const value of values) {
      t.same(await ids(storage, { filter: { property: 'any', is: 'eq', value } }), [String(value)], String(value))
    }
    await database.run('DROP TABLE huge')
  })

  test(
    `${name}: random items of random schemas are stored, filtered, sorted and paged as memory does`,
    { skip },
    async (t) => {
      const database = await open()
      t.teardown(() => database.end())
      let tables = 0
      await fc.assert(
        fc.asyncProperty(plans, async (plan) => {
          const { shape, properties, items } = plan
          const adapter = database.adapter({ table: `random_${tables++}` })
          await adapter.createTable(shape)
          const storage = adapter<Thing>(shape)
          const reference = memory()<Thing>(shape)
          for (const item of items) {
            const inserted = await storage.insert(structuredClone(item), context)
            check(getItem(inserted as Entry<Thing>), plain(item), item)
            await reference.insert(structuredClone(item), context)
          }
          const swapped = items.map((item, index) => ({ ...items[items.length - 1 - index], id: item['id'] }))
          for (const item of swapped) {
            const id = String(item['id'])
            await storage.replace(id, structuredClone(item), undefined, context)
            await reference.replace(id, structuredClone(item), undefined, context)
            check(getItem(await storage.find(id, context)), getItem(await reference.find(id, context)), item)
          }
          for (const filter of filters(plan)) {
            check(await ids(storage, { filter }), await ids(reference, { filter }), filter)
          }
          for (const {
            name: property,
            sort: { ordered }
          } of properties) {
            if (!ordered) continue
            for (const descending of [true, false]) {
              const order = [
                { property, descending },
                { property: 'id', descending: false }
              ]
              const { entries } = await reference.list(query({ order }), context)
              check(
                await ids(storage, { order }),
                entries.map(({ id }) => id),
                order
              )
              for (const { id, item } of entries) {
                const here = [(item[property] ?? null) as Scalar | null, id]
                for (const options of [
                  { order, after: here, limit: 3 },
                  { order, before: here, limit: 3 }
                ]) {
                  check(await ids(storage, options), await ids(reference, options), options)
                }
              }
            }
          }
          await database.run(`DROP TABLE random_${tables - 1}`)
        }),
        { numRuns: 60, endOnFailure: true }
      )
      t.pass(`${tables} tables`)
    }
  )
}
