import assert from 'node:assert/strict'
import type { Storage } from '../contract.ts'
import { by, everywhere, fill, ids, list, position, type Case } from './case.ts'
import type { Thing } from './thing.ts'

/** In the order expected, and inserted in another. */
async function ordered (storage: Storage<Thing>, property: string, values: readonly unknown[]): Promise<void> {
  const expected = values.map((value, index): Thing => ({ id: `${(index * 7) % 10}${index}`, name: '', [property]: value }))
  await fill(storage, ...expected.toSorted((a, b) => String(a['id']).localeCompare(String(b['id']))))
  const order = by(property, 'id')
  assert.deepEqual((await list(storage, { order })).entries.map(({ item }) => item[property]), values)
  const { entries } = await list(storage, { order: by(`-${property}`, 'id') })
  assert.deepEqual(entries.map(({ item }) => item[property]), values.toReversed())
  for (const [index, entry] of entries.entries()) {
    const after = position(entry, order)
    assert.equal((await ids(storage, { order, after })).length, index, `past ${JSON.stringify(after)}`)
  }
}

const tied: readonly Thing[] = [
  { id: 'c', name: 'x', rank: 1 },
  { id: 'a', name: 'x', rank: 2 },
  { id: 'e', name: 'y', rank: 1 },
  { id: 'b', name: 'y', rank: 2 },
  { id: 'd', name: 'x', rank: 1 }
]

export const order: readonly Case[] = [
  {
    says: 'entries come by id, up and down, however they were inserted',
    async holds (storage) {
      await fill(storage, ...['c', 'a', 'B', 'e', '1', 'd'].map((id) => ({ id, name: '' })))
      assert.deepEqual(await ids(storage), ['1', 'B', 'a', 'c', 'd', 'e'])
      assert.deepEqual(await ids(storage, { order: by('-id') }), ['e', 'd', 'c', 'a', 'B', '1'])
    }
  },
  {
    says: 'entries that tie come in the order of the next property, the last of which is the id',
    needs: ['order'],
    async holds (storage) {
      await fill(storage, ...tied)
      for (let turn = 0; turn < 3; turn++) {
        assert.deepEqual(await ids(storage, { order: by('rank', 'id') }), ['c', 'd', 'e', 'a', 'b'])
        assert.deepEqual(await ids(storage, { order: by('rank', '-id') }), ['e', 'd', 'c', 'b', 'a'])
        assert.deepEqual(await ids(storage, { order: by('-rank', 'id') }), ['a', 'b', 'c', 'd', 'e'])
        assert.deepEqual(await ids(storage, { order: by('name', 'rank', '-id') }), ['d', 'c', 'a', 'e', 'b'])
        assert.deepEqual(await ids(storage, { order: by('-name', '-rank', 'id') }), ['b', 'e', 'a', 'c', 'd'])
      }
    }
  },
  {
    says: 'a change of one entry leaves the order of the others as it is',
    needs: ['order'],
    async holds (storage) {
      await fill(storage, ...tied)
      await storage.replace('c', { id: 'c', name: 'x', rank: 3 }, undefined, everywhere)
      await storage.replace('d', { id: 'd', name: 'z', rank: 1 }, undefined, everywhere)
      assert.deepEqual(await ids(storage, { order: by('rank', 'id') }), ['d', 'e', 'a', 'b', 'c'])
      await storage.remove('a', undefined, everywhere)
      assert.deepEqual(await ids(storage, { order: by('rank', 'id') }), ['d', 'e', 'b', 'c'])
      assert.deepEqual(await ids(storage), ['b', 'c', 'd', 'e'])
    }
  },
  {
    says: 'null is greater than every value, and absent is ordered as null',
    needs: ['order'],
    async holds (storage) {
      await fill(storage,
        { id: 'a', name: '', rank: null },
        { id: 'b', name: '', rank: 1 },
        { id: 'c', name: '' },
        { id: 'd', name: '', rank: -1 },
        { id: 'e', name: '', rank: null })
      assert.deepEqual(await ids(storage, { order: by('rank', 'id') }), ['d', 'b', 'a', 'c', 'e'])
      assert.deepEqual(await ids(storage, { order: by('-rank', 'id') }), ['a', 'c', 'e', 'b', 'd'])
      assert.deepEqual(await ids(storage, { order: by('rank', 'id'), after: [1, 'b'] }), ['a', 'c', 'e'])
      assert.deepEqual(await ids(storage, { order: by('rank', 'id'), after: [null, 'a'] }), ['c', 'e'])
      assert.deepEqual(await ids(storage, { order: by('-rank', 'id'), after: [null, 'c'] }), ['e', 'b', 'd'])
      assert.deepEqual(await ids(storage, { order: by('rank', 'id'), before: [null, 'c'] }), ['d', 'b', 'a'])
      assert.deepEqual(await ids(storage, { order: by('-rank', 'id'), before: [1, 'b'] }), ['a', 'c', 'e'])
    }
  },
  {
    says: 'text is ordered by code point',
    needs: ['order'],
    holds: (storage) => ordered(storage, 'name', [
      '', ' ', '!', '10', '9', 'A', 'AB', 'B', 'Z', '_', 'a', 'a b', 'ab', 'z', '~', 'Ä', 'ß', 'ä', 'é', 'Ω', '日', '\uffee', '😀', '😁'
    ])
  },
  {
    says: 'numbers are ordered by value',
    needs: ['order'],
    holds: (storage) => ordered(storage, 'price', [-1e10, -10, -9.5, -1, -0.001, 0, 1e-7, 0.1, 0.25, 1, 2, 9, 10, 100, 1e15])
  },
  {
    says: 'integers are ordered by value',
    needs: ['order'],
    holds: (storage) => ordered(storage, 'rank', [-9007199254740991, -10, -9, 0, 1, 2, 9, 10, 11, 100, 9007199254740990, 9007199254740991])
  },
  {
    says: 'false is ordered ahead of true',
    needs: ['order'],
    holds: (storage) => ordered(storage, 'done', [false, true])
  },
  {
    says: 'instants are ordered by time',
    needs: ['order'],
    holds: (storage) => ordered(storage, 'at', ['1969-12-31T23:59:59.999Z', '1999-01-01T00:00:00.000Z', '2024-02-29T12:00:00.000Z', '2024-02-29T12:00:00.001Z'])
  },
  {
    says: 'entries can be ordered by a nested property',
    needs: ['order'],
    async holds (storage) {
      await fill(storage,
        { id: 'a', name: '', place: { floor: 10, city: 'b' } },
        { id: 'b', name: '', place: { floor: 9, city: 'B' } },
        { id: 'c', name: '', place: { floor: null, city: 'a' } },
        { id: 'd', name: '' },
        { id: 'e', name: '', place: { floor: -1 } })
      assert.deepEqual(await ids(storage, { order: by('place.floor', 'id') }), ['e', 'b', 'a', 'c', 'd'])
      assert.deepEqual(await ids(storage, { order: by('-place.city', 'id') }), ['d', 'e', 'a', 'c', 'b'])
      assert.deepEqual(await ids(storage, { order: by('place.floor', 'id'), after: [9, 'b'] }), ['a', 'c', 'd'])
    }
  }
]
