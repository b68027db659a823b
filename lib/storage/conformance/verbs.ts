import assert from 'node:assert/strict'
import { everywhere, fill, find, ids, insert, kept, list, query, same, type Case } from './case.ts'
import { numberedThings, things } from './thing.ts'

const a = { id: 'a', name: 'first' }
const b = { id: 'b', name: 'second' }

const absent = { refused: 'not-found' }

export const verbs: readonly Case[] = [
  {
    says: 'an inserted item is answered, found and listed, with one version',
    async holds (storage) {
      const inserted = await insert(storage, a)
      const { entries: [listed, ...others] } = await list(storage)
      assert.deepEqual(others, [])
      for (const entry of [inserted, await find(storage, 'a'), listed]) {
        assert.equal(entry?.id, 'a')
        assert.equal(entry.version, inserted.version)
        same(entry.item, a)
      }
      assert.equal(typeof inserted.version, 'string')
      assert.notEqual(inserted.version, '')
    }
  },
  {
    says: 'each verb gives a promise',
    async holds (storage) {
      const given: ReadonlyArray<readonly [verb: string, answer: unknown]> = [
        ['insert', storage.insert(a, everywhere)],
        ['list', storage.list(query(), everywhere)],
        ['find', storage.find('b', everywhere)],
        ['replace', storage.replace('b', b, undefined, everywhere)],
        ['remove', storage.remove('b', undefined, everywhere)]
      ]
      for (const [verb, answer] of given) assert.ok(answer instanceof Promise, `${verb} gives no promise: make it async`)
      await Promise.all(given.map(([, answer]) => answer))
    }
  },
  {
    says: 'a check of a fresh storage finds no mistake',
    async holds (storage) {
      assert.deepEqual(await storage.check?.(everywhere) ?? [], [])
    }
  },
  {
    says: 'an id that is not there is found as undefined',
    async holds (storage) {
      await fill(storage, a)
      for (const id of ['b', 'A', 'a ', ' a', 'á', '', '%', '*', '_', "' OR ''='", 'a\\']) {
        assert.equal(await storage.find(id, everywhere), undefined, `${JSON.stringify(id)} is found`)
      }
    }
  },
  {
    says: 'ids that look alike are different items',
    async holds (storage) {
      const alike = ['a', 'A', 'á', 'a/b', 'a%2Fb', 'a"b', "a'b", 'a`b', '日本', '😀']
      for (const id of alike) await insert(storage, { id, name: id })
      for (const id of alike) same((await find(storage, id)).item, { id, name: id })
    }
  },
  {
    says: 'an id can be an integer, and is answered as a number',
    shape: numberedThings,
    async holds (storage) {
      await fill(storage, { id: 10, name: 'ten' }, { id: 9, name: 'nine' }, { id: Number.MAX_SAFE_INTEGER, name: 'last' })
      assert.deepEqual(await ids(storage), [9, 10, Number.MAX_SAFE_INTEGER])
      const entry = await find(storage, 10)
      assert.equal(entry.id, 10)
      same(entry.item, { id: 10, name: 'ten' })
    }
  },
  {
    says: 'a replaced item is the new one as a whole: properties left out are gone',
    async holds (storage) {
      await fill(storage, { ...a, note: 'was here', rank: 1 }, b)
      const replaced = kept(await storage.replace('a', { id: 'a', name: 'changed', price: 2 }, undefined, everywhere))
      for (const { item } of [replaced, await find(storage, 'a')]) same(item, { id: 'a', name: 'changed', price: 2 })
      assert.equal((await find(storage, 'a')).version, replaced.version)
      same((await find(storage, 'b')).item, b)
    }
  },
  {
    says: 'a replace of what is not there is refused as absent and makes nothing',
    async holds (storage) {
      assert.deepEqual(await storage.replace('a', a, undefined, everywhere), absent)
      assert.deepEqual(await storage.replace('a', a, 'some-version', everywhere), absent)
      assert.deepEqual(await ids(storage), [])
    }
  },
  {
    says: 'a removed item is gone, and nothing else is',
    async holds (storage) {
      await fill(storage, a, b)
      assert.equal(await storage.remove('a', undefined, everywhere), undefined)
      assert.equal(await storage.find('a', everywhere), undefined)
      assert.deepEqual(await ids(storage), ['b'])
    }
  },
  {
    says: 'a remove of what is not there is refused as absent',
    async holds (storage) {
      const { version } = await insert(storage, a)
      await storage.remove('a', undefined, everywhere)
      assert.deepEqual(await storage.remove('a', undefined, everywhere), absent)
      assert.deepEqual(await storage.remove('a', version, everywhere), absent)
      assert.deepEqual(await storage.remove('b', undefined, everywhere), absent)
    }
  },
  {
    says: 'the name is a word, and supports is plain, complete and frozen',
    shape: things,
    async holds ({ name, supports, transaction }) {
      assert.match(name, /./)
      assert.ok(Object.isFrozen(supports))
      assert.deepEqual(Object.keys(supports).sort(), ['count', 'filter', 'generatedIds', 'order', 'receipts', 'search', 'transactions', 'unique'])
      for (const value of Object.values(supports)) assert.equal(typeof value, 'boolean')
      assert.equal(typeof transaction, supports.transactions ? 'function' : 'undefined')
    }
  }
]
