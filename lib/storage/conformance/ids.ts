import assert from 'node:assert/strict'
import { everywhere, find, ids as listed, kept, same, type Case } from './case.ts'
import { generatedThings } from './thing.ts'

export const ids: readonly Case[] = [
  {
    says: 'an item without an id gets one from the storage, which the answer has as a property too',
    needs: ['generatedIds'],
    shape: generatedThings,
    async holds (storage) {
      const { id, item } = kept(await storage.insert({ name: 'first' }, everywhere))
      assert.ok(typeof id === 'number' && Number.isSafeInteger(id))
      same(item, { id, name: 'first' })
      same((await find(storage, id)).item, { id, name: 'first' })
    }
  },
  {
    says: 'generated ids count up, and each is given once',
    needs: ['generatedIds'],
    shape: generatedThings,
    async holds (storage) {
      const made: number[] = []
      for (let turn = 0; turn < 12; turn++) made.push(Number(kept(await storage.insert({ name: `${turn}` }, everywhere)).id))
      assert.deepEqual(made, made.toSorted((a, b) => a - b))
      assert.deepEqual(await listed(storage), made)
      const parallel = await Promise.all(Array.from({ length: 20 }, () => storage.insert({ name: '' }, everywhere)))
      assert.equal(new Set([...made, ...parallel.map((result) => kept(result).id)]).size, 32)
    }
  },
  {
    says: 'an item with a generated id is replaced and removed like any other',
    needs: ['generatedIds'],
    shape: generatedThings,
    async holds (storage) {
      const { id, version } = kept(await storage.insert({ name: 'first' }, everywhere))
      const next = kept(await storage.replace(id, { id, name: 'second' }, version, everywhere))
      same(next.item, { id, name: 'second' })
      assert.equal(await storage.remove(id, next.version, everywhere), undefined)
      assert.equal(await storage.find(id, everywhere), undefined)
    }
  }
]
