import assert from 'node:assert/strict'
import { by, everywhere, fill, find, ids, list, same, type Case } from './case.ts'

const five = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, name: `name ${id}` }))

export const pages: readonly Case[] = [
  {
    says: 'an empty collection is an empty page with no more to come',
    async holds (storage) {
      const { entries, more } = await list(storage)
      assert.deepEqual([[...entries], more], [[], false])
    }
  },
  {
    says: 'a page has as many entries as its limit, and tells truly whether more follow',
    async holds (storage) {
      await fill(storage, ...five)
      for (const [limit, more] of [[1, true], [4, true], [5, false], [6, false]] as const) {
        const page = await list(storage, { limit })
        assert.deepEqual([page.entries.length, page.more], [Math.min(limit, 5), more], `of five, with a limit of ${limit}`)
      }
    }
  },
  {
    says: 'a page after a position begins with the entry past it',
    async holds (storage) {
      await fill(storage, ...five)
      for (const [after, limit, expected, more] of [
        ['a', 2, ['b', 'c'], true],
        ['c', 2, ['d', 'e'], false],
        ['d', 2, ['e'], false],
        ['e', 2, [], false],
        ['', 1, ['a'], true],
        ['bb', 1, ['c'], true]
      ] as const) {
        const page = await list(storage, { after: [after], limit })
        assert.deepEqual([page.entries.map(({ id }) => id), page.more], [expected, more], `after ${after}`)
      }
      assert.deepEqual(await ids(storage, { order: by('-id'), after: ['c'] }), ['b', 'a'])
    }
  },
  {
    says: 'a page before a position has the nearest entries ahead of it, still in order',
    async holds (storage) {
      await fill(storage, ...five)
      for (const [before, limit, expected, more] of [
        ['e', 2, ['c', 'd'], true],
        ['c', 2, ['a', 'b'], false],
        ['b', 2, ['a'], false],
        ['a', 2, [], false],
        ['zz', 1, ['e'], true],
        ['bb', 1, ['b'], true]
      ] as const) {
        const page = await list(storage, { before: [before], limit })
        assert.deepEqual([page.entries.map(({ id }) => id), page.more], [expected, more], `before ${before}`)
      }
      assert.deepEqual(await ids(storage, { order: by('-id'), before: ['c'], limit: 1 }), ['d'])
    }
  },
  {
    says: 'a page between two positions has the nearest entries ahead of the second',
    async holds (storage) {
      await fill(storage, ...five)
      assert.deepEqual(await ids(storage, { after: ['a'], before: ['e'] }), ['b', 'c', 'd'])
      const { entries, more } = await list(storage, { after: ['a'], before: ['e'], limit: 2 })
      assert.deepEqual([entries.map(({ id }) => id), more], [['c', 'd'], true])
      assert.equal((await list(storage, { after: ['a'], before: ['e'], limit: 3 })).more, false)
    }
  },
  {
    says: 'a position stays good when its entry is gone',
    async holds (storage) {
      await fill(storage, ...five)
      await storage.remove('c', undefined, everywhere)
      assert.deepEqual(await ids(storage, { after: ['c'] }), ['d', 'e'])
      assert.deepEqual(await ids(storage, { before: ['c'] }), ['a', 'b'])
    }
  },
  {
    says: 'properties asked for are there, with the version that find gives',
    async holds (storage) {
      await fill(storage, { id: 'a', name: 'first', note: 'kept', rank: 1 })
      const { entries: [entry] } = await list(storage, { properties: ['id', 'name'] })
      const found = await find(storage, 'a')
      assert.equal(entry?.version, found.version)
      assert.deepEqual([entry.id, entry.item['id'], entry.item['name']], ['a', 'a', 'first'])
      same(found.item, { id: 'a', name: 'first', note: 'kept', rank: 1 })
    }
  },
  {
    says: 'a total is how many match in all, whatever the page',
    needs: ['count'],
    async holds (storage) {
      assert.equal((await list(storage, { count: true })).total, 0)
      await fill(storage, ...five)
      assert.equal((await list(storage, { count: true })).total, 5)
      assert.equal((await list(storage, { count: true, limit: 2 })).total, 5)
      assert.equal((await list(storage, { count: true, limit: 2, after: ['d'] })).total, 5)
      assert.equal((await list(storage, { count: true, limit: 2, before: ['b'] })).total, 5)
      assert.equal((await list(storage)).total, undefined)
    }
  },
  {
    says: 'a total counts what the filter lets through',
    needs: ['count', 'filter'],
    async holds (storage) {
      await fill(storage, ...five)
      const filter = { property: 'id', is: 'gt', value: 'b' } as const
      assert.equal((await list(storage, { count: true, limit: 1, filter })).total, 3)
    }
  }
]
