import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { define } from '../../lib/index.ts'
import type { Context, Filter, Query, Shape, Storage } from '../../lib/storage/index.ts'
import { toCollection } from '../../lib/engine/collection.ts'
import { memory } from '../../lib/storage/memory.ts'
import { toBaseRows } from '../../lib/storage/related.ts'
import { isProportional } from '../growth.ts'

const context: Context = { signal: new AbortController().signal, scope: undefined }

function query (options: Partial<Query> = {}): Query {
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

const Person = Type.Object({
  id: Type.String(),
  name: Type.String(),
  bossId: Type.Optional(Type.String()),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})

const definePeople = () => define({
  name: 'people',
  schema: Person,
  storage: memory({
    items: [
      { id: 'a', name: 'Ann' },
      { id: 'b', name: 'Bob', bossId: 'a' },
      { id: 'c', name: 'Cid', bossId: 'b' },
      { id: 'd', name: 'Dan', bossId: 'a', deletedAt: '2026-01-01T00:00:00.000Z' }
    ]
  }),
  id: { generate: 'client' },
  list: { filter: ['name', 'bossId'] }
}).with(softDelete({ property: 'deletedAt' }))

async function listIds (storage: Storage<object>, options: Partial<Query>): Promise<unknown[]> {
  return (await storage.list(query(options), context)).entries.map(({ id }) => id)
}

test('softDelete() leaves deleted rows out of related rows and pages by value', async (t) => {
  const { storage, baseStorage } = toCollection(definePeople())
  const rows = toBaseRows(storage, { property: 'name', is: 'like', value: '*' })
  t.equal(rows.storage, baseStorage)
  const related = { storage: rows.storage, property: 'id', equals: 'bossId', filter: rows.filter }
  t.same(await listIds(storage, { filter: { related, count: { is: 'eq', value: 1 } } }), ['a', 'b'])
  const { filter } = toBaseRows(storage, undefined)
  t.same(await listIds(storage, { filter: { related: { ...related, filter }, count: { is: 'eq', value: 2 } } }), [])
  const [page] = await storage.listBy!({ property: 'bossId', values: ['a'] }, query({ count: true }), context)
  t.same(page?.entries.map(({ id }) => id), ['b'])
  t.equal(page?.total, 1)
})

test('memory takes time in proportion to the rows for related conditions, orders and pages by value', async (t) => {
  const shape = (name: string): Shape => ({ name, schema: {}, id: { property: 'id', generate: 'client' }, unique: [] })
  t.ok(await isProportional(async (size) => {
    const parents = memory()<object>(shape('parents'))
    const children = memory()<object>(shape('children'))
    for (let id = 0; id < size; id++) {
      await parents.insert({ id, name: `${id % 7}` }, context)
      for (const part of [0, 1]) await children.insert({ id: id * 2 + part, parentId: id, part }, context)
    }
    const toMany = { storage: children, property: 'id', equals: 'parentId', filter: undefined }
    const toOne = { storage: parents, property: 'parentId', equals: 'id', filter: undefined }
    const limit = size * 2
    const two = await parents.list(query({ filter: { related: toMany, count: { is: 'eq', value: 2 } }, limit }), context)
    t.equal(two.entries.length, size)
    const order = [{ property: 'name', descending: false, related: toOne }, { property: 'id', descending: false }]
    const sorted = await children.list(query({ filter: { related: toOne }, order, limit }), context)
    t.equal(sorted.entries.length, size * 2)
    const values = Array.from({ length: size }, (_, index) => index)
    const pages = await children.listBy!({ property: 'parentId', values }, query({ limit: 1 }), context)
    t.ok(pages.every(({ entries, more }) => entries.length === 1 && more))
  }, 2000))
})

test('memory refuses related rows of another database', async (t) => {
  const { storage } = toCollection(definePeople())
  const other = { name: 'other' } as Storage<object>
  const filter: Filter = { related: { storage: other, property: 'bossId', equals: 'id', filter: undefined } }
  await t.rejects(storage.list(query({ filter }), context), /refers to rows of the storage other, which is not in memory/)
})
