import assert from 'node:assert/strict'
import { parseWords } from '../search-words.ts'
import { fill, ids, list, type Case } from './case.ts'
import type { Thing } from './thing.ts'

const all: readonly Thing[] = [
  { id: 'a', name: 'The Quick brown fox', note: 'jumps' },
  { id: 'b', name: 'the lazy dog', note: null },
  { id: 'c', name: 'École 100%', note: 'quick_step' },
  { id: 'd', name: 'a*b\\c' },
  { id: 'e', name: 'ΦΙΛΟΣΟΦΟΣ φιλόσοφος', note: 'Санкт-Петербург' },
  { id: 'f', name: '東京 Ärger', note: 'ДОМ дом' }
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
  ["'", ''],
  ['quick QUICK quick uic', 'ac'],
  ['brown row fox brown', 'a'],
  ['a b c d e f g h i j k', '']
]

const letters: ReadonlyArray<readonly [text: string, expected: string]> = [
  ['école', 'c'],
  ['ÉCOLE', 'c'],
  ['École 100', 'c'],
  ['école quick', 'c'],
  ['ecole', ''],
  ['φιλοσοφος', 'e'],
  ['ΛΟΣ', 'e'],
  ['σοφος', 'e'],
  ['όΣΟΦΟΣ', 'e'],
  ['ПЕТЕРБУРГ', 'e'],
  ['санкт-петер', 'e'],
  ['нкт дом', ''],
  ['дОм', 'f'],
  ['東', 'f'],
  ['ärger 京', 'f'],
  ['ÄRGER дом', 'f'],
  ['arger', '']
]

export const search: readonly Case[] = [
  {
    says: 'search finds what has every word, in any letter case, each in any of the properties',
    needs: ['search'],
    async holds (storage) {
      await fill(storage, ...all)
      for (const [text, expected] of found) {
        assert.equal((await ids(storage, { search: { words: parseWords(text), properties: ['name', 'note'] } })).join(''), expected, `search for ${text}`)
      }
    }
  },
  {
    says: 'search knows the letter case of more than ASCII',
    needs: ['search'],
    async holds (storage) {
      await fill(storage, ...all)
      for (const [text, expected] of letters) {
        assert.equal((await ids(storage, { search: { words: parseWords(text), properties: ['name', 'note'] } })).join(''), expected, `search for ${text}`)
      }
    }
  },
  {
    says: 'search looks in no other properties',
    needs: ['search'],
    async holds (storage) {
      await fill(storage, ...all)
      assert.deepEqual(await ids(storage, { search: { words: parseWords('quick'), properties: ['note'] } }), ['c'])
    }
  },
  {
    says: 'search works together with a filter, a position and a total',
    needs: ['search', 'filter', 'count'],
    async holds (storage) {
      await fill(storage, ...all)
      const asked = { search: { words: parseWords('THE'), properties: ['name'] }, count: true }
      const { entries, total } = await list(storage, { ...asked, after: ['a'] })
      assert.deepEqual([entries.map(({ id }) => id), total], [['b'], 2])
      assert.equal((await list(storage, { ...asked, filter: { property: 'note', is: 'null', value: true } })).total, 1)
      const page = { search: { words: parseWords('É'), properties: ['name', 'note'] }, count: true, limit: 1 }
      await fill(storage, { id: 'x', name: 'été' }, { id: 'y', name: 'ÉTÉ' }, { id: 'z', name: 'eté' })
      const after = await list(storage, { ...page, after: ['c'] })
      assert.deepEqual([after.entries.map(({ id }) => id), after.more, after.total], [['x'], true, 4])
      const before = await list(storage, { ...page, before: ['z'], properties: ['id'] })
      assert.deepEqual([before.entries.map(({ id }) => id), before.more, before.total], [['y'], true, 4])
    }
  }
]
