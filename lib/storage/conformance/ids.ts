import assert from 'node:assert/strict'
import { assertSameItem, assertWritten, findThing, listIds as listed, unscoped, type Case } from './case.ts'
import { generatedThings } from './thing.ts'

export const idCases: readonly Case[] = [
  {
    title: 'insert without an id generates one, and returns it as a property, too',
    requires: ['generatedIds'],
    shape: generatedThings,
    async run (storage) {
      const { id, item } = assertWritten(await storage.insert({ name: 'first' }, unscoped))
      assert.ok(typeof id === 'number' && Number.isSafeInteger(id))
      assertSameItem(item, { id, name: 'first' })
      assertSameItem((await findThing(storage, id)).item, { id, name: 'first' })
    }
  },
  {
    title: 'generated ids count up, and each is used once',
    requires: ['generatedIds'],
    shape: generatedThings,
    async run (storage) {
      const generated: number[] = []
      for (let turn = 0; turn < 12; turn++) {
        const { id } = assertWritten(await storage.insert({ name: `${turn}` }, unscoped))
        generated.push(Number(id))
      }
      assert.deepEqual(generated, generated.toSorted((a, b) => a - b))
      assert.deepEqual(await listed(storage), generated)
      const parallel = await Promise.all(Array.from({ length: 20 }, () => storage.insert({ name: '' }, unscoped)))
      assert.equal(new Set([...generated, ...parallel.map((result) => assertWritten(result).id)]).size, 32)
    }
  },
  {
    title: 'an item with a generated id can be replaced and removed',
    requires: ['generatedIds'],
    shape: generatedThings,
    async run (storage) {
      const { id, version } = assertWritten(await storage.insert({ name: 'first' }, unscoped))
      const next = assertWritten(await storage.replace(id, { id, name: 'second' }, version, unscoped))
      assertSameItem(next.item, { id, name: 'second' })
      assert.equal(await storage.remove(id, next.version, unscoped), undefined)
      assert.equal(await storage.find(id, unscoped), undefined)
    }
  }
]
