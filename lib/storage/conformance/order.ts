import assert from 'node:assert/strict'
import type { Storage } from '../contract.ts'
import { getPosition, insertThings, listIds, listThings, orderBy, unscoped, type Case } from './case.ts'
import type { Thing } from './thing.ts'

/** Inserts things with these values in another order, and checks that lists return them in this one. */
async function assertOrder (storage: Storage<Thing>, property: string, values: readonly unknown[]): Promise<void> {
  const expected = values.map((value, index): Thing => ({
    id: `${(index * 7) % 10}${index}`,
    name: '',
    [property]: value
  }))
  await insertThings(storage, ...expected.toSorted((a, b) => String(a['id']).localeCompare(String(b['id']))))
  const order = orderBy(property, 'id')
  assert.deepEqual((await listThings(storage, { order })).entries.map(({ item }) => item[property]), values)
  const { entries } = await listThings(storage, { order: orderBy(`-${property}`, 'id') })
  assert.deepEqual(entries.map(({ item }) => item[property]), values.toReversed())
  for (const [index, entry] of entries.entries()) {
    const after = getPosition(entry, order)
    assert.equal((await listIds(storage, { order, after })).length, index, `past ${JSON.stringify(after)}`)
  }
}

const tied: readonly Thing[] = [
  { id: 'c', name: 'x', rank: 1 },
  { id: 'a', name: 'x', rank: 2 },
  { id: 'e', name: 'y', rank: 1 },
  { id: 'b', name: 'y', rank: 2 },
  { id: 'd', name: 'x', rank: 1 }
]

export const orderCases: readonly Case[] = [
  {
    title: 'entries are ordered by id, ascending and descending, however they were inserted',
    async run (storage) {
      await insertThings(storage, ...['c', 'a', 'B', 'e', '1', 'd'].map((id) => ({ id, name: '' })))
      assert.deepEqual(await listIds(storage), ['1', 'B', 'a', 'c', 'd', 'e'])
      assert.deepEqual(await listIds(storage, { order: orderBy('-id') }), ['e', 'd', 'c', 'a', 'B', '1'])
    }
  },
  {
    title: 'entries with equal values are ordered by the next property, the last of which is the id',
    requires: ['order'],
    async run (storage) {
      await insertThings(storage, ...tied)
      for (let turn = 0; turn < 3; turn++) {
        assert.deepEqual(await listIds(storage, { order: orderBy('rank', 'id') }), ['c', 'd', 'e', 'a', 'b'])
        assert.deepEqual(await listIds(storage, { order: orderBy('rank', '-id') }), ['e', 'd', 'c', 'b', 'a'])
        assert.deepEqual(await listIds(storage, { order: orderBy('-rank', 'id') }), ['a', 'b', 'c', 'd', 'e'])
        assert.deepEqual(await listIds(storage, { order: orderBy('name', 'rank', '-id') }), ['d', 'c', 'a', 'e', 'b'])
        assert.deepEqual(await listIds(storage, { order: orderBy('-name', '-rank', 'id') }), ['b', 'e', 'a', 'c', 'd'])
      }
    }
  },
  {
    title: 'a change of one entry does not change the order of the others',
    requires: ['order'],
    async run (storage) {
      await insertThings(storage, ...tied)
      await storage.replace('c', { id: 'c', name: 'x', rank: 3 }, undefined, unscoped)
      await storage.replace('d', { id: 'd', name: 'z', rank: 1 }, undefined, unscoped)
      assert.deepEqual(await listIds(storage, { order: orderBy('rank', 'id') }), ['d', 'e', 'a', 'b', 'c'])
      await storage.remove('a', undefined, unscoped)
      assert.deepEqual(await listIds(storage, { order: orderBy('rank', 'id') }), ['d', 'e', 'b', 'c'])
      assert.deepEqual(await listIds(storage), ['b', 'c', 'd', 'e'])
    }
  },
  {
    title: 'null is greater than every value, and missing properties are ordered like null',
    requires: ['order'],
    async run (storage) {
      await insertThings(storage,
        { id: 'a', name: '', rank: null },
        { id: 'b', name: '', rank: 1 },
        { id: 'c', name: '' },
        { id: 'd', name: '', rank: -1 },
        { id: 'e', name: '', rank: null })
      assert.deepEqual(await listIds(storage, { order: orderBy('rank', 'id') }), ['d', 'b', 'a', 'c', 'e'])
      assert.deepEqual(await listIds(storage, { order: orderBy('-rank', 'id') }), ['a', 'c', 'e', 'b', 'd'])
      assert.deepEqual(await listIds(storage, { order: orderBy('rank', 'id'), after: [1, 'b'] }), ['a', 'c', 'e'])
      assert.deepEqual(await listIds(storage, { order: orderBy('rank', 'id'), after: [null, 'a'] }), ['c', 'e'])
      assert.deepEqual(await listIds(storage, { order: orderBy('-rank', 'id'), after: [null, 'c'] }), ['e', 'b', 'd'])
      assert.deepEqual(await listIds(storage, { order: orderBy('rank', 'id'), before: [null, 'c'] }), ['d', 'b', 'a'])
      assert.deepEqual(await listIds(storage, { order: orderBy('-rank', 'id'), before: [1, 'b'] }), ['a', 'c', 'e'])
    }
  },
  {
    title: 'text is ordered by code point',
    requires: ['order'],
    run: (storage) => assertOrder(storage, 'name', [
      '', ' ', '!', '10', '9', 'A', 'AB', 'B', 'Z', '_', 'a', 'a b', 'ab', 'z', '~',
      'Ä', 'ß', 'ä', 'é', 'Ω', '日', '\uffee', '😀', '😁'
    ])
  },
  {
    title: 'numbers are ordered by value',
    requires: ['order'],
    run: (storage) => assertOrder(storage, 'price', [
      -1e10, -10, -9.5, -1, -0.001, 0, 1e-7, 0.1, 0.25, 1, 2, 9, 10, 100, 1e15
    ])
  },
  {
    title: 'integers are ordered by value',
    requires: ['order'],
    run: (storage) => assertOrder(storage, 'rank', [
      -9007199254740991, -10, -9, 0, 1, 2, 9, 10, 11, 100, 9007199254740990, 9007199254740991
    ])
  },
  {
    title: 'false is ordered ahead of true',
    requires: ['order'],
    run: (storage) => assertOrder(storage, 'done', [false, true])
  },
  {
    title: 'instants are ordered by time',
    requires: ['order'],
    run: (storage) => assertOrder(storage, 'at', [
      '1969-12-31T23:59:59.999Z',
      '1999-01-01T00:00:00.000Z',
      '2024-02-29T12:00:00.000Z',
      '2024-02-29T12:00:00.001Z'
    ])
  },
  {
    title: 'entries can be ordered by a nested property',
    requires: ['order'],
    async run (storage) {
      await insertThings(storage,
        { id: 'a', name: '', place: { floor: 10, city: 'b' } },
        { id: 'b', name: '', place: { floor: 9, city: 'B' } },
        { id: 'c', name: '', place: { floor: null, city: 'a' } },
        { id: 'd', name: '' },
        { id: 'e', name: '', place: { floor: -1 } })
      assert.deepEqual(await listIds(storage, { order: orderBy('place.floor', 'id') }), ['e', 'b', 'a', 'c', 'd'])
      assert.deepEqual(await listIds(storage, { order: orderBy('-place.city', 'id') }), ['d', 'e', 'a', 'c', 'b'])
      const after = await listIds(storage, { order: orderBy('place.floor', 'id'), after: [9, 'b'] })
      assert.deepEqual(after, ['a', 'c', 'd'])
    }
  }
]
