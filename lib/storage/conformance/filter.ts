import assert from 'node:assert/strict'
import type { Filter, Storage } from '../contract.ts'
import { insertThings, listIds, listThings, orderBy, type Case } from './case.ts'
import { arrayThings, type Thing } from './thing.ts'

/** A filter, and the ids that it matches, as one text. */
type Expectation = readonly [filter: Filter, expected: string]

const all: readonly Thing[] = [
  { id: 'a', name: 'apple', rank: 2, price: 0.5, done: true, note: '', tags: ['x', 'X '] },
  { id: 'b', name: 'Apple', rank: 10, price: -1.25, done: false, note: null, tags: [] },
  { id: 'c', name: 'äpple', rank: 9, price: 100, note: 'x', tags: ['y', 'é', "it's \"\\/"] },
  { id: 'd', name: 'apple ', rank: null, done: true, at: '2024-02-29T12:00:00.000Z' },
  {
    id: 'e',
    name: '😀',
    at: '2024-03-01T00:00:00.000Z',
    place: { city: 'Rome', floor: 2, open: true, position: { latitude: 41.9 } }
  },
  { id: 'f', name: '', rank: -3, place: { city: 'rome', floor: null, open: false } },
  { id: 'g', name: "' OR 1=1 --", rank: 0, place: {}, tags: ['😀', '1', 'x', 'x'] }
]

async function assertMatches (storage: Storage<Thing>, expectations: readonly Expectation[]): Promise<void> {
  for (const [filter, expected] of expectations) {
    assert.equal((await listIds(storage, { filter })).join(''), expected, JSON.stringify(filter))
  }
}

/** Checks what filters match, and that `not` matches exactly the rest. */
const filterCase = (title: string, expectations: readonly Expectation[]): Case => ({
  title,
  requires: ['filter'],
  async run (storage) {
    await insertThings(storage, ...all)
    await assertMatches(storage, expectations)
    await assertMatches(storage, expectations.map(([filter, expected]) => [{ not: filter }, getRest(expected)]))
  }
})

/** The same, for what only some storages support. */
const arrayCase = (title: string, expectations: readonly Expectation[]): Case => ({
  ...filterCase(title, expectations),
  requires: ['filter', 'arrays']
})

function getRest (expected: string): string {
  return all.map(({ id }) => String(id)).filter((id) => !expected.includes(id)).join('')
}

export const filterCases: readonly Case[] = [
  filterCase('eq matches the same value: letter case, accents and spaces matter', [
    [{ property: 'name', is: 'eq', value: 'apple' }, 'a'],
    [{ property: 'name', is: 'eq', value: 'APPLE' }, ''],
    [{ property: 'name', is: 'eq', value: 'apple ' }, 'd'],
    [{ property: 'name', is: 'eq', value: '' }, 'f'],
    [{ property: 'name', is: 'eq', value: '😀' }, 'e'],
    [{ property: 'name', is: 'eq', value: "' OR 1=1 --" }, 'g'],
    [{ property: 'note', is: 'eq', value: '' }, 'a'],
    [{ property: 'rank', is: 'eq', value: 10 }, 'b'],
    [{ property: 'rank', is: 'eq', value: 0 }, 'g'],
    [{ property: 'rank', is: 'eq', value: 2.5 }, ''],
    [{ property: 'price', is: 'eq', value: -1.25 }, 'b'],
    [{ property: 'done', is: 'eq', value: true }, 'ad'],
    [{ property: 'done', is: 'eq', value: false }, 'b'],
    [{ property: 'at', is: 'eq', value: '2024-02-29T12:00:00.000Z' }, 'd'],
    [{ property: 'id', is: 'eq', value: 'c' }, 'c']
  ]),
  filterCase('ne matches every other value, null and missing', [
    [{ property: 'name', is: 'ne', value: 'apple' }, 'bcdefg'],
    [{ property: 'rank', is: 'ne', value: 2 }, 'bcdefg'],
    [{ property: 'done', is: 'ne', value: true }, 'bcefg'],
    [{ property: 'note', is: 'ne', value: 'x' }, 'abdefg']
  ]),
  filterCase('lt, lte, gt and gte compare numbers by value, and never match null or missing', [
    [{ property: 'rank', is: 'lt', value: 9 }, 'afg'],
    [{ property: 'rank', is: 'lte', value: 9 }, 'acfg'],
    [{ property: 'rank', is: 'gt', value: 2 }, 'bc'],
    [{ property: 'rank', is: 'gte', value: 2 }, 'abc'],
    [{ property: 'rank', is: 'gt', value: 1.5 }, 'abc'],
    [{ property: 'price', is: 'lt', value: 0.6 }, 'ab'],
    [{ property: 'price', is: 'gte', value: 0.5 }, 'ac']
  ]),
  filterCase('lt, lte, gt and gte compare text by code point', [
    [{ property: 'name', is: 'lt', value: 'apple' }, 'bfg'],
    [{ property: 'name', is: 'lte', value: 'apple' }, 'abfg'],
    [{ property: 'name', is: 'gt', value: 'z' }, 'ce'],
    [{ property: 'name', is: 'gt', value: '\uffee' }, 'e'],
    [{ property: 'name', is: 'gte', value: 'apple ' }, 'cde'],
    [{ property: 'at', is: 'gt', value: '2024-02-29T12:00:00.000Z' }, 'e'],
    [{ property: 'at', is: 'lte', value: '2024-02-29T12:00:00.000Z' }, 'd']
  ]),
  filterCase('in matches any of the values, and an empty list matches nothing', [
    [{ property: 'name', is: 'in', value: ['apple', 'Apple', 'nothing'] }, 'ab'],
    [{ property: 'rank', is: 'in', value: [2, 0, 0] }, 'ag'],
    [{ property: 'done', is: 'in', value: [false] }, 'b'],
    [{ property: 'rank', is: 'in', value: [] }, '']
  ]),
  filterCase('nin matches all other values, null and missing, and an empty list matches everything', [
    [{ property: 'name', is: 'nin', value: ['apple', 'Apple', 'nothing'] }, 'cdefg'],
    [{ property: 'rank', is: 'nin', value: [2, 0] }, 'bcdef'],
    [{ property: 'rank', is: 'nin', value: [] }, 'abcdefg']
  ]),
  filterCase('null matches null and missing, but not empty text, zero or false', [
    [{ property: 'note', is: 'null', value: true }, 'bdefg'],
    [{ property: 'note', is: 'null', value: false }, 'ac'],
    [{ property: 'rank', is: 'null', value: true }, 'de'],
    [{ property: 'rank', is: 'null', value: false }, 'abcfg'],
    [{ property: 'done', is: 'null', value: false }, 'abd'],
    [{ property: 'place', is: 'null', value: false }, 'efg']
  ]),
  filterCase('conditions can use nested properties; a missing one is null', [
    [{ property: 'place.city', is: 'eq', value: 'Rome' }, 'e'],
    [{ property: 'place.city', is: 'like', value: '*ome' }, 'ef'],
    [{ property: 'place.city', is: 'ne', value: 'Rome' }, 'abcdfg'],
    [{ property: 'place.floor', is: 'gte', value: 2 }, 'e'],
    [{ property: 'place.floor', is: 'null', value: true }, 'abcdfg'],
    [{ property: 'place.open', is: 'eq', value: true }, 'e'],
    [{ property: 'place.open', is: 'eq', value: false }, 'f'],
    [{ property: 'place.position.latitude', is: 'gt', value: 41 }, 'e'],
    [{ property: 'place.position.latitude', is: 'null', value: false }, 'e']
  ]),
  filterCase('all, any and not combine to any depth; all of nothing matches, any of nothing does not', [
    [{ all: [{ property: 'rank', is: 'gt', value: 0 }, { property: 'done', is: 'eq', value: true }] }, 'a'],
    [{ any: [{ property: 'rank', is: 'gt', value: 9 }, { property: 'done', is: 'eq', value: true }] }, 'abd'],
    [{ not: { any: [{ property: 'rank', is: 'gt', value: 9 }, { property: 'done', is: 'eq', value: true }] } }, 'cefg'],
    [
      {
        all: [
          { any: [{ property: 'id', is: 'eq', value: 'a' }, { property: 'id', is: 'eq', value: 'b' }] },
          { not: { property: 'rank', is: 'lt', value: 9 } }
        ]
      },
      'b'
    ],
    [{ not: { not: { property: 'rank', is: 'lt', value: 0 } } }, 'f'],
    [{ all: [] }, 'abcdefg'],
    [{ any: [] }, '']
  ]),
  arrayCase('contains matches arrays that have the value as an item: letter case, accents and spaces matter', [
    [{ property: 'tags', is: 'contains', value: 'x' }, 'ag'],
    [{ property: 'tags', is: 'contains', value: 'X' }, ''],
    [{ property: 'tags', is: 'contains', value: 'X ' }, 'a'],
    [{ property: 'tags', is: 'contains', value: 'é' }, 'c'],
    [{ property: 'tags', is: 'contains', value: 'e' }, ''],
    [{ property: 'tags', is: 'contains', value: 'it\'s "\\/' }, 'c'],
    [{ property: 'tags', is: 'contains', value: '😀' }, 'g'],
    [{ property: 'tags', is: 'contains', value: '' }, ''],
    [{ property: 'tags', is: 'contains', value: '1' }, 'g'],
    [{ property: 'tags', is: 'contains', value: 1 }, ''],
    [{ property: 'tags', is: 'contains', value: true }, '']
  ]),
  arrayCase('overlaps matches arrays that have one of the values, and an empty list matches nothing', [
    [{ property: 'tags', is: 'overlaps', value: ['x', 'y', 'nothing'] }, 'acg'],
    [{ property: 'tags', is: 'overlaps', value: ['y'] }, 'c'],
    [{ property: 'tags', is: 'overlaps', value: ['y', 1, false] }, 'c'],
    [{ property: 'tags', is: 'overlaps', value: [] }, '']
  ]),
  {
    title: 'contains and overlaps match numbers by value, booleans, and arrays in objects; not what is no array',
    requires: ['filter', 'arrays'],
    shape: arrayThings,
    async run (storage) {
      await insertThings(
        storage,
        { id: 'a', name: '', numbers: [1, 2.5, -3], flags: [true], place: { codes: ['p'] }, type: ['t'], value: ['v'] },
        { id: 'b', name: '', numbers: [0.1, 9007199254740991], flags: [false, null], place: { codes: [] } },
        { id: 'c', name: '', numbers: [], flags: null, place: {} },
        { id: 'd', name: '' }
      )
      await assertMatches(storage, [
        [{ property: 'numbers', is: 'contains', value: 1 }, 'a'],
        [{ property: 'numbers', is: 'contains', value: 2.5 }, 'a'],
        [{ property: 'numbers', is: 'contains', value: 0.1 }, 'b'],
        [{ property: 'numbers', is: 'contains', value: 9007199254740991 }, 'b'],
        [{ property: 'numbers', is: 'contains', value: '1' }, ''],
        [{ property: 'numbers', is: 'overlaps', value: [-3, 0.1] }, 'ab'],
        [{ property: 'flags', is: 'contains', value: true }, 'a'],
        [{ property: 'flags', is: 'contains', value: false }, 'b'],
        [{ property: 'flags', is: 'overlaps', value: [true, false] }, 'ab'],
        [{ not: { property: 'flags', is: 'contains', value: false } }, 'acd'],
        [{ property: 'flags', is: 'null', value: true }, 'cd'],
        [{ property: 'place.codes', is: 'contains', value: 'p' }, 'a'],
        [{ not: { property: 'place.codes', is: 'contains', value: 'p' } }, 'bcd'],
        [{ property: 'name', is: 'contains', value: '' }, ''],
        // Names that JSON functions of databases have as well.
        [{ property: 'type', is: 'contains', value: 't' }, 'a'],
        [{ property: 'value', is: 'overlaps', value: ['t', 'v'] }, 'a']
      ])
    }
  },
  {
    title: 'a filter and a position can be combined, in any order',
    requires: ['filter', 'order'],
    async run (storage) {
      await insertThings(storage, ...all)
      const query = { filter: { property: 'rank', is: 'null', value: false }, order: orderBy('-rank', 'id') } as const
      const { entries, more } = await listThings(storage, { ...query, after: [10, 'b'], limit: 2 })
      assert.deepEqual([entries.map(({ id }) => id), more], [['c', 'a'], true])
      assert.deepEqual(await listIds(storage, { ...query, before: [2, 'a'], limit: 1 }), ['c'])
      assert.equal((await listThings(storage, { ...query, after: [2, 'a'], limit: 2 })).more, false)
    }
  }
]
