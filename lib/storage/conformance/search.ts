import assert from 'node:assert/strict'
import { fill, ids, list, type Case } from './case.ts'
import type { Thing } from './thing.ts'

const all: readonly Thing[] = [
  { id: 'a', name: 'The Quick brown fox', note: 'jumps' },
  { id: 'b', name: 'the lazy dog', note: null },
  { id: 'c', name: 'École 100%', note: 'quick_step' },
  { id: 'd', name: 'a*b\\c' }
]

const found: ReadonlyArray<readonly [text: string, expected: string]> = [
  ['quick', 'ac'],
  ['QUICK', 'ac'],
  ['uic', 'ac'],
  ['the', 'ab'],
  ['fox the', 'a'],
  ['  brown   quick  ', 'a'],
  ['brown jumps', 'a'],
  ['brown dog', ''],
  ['100%', 'c'],
  ['1%0', ''],
  ['k_s', 'c'],
  ['x_j', ''],
  ['*', 'd'],
  ['\\', 'd'],
  ['o%', ''],
  ["'", '']
]

export const search: readonly Case[] = [
  {
    says: 'search finds what has every word, in any letter case, each in any of the members',
    needs: ['search'],
    async holds (storage) {
      await fill(storage, ...all)
      for (const [text, expected] of found) {
        assert.equal((await ids(storage, { search: { text, members: ['name', 'note'] } })).join(''), expected, `search for ${text}`)
      }
    }
  },
  {
    says: 'search knows the letter case of more than ASCII',
    needs: ['search'],
    async holds (storage) {
      await fill(storage, ...all)
      for (const text of ['école', 'ÉCOLE', 'École']) assert.deepEqual(await ids(storage, { search: { text, members: ['name'] } }), ['c'], text)
    }
  },
  {
    says: 'search looks in no other members',
    needs: ['search'],
    async holds (storage) {
      await fill(storage, ...all)
      assert.deepEqual(await ids(storage, { search: { text: 'quick', members: ['note'] } }), ['c'])
    }
  },
  {
    says: 'search works together with a filter, a position and a total',
    needs: ['search', 'filter', 'count'],
    async holds (storage) {
      await fill(storage, ...all)
      const asked = { search: { text: 'THE', members: ['name'] }, count: true }
      const { entries, total } = await list(storage, { ...asked, after: ['a'] })
      assert.deepEqual([entries.map(({ id }) => id), total], [['b'], 2])
      assert.equal((await list(storage, { ...asked, filter: { member: 'note', is: 'null', value: true } })).total, 1)
    }
  }
]
