import assert from 'node:assert/strict'
import {
  assertSameItem,
  assertWritten,
  findThing,
  insertThing,
  insertThings,
  listIds,
  unscoped,
  type Case
} from './case.ts'

const notUnique = (...properties: readonly string[]) => ({ refused: 'not-unique', properties })

export const uniqueCases: readonly Case[] = [
  {
    title: 'insert with an existing id is refused as not unique and changes nothing',
    async run (storage) {
      const { version } = await insertThing(storage, { id: 'a', name: 'first' })
      assert.deepEqual(await storage.insert({ id: 'a', name: 'second' }, unscoped), notUnique('id'))
      const entry = await findThing(storage, 'a')
      assert.equal(entry.version, version)
      assertSameItem(entry.item, { id: 'a', name: 'first' })
    }
  },
  {
    title: 'insert with an existing unique value is refused as not unique, with the name of the property',
    requires: ['unique'],
    async run (storage) {
      await insertThings(storage, { id: 'a', name: '', email: 'one@example.org' })
      const result = await storage.insert({ id: 'b', name: '', email: 'one@example.org' }, unscoped)
      assert.deepEqual(result, notUnique('email'))
      assert.deepEqual(await listIds(storage), ['a'])
    }
  },
  {
    title: 'replace with the unique value of another item is refused as not unique, with the name of the property',
    requires: ['unique'],
    async run (storage) {
      await insertThings(storage,
        { id: 'a', name: '', email: 'one@example.org' },
        { id: 'b', name: '', email: 'two@example.org' })
      const { version } = await findThing(storage, 'b')
      for (const expected of [undefined, version]) {
        const thing = { id: 'b', name: '', email: 'one@example.org' }
        assert.deepEqual(await storage.replace('b', thing, expected, unscoped), notUnique('email'))
      }
      assertSameItem((await findThing(storage, 'b')).item, { id: 'b', name: '', email: 'two@example.org' })
    }
  },
  {
    title: 'replace is refused as stale or not found even if its unique value already exists',
    requires: ['unique'],
    async run (storage) {
      await insertThings(storage, { id: 'a', name: '', email: 'one@example.org' }, { id: 'b', name: '' })
      const email = 'one@example.org'
      const outdated = await storage.replace('b', { id: 'b', name: '', email }, 'never', unscoped)
      assert.deepEqual(outdated, { refused: 'stale' })
      const unknown = await storage.replace('c', { id: 'c', name: '', email }, undefined, unscoped)
      assert.deepEqual(unknown, { refused: 'not-found' })
    }
  },
  {
    title: 'replace can keep the unique values of the item',
    requires: ['unique'],
    async run (storage) {
      const thing = { id: 'a', name: '', email: 'one@example.org', team: 'red', number: 1 }
      await insertThings(storage, thing)
      const { item } = assertWritten(await storage.replace('a', { ...thing, name: 'changed' }, undefined, unscoped))
      assertSameItem(item, { ...thing, name: 'changed' })
    }
  },
  {
    title: 'a unique value can be used again after its item was removed or changed',
    requires: ['unique'],
    async run (storage) {
      await insertThings(storage, { id: 'a', name: '', email: 'one@example.org' })
      await storage.replace('a', { id: 'a', name: '', email: 'two@example.org' }, undefined, unscoped)
      await insertThing(storage, { id: 'b', name: '', email: 'one@example.org' })
      await storage.remove('b', undefined, unscoped)
      await insertThing(storage, { id: 'c', name: '', email: 'one@example.org' })
    }
  },
  {
    title: 'similar unique values are different values',
    requires: ['unique'],
    async run (storage) {
      const alike = ['one@example.org', 'One@example.org', 'óne@example.org', 'one@example.org ', '']
      for (const [index, email] of alike.entries()) await insertThing(storage, { id: `a${index}`, name: '', email })
    }
  },
  {
    title: 'a set of unique properties is refused only if all its values exist, with the names of all its properties',
    requires: ['unique'],
    async run (storage) {
      await insertThings(storage,
        { id: 'a', name: '', team: 'red', number: 1 },
        { id: 'b', name: '', team: 'red', number: 2 },
        { id: 'c', name: '', team: 'blue', number: 1 })
      const inserted = await storage.insert({ id: 'd', name: '', team: 'red', number: 2 }, unscoped)
      assert.deepEqual(inserted, notUnique('team', 'number'))
      const replaced = await storage.replace('c', { id: 'c', name: '', team: 'red', number: 1 }, undefined, unscoped)
      assert.deepEqual(replaced, notUnique('team', 'number'))
      assert.deepEqual(await listIds(storage), ['a', 'b', 'c'])
    }
  },
  {
    title: 'null and missing values are not compared, alone or in a set',
    requires: ['unique'],
    async run (storage) {
      await insertThings(storage,
        { id: 'a', name: '', email: null },
        { id: 'b', name: '', email: null },
        { id: 'c', name: '' },
        { id: 'd', name: '', team: 'red', number: null },
        { id: 'e', name: '', team: 'red', number: null },
        { id: 'f', name: '', team: 'red' },
        { id: 'g', name: '', number: 1 },
        { id: 'h', name: '', number: 1 })
      const thing = { id: 'c', name: '', email: null, team: 'red', number: null }
      assertWritten(await storage.replace('c', thing, undefined, unscoped))
    }
  }
]
