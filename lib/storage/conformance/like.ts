import assert from 'node:assert/strict'
import { fill, ids, list, type Case } from './case.ts'

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

export const like: readonly Case[] = [
  {
    says: 'like takes * for any run of characters, \\ for the next character as it is, and all else literally',
    needs: ['filter'],
    async holds (storage) {
      await fill(storage, ...names.map((name, index) => ({ id: String.fromCharCode(97 + index), name })), { id: 'z', name: 'no note' })
      for (const [value, expected] of patterns) {
        const { entries } = await list(storage, { filter: { all: [{ property: 'name', is: 'like', value }, { property: 'id', is: 'ne', value: 'z' }] } })
        assert.deepEqual(entries.map(({ item }) => item['name']), expected, `like ${value}`)
      }
      assert.deepEqual(await ids(storage, { filter: { property: 'note', is: 'like', value: '*' } }), [], 'null is like nothing')
    }
  }
]
