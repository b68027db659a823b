import assert from 'node:assert/strict'
import {
  assertSameItem,
  assertWritten,
  findThing,
  insertThings,
  listIds,
  listThings,
  scopedTo,
  unscoped,
  type Case
} from './case.ts'
import type { Thing } from './thing.ts'

const inside: Thing = { id: 'a', name: 'mine', team: 'red', number: 1 }
const outside: Thing = { id: 'b', name: 'theirs', team: 'blue', number: 1 }
const unowned: Thing = { id: 'c', name: 'of no team' }

const red = scopedTo({ property: 'team', is: 'eq', value: 'red' })
const notFound = { refused: 'not-found' }

export const scopeCases: readonly Case[] = [
  {
    title: 'find returns nothing outside the scope',
    requires: ['filter'],
    async run (storage) {
      await insertThings(storage, inside, outside, unowned)
      assertSameItem((await findThing(storage, 'a', red)).item, inside)
      assert.equal(await storage.find('b', red), undefined)
      assert.equal(await storage.find('c', red), undefined)
    }
  },
  {
    title: 'list returns nothing outside the scope, with or without a filter',
    requires: ['filter'],
    async run (storage) {
      await insertThings(storage, inside, outside, unowned)
      assert.deepEqual(await listIds(storage, {}, red), ['a'])
      assert.equal((await listThings(storage, { limit: 1 }, red)).more, false)
      const theirs = { property: 'name', is: 'eq', value: 'theirs' } as const
      assert.deepEqual(await listIds(storage, { filter: { any: [theirs, { all: [] }] } }, red), ['a'])
      assert.deepEqual(await listIds(storage, { filter: theirs }, red), [])
    }
  },
  {
    title: 'the total counts nothing outside the scope',
    requires: ['filter', 'count'],
    async run (storage) {
      await insertThings(storage, inside, outside, unowned)
      assert.equal((await listThings(storage, { count: true }, red)).total, 1)
    }
  },
  {
    title: 'replace outside the scope is refused as not found and changes nothing, with any version',
    requires: ['filter'],
    async run (storage) {
      await insertThings(storage, inside, outside)
      const { version } = await findThing(storage, 'b')
      for (const expected of [undefined, version, 'never']) {
        assert.deepEqual(await storage.replace('b', { id: 'b', name: 'stolen', team: 'red' }, expected, red), notFound)
      }
      assertSameItem((await findThing(storage, 'b')).item, outside)
      const changed = { ...inside, name: 'changed' }
      const { item } = assertWritten(await storage.replace('a', { ...changed }, undefined, red))
      assertSameItem(item, changed)
    }
  },
  {
    title: 'remove outside the scope is refused as not found and removes nothing, with any version',
    requires: ['filter'],
    async run (storage) {
      await insertThings(storage, inside, outside)
      const { version } = await findThing(storage, 'b')
      for (const expected of [undefined, version, 'never']) {
        assert.deepEqual(await storage.remove('b', expected, red), notFound)
      }
      assertSameItem((await findThing(storage, 'b')).item, outside)
      assert.equal(await storage.remove('a', undefined, red), undefined)
      assert.deepEqual(await listIds(storage), ['b'])
    }
  },
  {
    title: 'insert ignores the scope, but the scope hides its item afterwards',
    requires: ['filter'],
    async run (storage) {
      assertSameItem(assertWritten(await storage.insert({ ...outside }, red)).item, outside)
      assert.equal(await storage.find('b', red), undefined)
      assertSameItem((await findThing(storage, 'b')).item, outside)
    }
  },
  {
    title: 'unique values outside the scope exist nonetheless',
    requires: ['filter', 'unique'],
    async run (storage) {
      await insertThings(storage, inside, outside)
      assert.deepEqual(await storage.insert({ id: 'b', name: '' }, red), { refused: 'not-unique', properties: ['id'] })
      const notUnique = { refused: 'not-unique', properties: ['team', 'number'] }
      assert.deepEqual(await storage.insert({ ...outside, id: 'd' }, red), notUnique)
      assert.deepEqual(await storage.replace('a', { ...outside, id: 'a' }, undefined, red), notUnique)
      assertSameItem((await findThing(storage, 'a', unscoped)).item, inside)
    }
  }
]
