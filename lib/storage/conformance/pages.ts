import assert from 'node:assert/strict'
import { assertSameItem, findThing, insertThings, listIds, listThings, orderBy, unscoped, type Case } from './case.ts'

const five = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, name: `name ${id}` }))

export const pageCases: readonly Case[] = [
  {
    title: 'the page of an empty collection is empty, and has no more',
    async run (storage) {
      const { entries, more } = await listThings(storage)
      assert.deepEqual([[...entries], more], [[], false])
    }
  },
  {
    title: 'a page has as many entries as its limit, and reports whether more follow',
    async run (storage) {
      await insertThings(storage, ...five)
      for (const [limit, more] of [[1, true], [4, true], [5, false], [6, false]] as const) {
        const page = await listThings(storage, { limit })
        const expected = [Math.min(limit, 5), more]
        assert.deepEqual([page.entries.length, page.more], expected, `of five, with a limit of ${limit}`)
      }
    }
  },
  {
    title: 'a page after a position starts with the entry past it',
    async run (storage) {
      await insertThings(storage, ...five)
      for (const [after, limit, expected, more] of [
        ['a', 2, ['b', 'c'], true],
        ['c', 2, ['d', 'e'], false],
        ['d', 2, ['e'], false],
        ['e', 2, [], false],
        ['', 1, ['a'], true],
        ['bb', 1, ['c'], true]
      ] as const) {
        const page = await listThings(storage, { after: [after], limit })
        assert.deepEqual([page.entries.map(({ id }) => id), page.more], [expected, more], `after ${after}`)
      }
      assert.deepEqual(await listIds(storage, { order: orderBy('-id'), after: ['c'] }), ['b', 'a'])
    }
  },
  {
    title: 'a page before a position has the nearest entries ahead of it, in order',
    async run (storage) {
      await insertThings(storage, ...five)
      for (const [before, limit, expected, more] of [
        ['e', 2, ['c', 'd'], true],
        ['c', 2, ['a', 'b'], false],
        ['b', 2, ['a'], false],
        ['a', 2, [], false],
        ['zz', 1, ['e'], true],
        ['bb', 1, ['b'], true]
      ] as const) {
        const page = await listThings(storage, { before: [before], limit })
        assert.deepEqual([page.entries.map(({ id }) => id), page.more], [expected, more], `before ${before}`)
      }
      assert.deepEqual(await listIds(storage, { order: orderBy('-id'), before: ['c'], limit: 1 }), ['d'])
    }
  },
  {
    title: 'a page between two positions has the nearest entries ahead of the second',
    async run (storage) {
      await insertThings(storage, ...five)
      assert.deepEqual(await listIds(storage, { after: ['a'], before: ['e'] }), ['b', 'c', 'd'])
      const { entries, more } = await listThings(storage, { after: ['a'], before: ['e'], limit: 2 })
      assert.deepEqual([entries.map(({ id }) => id), more], [['c', 'd'], true])
      assert.equal((await listThings(storage, { after: ['a'], before: ['e'], limit: 3 })).more, false)
    }
  },
  {
    title: 'a position is valid after its entry was removed',
    async run (storage) {
      await insertThings(storage, ...five)
      await storage.remove('c', undefined, unscoped)
      assert.deepEqual(await listIds(storage, { after: ['c'] }), ['d', 'e'])
      assert.deepEqual(await listIds(storage, { before: ['c'] }), ['a', 'b'])
    }
  },
  {
    title: 'selected properties are returned, with the version that find returns',
    async run (storage) {
      await insertThings(storage, { id: 'a', name: 'first', note: 'kept', rank: 1 })
      const { entries: [entry] } = await listThings(storage, { properties: ['id', 'name'] })
      const found = await findThing(storage, 'a')
      assert.equal(entry?.version, found.version)
      assert.deepEqual([entry.id, entry.item['id'], entry.item['name']], ['a', 'a', 'first'])
      assertSameItem(found.item, { id: 'a', name: 'first', note: 'kept', rank: 1 })
    }
  },
  {
    title: 'the total is the number of all matching entries, whatever the page',
    requires: ['count'],
    async run (storage) {
      assert.equal((await listThings(storage, { count: true })).total, 0)
      await insertThings(storage, ...five)
      assert.equal((await listThings(storage, { count: true })).total, 5)
      assert.equal((await listThings(storage, { count: true, limit: 2 })).total, 5)
      assert.equal((await listThings(storage, { count: true, limit: 2, after: ['d'] })).total, 5)
      assert.equal((await listThings(storage, { count: true, limit: 2, before: ['b'] })).total, 5)
      assert.equal((await listThings(storage)).total, undefined)
    }
  },
  {
    title: 'the total counts the entries that match the filter',
    requires: ['count', 'filter'],
    async run (storage) {
      await insertThings(storage, ...five)
      const filter = { property: 'id', is: 'gt', value: 'b' } as const
      assert.equal((await listThings(storage, { count: true, limit: 1, filter })).total, 3)
    }
  }
]
