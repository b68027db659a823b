import assert from 'node:assert/strict'
import { everywhere, find, insert, kept, same, type Case } from './case.ts'

const a = { id: 'a', name: 'first' }

const stale = { refused: 'stale' }

export const versions: readonly Case[] = [
  {
    says: 'every replace makes a new version, also one that changes nothing',
    async holds (storage) {
      const seen = [(await insert(storage, a)).version]
      for (let turn = 0; turn < 20; turn++) seen.push(kept(await storage.replace('a', { ...a }, undefined, everywhere)).version)
      assert.equal(new Set(seen).size, seen.length)
    }
  },
  {
    says: 'a version never comes back, not even after delete and re-create',
    async holds (storage) {
      const seen: string[] = []
      for (let turn = 0; turn < 5; turn++) {
        seen.push((await insert(storage, a)).version)
        seen.push(kept(await storage.replace('a', { ...a }, undefined, everywhere)).version)
        await storage.remove('a', undefined, everywhere)
      }
      assert.equal(new Set(seen).size, seen.length)
    }
  },
  {
    says: 'a replace that expects the present version is done',
    async holds (storage) {
      const { version } = await insert(storage, a)
      const next = kept(await storage.replace('a', { id: 'a', name: 'next' }, version, everywhere))
      same((await find(storage, 'a')).item, { id: 'a', name: 'next' })
      kept(await storage.replace('a', { id: 'a', name: 'last' }, next.version, everywhere))
    }
  },
  {
    says: 'a replace that expects another version is refused as stale and changes nothing',
    async holds (storage) {
      const { version } = await insert(storage, a)
      const present = kept(await storage.replace('a', { ...a }, undefined, everywhere))
      for (const expected of [version, 'never', '', '0']) {
        assert.deepEqual(await storage.replace('a', { id: 'a', name: 'lost' }, expected, everywhere), stale)
      }
      const entry = await find(storage, 'a')
      assert.equal(entry.version, present.version)
      same(entry.item, a)
    }
  },
  {
    says: 'a remove that expects the present version is done, and one that expects another is refused as stale',
    async holds (storage) {
      const { version } = await insert(storage, a)
      const present = kept(await storage.replace('a', { ...a }, undefined, everywhere))
      for (const expected of [version, 'never', '', '0']) assert.deepEqual(await storage.remove('a', expected, everywhere), stale)
      same((await find(storage, 'a')).item, a)
      assert.equal(await storage.remove('a', present.version, everywhere), undefined)
    }
  },
  {
    says: 'the version of a former life is stale',
    async holds (storage) {
      const { version } = await insert(storage, a)
      await storage.remove('a', undefined, everywhere)
      await insert(storage, a)
      assert.deepEqual(await storage.replace('a', { ...a }, version, everywhere), stale)
      assert.deepEqual(await storage.remove('a', version, everywhere), stale)
    }
  }
]
