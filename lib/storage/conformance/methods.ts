import assert from 'node:assert/strict'
import {
  assertSameItem,
  assertWritten,
  buildQuery,
  findThing,
  insertThing,
  insertThings,
  listIds,
  listThings,
  unscoped,
  type Case
} from './case.ts'
import { numberedThings, things } from './thing.ts'

const a = { id: 'a', name: 'first' }
const b = { id: 'b', name: 'second' }

const notFound = { refused: 'not-found' }

export const methodCases: readonly Case[] = [
  {
    title: 'insert returns the entry that find and list return, with the same version',
    async run (storage) {
      const inserted = await insertThing(storage, a)
      const { entries: [listed, ...others] } = await listThings(storage)
      assert.deepEqual(others, [])
      for (const entry of [inserted, await findThing(storage, 'a'), listed]) {
        assert.equal(entry?.id, 'a')
        assert.equal(entry.version, inserted.version)
        assertSameItem(entry.item, a)
      }
      assert.equal(typeof inserted.version, 'string')
      assert.notEqual(inserted.version, '')
    }
  },
  {
    title: 'every method returns a promise',
    async run (storage) {
      const results: ReadonlyArray<readonly [method: string, result: unknown]> = [
        ['insert', storage.insert(a, unscoped)],
        ['list', storage.list(buildQuery(), unscoped)],
        ['find', storage.find('b', unscoped)],
        ['replace', storage.replace('b', b, undefined, unscoped)],
        ['remove', storage.remove('b', undefined, unscoped)]
      ]
      for (const [method, result] of results) {
        assert.ok(result instanceof Promise, `${method} does not return a promise: make it async`)
      }
      await Promise.all(results.map(([, result]) => result))
    }
  },
  {
    title: 'check of a new storage finds no mistake',
    async run (storage) {
      assert.deepEqual(await storage.check?.(unscoped) ?? [], [])
    }
  },
  {
    title: 'find of an unknown id returns undefined',
    async run (storage) {
      await insertThings(storage, a)
      for (const id of ['b', 'A', 'a ', ' a', 'á', '', '%', '*', '_', "' OR ''='", 'a\\']) {
        assert.equal(await storage.find(id, unscoped), undefined, `${JSON.stringify(id)} is found`)
      }
    }
  },
  {
    title: 'similar ids are different items',
    async run (storage) {
      const alike = ['a', 'A', 'á', 'a/b', 'a%2Fb', 'a"b', "a'b", 'a`b', '日本', '😀']
      for (const id of alike) await insertThing(storage, { id, name: id })
      for (const id of alike) assertSameItem((await findThing(storage, id)).item, { id, name: id })
    }
  },
  {
    title: 'an id can be an integer, and is returned as a number',
    shape: numberedThings,
    async run (storage) {
      await insertThings(storage,
        { id: 10, name: 'ten' },
        { id: 9, name: 'nine' },
        { id: Number.MAX_SAFE_INTEGER, name: 'last' })
      assert.deepEqual(await listIds(storage), [9, 10, Number.MAX_SAFE_INTEGER])
      const entry = await findThing(storage, 10)
      assert.equal(entry.id, 10)
      assertSameItem(entry.item, { id: 10, name: 'ten' })
    }
  },
  {
    title: 'replace stores the new item as a whole: properties that it leaves out are removed',
    async run (storage) {
      await insertThings(storage, { ...a, note: 'was here', rank: 1 }, b)
      const changed = { id: 'a', name: 'changed', price: 2 }
      const replaced = assertWritten(await storage.replace('a', { ...changed }, undefined, unscoped))
      for (const { item } of [replaced, await findThing(storage, 'a')]) assertSameItem(item, changed)
      assert.equal((await findThing(storage, 'a')).version, replaced.version)
      assertSameItem((await findThing(storage, 'b')).item, b)
    }
  },
  {
    title: 'replace of an unknown id is refused as not found and creates nothing',
    async run (storage) {
      assert.deepEqual(await storage.replace('a', a, undefined, unscoped), notFound)
      assert.deepEqual(await storage.replace('a', a, 'some-version', unscoped), notFound)
      assert.deepEqual(await listIds(storage), [])
    }
  },
  {
    title: 'remove deletes the item, and no other',
    async run (storage) {
      await insertThings(storage, a, b)
      assert.equal(await storage.remove('a', undefined, unscoped), undefined)
      assert.equal(await storage.find('a', unscoped), undefined)
      assert.deepEqual(await listIds(storage), ['b'])
    }
  },
  {
    title: 'remove of an unknown id is refused as not found',
    async run (storage) {
      const { version } = await insertThing(storage, a)
      await storage.remove('a', undefined, unscoped)
      assert.deepEqual(await storage.remove('a', undefined, unscoped), notFound)
      assert.deepEqual(await storage.remove('a', version, unscoped), notFound)
      assert.deepEqual(await storage.remove('b', undefined, unscoped), notFound)
    }
  },
  {
    title: 'the storage has a name, and supports is plain, complete and frozen',
    shape: things,
    async run ({ name, supports, transaction, listBy }) {
      assert.match(name, /./)
      assert.ok(Object.isFrozen(supports))
      const { arrays, relations, ...others } = supports
      assert.deepEqual(Object.keys(others).sort(), [
        'count',
        'filter',
        'generatedIds',
        'order',
        'receipts',
        'search',
        'transactions',
        'unique'
      ])
      for (const value of Object.values(supports)) assert.equal(typeof value, 'boolean')
      assert.equal(typeof transaction, supports.transactions ? 'function' : 'undefined')
      if (relations === true) assert.equal(typeof listBy, 'function')
    }
  }
]
