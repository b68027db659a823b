import assert from 'node:assert/strict'
import type { Storage } from '../contract.ts'
import { parseWords } from '../search-words.ts'
import { insertThings, listIds, listThings, type Case } from './case.ts'
import type { Thing } from './thing.ts'

const all: readonly Thing[] = [
  { id: 'a', name: 'The Quick brown fox', note: 'jumps' },
  { id: 'b', name: 'the lazy dog', note: null },
  { id: 'c', name: 'École 100%', note: 'quick_step' },
  { id: 'd', name: 'a*b\\c' },
  { id: 'e', name: 'ΦΙΛΟΣΟΦΟΣ φιλόσοφος', note: 'Санкт-Петербург' },
  { id: 'f', name: '東京 Ärger', note: 'ДОМ дом' }
]

/** A search, and the ids that it finds, as one text. */
type Expectation = readonly [text: string, expected: string]

const found: readonly Expectation[] = [
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

const letters: readonly Expectation[] = [
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

async function assertFound (storage: Storage<Thing>, expectations: readonly Expectation[]): Promise<void> {
  for (const [text, expected] of expectations) {
    const search = { words: parseWords(text), properties: ['name', 'note'] }
    assert.equal((await listIds(storage, { search })).join(''), expected, `search for ${text}`)
  }
}

export const searchCases: readonly Case[] = [
  {
    title: 'search finds items that contain every word, in any letter case, each in any of the properties',
    requires: ['search'],
    async run (storage) {
      await insertThings(storage, ...all)
      await assertFound(storage, found)
    }
  },
  {
    title: 'search ignores the letter case of all scripts',
    requires: ['search'],
    async run (storage) {
      await insertThings(storage, ...all)
      await assertFound(storage, letters)
    }
  },
  {
    title: 'search looks only in the given properties',
    requires: ['search'],
    async run (storage) {
      await insertThings(storage, ...all)
      assert.deepEqual(await listIds(storage, { search: { words: parseWords('quick'), properties: ['note'] } }), ['c'])
    }
  },
  {
    title: 'a search can be combined with a filter, a position and a total',
    requires: ['search', 'filter', 'count'],
    async run (storage) {
      await insertThings(storage, ...all)
      const query = { search: { words: parseWords('THE'), properties: ['name'] }, count: true }
      const { entries, total } = await listThings(storage, { ...query, after: ['a'] })
      assert.deepEqual([entries.map(({ id }) => id), total], [['b'], 2])
      const filter = { property: 'note', is: 'null', value: true } as const
      assert.equal((await listThings(storage, { ...query, filter })).total, 1)
      const page = { search: { words: parseWords('É'), properties: ['name', 'note'] }, count: true, limit: 1 }
      await insertThings(storage, { id: 'x', name: 'été' }, { id: 'y', name: 'ÉTÉ' }, { id: 'z', name: 'eté' })
      const after = await listThings(storage, { ...page, after: ['c'] })
      assert.deepEqual([after.entries.map(({ id }) => id), after.more, after.total], [['x'], true, 4])
      const before = await listThings(storage, { ...page, before: ['z'], properties: ['id'] })
      assert.deepEqual([before.entries.map(({ id }) => id), before.more, before.total], [['y'], true, 4])
    }
  }
]
