import assert from 'node:assert/strict'
import { everywhere, find, kept, list, same, type Case } from './case.ts'
import type { Thing } from './thing.ts'

const kinds: ReadonlyArray<readonly [what: string, properties: Thing]> = [
  ['text of many scripts', { name: 'Ünïcödé Ελλάδα Россия 日本語 العربية e\u0301 ﷽' }],
  ['emoji, joined ones too', { name: '😀 👩‍👩‍👧‍👦 🏳️‍🌈' }],
  ['empty text', { name: '', note: '' }],
  ['spaces at both ends', { name: '  x  ', note: ' ' }],
  ['line ends, tabs and control characters', { name: 'a\r\nb\tc\u0001\u007f\u2028' }],
  ['quotes and the marks of query languages', { name: '\'"`;--/*\\%_$1?:a{}', note: "Robert'); DROP TABLE things;--", order: 'by' }],
  ['text that looks like another type', { name: '007', note: 'null', order: 'true' }],
  ['the greatest and the least integer', { rank: 9007199254740991, number: -9007199254740991 }],
  ['zero and minus one', { rank: 0, number: -1 }],
  ['fractions', { price: 0.1 }],
  ['small fractions', { price: 5e-7 }],
  ['negative fractions', { price: -1234.5678 }],
  ['a number with all its digits', { price: 1.7976931348623157e+308 }],
  ['a number that is whole, where a fraction could be', { price: 3 }],
  ['true', { done: true }],
  ['false', { done: false }],
  ['null', { note: null, rank: null, email: null }],
  ['nested objects', { place: { city: 'Rome', floor: null, open: false, position: { latitude: -41.25 } } }],
  ['an empty object', { place: {} }],
  ['arrays', { tags: ['b', 'a', '', '😀', 'b'] }],
  ['an empty array', { tags: [] }],
  ['an instant', { at: '2024-02-29T23:59:59.123Z' }],
  ['an instant before 1970', { at: '1815-12-10T00:00:00.000Z' }],
  ['the first and the last instant, as a property and within one', { at: '0001-01-01T00:00:00.000Z', place: { since: '9999-12-31T23:59:59.999Z' } }],
  ['the last instant', { at: '9999-12-31T23:59:59.999Z' }],
  ['a megabyte of text', { note: 'x€😀 '.repeat(131_072) }]
]

/** Changes whatever lets itself be changed. */
function tamper (value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, part] of Object.entries(value)) {
    tamper(part)
    Reflect.set(value, name, 'tampered')
  }
  Reflect.set(value, 'more', 'tampered')
}

const whole: Thing = { id: 'a', name: 'first', tags: ['x'], place: { city: 'Rome', position: { latitude: 1 } } }

export const fidelity: readonly Case[] = [
  ...kinds.map(([what, properties]): Case => ({
    says: `what goes in comes out: ${what}`,
    async holds (storage) {
      const thing = { id: 'a', name: 'x', ...properties }
      same(kept(await storage.insert(structuredClone(thing), everywhere)).item, thing)
      same((await find(storage, 'a')).item, thing)
      await storage.replace('a', { id: 'a', name: '' }, undefined, everywhere)
      same(kept(await storage.replace('a', structuredClone(thing), undefined, everywhere)).item, thing)
      const { entries: [entry] } = await list(storage)
      assert.ok(entry !== undefined)
      same(entry.item, thing)
    }
  })),
  {
    says: 'absent stays absent, and null stays null',
    async holds (storage) {
      await storage.insert({ id: 'a', name: '', note: null }, everywhere)
      const { item } = await find(storage, 'a')
      assert.equal(item['note'], null)
      assert.equal(item['rank'], undefined)
      same(item, { id: 'a', name: '', note: null })
      await storage.replace('a', { id: 'a', name: '', rank: null }, undefined, everywhere)
      same((await find(storage, 'a')).item, { id: 'a', name: '', rank: null })
    }
  },
  {
    says: 'what was handed in cannot be changed from outside afterwards',
    async holds (storage) {
      const given = structuredClone(whole)
      await storage.insert(given, everywhere)
      tamper(given)
      same((await find(storage, 'a')).item, whole)
      const next = structuredClone(whole)
      await storage.replace('a', next, undefined, everywhere)
      tamper(next)
      same((await find(storage, 'a')).item, whole)
    }
  },
  {
    says: 'what was handed out cannot change what is kept',
    async holds (storage) {
      const inserted = kept(await storage.insert(structuredClone(whole), everywhere))
      const { version } = inserted
      tamper(inserted)
      tamper(await find(storage, 'a'))
      tamper(await list(storage))
      tamper(await storage.replace('a', structuredClone(whole), 'never', everywhere))
      const entry = await find(storage, 'a')
      assert.deepEqual([entry.id, entry.version], ['a', version])
      same(entry.item, whole)
      assert.equal((await list(storage)).entries.length, 1)
      assert.deepEqual(await storage.replace('a', structuredClone(whole), 'never', everywhere), { refused: 'stale' })
    }
  }
]
