import assert from 'node:assert/strict'
import t, { test } from 'tap'
import { Type } from '@sinclair/typebox'
import { define } from '../../lib/index.ts'
import { conformance } from '../../lib/storage/conformance.ts'
import type { Id } from '../../lib/index.ts'
import type { Adapter, Context, Filter, Order, Query, Shape, Storage } from '../../lib/storage/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { isProportional } from '../growth.ts'

interface Item {
  readonly id: string
  readonly name: string
  readonly rank?: number | null
  readonly mixed?: unknown
  readonly tags?: readonly string[]
}

const shape: Shape = {
  name: 'items',
  schema: { type: 'object', properties: { id: { type: 'string' } } },
  id: { property: 'id', generate: 'client' },
  unique: [['name']]
}

/** Checking the signal takes time, and memory never waits. */
const context: Context = {
  get signal (): AbortSignal {
    throw new Error('the signal is looked at')
  },
  scope: undefined
}

const everything: Query = {
  filter: undefined,
  search: undefined,
  order: [{ property: 'id', descending: false }],
  after: undefined,
  before: undefined,
  limit: 10_000,
  properties: undefined,
  count: false
}

const orderBy = (...properties: readonly string[]): Order[] =>
  properties.map((property) => ({ property: property.replace('-', ''), descending: property.startsWith('-') }))

async function ids (storage: Storage<Item>, options: Partial<Query> = {}): Promise<Id[]> {
  return (await storage.list({ ...everything, ...options }, context)).entries.map(({ id }) => id)
}

t.test('memory passes the conformance suite', async (t) => {
  conformance((name, options, body) => t.test(name, options, body), memory())
})

test('memory() is an adapter for any item and supports everything', async (t) => {
  const adapter: Adapter<Item> = memory()
  const { name, supports } = adapter(shape)
  t.equal(name, 'memory')
  t.ok(Object.isFrozen(supports))
  t.same(Object.values(supports), Array(10).fill(true))
})

test('the same version returns the same entry, which is deeply frozen', async (t) => {
  const storage = memory()<Item>(shape)
  const given = { id: 'a', name: 'first', tags: ['x'] }
  const inserted = await storage.insert(given, context)
  const found = await storage.find('a', context)
  t.equal(found, inserted)
  t.equal((await storage.list(everything, context)).entries[0], inserted)
  t.equal(found?.item, given, 'no copy is made')
  t.ok(Object.isFrozen(found))
  t.ok(Object.isFrozen(found?.item))
  t.ok(Object.isFrozen(found?.item.tags))
})

test('a seed can be without items', async (t) => {
  const storage = memory({})<Item>(shape)
  t.strictSame((await storage.list(everything, context)).entries, [])
  const notes = define({ name: 'notes', schema: Type.Object({ id: Type.String() }), storage: memory({}) })
  t.equal(notes.name, 'notes')
})

test('a write takes effect synchronously', async (t) => {
  const storage = memory()<Item>(shape)
  const inserting = storage.insert({ id: 'a', name: 'first' }, context)
  const finding = storage.find('a', context)
  t.equal(await finding, await inserting)
})

test('storages of one adapter are separate, and so are their versions', async (t) => {
  const adapter = memory()
  const one = adapter<Item>(shape)
  const two = adapter<Item>(shape)
  const first = await one.insert({ id: 'a', name: 'first' }, context)
  t.equal(await two.find('a', context), undefined)
  const second = await two.insert({ id: 'a', name: 'first' }, context)
  assert.ok('version' in first && 'version' in second)
  t.not(first.version, second.version)
})

test("a seed is available from the start, and the caller's items are not modified", async (t) => {
  const items = [
    { id: 'b', name: 'second', tags: ['x'] },
    { id: 'a', name: 'first' }
  ]
  const adapter: Adapter<Item> = memory({ items })
  const storage = adapter(shape)
  t.same(await ids(storage), ['a', 'b'])
  t.notOk(Object.isFrozen(items[0]))
  items[0]?.tags?.push('y')
  t.same((await storage.find('b', context))?.item.tags, ['x'])
  t.throws(
    () => memory({ items: [...items, { id: 'c', name: 'first' }] })(shape),
    /seed of items contains an item twice: .*"c"/
  )
})

test('ids are sequential if the schema has a number, and random otherwise', async (t) => {
  const createStorage = (type: string | string[]) =>
    memory()<object>({ ...shape, schema: { properties: { id: { type } } }, unique: [] })
  for (const type of ['integer', 'number', ['null', 'integer']]) {
    const storage = createStorage(type)
    await storage.insert({}, context)
    await storage.insert({ id: 41 }, context)
    t.match(
      await storage.insert({ id: undefined, name: 'x' }, context),
      { id: 42, item: { id: 42, name: 'x' } },
      'generated ids follow the highest id'
    )
  }
  t.match(await createStorage('string').insert({}, context), { id: /^[\da-f]{8}-[\da-f-]{27}$/ })
  t.match(await memory()<object>({ ...shape, schema: {}, unique: [] }).insert({}, context), { id: /^[\da-f]{8}-/ })
})

test('an order is total for properties of any types', async (t) => {
  const storage = memory()<Item>({ ...shape, unique: [] })
  const values = [false, true, -1, 2, '', 'a', '\uffff', '😀', {}, [1], null, undefined]
  for (const [index, mixed] of values.entries()) {
    await storage.insert({ id: String.fromCharCode(97 + index), name: '', mixed }, context)
  }
  t.same((await ids(storage, { order: orderBy('mixed', 'id') })).join(''), 'abcdefghijkl')
  for (const id of ['j', 'l', 'a', 'd']) await storage.remove(id, undefined, context)
  t.same((await ids(storage, { order: orderBy('-mixed', 'id') })).join(''), 'kihgfecb')
})

test('unique values of any type are compared by value and by type', async (t) => {
  const storage = memory()<Item>({ ...shape, unique: [['mixed']] })
  for (const [index, mixed] of [1, '1', true, 'true', { a: [1] }, { a: [2] }, ['x'], 'x'].entries()) {
    t.match(await storage.insert({ id: `${index}`, name: '', mixed }, context), { version: /./ })
    t.match(await storage.insert({ id: 'again', name: '', mixed: structuredClone(mixed) }, context), {
      refused: 'not-unique',
      properties: ['mixed']
    })
  }
})

test('a condition with a value of another type matches nothing', async (t) => {
  const storage = memory()<Item>({ ...shape, unique: [] })
  await storage.insert({ id: 'a', name: '5', mixed: 5 }, context)
  const filters: Filter[] = [
    { property: 'name', is: 'eq', value: 5 },
    { property: 'name', is: 'lte', value: 5 },
    { property: 'mixed', is: 'gte', value: '5' },
    { property: 'mixed', is: 'like', value: '*' },
    { property: 'mixed', is: 'like', value: '5' },
    { property: 'name.length', is: 'eq', value: 1 },
    { property: 'constructor.name', is: 'eq', value: 'Object' },
    { property: 'toString', is: 'null', value: false }
  ]
  for (const filter of filters) t.same(await ids(storage, { filter }), [], JSON.stringify(filter))
  t.same(
    await ids(storage, { filter: { property: 'name', is: 'like', value: '5\\' } }),
    [],
    'a backslash at the end is a backslash'
  )
  t.same(await ids(storage, { search: { words: ['5'], properties: ['mixed'] } }), [])
  t.same(await ids(storage, { search: { words: [], properties: ['name'] } }), ['a'])
})

test('a like pattern that is designed to be slow takes time proportional to the text', async (t) => {
  t.ok(
    await isProportional(async (length) => {
      const storage = memory()<Item>(shape)
      await storage.insert({ id: 'a', name: 'a'.repeat(length) }, context)
      t.same(await ids(storage, { filter: { property: 'name', is: 'like', value: '*a'.repeat(1000) + '*b' } }), [])
    }, 5_000)
  )
})

test('items inserted in order are listed in order, page by page', async (t) => {
  const storage = memory()<Item>(shape)
  const all = Array.from({ length: 1200 }, (_, index) => `${1000 + index}`)
  for (const id of all) await storage.insert({ id, name: id }, context)
  t.same(await ids(storage), all)
  t.same(await ids(storage, { after: ['1510'], limit: 5 }), all.slice(511, 516))
  t.same(await ids(storage, { before: ['1514'], limit: 5 }), all.slice(509, 514))
})

test('thousands of writes keep every order sorted', async (t) => {
  const storage = memory()<Item>({ ...shape, unique: [['rank']] })
  const model = new Map<string, Item>()
  let seed = 42
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return Math.floor((seed / 2147483648) * below)
  }
  // More orders than are cached, so that one is dropped and built again.
  const orders = [
    orderBy('id'),
    orderBy('-id'),
    orderBy('rank', 'id'),
    orderBy('-rank', 'id'),
    orderBy('name', 'id'),
    orderBy('name', '-id'),
    orderBy('rank', 'name', 'id'),
    orderBy('rank', '-name', 'id'),
    orderBy('rank', '-name', '-id'),
    orderBy('name', 'rank', 'id'),
    orderBy('name', '-rank', 'id'),
    orderBy('rank', '-id')
  ]
  const check = async () => {
    for (const order of orders) {
      const rows = [...model.values()].map(({ id, name, rank }) => ({ id, name, rank: String(rank ?? 'null') }))
      const expected = rows
        .sort((a, b) => {
          for (const { property, descending } of order) {
            const [x, y] = property === 'id' ? [a.id, b.id] : property === 'name' ? [a.name, b.name] : [a.rank, b.rank]
            if (x !== y) return (x > y) === descending ? -1 : 1
          }
          return 0
        })
        .map(({ id }) => id)
      assert.deepEqual(await ids(storage, { order }), expected, JSON.stringify(order))
    }
  }
  for (let turn = 0; turn < 6000; turn++) {
    const id = `${10_000 + random(4000)}`
    const item = { id, name: `${10 + random(40)}`, rank: turn % 3 === 0 ? null : turn + 100_000 }
    const inserted = await storage.insert({ ...item }, context)
    assert.equal('refused' in inserted, model.has(id))
    if (!('refused' in inserted)) model.set(id, item)
    else if (turn % 2 === 0) {
      await storage.replace(id, { ...item }, undefined, context)
      model.set(id, item)
    }
    if (turn === 3000) await check()
  }
  await check()
  const order = orderBy('rank', '-name', 'id')
  for (const id of [...model.keys()].filter((_, index) => index % 50 !== 0)) {
    assert.equal(await storage.remove(id, undefined, context), undefined)
    model.delete(id)
  }
  await check()
  t.equal((await storage.list({ ...everything, order, limit: 0, count: true }, context)).total, model.size)
  t.ok((await storage.list({ ...everything, order, limit: 0 }, context)).more)
  for (const id of model.keys()) await storage.remove(id, undefined, context)
  t.same(await ids(storage, { order }), [])
})

test('a transaction lists its own writes among other items, in any order and direction', async (t) => {
  const items = ['a', 'b', 'c', 'd', 'e', 'f'].map((id, index) => ({ id, name: id, rank: index }))
  const storage = memory<Item>({ items })(shape)
  await storage.transaction?.(async (inner) => {
    await inner.insert({ id: 'bb', name: 'bb', rank: 9 }, context)
    await inner.insert({ id: 'zz', name: 'zz', rank: -1 }, context)
    await inner.insert({ id: 'gone', name: 'gone' }, context)
    await inner.remove('gone', undefined, context)
    await inner.remove('c', undefined, context)
    await inner.replace('e', { id: 'e', name: 'e', rank: -5 }, undefined, context)
    t.same(await ids(inner), ['a', 'b', 'bb', 'd', 'e', 'f', 'zz'])
    t.same(await ids(inner, { order: orderBy('-rank', 'id') }), ['bb', 'f', 'd', 'b', 'a', 'zz', 'e'])
    t.same(await ids(inner, { after: ['b'], limit: 1 }), ['bb'])
    t.same(await ids(inner, { after: ['bb'], limit: 2 }), ['d', 'e'])
    t.same(await ids(inner, { before: ['d'], limit: 2 }), ['b', 'bb'])
    t.same(await ids(inner, { before: ['zzz'], limit: 1 }), ['zz'])
    t.match(await inner.list({ ...everything, limit: 2, count: true }, context), { total: 7, more: true })
    t.same(await ids(storage), ['a', 'b', 'c', 'd', 'e', 'f'], 'other callers see the previous state')
    t.match(await storage.list({ ...everything, count: true }, context), { total: 6 })
  }, new AbortController())
  t.same(await ids(storage), ['a', 'b', 'bb', 'd', 'e', 'f', 'zz'])
  t.same(await storage.find('gone', context), undefined)
})

test('unique values can move between items within a transaction', async (t) => {
  const storage = memory<Item>({
    items: [
      { id: 'a', name: 'one' },
      { id: 'b', name: 'two' }
    ]
  })(shape)
  await storage.transaction?.(async (inner) => {
    t.match(await inner.replace('a', { id: 'a', name: 'two' }, undefined, context), {
      refused: 'not-unique',
      properties: ['name']
    })
    await inner.replace('b', { id: 'b', name: 'three' }, undefined, context)
    t.match(await inner.insert({ id: 'c', name: 'three' }, context), { refused: 'not-unique', properties: ['name'] })
    t.match(await inner.replace('a', { id: 'a', name: 'two' }, undefined, context), { id: 'a' })
    t.match(await inner.replace('b', { id: 'b', name: 'one' }, undefined, context), { id: 'b' })
  }, new AbortController())
  t.match(await storage.insert({ id: 'd', name: 'one' }, context), { refused: 'not-unique' })
  t.match(await storage.insert({ id: 'd', name: 'two' }, context), { refused: 'not-unique' })
  t.match(await storage.insert({ id: 'd', name: 'three' }, context), { id: 'd' })
})

test('transactions run one after another, other writes wait for them, and reads do not', async (t) => {
  const storage = memory<Item>({
    items: [
      { id: 'a', name: 'a', rank: 0 },
      { id: 'b', name: 'b' }
    ]
  })(shape)
  const log: string[] = []
  // A write that waits looks at the signal.
  const waits: Context = { signal: new AbortController().signal, scope: undefined }
  const add = (step: string) =>
    storage.transaction?.(async (inner) => {
      const entry = await inner.find('a', context)
      log.push(`${step} sees ${entry?.item.rank}`)
      await new Promise((resolve) => setImmediate(resolve))
      await inner.replace('a', { id: 'a', name: 'a', rank: (entry?.item.rank ?? 0) + 1 }, entry?.version, context)
    }, new AbortController())
  const first = add('first')
  const second = add('second')
  const replaced = storage
    .replace('b', { id: 'b', name: 'b', rank: 1 }, undefined, waits)
    .then(() => log.push('replaced'))
  const removed = storage.remove('b', undefined, waits).then(() => log.push('removed'))
  const third = add('third')
  t.equal((await storage.find('a', context))?.item.rank, 0)
  await Promise.all([first, second, third, replaced, removed])
  t.same(log, ['first sees 0', 'second sees 1', 'replaced', 'removed', 'third sees 2'])
  t.equal((await storage.find('a', context))?.item.rank, 3)
})

test('a nested transaction is part of the outer one', async (t) => {
  const storage = memory()<Item>(shape)
  await t.rejects(async () => storage.transaction?.(async (outer) => {
    await outer.insert({ id: 'a', name: 'a' }, context)
    await outer.transaction?.(async (inner) => {
      await inner.insert({ id: 'b', name: 'b' }, context)
      t.same(await ids(inner), ['a', 'b'])
    }, new AbortController())
    t.same(await ids(outer), ['a', 'b'])
    throw new Error('on purpose')
  }, new AbortController()), { message: 'on purpose' })
  t.same(await ids(storage), [])
})
