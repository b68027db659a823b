import assert from 'node:assert/strict'
import { assertSameItem, assertWritten, findThing, listThings, unscoped, type Case } from './case.ts'
import type { Thing } from './thing.ts'

const values: ReadonlyArray<readonly [what: string, properties: Thing]> = [
  ['text of many scripts', { name: 'Ünïcödé Ελλάδα Россия 日本語 العربية e\u0301 ﷽' }],
  ['emoji, also joined ones', { name: '😀 👩‍👩‍👧‍👦 🏳️‍🌈' }],
  ['empty text', { name: '', note: '' }],
  ['spaces at both ends', { name: '  x  ', note: ' ' }],
  ['line ends, tabs and control characters', { name: 'a\r\nb\tc\u0001\u007f\u2028' }],
  [
    'quotes and the characters of query languages',
    { name: '\'"`;--/*\\%_$1?:a{}', note: "Robert'); DROP TABLE things;--", order: 'by' }
  ],
  ['text that looks like another type', { name: '007', note: 'null', order: 'true' }],
  ['the greatest and the least integer', { rank: 9007199254740991, number: -9007199254740991 }],
  ['zero and minus one', { rank: 0, number: -1 }],
  ['fractions', { price: 0.1 }],
  ['small fractions', { price: 5e-7 }],
  ['negative fractions', { price: -1234.5678 }],
  ['a number with all its digits', { price: 1.7976931348623157e+308 }],
  ['an integer in a property for numbers', { price: 3 }],
  ['true', { done: true }],
  ['false', { done: false }],
  ['null', { note: null, rank: null, email: null }],
  ['nested objects', { place: { city: 'Rome', floor: null, open: false, position: { latitude: -41.25 } } }],
  ['an empty object', { place: {} }],
  ['arrays', { tags: ['b', 'a', '', '😀', 'b'] }],
  ['an empty array', { tags: [] }],
  ['an instant', { at: '2024-02-29T23:59:59.123Z' }],
  ['an instant before 1970', { at: '1815-12-10T00:00:00.000Z' }],
  [
    'the first and the last instant, at the top level and nested',
    { at: '0001-01-01T00:00:00.000Z', place: { since: '9999-12-31T23:59:59.999Z' } }
  ],
  ['the last instant', { at: '9999-12-31T23:59:59.999Z' }],
  ['a megabyte of text', { note: 'x€😀 '.repeat(131_072) }]
]

/** Changes every property that can be changed. */
function tamper (value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, part] of Object.entries(value)) {
    tamper(part)
    Reflect.set(value, name, 'tampered')
  }
  Reflect.set(value, 'more', 'tampered')
}

const whole: Thing = { id: 'a', name: 'first', tags: ['x'], place: { city: 'Rome', position: { latitude: 1 } } }

export const fidelityCases: readonly Case[] = [
  ...values.map(([what, properties]): Case => ({
    title: `an item is returned as it was stored: ${what}`,
    async run (storage) {
      const thing = { id: 'a', name: 'x', ...properties }
      assertSameItem(assertWritten(await storage.insert(structuredClone(thing), unscoped)).item, thing)
      assertSameItem((await findThing(storage, 'a')).item, thing)
      await storage.replace('a', { id: 'a', name: '' }, undefined, unscoped)
      assertSameItem(assertWritten(await storage.replace('a', structuredClone(thing), undefined, unscoped)).item, thing)
      const { entries: [entry] } = await listThings(storage)
      assert.ok(entry !== undefined)
      assertSameItem(entry.item, thing)
    }
  })),
  {
    title: 'missing stays missing, and null stays null',
    async run (storage) {
      await storage.insert({ id: 'a', name: '', note: null }, unscoped)
      const { item } = await findThing(storage, 'a')
      assert.equal(item['note'], null)
      assert.equal(item['rank'], undefined)
      assertSameItem(item, { id: 'a', name: '', note: null })
      await storage.replace('a', { id: 'a', name: '', rank: null }, undefined, unscoped)
      assertSameItem((await findThing(storage, 'a')).item, { id: 'a', name: '', rank: null })
    }
  },
  {
    title: 'a change to a written item does not change what is stored',
    async run (storage) {
      const given = structuredClone(whole)
      await storage.insert(given, unscoped)
      tamper(given)
      assertSameItem((await findThing(storage, 'a')).item, whole)
      const next = structuredClone(whole)
      await storage.replace('a', next, undefined, unscoped)
      tamper(next)
      assertSameItem((await findThing(storage, 'a')).item, whole)
    }
  },
  {
    title: 'a change to a returned entry does not change what is stored',
    async run (storage) {
      const inserted = assertWritten(await storage.insert(structuredClone(whole), unscoped))
      const { version } = inserted
      tamper(inserted)
      tamper(await findThing(storage, 'a'))
      tamper(await listThings(storage))
      tamper(await storage.replace('a', structuredClone(whole), 'never', unscoped))
      const entry = await findThing(storage, 'a')
      assert.deepEqual([entry.id, entry.version], ['a', version])
      assertSameItem(entry.item, whole)
      assert.equal((await listThings(storage)).entries.length, 1)
      assert.deepEqual(await storage.replace('a', structuredClone(whole), 'never', unscoped), { refused: 'stale' })
    }
  }
]
