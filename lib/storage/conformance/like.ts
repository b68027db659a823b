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
  }
]
