import assert from 'node:assert/strict'
import { everywhere, fill, find, ids, kept, list, same, within, type Case } from './case.ts'
import type { Thing } from './thing.ts'

const inside: Thing = { id: 'a', name: 'mine', team: 'red', number: 1 }
const outside: Thing = { id: 'b', name: 'theirs', team: 'blue', number: 1 }
const unowned: Thing = { id: 'c', name: 'of no team' }

const red = within({ property: 'team', is: 'eq', value: 'red' })
const absent = { refused: 'not-found' }

export const scope: readonly Case[] = [
  {
    says: 'find sees nothing outside the scope',
    needs: ['filter'],
    async holds (storage) {
      await fill(storage, inside, outside, unowned)
      same((await find(storage, 'a', red)).item, inside)
      assert.equal(await storage.find('b', red), undefined)
      assert.equal(await storage.find('c', red), undefined)
    }
  },
  {
    says: 'list sees nothing outside the scope, with a filter or without',
    needs: ['filter'],
    async holds (storage) {
      await fill(storage, inside, outside, unowned)
      assert.deepEqual(await ids(storage, {}, red), ['a'])
      assert.equal((await list(storage, { limit: 1 }, red)).more, false)
      assert.deepEqual(await ids(storage, { filter: { any: [{ property: 'name', is: 'eq', value: 'theirs' }, { all: [] }] } }, red), ['a'])
      assert.deepEqual(await ids(storage, { filter: { property: 'name', is: 'eq', value: 'theirs' } }, red), [])
    }
  },
  {
    says: 'a total counts nothing outside the scope',
    needs: ['filter', 'count'],
    async holds (storage) {
      await fill(storage, inside, outside, unowned)
      assert.equal((await list(storage, { count: true }, red)).total, 1)
    }
  },
  {
    says: 'a replace outside the scope is refused as absent and changes nothing, whatever version it expects',
    needs: ['filter'],
    async holds (storage) {
      await fill(storage, inside, outside)
      const { version } = await find(storage, 'b')
      for (const expected of [undefined, version, 'never']) {
        assert.deepEqual(await storage.replace('b', { id: 'b', name: 'stolen', team: 'red' }, expected, red), absent)
      }
      same((await find(storage, 'b')).item, outside)
      same(kept(await storage.replace('a', { ...inside, name: 'changed' }, undefined, red)).item, { ...inside, name: 'changed' })
    }
  },
  {
    says: 'a remove outside the scope is refused as absent and removes nothing, whatever version it expects',
    needs: ['filter'],
    async holds (storage) {
      await fill(storage, inside, outside)
      const { version } = await find(storage, 'b')
      for (const expected of [undefined, version, 'never']) assert.deepEqual(await storage.remove('b', expected, red), absent)
      same((await find(storage, 'b')).item, outside)
      assert.equal(await storage.remove('a', undefined, red), undefined)
      assert.deepEqual(await ids(storage), ['b'])
    }
  },
  {
    says: 'an insert is not scoped, but its item may be out of sight from then on',
    needs: ['filter'],
    async holds (storage) {
      same(kept(await storage.insert({ ...outside }, red)).item, outside)
      assert.equal(await storage.find('b', red), undefined)
      same((await find(storage, 'b')).item, outside)
    }
  },
  {
    says: 'what is outside the scope is taken nonetheless',
    needs: ['filter', 'unique'],
    async holds (storage) {
      await fill(storage, inside, outside)
      assert.deepEqual(await storage.insert({ id: 'b', name: '' }, red), { refused: 'not-unique', properties: ['id'] })
      const taken = { refused: 'not-unique', properties: ['team', 'number'] }
      assert.deepEqual(await storage.insert({ ...outside, id: 'd' }, red), taken)
      assert.deepEqual(await storage.replace('a', { ...outside, id: 'a' }, undefined, red), taken)
      same((await find(storage, 'a', everywhere)).item, inside)
    }
  }
]
