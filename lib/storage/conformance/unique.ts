import assert from 'node:assert/strict'
import { everywhere, fill, find, ids, insert, kept, same, type Case } from './case.ts'

const taken = (...properties: readonly string[]) => ({ refused: 'not-unique', properties })

export const unique: readonly Case[] = [
  {
    says: 'an insert of an id that is there is refused as taken and changes nothing',
    async holds (storage) {
      const { version } = await insert(storage, { id: 'a', name: 'first' })
      assert.deepEqual(await storage.insert({ id: 'a', name: 'second' }, everywhere), taken('id'))
      const entry = await find(storage, 'a')
      assert.equal(entry.version, version)
      same(entry.item, { id: 'a', name: 'first' })
    }
  },
  {
    says: 'an insert of a unique value that is there is refused as taken, naming the property',
    needs: ['unique'],
    async holds (storage) {
      await fill(storage, { id: 'a', name: '', email: 'one@example.org' })
      assert.deepEqual(await storage.insert({ id: 'b', name: '', email: 'one@example.org' }, everywhere), taken('email'))
      assert.deepEqual(await ids(storage), ['a'])
    }
  },
  {
    says: 'a replace with the unique value of another is refused as taken, naming the property',
    needs: ['unique'],
    async holds (storage) {
      await fill(storage, { id: 'a', name: '', email: 'one@example.org' }, { id: 'b', name: '', email: 'two@example.org' })
      const { version } = await find(storage, 'b')
      for (const expected of [undefined, version]) {
        assert.deepEqual(await storage.replace('b', { id: 'b', name: '', email: 'one@example.org' }, expected, everywhere), taken('email'))
      }
      same((await find(storage, 'b')).item, { id: 'b', name: '', email: 'two@example.org' })
    }
  },
  {
    says: 'a replace that is stale or absent is refused as that, though its unique value is taken',
    needs: ['unique'],
    async holds (storage) {
      await fill(storage, { id: 'a', name: '', email: 'one@example.org' }, { id: 'b', name: '' })
      assert.deepEqual(await storage.replace('b', { id: 'b', name: '', email: 'one@example.org' }, 'never', everywhere), { refused: 'stale' })
      assert.deepEqual(await storage.replace('c', { id: 'c', name: '', email: 'one@example.org' }, undefined, everywhere), { refused: 'not-found' })
    }
  },
  {
    says: 'a replace keeps its own unique values',
    needs: ['unique'],
    async holds (storage) {
      const thing = { id: 'a', name: '', email: 'one@example.org', team: 'red', number: 1 }
      await fill(storage, thing)
      const { item } = kept(await storage.replace('a', { ...thing, name: 'changed' }, undefined, everywhere))
      same(item, { ...thing, name: 'changed' })
    }
  },
  {
    says: 'a unique value is free again once its item is removed or has another',
    needs: ['unique'],
    async holds (storage) {
      await fill(storage, { id: 'a', name: '', email: 'one@example.org' })
      await storage.replace('a', { id: 'a', name: '', email: 'two@example.org' }, undefined, everywhere)
      await insert(storage, { id: 'b', name: '', email: 'one@example.org' })
      await storage.remove('b', undefined, everywhere)
      await insert(storage, { id: 'c', name: '', email: 'one@example.org' })
    }
  },
  {
    says: 'unique values that look alike are different values',
    needs: ['unique'],
    async holds (storage) {
      const alike = ['one@example.org', 'One@example.org', 'óne@example.org', 'one@example.org ', '']
      for (const [index, email] of alike.entries()) await insert(storage, { id: `a${index}`, name: '', email })
    }
  },
  {
    says: 'a set of properties is taken only where all its values are, and all its properties are named',
    needs: ['unique'],
    async holds (storage) {
      await fill(storage,
        { id: 'a', name: '', team: 'red', number: 1 },
        { id: 'b', name: '', team: 'red', number: 2 },
        { id: 'c', name: '', team: 'blue', number: 1 })
      assert.deepEqual(await storage.insert({ id: 'd', name: '', team: 'red', number: 2 }, everywhere), taken('team', 'number'))
      assert.deepEqual(await storage.replace('c', { id: 'c', name: '', team: 'red', number: 1 }, undefined, everywhere), taken('team', 'number'))
      assert.deepEqual(await ids(storage), ['a', 'b', 'c'])
    }
  },
  {
    says: 'null and absent are never taken, alone or in a set',
    needs: ['unique'],
    async holds (storage) {
      await fill(storage,
        { id: 'a', name: '', email: null },
        { id: 'b', name: '', email: null },
        { id: 'c', name: '' },
        { id: 'd', name: '', team: 'red', number: null },
        { id: 'e', name: '', team: 'red', number: null },
        { id: 'f', name: '', team: 'red' },
        { id: 'g', name: '', number: 1 },
        { id: 'h', name: '', number: 1 })
      kept(await storage.replace('c', { id: 'c', name: '', email: null, team: 'red', number: null }, undefined, everywhere))
    }
  }
]
