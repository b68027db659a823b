import { test } from 'tap'
import { conformance, type Thing } from '../../lib/storage/conformance.ts'
import type { Context, Entry, Filter, Query, Refusal, Shape, Storage } from '../../lib/storage/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { databases } from './databases.ts'
import { things } from './things.ts'

const context: Context = { signal: new AbortController().signal, scope: undefined }

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

function toEntry (result: Entry<Thing> | Refusal): Entry<Thing> {
  if ('refused' in result) throw new Error(`refused: ${JSON.stringify(result)}`)
  return result
}

async function ids (storage: Storage<Thing>, options: Partial<Query>, within: Context = context): Promise<unknown[]> {
  return (await storage.list(query(options), within)).entries.map(({ id }) => id)
}

/** Properties of several types, and of all that can be compared. */
const mixed: Shape = {
  name: 'mixed',
  schema: {
    type: 'object',
    required: ['id', 'size'],
    properties: {
      id: { type: 'string', format: 'uuid' },
      size: { anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'boolean' }] },
      day: { type: 'string', format: 'date' },
      at: { type: 'string', format: 'date-time' },
      box: { type: 'object', properties: { code: { type: ['number', 'string'] }, label: { type: 'string' } } },
      level: { enum: ['low', 'high'] }
    }
  },
  id: { property: 'id', generate: 'uuid' },
  unique: []
}

const uuid = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`

const many: Thing[] = [
  {
    id: uuid(1),
    size: 5,
    day: '2024-02-29',
    at: '2024-02-29T12:00:00.000Z',
    box: { code: 5, label: 'x' },
    level: 'low'
  },
  { id: uuid(2), size: '5', day: '2023-01-01', at: '2023-01-01T00:00:00.001Z', box: { code: '5' }, level: 'high' },
  { id: uuid(3), size: true, box: { code: 0.5, label: 'y' } },
  { id: uuid(4), size: '', day: '2024-03-01', box: {} },
  { id: uuid(5), size: 12, at: '2024-02-29T12:00:00.500Z' }
]

const filters: readonly Filter[] = [
  { property: 'size', is: 'eq', value: 5 },
  { property: 'size', is: 'eq', value: '5' },
  { property: 'size', is: 'ne', value: '5' },
  { property: 'size', is: 'in', value: [5, '', true] },
  { property: 'size', is: 'nin', value: [5, '', true] },
  { property: 'size', is: 'gt', value: 4 },
  { property: 'size', is: 'lt', value: '6' },
  { property: 'size', is: 'like', value: '5*' },
  { property: 'size', is: 'null', value: true },
  { property: 'box', is: 'null', value: true },
  { property: 'box.code', is: 'eq', value: 5 },
  { property: 'box.code', is: 'eq', value: '5' },
  { property: 'box.code', is: 'gte', value: 0.5 },
  { property: 'box.label', is: 'in', value: ['x', 'y', 'z'] },
  { property: 'box.label', is: 'like', value: 'x' },
  { property: 'day', is: 'gte', value: '2024-02-29' },
  { property: 'day', is: 'like', value: '2024-*' },
  { property: 'day', is: 'eq', value: 'not a day' },
  { property: 'day', is: 'eq', value: '2024-99-99' },
  { property: 'at', is: 'like', value: '2024-02-29T12*' },
  { property: 'at', is: 'like', value: '*.001Z' },
  { property: 'at', is: 'lt', value: '2024-02-29T12:00:00.500Z' },
  { property: 'level', is: 'eq', value: 'low' },
  { property: 'level', is: 'eq', value: 5 },
  { property: 'level', is: 'like', value: '\0' },
  { property: 'level', is: 'lt', value: 5 },
  { property: 'id', is: 'eq', value: uuid(2) },
  { property: 'id', is: 'eq', value: 'no uuid' },
  { property: 'id', is: 'like', value: '*4' },
  { property: 'id', is: 'gt', value: uuid(3) }
]

for (const { name, skip, open } of databases) {
  test(`${name}: the storage`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    let tables = 0
    const createStorage = async (shape: Shape) => {
      const adapter = database.adapter({ table: `made_${tables++}` })
      await adapter.createTable({ ...shape, receipts: true })
      return adapter<Thing>(shape)
    }

    await t.test('passes the conformance suite', async (t) => {
      conformance((sentence, { skip }, body) => t.test(sentence, { skip }, body), createStorage)
    })

    await t.test('filters properties of every kind and of several types, as memory does', async (t) => {
      const storage = await createStorage(mixed)
      const reference = memory()<Thing>(mixed)
      for (const item of many) {
        t.same(toEntry(await storage.insert(structuredClone(item), context)).item, item)
        await reference.insert(structuredClone(item), context)
      }
      for (const filter of filters.flatMap((filter): Filter[] => [filter, { not: filter }])) {
        t.same(await ids(storage, { filter }), await ids(reference, { filter }), JSON.stringify(filter))
      }
      for (const search of [
        { words: ['2024'], properties: ['day', 'at'] },
        { words: ['x'], properties: ['box.label', 'level'] },
        { words: ['a\0'], properties: ['level'] }
      ]) {
        t.same(await ids(storage, { search }), await ids(reference, { search }), JSON.stringify(search))
      }
      t.same(
        await ids(storage, { search: { words: ['5'], properties: ['missing'].slice(1) } }),
        [],
        'a search in no property finds nothing'
      )
      for (const property of ['day', 'at', 'level', 'box.label']) {
        t.same(
          await ids(storage, { order: orderBy(property, 'id') }),
          await ids(reference, { order: orderBy(property, 'id') }),
          `ordered by ${property}`
        )
        t.same(
          await ids(storage, { order: orderBy(`-${property}`, 'id') }),
          await ids(reference, { order: orderBy(`-${property}`, 'id') }),
          `ordered by ${property}, descending`
        )
      }
    })

    await t.test('pages through every order from both ends, with ties and nulls, as memory does', async (t) => {
      const storage = await createStorage(things)
      const reference = memory()<Thing>(things)
      for (let index = 0; index < 40; index++) {
        const thing = {
          id: `t${String(index).padStart(2, '0')}`,
          name: `n${index % 3}`,
          ...(index % 4 === 0 ? {} : { rank: index % 5 === 0 ? null : index % 7 }),
          price: index % 2
        }
        await storage.insert({ ...thing }, context)
        await reference.insert({ ...thing }, context)
      }
      const orders = [
        ['id'],
        ['-id'],
        ['name', 'id'],
        ['-name', '-id'],
        ['name', '-id'],
        ['rank', 'id'],
        ['-rank', 'id'],
        ['-rank', '-name', 'id'],
        ['price', 'rank', '-id']
      ]
      for (const properties of orders) {
        const order = orderBy(...properties)
        const whole = await reference.list(query({ order }), context)
        const position = (entry: Entry<Thing>) =>
          order.map(({ property }) => (entry.item[property] ?? null) as string | number | null)
        const there: unknown[] = []
        const back: unknown[] = []
        for (let after: Query['after']; ;) {
          const { entries, more } = await storage.list(query({ order, after, limit: 7 }), context)
          there.push(...entries.map(({ id }) => id))
          const last = entries.at(-1)
          if (!more || last === undefined) break
          after = position(last)
        }
        for (let before: Query['before'] = position(whole.entries.at(-1) as Entry<Thing>); ;) {
          const { entries, more } = await storage.list(query({ order, before, limit: 7 }), context)
          back.unshift(...entries.map(({ id }) => id))
          const [first] = entries
          if (!more || first === undefined) break
          before = position(first)
        }
        t.same(
          there,
          whole.entries.map(({ id }) => id),
          `there by ${properties.join()}`
        )
        t.same(back, whole.entries.map(({ id }) => id).slice(0, -1), `and back by ${properties.join()}`)
        const [from, to] = [whole.entries[5], whole.entries[20]].map((entry) => position(entry as Entry<Thing>))
        t.same(
          await ids(storage, { order, after: from, before: to }),
          await ids(reference, { order, after: from, before: to }),
          `between two by ${properties.join()}`
        )
      }
      t.same(await ids(storage, { after: ['a\0'] }), [], 'a position that databases cannot store is past the end')
    })

    await t.test('selects only the requested properties, the id and the version', async (t) => {
      const storage = await createStorage(things)
      const { version } = toEntry(
        await storage.insert({ id: 'a', name: 'first', note: null, rank: 1, place: { city: 'Rome' } }, context)
      )
      const listWith = async (...properties: string[]) => (await storage.list(query({ properties }), context)).entries
      t.same(await listWith('name'), [{ id: 'a', item: { id: 'a', name: 'first' }, version }])
      t.same(await listWith('note', 'place.city'), [
        { id: 'a', item: { id: 'a', note: null, place: { city: 'Rome' } }, version }
      ])
      t.same(await listWith(), [{ id: 'a', item: { id: 'a' }, version }])
    })

    await t.test('treats every text of a client as a value, in any position', async (t) => {
      const storage = await createStorage(things)
      const hostile = [
        "'; DROP TABLE made_0; --",
        '" OR ""="',
        '` OR 1=1 #',
        "\\' OR 1=1 --",
        '$1',
        '?',
        ':a',
        '%',
        '_',
        '*',
        '|',
        '[a-z]',
        '/*!50000 OR 1 */',
        '$(id)',
        '{{7*7}}'
      ]
      for (const text of hostile) {
        const thing = {
          id: text,
          name: text,
          note: text,
          order: text,
          email: text,
          team: text,
          tags: [text],
          place: { city: text }
        }
        t.same(toEntry(await storage.insert(structuredClone(thing), context)).item, thing)
        const same: Filter = {
          all: [
            { property: 'name', is: 'eq', value: text },
            { property: 'place.city', is: 'in', value: [text, text, text] }
          ]
        }
        t.same(await ids(storage, { filter: same }), [text])
        t.same(
          await ids(storage, { filter: { property: 'name', is: 'like', value: text.replace(/[\\*]/g, '\\$&') } }),
          [text]
        )
        t.same(
          await ids(storage, {
            filter: { all: [same, { not: { property: 'note', is: 'ne', value: text } }] },
            search: { words: [text.replaceAll(/\s/g, '').toLowerCase()], properties: ['name'] }
          }),
          /\s/.test(text) ? [] : [text]
        )
        t.same(await ids(storage, {}, { ...context, scope: { property: 'team', is: 'eq', value: text } }), [text])
        t.same((await storage.find(text, { ...context, scope: same }))?.item, thing)
        t.same(await storage.replace(text, thing, text, context), { refused: 'stale' })
        t.same(await storage.remove(text, text, context), { refused: 'stale' })
        t.same(await storage.insert({ id: text, name: '' }, context), { refused: 'not-unique', properties: ['id'] })
      }
      t.equal((await storage.list(query({ count: true, limit: 1 }), context)).total, hostile.length)
    })

    await t.test('finds, replaces and removes nothing for an id that cannot exist', async (t) => {
      for (const [shape, impossible] of [
        [things, ['a\0', 5]],
        [mixed, ['x', uuid(9), 7, '']]
      ] as const) {
        const storage = await createStorage(shape)
        for (const id of impossible) {
          t.equal(await storage.find(id, context), undefined)
          t.same(await storage.replace(id, { id: 'a', name: '' }, undefined, context), { refused: 'not-found' })
          t.same(await storage.remove(id, undefined, context), { refused: 'not-found' })
        }
      }
    })

    await t.test('stores instants in UTC with milliseconds, and UUIDs in lower case', async (t) => {
      const storage = await createStorage(mixed)
      const given = { id: uuid(7).toUpperCase(), size: 1, at: '2024-03-01T01:30:00.123456+02:00' }
      const expected = { id: uuid(7), size: 1, at: '2024-02-29T23:30:00.123Z' }
      t.same(toEntry(await storage.insert(given, context)).item, expected)
      t.same((await storage.find(uuid(7), context))?.item, expected)
      t.same(await ids(storage, { filter: { property: 'at', is: 'eq', value: '2024-02-29t23:30:00.123z' } }), [uuid(7)])
      const leap = { ...given, at: '2016-12-31T23:59:60Z' }
      t.same(toEntry(await storage.replace(uuid(7), leap, undefined, context)).item, {
        ...expected,
        at: '2017-01-01T00:00:00.000Z'
      })
    })
  })
}
