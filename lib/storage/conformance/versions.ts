import assert from 'node:assert/strict'
import { assertSameItem, assertWritten, findThing, insertThing, unscoped, type Case } from './case.ts'

const a = { id: 'a', name: 'first' }

const stale = { refused: 'stale' }

export const versionCases: readonly Case[] = [
  {
    title: 'every replace creates a new version, even if it changes nothing',
    async run (storage) {
      const seen = [(await insertThing(storage, a)).version]
      for (let turn = 0; turn < 20; turn++) {
        seen.push(assertWritten(await storage.replace('a', { ...a }, undefined, unscoped)).version)
      }
      assert.equal(new Set(seen).size, seen.length)
    }
  },
  {
    title: 'a version never repeats, not even after the item was deleted and created again',
    async run (storage) {
      const seen: string[] = []
      for (let turn = 0; turn < 5; turn++) {
        seen.push((await insertThing(storage, a)).version)
        seen.push(assertWritten(await storage.replace('a', { ...a }, undefined, unscoped)).version)
        await storage.remove('a', undefined, unscoped)
      }
      assert.equal(new Set(seen).size, seen.length)
    }
  },
  {
    title: 'replace with the current version succeeds',
    async run (storage) {
      const { version } = await insertThing(storage, a)
      const next = assertWritten(await storage.replace('a', { id: 'a', name: 'next' }, version, unscoped))
      assertSameItem((await findThing(storage, 'a')).item, { id: 'a', name: 'next' })
      assertWritten(await storage.replace('a', { id: 'a', name: 'last' }, next.version, unscoped))
    }
  },
  {
    title: 'replace with a stale version is refused and changes nothing',
    async run (storage) {
      const { version } = await insertThing(storage, a)
      const present = assertWritten(await storage.replace('a', { ...a }, undefined, unscoped))
      for (const expected of [version, 'never', '', '0']) {
        assert.deepEqual(await storage.replace('a', { id: 'a', name: 'lost' }, expected, unscoped), stale)
      }
      const entry = await findThing(storage, 'a')
      assert.equal(entry.version, present.version)
      assertSameItem(entry.item, a)
    }
  },
  {
    title: 'remove with the current version succeeds, and with a stale version is refused',
    async run (storage) {
      const { version } = await insertThing(storage, a)
      const present = assertWritten(await storage.replace('a', { ...a }, undefined, unscoped))
      for (const expected of [version, 'never', '', '0']) {
        assert.deepEqual(await storage.remove('a', expected, unscoped), stale)
      }
      assertSameItem((await findThing(storage, 'a')).item, a)
      assert.equal(await storage.remove('a', present.version, unscoped), undefined)
    }
  },
  {
    title: 'the version of an item before it was deleted and created again is stale',
    async run (storage) {
      const { version } = await insertThing(storage, a)
      await storage.remove('a', undefined, unscoped)
      await insertThing(storage, a)
      assert.deepEqual(await storage.replace('a', { ...a }, version, unscoped), stale)
      assert.deepEqual(await storage.remove('a', version, unscoped), stale)
    }
  }
]
