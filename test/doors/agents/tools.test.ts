import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { idempotency } from '../../../lib/features/idempotency.ts'
import { within } from '../../../lib/features/within.ts'
import { define } from '../../../lib/index.ts'
import { relate } from '../../../lib/relations/relate.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { authenticate, connect, listen, serveShop } from './shop.ts'
import type { Agent } from './shop.ts'

// What agents see of a server.

async function listTools ({ client }: Agent) {
  return (await client.listTools()).tools
}

async function getNames (agent: Agent): Promise<string> {
  return (await listTools(agent)).map(({ name }) => name).join(' ')
}

test('tools/list has what the caller may call, and schemas without hidden properties', async (t) => {
  const url = await listen(await serveShop(t))
  const [boss, clerk, anonymous] = await Promise.all(['boss', 'clerk', undefined].map((caller) => connect(t, url, caller)))
  const writes = 'products_create products_update products_restock products_sell'.split(' ')
  const all = await getNames(boss!)
  for (const name of [...writes, 'products_remove', 'products_list', 'products_read', 'products_aggregate', 'products_count']) {
    t.ok(all.split(' ').includes(name), name)
  }
  t.equal(await getNames(clerk!), all.replace('products_remove ', ''))
  t.equal(await getNames(anonymous!), 'products_list products_read products_aggregate')
  t.match(JSON.stringify(await listTools(boss!)), /price/)
  t.notMatch(JSON.stringify(await listTools(clerk!)), /price/)
  t.notMatch(JSON.stringify(await listTools(anonymous!)), /price/)
})

test('descriptions have units, choices and examples, and hints are true', async (t) => {
  const url = await listen(await serveShop(t))
  const tools = Object.fromEntries((await listTools(await connect(t, url, 'boss'))).map((tool) => [tool.name, tool]))
  t.match(tools.products_create, {
    description: 'Create one of products: What the shop sells.',
    inputSchema: {
      required: ['item', 'key'],
      properties: { item: { properties: { price: { description: 'In euros.' } }, required: ['id', 'name'] } }
    },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false }
  })
  t.match(tools.products_list, {
    inputSchema: {
      properties: {
        query: { properties: { filter: { description: /kind \(tea \| coffee\)/, examples: [{ 'price.gte': 10 }] } } }
      }
    },
    annotations: { readOnlyHint: true }
  })
  t.strictSame(tools.products_update!.inputSchema.required, ['id', 'tag', 'patch'])
  t.strictSame(tools.products_remove!.inputSchema.required, ['id', 'tag'])
  t.strictSame(tools.products_sell!.inputSchema.required, ['id', 'tag'], 'the tag is required, and the key optional')
  t.ok(Object.hasOwn(tools.products_sell!.inputSchema.properties!, 'key'))
  t.strictSame(tools.products_restock!.inputSchema.required, ['id', 'key'], 'it needs no tag, so it needs a key')
  t.match(tools.products_restock, { description: 'Restock (products). Adds to the stock.', annotations: { destructiveHint: true } })
  t.match(tools.products_count, { annotations: { readOnlyHint: true } })
})

test('seven shared tools, whatever the number of collections: describe returns the schemas of one', async (t) => {
  const url = await listen(await serveShop(t, { tools: 'shared' }))
  const boss = await connect(t, url, 'boss')
  const clerk = await connect(t, url, 'clerk')
  t.equal(await getNames(boss), 'describe list read create update remove run')
  t.equal(await getNames(clerk), 'describe list read create update run')
  t.equal(await getNames(await connect(t, url)), 'describe list read run')
  t.match((await clerk.call('describe')).value, {
    collections: [{ name: 'products', actions: ['list', 'create', 'read', 'update', 'aggregate', 'count', 'restock', 'sell'] }]
  })
  const { value } = await clerk.call('describe', { collection: 'products' })
  t.match(value.actions, {
    create: { tool: 'create', arguments: { required: ['item', 'key'] } },
    restock: { tool: 'run', arguments: { required: ['id', 'key'] } },
    aggregate: { tool: 'run' }
  })
  t.notOk(Object.hasOwn(value.actions, 'remove'))
  t.notMatch(JSON.stringify(value), /price/)

  const item = { id: 'a', name: 'Tea', stock: 1 }
  t.match((await boss.call('create', { collection: 'products', item, key: 'key-0001' })).value, { id: 'a', item })
  const { tag } = (await clerk.call('read', { collection: 'products', id: 'a' })).value
  t.match((await clerk.call('update', { collection: 'products', id: 'a', tag, patch: { stock: 2 } })).value, { item: { stock: 2 } })
  t.match((await clerk.call('run', {
    collection: 'products', action: 'restock', id: 'a', input: { count: 5 }, key: 'key-0002'
  })).value, { item: { stock: 7 } })
  t.match((await clerk.call('run', { collection: 'products', action: 'aggregate', query: { sum: ['stock'] } })).value, {
    groups: [{ sum: { stock: 7 } }]
  })
  t.match((await clerk.call('list', { collection: 'products', query: { filter: { 'stock.gt': 6 } } })).value, { entries: [{ id: 'a' }] })

  const refused = (given: Record<string, unknown>, name = 'run') => clerk.call(name, given)
  t.match(await refused({ collection: 'products', id: 'a', tag }, 'remove'), { isError: true, value: { code: 'not-found', detail: /no action "remove of products"/ } })
  t.match(await refused({ collection: 'products', action: 'remove', id: 'a', tag }), { isError: true, value: { code: 'not-found' } })
  t.match(await refused({ collection: 'nothing', action: 'sell' }), { isError: true, value: { detail: /no action "sell of nothing"/ } })
  t.match(await refused({ collection: 'nothing' }, 'describe'), { isError: true, value: { code: 'not-found' } })
  t.match(await refused({ action: 'sell' }), { isError: true, value: { detail: /no action "sell of undefined"/ } })
  t.match(await refused({ collection: 'products' }, 'products_list'), { isError: true, value: { detail: /no tool "products_list"/ } })
})

/** Collections as an app has them. */
function defineMany (count: number) {
  const properties = Array.from({ length: 11 }, (_, index) => {
    return [`property${index}`, Type.Optional(Type.String({ maxLength: 100, description: 'What it says.' }))]
  })
  const schema = Type.Object({ id: Type.String({ readOnly: true }), ...Object.fromEntries(properties) as object })
  return Array.from({ length: count }, (_, index) => {
    return define({ name: `collection-number-${index}`, schema, storage: memory() }).with(idempotency())
  })
}

test('tools/list of 50 collections is shorter than 10 kB', async (t) => {
  const url = await listen(await serveShop(t, { definitions: defineMany(50) }))
  const text = JSON.stringify(await listTools(await connect(t, url)))
  t.comment(`${Buffer.byteLength(text)} bytes`)
  t.ok(Buffer.byteLength(text) < 10_000, `${Buffer.byteLength(text)} bytes`)
})

test('up to 30 tools, each action of each collection is one', async (t) => {
  const six = await connect(t, await listen(await serveShop(t, { definitions: defineMany(6) })))
  t.equal((await listTools(six)).length, 30)
  const seven = await connect(t, await listen(await serveShop(t, { definitions: defineMany(7) })))
  t.equal(await getNames(seven), 'describe list read create update remove')
  const each = await connect(t, await listen(await serveShop(t, { definitions: defineMany(7), tools: 'each' })))
  t.equal((await listTools(each)).length, 35)
})

test('related items are included, and lists are filtered by them', async (t) => {
  const id = { generate: 'client' } as const
  const Author = Type.Object({ id: Type.String(), name: Type.String() })
  const Article = Type.Object({ id: Type.String(), title: Type.String(), authorId: Type.String() })
  const { authors, articles } = relate({
    authors: define({ name: 'authors', schema: Author, id, storage: memory({ items: [{ id: 'ada', name: 'Ada' }] }) }),
    articles: define({
      name: 'articles', schema: Article, id, storage: memory({ items: [{ id: 'a', title: 'Notes', authorId: 'ada' }] })
    })
  }, { authors: {}, articles: { author: { to: 'authors', property: 'authorId' } } })
  const definitions = [authors.with(idempotency()), articles.with(idempotency())]
  const url = await listen(await serveShop(t, { definitions }))
  const agent = await connect(t, url)
  const tool = (await listTools(agent)).find(({ name }) => name === 'articles_list')
  t.match(tool, { inputSchema: { properties: { query: { properties: { expand: { description: /author/ } } } } } })
  const author = { name: 'Ada' }
  const { value } = await agent.call('articles_read', { id: 'a', query: { expand: ['author'] } })
  t.match(value, { item: { author } })
  t.match((await agent.call('articles_list', { query: { filter: { author }, expand: ['author'] } })).value, {
    entries: [{ id: 'a', item: { author }, tag: value.tag }]
  })
  t.match((await agent.call('articles_update', { id: 'a', tag: value.tag, patch: { title: 'Note' } })).value, { item: { title: 'Note' } })
  t.match(await agent.call('articles_list', { query: { expand: ['editor'] } }), { isError: true, value: { code: 'validation-failed' } })
})

test('a nested collection is called with the id of its parent', async (t) => {
  const id = { generate: 'client' } as const
  const Order = Type.Object({ id: Type.String() })
  const Line = Type.Object({ id: Type.String(), orderId: Type.String(), count: Type.Integer() })
  const orders = define({
    name: 'orders',
    schema: Order,
    id,
    storage: memory({ items: [{ id: 'a' }, { id: 'b' }] }),
    access: { authenticate, allow: 'authenticated' }
  }).with(idempotency())
  const lines = define({ name: 'lines', schema: Line, id, storage: memory(), access: { authenticate, allow: 'public' } })
    .with(idempotency(), within(orders, 'orderId'))
  for (const tools of ['each', 'shared'] as const) {
    const url = await listen(await serveShop(t, { definitions: [orders, lines], tools }))
    const call = async (agent: Agent, name: string, given: Record<string, unknown>) => {
      return tools === 'each' ? agent.call(`lines_${name}`, given) : agent.call(name, { collection: 'lines', ...given })
    }
    const ada = await connect(t, url, 'ada')
    const created = await call(ada, 'create', { parent: 'a', item: { id: tools, count: 1 }, key: `key-of-${tools}` })
    t.match(created.value, { id: tools, item: { orderId: 'a' } })
    t.match(await call(ada, 'read', { parent: 'a', id: tools }), { value: { id: tools } })
    t.match(await call(ada, 'read', { parent: 'b', id: tools }), { isError: true, value: { code: 'not-found' } })
    t.match(await call(ada, 'list', { parent: 'c' }), { isError: true, value: { code: 'not-found' } })
    t.match(await call(ada, 'list', {}), { isError: true, value: { errors: [{ pointer: '/parent', message: 'is required' }] } })
  }
})

test('a schema with references of its own stays one', async (t) => {
  const schema = {
    type: 'object',
    required: ['id'],
    properties: { id: { type: 'string' }, home: { $ref: '#/$defs/address' } },
    $defs: { address: { type: 'object', properties: { city: { type: 'string' } } } }
  } as const
  const people = define({ name: 'people', schema, id: { generate: 'client' }, storage: memory() }).with(idempotency())
  const agent = await connect(t, await listen(await serveShop(t, { definitions: [people] })))
  const tool = (await listTools(agent)).find(({ name }) => name === 'people_create')
  t.match(tool, { inputSchema: { properties: { item: { $id: 'urn:item', properties: { home: { $ref: '#/$defs/address' } } } } } })
})
