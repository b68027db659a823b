import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { action } from '../../../lib/features/action.ts'
import { idempotency } from '../../../lib/features/idempotency.ts'
import { timeout } from '../../../lib/features/timeout.ts'
import { define, problem } from '../../../lib/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { sqlite } from '../../../lib/storage/sqlite.ts'
import { authenticate, connect, defineProducts, listen, serveShop } from './shop.ts'
import type { Agent } from './shop.ts'

// What calls of tools do: tags, keys, pages, and errors that say what to do next.

const newKey = (): string => randomUUID()

async function createProduct (agent: Agent, item: object) {
  return (await agent.call('products_create', { item, key: newKey() })).value as { id: string, tag: string, item: object }
}

test('an entry is { id, tag, item }, and what a caller does not see is not in it', async (t) => {
  const url = await listen(await serveShop(t))
  const boss = await connect(t, url, 'boss')
  const clerk = await connect(t, url, 'clerk')
  const item = { id: 'a', name: 'Tea', price: 3, kind: 'tea', stock: 0 }
  const created = await createProduct(boss, item)
  t.strictSame(Object.keys(created), ['id', 'tag', 'item'])
  t.strictSame(created.item, item)
  const result = await boss.call('products_read', { id: 'a' })
  t.strictSame(result.value, created)
  t.strictSame(JSON.parse((result.content[0] as { text: string }).text), result.value)
  const { price, ...visible } = item
  t.strictSame((await clerk.call('products_read', { id: 'a' })).value.item, visible)
  t.strictSame((await boss.call('products_read', { id: 'a', query: { fields: ['name'] } })).value, {
    id: 'a', tag: created.tag, item: { name: 'Tea' }
  }, 'the tag is that of the whole item')
  t.strictSame((await boss.call('products_count')).value, { count: 7 })
  t.strictSame((await boss.call('products_remove', { id: 'a', tag: created.tag })).value, { done: true })
})

test('a list has small pages with cursors, and entries whose tags are good for a write', async (t) => {
  // It reads only the properties that are selected.
  const storage = sqlite(new DatabaseSync(':memory:'))
  const products = defineProducts({ storage })
  await storage.createTable(products)
  const url = await listen(await serveShop(t, { definitions: [products], limit: 2 }))
  for (const caller of ['boss', 'clerk']) {
    const agent = await connect(t, url, caller)
    const ids = caller === 'boss' ? ['a', 'b', 'c', 'd', 'e'] : []
    for (const id of ids) await createProduct(agent, { id, name: 'Tea', price: 1 })
    const query = { sort: ['-id'], fields: ['stock'], count: true }
    const first = (await agent.call('products_list', { query })).value
    t.match(first, { entries: [{ id: 'e' }, { id: 'd' }], total: 5, next: String })
    t.strictSame(Object.keys(first.entries[0].item), ['stock'])
    const second = (await agent.call('products_list', { query: { ...query, cursor: first.next } })).value
    t.match(second, { entries: [{ id: 'c' }, { id: 'b' }], next: String })
    const third = (await agent.call('products_list', { query: { ...query, cursor: second.next } })).value
    t.match(third, { entries: [{ id: 'a' }] })
    t.notOk('next' in third)
    t.equal((await agent.call('products_list', { query: { limit: 4 } })).value.entries.length, 4)
    const { id, tag, item } = third.entries[0]
    t.match((await agent.call('products_update', { id, tag, patch: { stock: item.stock + 1 } })).value, { item: { stock: item.stock + 1 } })
  }
})

test('a stale tag writes nothing, and returns the item as it is now', async (t) => {
  const url = await listen(await serveShop(t))
  const boss = await connect(t, url, 'boss')
  const clerk = await connect(t, url, 'clerk')
  const { tag } = await createProduct(boss, { id: 'a', name: 'Tea', price: 3 })
  const changed = (await boss.call('products_update', { id: 'a', tag, patch: { stock: 5 } })).value
  const stale = [
    await boss.call('products_update', { id: 'a', tag, patch: { stock: 6 } }),
    await boss.call('products_remove', { id: 'a', tag }),
    await boss.call('products_sell', { id: 'a', tag, input: { count: 1 } }),
    await boss.call('products_restock', { id: 'a', tag, input: { count: 1 }, key: newKey() })
  ]
  for (const { isError, value } of stale) {
    t.ok(isError)
    t.match(value, { status: 412, code: 'precondition-failed', detail: /decide again/, current: changed })
  }
  t.strictSame((await boss.call('products_read', { id: 'a' })).value, changed)
  const { value } = await clerk.call('products_update', { id: 'a', tag, patch: { stock: 6 } })
  t.strictSame(Object.keys(value.current.item), ['id', 'name', 'stock'], 'without what the caller does not see')
  t.match(await clerk.call('products_update', { id: 'a', tag: value.current.tag, patch: { stock: 6 } }), { value: { item: { stock: 6 } } })
  t.match((await boss.call('products_read', { id: 'a' })).value, { item: { price: 3, stock: 6 } })
})

test('a repeated call with its key is done once; the key belongs to the caller and the tool', async (t) => {
  const url = await listen(await serveShop(t))
  const boss = await connect(t, url, 'boss')
  const clerk = await connect(t, url, 'clerk')
  const key = newKey()
  const create = { item: { id: 'a', name: 'Tea' }, key }
  const created = (await boss.call('products_create', create)).value
  t.strictSame((await boss.call('products_create', create)).value, created)
  t.strictSame((await boss.call('products_create', { key, item: { name: 'Tea', id: 'a' } })).value, created, 'in any order')
  t.match(await boss.call('products_create', { item: { id: 'b', name: 'Tea' }, key }), {
    isError: true, value: { code: 'idempotency-key-reused', detail: /new key/ }
  })
  for (const agent of [boss, clerk, boss, clerk]) {
    t.match(await agent.call('products_restock', { id: 'a', input: { count: 10 }, key }), { value: { id: 'a' } })
  }
  const read = async () => (await boss.call('products_read', { id: 'a' })).value as { tag: string, item: { stock: number } }
  t.equal((await read()).item.stock, 20, 'once for each caller')
  t.match(await boss.call('products_list'), { value: { entries: { length: 1 } } })

  // With a tag, the key is optional. A repeated call gets the result of the first one instead of a stale tag.
  const { tag } = await read()
  const update = { id: 'a', tag, patch: { stock: 1 }, key: newKey() }
  const updated = (await boss.call('products_update', update)).value
  t.strictSame((await boss.call('products_update', update)).value, updated)
  t.match(await boss.call('products_update', { ...update, key: newKey() }), { isError: true, value: { code: 'precondition-failed' } })
  // A refused call keeps no key.
  const refused = { id: 'a', tag, patch: { stock: 2 }, key: newKey() }
  t.match(await boss.call('products_update', refused), { isError: true })
  t.match(await boss.call('products_update', { ...refused, tag: updated.tag }), { value: { item: { stock: 2 } } })
})

test('bad input is a clear error, and nothing is written', async (t) => {
  const url = await listen(await serveShop(t))
  const boss = await connect(t, url, 'boss')
  const clerk = await connect(t, url, 'clerk')
  const a = await createProduct(boss, { id: 'a', name: 'Tea', price: 3 })
  const b = await createProduct(boss, { id: 'b', name: 'Coffee', price: 4 })
  const before = (await boss.call('products_list')).value
  const key = newKey()
  const item = { id: 'c', name: 'Mate' }
  const required = (name: string) => ({ pointer: `/${name}`, message: 'is required' })
  const cases: Array<[name: string, given: Record<string, unknown>, expected: Record<string, unknown>]> = [
    ['products_destroy', {}, { code: 'not-found', detail: /no tool "products_destroy"/ }],
    ['products_create', { item }, { errors: [required('key')] }],
    ['products_create', { key }, { errors: [required('item')] }],
    ['products_create', { item, key: '1' }, { errors: [{ pointer: '/key', message: /8 to 255/ }] }],
    ['products_create', { item: [item], key }, { errors: [{ pointer: '/item', message: 'must be an object' }] }],
    ['products_create', { item, key, tag: a.tag }, { errors: [{ pointer: '/tag', message: /not a known argument/ }] }],
    ['products_create', { item: { ...item, stock: 'many' }, key }, { errors: [{ pointer: '/item/stock', message: 'must be integer' }] }],
    ['products_create', { item: { nme: 'Mate' }, key }, { errors: [{ pointer: '/item/id' }, { pointer: '/item/name' }, { pointer: '/item/nme' }] }],
    ['products_create', { item: { id: 'a', name: 'Tea' }, key }, { code: 'not-unique' }],
    ['products_update', { id: 'a', patch: { stock: 1 } }, { errors: [required('tag')] }],
    ['products_update', { id: 'a', tag: b.tag, patch: { stock: 1 } }, { code: 'precondition-failed', current: a }],
    ['products_update', { id: 'a', tag: '*', patch: { stock: 1 } }, { code: 'precondition-failed' }],
    ['products_update', { id: 'a', tag: 7, patch: { stock: 1 } }, { errors: [{ pointer: '/tag' }] }],
    ['products_update', { id: 'x', tag: a.tag, patch: {} }, { code: 'not-found', detail: /List items/ }],
    ['products_update', { id: 'a', tag: a.tag, patch: { stock: 1.5 } }, { errors: [{ pointer: '/patch/stock' }] }],
    ['products_remove', { id: 'a' }, { errors: [required('tag')] }],
    ['products_remove', { id: 'a', tag: b.tag }, { code: 'precondition-failed', current: a }],
    ['products_sell', { id: 'a', tag: a.tag }, { errors: [{ pointer: '/input/count' }] }],
    ['products_restock', { id: 'a', input: { count: 1 } }, { errors: [required('key')] }],
    ['products_restock', { id: 'a', input: { count: 0 }, key }, { errors: [{ pointer: '/input/count' }] }],
    ['products_read', {}, { errors: [required('id')] }],
    ['products_read', { id: { a: 1 } }, { errors: [{ pointer: '/id' }] }],
    ['products_read', { id: 'a', query: { filter: {} } }, { errors: [{ pointer: '/query/filter' }] }],
    ['products_list', { query: { filter: { nme: 'x' } } }, { errors: [{ pointer: '/query/filter/nme' }] }],
    ['products_list', { query: { limit: 1000 } }, { errors: [{ pointer: '/query/limit' }] }],
    ['products_list', { query: { cursor: 'x' } }, { status: 400 }],
    ['products_list', { filter: { name: 'x' } }, { errors: [{ pointer: '/filter', message: /Known arguments: query/ }] }],
    ['products_aggregate', { query: { sum: ['name'] } }, { errors: [{ pointer: '/query/sum' }] }]
  ]
  for (const [name, given, expected] of cases) {
    const { isError, value } = await boss.call(name, given)
    t.ok(isError, name)
    t.match(value, expected, `${name} ${JSON.stringify(given)}`)
  }
  const hidden = [
    await clerk.call('products_create', { item: { ...item, price: 1 }, key }),
    await clerk.call('products_list', { query: { filter: { 'price.gte': 1 } } }),
    await clerk.call('products_aggregate', { query: { sum: ['price'] } })
  ]
  for (const result of hidden) t.match(result, { isError: true, value: { code: 'validation-failed' } })
  t.strictSame((await clerk.call('products_remove', { id: 'a', tag: a.tag })).value, {
    ...(await clerk.call('products_destroy')).value,
    detail: 'There is no tool "products_remove" for you. tools/list has those that you can call.'
  }, 'a tool that the caller may not use answers as an unknown one')
  t.strictSame((await boss.call('products_list')).value, before)
})

test('a caller who may not read gets the id and the tag of what it has written', async (t) => {
  const Note = Type.Object({ id: Type.String(), text: Type.String() })
  const notes = define({
    name: 'notes',
    schema: Note,
    id: { generate: 'client' },
    storage: memory(),
    access: { authenticate, allow: { all: 'authenticated', read: ({ caller }) => caller === 'ada', list: ({ caller }) => caller === 'ada' } }
  }).with(idempotency())
  const url = await listen(await serveShop(t, { definitions: [notes] }))
  const bob = await connect(t, url, 'bob')
  const create = { item: { id: 'a', text: 'Hello' }, key: newKey() }
  const { value } = await bob.call('notes_create', create)
  t.strictSame(Object.keys(value), ['id', 'tag'])
  t.strictSame((await bob.call('notes_create', create)).value, value)
  const stale = (await bob.call('notes_update', { id: 'a', tag: 'other', patch: {} })).value
  t.match(stale, { code: 'precondition-failed' })
  t.notOk('current' in stale)
})

test('errors of the app: a problem is shown, anything else is not', async (t) => {
  const Note = Type.Object({ id: Type.String(), text: Type.String() })
  const notes = define({
    name: 'notes',
    schema: Note,
    id: { generate: 'client' },
    storage: memory({ items: [{ id: 'a', text: 'x' }] }),
    access: {
      authenticate,
      allow: {
        all: 'public',
        list: () => { throw problem('too-many-requests', { detail: 'Later.' }) },
        create: () => { throw new Error('secret') }
      }
    },
    hooks: {
      beforeValidation: ({ item }) => {
        if (item.text === 'no') throw problem('conflict', { detail: 'Not this one.' })
        if (item.text === 'oops') throw new Error('secret')
      }
    }
  }).with(idempotency(), timeout(50), action('wait', {
    etag: { required: false },
    run: async ({ signal }) => new Promise<void>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
  }))
  const app = await serveShop(t, { definitions: [notes] })
  const agent = await connect(t, await listen(app), 'ada')
  const { tag } = (await agent.call('notes_read', { id: 'a' })).value
  const change = (text: string) => agent.call('notes_update', { id: 'a', tag, patch: { text } })
  t.match(await change('no'), { isError: true, value: { status: 409, code: 'conflict', detail: 'Not this one.' } })
  t.match(await change('oops'), { isError: true, value: { status: 500, code: 'internal-error' } })
  t.match(await agent.call('notes_wait', { id: 'a', key: newKey() }), { isError: true, value: { status: 503, code: 'timeout', retryAfter: 1 } })
  t.match(await agent.call('notes_list'), { isError: true, value: { status: 429, detail: 'Later.' } })
  t.match(await agent.call('notes_create', { item: { id: 'b', text: 'x' }, key: newKey() }), { isError: true, value: { status: 500 } })
  t.match(await change('y'), { value: { item: { text: 'y' } } })
  const names = (await agent.client.listTools()).tools.map(({ name }) => name).join(' ')
  t.equal(names, 'notes_read notes_update notes_remove notes_wait', 'a tool whose rule fails is left out')
})

test('a caller has a limit of calls', async (t) => {
  const url = await listen(await serveShop(t, { callsPerMinute: 2 }))
  const boss = await connect(t, url, 'boss')
  const clerk = await connect(t, url, 'clerk')
  for (const agent of [boss, clerk]) {
    t.notOk((await agent.call('products_list')).isError)
    t.notOk((await agent.call('products_list')).isError)
    const { isError, value } = await agent.call('products_list')
    t.ok(isError)
    t.match(value, { status: 429, detail: /Wait \d+ seconds/, retryAfter: Number })
  }
})

test('ids that are numbers, searches, and a custom action on a collection', async (t) => {
  const Word = Type.Object({ id: Type.Integer(), text: Type.String(), rare: Type.Boolean({ default: false }) })
  const words = define({
    name: 'words',
    schema: Word,
    id: { generate: 'storage' },
    storage: memory(),
    list: { search: ['text'], filter: ['rare'], sort: [] }
  }).with(idempotency(), action('import', {
    on: 'collection',
    input: Type.Object({ texts: Type.Array(Type.String()) }),
    async run ({ input, getCollection, transaction }) {
      for (const text of input.texts) await getCollection(words).create({ text }, { transaction })
    }
  }))
  const agent = await connect(t, await listen(await serveShop(t, { definitions: [words] })))
  const tools = Object.fromEntries((await agent.client.listTools()).tools.map((tool) => [tool.name, tool.inputSchema]))
  t.match(tools.words_read, { properties: { id: { type: 'integer' } } })
  t.match(tools.words_list, { properties: { query: { properties: { q: { description: /in text/ }, filter: { examples: [{ rare: true }] } } } } })
  const given = { input: { texts: ['green tea', 'coffee'] }, key: newKey() }
  t.strictSame((await agent.call('words_import', given)).value, { done: true })
  t.strictSame((await agent.call('words_import', given)).value, { done: true })
  t.match((await agent.call('words_list', { query: { q: 'tea', count: true } })).value, {
    entries: [{ id: 1, item: { text: 'green tea' } }], total: 1
  })
  for (const id of [2, '2']) t.match((await agent.call('words_read', { id })).value, { id: 2, item: { text: 'coffee' } })
  t.match((await agent.call('words_read', { id: 'two' })).value, { code: 'not-found' })
})

test('a write whose client disconnects is aborted, and its key is free again', async (t) => {
  let begun = () => {}
  const began = new Promise<void>((resolve) => { begun = resolve })
  let aborted = () => {}
  const abort = new Promise<void>((resolve) => { aborted = resolve })
  const Note = Type.Object({ id: Type.String(), count: Type.Integer() })
  let isFirst = true
  const notes = define({
    name: 'notes', schema: Note, id: { generate: 'client' }, storage: memory({ items: [{ id: 'a', count: 0 }] })
  }).with(idempotency(), action('add', {
    etag: { required: false },
    async run ({ item, signal }) {
      if (isFirst) {
        isFirst = false
        begun()
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted()
            reject(signal.reason as Error)
          })
        })
      }
      return { ...item, count: item.count + 1 }
    }
  }))
  const url = await listen(await serveShop(t, { definitions: [notes] }))
  const controller = new AbortController()
  const impatient = await connect(t, url, undefined, (input, init) => {
    return fetch(input, String(init?.body).includes('notes_add') ? { ...init, signal: controller.signal } : init)
  })
  const given = { id: 'a', key: newKey() }
  const lost = impatient.call('notes_add', given)
  await began
  controller.abort()
  await t.rejects(lost)
  await abort
  const agent = await connect(t, url)
  let result
  do result = await agent.call('notes_add', given)
  while (result.value.code === 'idempotency-key-in-use')
  t.match(result.value, { item: { count: 1 } })
})
