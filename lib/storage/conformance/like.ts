import assert from 'node:assert/strict'
import { insertThings, listIds, listThings, type Case } from './case.ts'

const names = [
  'a*b', 'a%b', 'a_b', 'a\\b', 'axb', 'axxb', 'AxB', 'ab', 'a.b', 'a[x]b', 'a\nb', 'a😀b', 'xaby', ''
] as const

const patterns: ReadonlyArray<readonly [pattern: string, expected: readonly string[]]> = [
  ['axb', ['axb']],
  ['', ['']],
  ['*', names],
  ['**', names],
  ['a*b', names.filter((name) => name.startsWith('a') && name.endsWith('b'))],
  ['a*', names.filter((name) => name.startsWith('a'))],
  ['*b', names.filter((name) => name.endsWith('b'))],
  ['*ab*', ['ab', 'xaby']],
  ['*a*x*b*', ['axb', 'axxb', 'a[x]b']],
  ['*a*x*x*b*', ['axxb']],
  ['*x*x*x*', []],
  ['a*x*b', ['axb', 'axxb', 'a[x]b']],
  ['a*x*xb', ['axxb']],
  ['a*[x*b', ['a[x]b']],
  ['*😀*b', ['a😀b']],
  ['x*b*y', ['xaby']],
  ['ab*b', []],
  ['axxb*b', []],
  ['A*', ['AxB']],
  ['a\\*b', ['a*b']],
  ['a\\\\b', ['a\\b']],
  ['a\\xb', ['axb']],
  ['a%b', ['a%b']],
  ['%', []],
  ['a_b', ['a_b']],
  ['a.b', ['a.b']],
  ['a[x]b', ['a[x]b']],
  ['a😀b', ['a😀b']],
  ['*\\*', []]
]

const words = [
  'Anna', 'ANNA', 'anna', 'aNn*', 'ÖL', 'Öl', 'öl', 'ol', 'STRASSE', 'STRAẞE', 'Straße', 'ΟΔΟΣ', 'οδος', 'ΟΔΟς', 'Ⅷ',
  'ⅷ', 'İl', 'il', 'IL', 'ıl', '\u212Aelvin', 'kelvin', 'ſ', 'S', 'ЖУК', 'жук', 'Ა', 'ა', '𐐀', '𐐨', 'ǅ', 'ǆ', 'Ǆ',
  "O'Neil"
] as const

const foldedPatterns: ReadonlyArray<readonly [pattern: string, expected: readonly string[]]> = [
  ['anna', ['Anna', 'ANNA', 'anna']],
  ['ANN*', ['Anna', 'ANNA', 'anna', 'aNn*']],
  ['ann\\*', ['aNn*']],
  ['ÖL', ['ÖL', 'Öl', 'öl']],
  ['ö*', ['ÖL', 'Öl', 'öl']],
  ['*L', ['ÖL', 'Öl', 'öl', 'ol', 'İl', 'il', 'IL', 'ıl', "O'Neil"]],
  ['straße', ['STRAẞE', 'Straße']],
  ['strasse', ['STRASSE']],
  ['οδΟΣ', ['ΟΔΟΣ', 'οδος', 'ΟΔΟς']],
  ['Ⅷ', ['Ⅷ', 'ⅷ']],
  ['il', ['il', 'IL']],
  ['İL', ['İl']],
  ['ıl', ['ıl']],
  ['KELVIN', ['kelvin']],
  // The sign for kelvin.
  ['\u212Aelvin', ['\u212Aelvin', 'kelvin']],
  ['s', ['S']],
  ['*У*', ['ЖУК', 'жук']],
  ['ა', ['Ა', 'ა']],
  ['𐐀', ['𐐀', '𐐨']],
  ['ǅ', ['ǅ', 'ǆ', 'Ǆ']],
  ['ǆ', ['ǆ', 'Ǆ']],
  ["*o'n*", ["O'Neil"]],
  ['*', words]
]

export const likeCases: readonly Case[] = [
  {
    title: 'in like, * matches any characters, \\ escapes the next character, and all others are literal',
    requires: ['filter'],
    async run (storage) {
      const things = names.map((name, index) => ({ id: String.fromCharCode(97 + index), name }))
      await insertThings(storage, ...things, { id: 'z', name: 'no note' })
      for (const [value, expected] of patterns) {
        const { entries } = await listThings(storage, {
          filter: { all: [{ property: 'name', is: 'like', value }, { property: 'id', is: 'ne', value: 'z' }] }
        })
        assert.deepEqual(entries.map(({ item }) => item['name']), expected, `like ${value}`)
      }
      const withNote = await listIds(storage, { filter: { property: 'note', is: 'like', value: '*' } })
      assert.deepEqual(withNote, [], 'null matches no pattern')
    }
  },
  {
    title: 'ilike is like, and ignores the case of the letters of the pattern',
    requires: ['filter'],
    async run (storage) {
      const things = words.map((name, index) => ({ id: String(index + 10), name }))
      await insertThings(storage, ...things, { id: '99', name: 'no note' })
      for (const [value, expected] of foldedPatterns) {
        const { entries } = await listThings(storage, {
          filter: { all: [{ property: 'name', is: 'ilike', value }, { property: 'id', is: 'ne', value: '99' }] }
        })
        assert.deepEqual(entries.map(({ item }) => item['name']), expected, `ilike ${value}`)
      }
      const others = await listIds(storage, { filter: { not: { property: 'name', is: 'ilike', value: '*l*' } } })
      assert.ok(!others.includes('14') && others.includes('10'), 'not ilike')
      const withNote = await listIds(storage, { filter: { property: 'note', is: 'ilike', value: '*' } })
      assert.deepEqual(withNote, [], 'null matches no pattern')
    }
  }
]
