import assert from 'node:assert/strict'
import type { Context, Entry, Id, Refusal, Replacement, Shape, Storage } from '../contract.ts'
import {
  assertSameItem,
  assertWritten,
  buildQuery,
  findThing,
  insertThing,
  insertThings,
  listIds,
  listThings,
  scopedTo,
  unscoped,
  type Case
} from './case.ts'
import { numberedThings, uuidThings, type Thing } from './thing.ts'

const a = { id: 'a', name: 'first', rank: 1 }
const b = { id: 'b', name: 'second', rank: 2 }
const c = { id: 'c', name: 'third', rank: 3 }

type ManyStorage = Storage<Thing> & Required<Pick<Storage<Thing>, 'replaceMany' | 'removeMany'>>

/** Thrown to roll back. */
class Refused {
  readonly refusal: Refusal

  constructor (refusal: Refusal) {
    this.refusal = refusal
  }
}

/** Runs the work in a transaction, as the library does: a refusal rolls it back. */
async function transactMany<Result> (
  storage: Storage<Thing>,
  work: (storage: ManyStorage) => Promise<Result | Refusal | undefined>
): Promise<Result | Refusal | undefined> {
  try {
    return await storage.transaction!(async (inner) => {
      const result = await work(inner as ManyStorage)
      if (isRefusal(result)) throw new Refused(result)
      return result
    }, unscoped)
  } catch (thrown) {
    if (thrown instanceof Refused) return thrown.refusal
    throw thrown
  }
}

function isRefusal (result: unknown): result is Refusal {
  return typeof result === 'object' && result !== null && 'refused' in result
}

const replaceMany = (storage: Storage<Thing>, replacements: Array<Replacement<Thing>>, context: Context = unscoped) => {
  return transactMany(storage, (inner) => inner.replaceMany(replacements, context))
}

const removeMany = (storage: Storage<Thing>, entries: Array<Entry<Thing>>, context: Context = unscoped) => {
  return transactMany(storage, (inner) => inner.removeMany(entries, context))
}

/** Skips storages that write one item at a time. */
const manyCase = (title: string, run: Case['run'], requires: Case['requires'] = []): Case => ({
  title: `${title}, if several are written at once`,
  requires: ['transactions', ...requires],
  async run (storage) {
    if (storage.replaceMany !== undefined && storage.removeMany !== undefined) await run(storage)
  }
})

/** Ids of other types are compared in other ways. */
const idCase = (type: string, shape: Shape, ids: readonly Id[]): Case => ({
  ...manyCase(`replaceMany and removeMany find items by ids of the type ${type}`, async (storage) => {
    await insertThings(storage, ...ids.map((id) => ({ id, name: 'old' })))
    const { entries } = await listThings(storage)
    assert.ok(Array.isArray(await replaceMany(storage, entries.slice(1).map((entry) => rename(entry, 'new')))))
    const changed = await listThings(storage)
    assert.deepEqual(changed.entries.map(({ item }) => item['name']), ['old', ...ids.slice(1).map(() => 'new')])
    assert.equal(await removeMany(storage, changed.entries.slice(1)), undefined)
    assert.deepEqual(await listIds(storage), ids.slice(0, 1))
  }),
  shape
})

const rename = (before: Entry<Thing>, name: string): Replacement<Thing> => ({ before, item: { ...before.item, name } })

const insertCase = (title: string, run: Case['run'], requires: Case['requires'] = []): Case => ({
  title: `${title}, if several are inserted at once`,
  requires: ['transactions', ...requires],
  async run (storage) {
    if (storage.insertMany !== undefined) await run(storage)
  }
})

const insertMany = (storage: Storage<Thing>, drafts: Thing[]) => {
  return transactMany(storage, (inner) => inner.insertMany!(drafts.map((draft) => structuredClone(draft)), unscoped))
}

/** Values that could be changed on their way to the database. */
const values: Thing[] = [
  { id: 'x1', name: '', rank: 0, price: 0.1, done: false, tags: [], place: { city: 'a"b\\c', floor: null } },
  { id: 'x2', name: 'null', note: null, rank: -9007199254740991, price: 1 / 3, done: true, tags: ['NULL', '"'] },
  { id: 'x3', name: '{"a",NULL}', rank: 9007199254740991, price: 5e-324, at: '9999-12-31T23:59:59.999Z' },
  { id: 'x4', name: "é\t\n\r'`;--", rank: null, price: 1.7976931348623157e308, order: '?, $1' },
  { id: 'x5', name: '𝄞  ', email: null, team: 'red', number: 7, at: '0001-01-01T00:00:00.000Z' }
]

export const manyCases: readonly Case[] = [
  insertCase('insertMany inserts each item, and returns the entries in their order', async (storage) => {
    const result = await insertMany(storage, [c, a, b])
    assert.ok(Array.isArray(result), JSON.stringify(result))
    assert.deepEqual(result.map(({ id }) => id), ['c', 'a', 'b'])
    for (const entry of result as Array<Entry<Thing>>) {
      const stored = await findThing(storage, entry.id)
      assert.equal(stored.version, entry.version)
      assert.deepEqual(stored.item, entry.item)
    }
    assert.equal(new Set(result.map(({ version }) => version)).size, 3)
  }),
  insertCase('insertMany stores the same values as insert', async (storage) => {
    const result = await insertMany(storage, values)
    assert.ok(Array.isArray(result), JSON.stringify(result))
    for (const [index, entry] of (result as Array<Entry<Thing>>).entries()) {
      const stored = await findThing(storage, entry.id)
      await storage.remove(entry.id, undefined, unscoped)
      const single = await insertThing(storage, values[index]!)
      assert.deepEqual(stored.item, single.item)
      assert.deepEqual(entry.item, single.item)
    }
  }),
  insertCase('a transaction can go on after a refused insertMany, which has inserted nothing', async (storage) => {
    await insertThings(storage, b)
    const filler = Array.from({ length: 1800 }, (_, index): Thing => ({ id: `n${index}`, name: 'new' }))
    await storage.transaction!(async (inner) => {
      const drafts = [...filler, { ...a }, { ...b }]
      assert.deepEqual(await inner.insertMany!(drafts, unscoped), { refused: 'not-unique', properties: ['id'] })
      assert.deepEqual(await listIds(inner), ['b'])
      assertWritten(await inner.insert({ ...a }, unscoped))
    }, unscoped)
    assert.deepEqual(await listIds(storage), ['a', 'b'])
  }),
  insertCase('insertMany refuses a value that must be unique', async (storage) => {
    const drafts = [{ ...a, email: 'a@example.org' }, { ...b, email: 'a@example.org' }]
    assert.deepEqual(await insertMany(storage, drafts), { refused: 'not-unique', properties: ['email'] })
    assert.deepEqual(await listIds(storage), [])
  }, ['unique']),
  manyCase('replaceMany replaces each item, and returns the entries in their order', async (storage) => {
    await insertThings(storage, a, b, c)
    const before = [await findThing(storage, 'c'), await findThing(storage, 'a')]
    const result = await replaceMany(storage, before.map((entry) => rename(entry, `new ${entry.id}`)))
    assert.ok(Array.isArray(result), JSON.stringify(result))
    assert.deepEqual(result.map(({ id }) => id), ['c', 'a'])
    for (const [index, entry] of (result as Array<Entry<Thing>>).entries()) {
      const stored = await findThing(storage, entry.id)
      assert.equal(stored.version, entry.version)
      assert.notEqual(stored.version, before[index]!.version)
      assertSameItem(stored.item, { ...before[index]!.item, name: `new ${entry.id}` })
      assertSameItem(entry.item, { ...before[index]!.item, name: `new ${entry.id}` })
    }
    assert.notEqual(result[0].version, result[1].version)
    assertSameItem((await findThing(storage, 'b')).item, b)
  }),
  manyCase('replaceMany stores the same values as replace', async (storage) => {
    await insertThings(storage, ...values.map(({ id }) => ({ id, name: 'old', email: null })))
    const { entries } = await listThings(storage)
    const items = entries.map(({ id }) => values.find((value) => value['id'] === id)!)
    const result = await replaceMany(storage, entries.map((before, index) => {
      return { before, item: structuredClone(items[index]!) }
    }))
    assert.ok(Array.isArray(result), JSON.stringify(result))
    for (const [index, entry] of (result as Array<Entry<Thing>>).entries()) {
      const stored = await findThing(storage, entry.id)
      const single = assertWritten(await storage.replace(entry.id, structuredClone(items[index]!), undefined, unscoped))
      assert.deepEqual(stored.item, single.item)
      assert.deepEqual(entry.item, single.item)
    }
  }),
  manyCase('replaceMany and removeMany refuse all items if one has another version', async (storage) => {
    await insertThings(storage, a, b, c)
    const { entries } = await listThings(storage)
    const { version } = assertWritten(await storage.replace('b', { ...b, rank: 9 }, undefined, unscoped))
    assert.deepEqual(await replaceMany(storage, entries.map((entry) => rename(entry, 'lost'))), { refused: 'stale' })
    assert.deepEqual(await removeMany(storage, [...entries]), { refused: 'stale' })
    assert.deepEqual(await listIds(storage), ['a', 'b', 'c'])
    assert.equal((await findThing(storage, 'b')).version, version)
    assertSameItem((await findThing(storage, 'a')).item, a)
  }),
  manyCase('replaceMany and removeMany refuse all items if one does not exist', async (storage) => {
    await insertThings(storage, a, b)
    const { entries } = await listThings(storage)
    await storage.remove('b', undefined, unscoped)
    assert.deepEqual(await replaceMany(storage, entries.map((entry) => rename(entry, 'lost'))), { refused: 'stale' })
    assert.deepEqual(await removeMany(storage, [...entries]), { refused: 'stale' })
    assertSameItem((await findThing(storage, 'a')).item, a)
  }),
  manyCase('replaceMany and removeMany refuse items outside of the scope', async (storage) => {
    await insertThings(storage, a, b)
    const { entries } = await listThings(storage)
    const scope = scopedTo({ property: 'name', is: 'eq', value: 'first' })
    const renamed = entries.map((entry) => rename(entry, 'seen'))
    assert.deepEqual(await replaceMany(storage, renamed, scope), { refused: 'stale' })
    assert.deepEqual(await removeMany(storage, [...entries], scope), { refused: 'stale' })
    assertSameItem((await findThing(storage, 'a')).item, a)
    assert.ok(Array.isArray(await replaceMany(storage, renamed.slice(0, 1), scope)))
    assert.equal(await removeMany(storage, [await findThing(storage, 'a')], scopedTo({
      property: 'name', is: 'eq', value: 'seen'
    })), undefined)
    assert.deepEqual(await listIds(storage), ['b'])
  }, ['filter']),
  manyCase('replaceMany refuses a value that must be unique', async (storage) => {
    await insertThings(storage, { ...a, email: 'a@example.org' }, b, c)
    const entries = [await findThing(storage, 'b'), await findThing(storage, 'c')]
    const toEmail = (email: string) => entries.map((before) => ({ before, item: { ...before.item, email } }))
    for (const email of ['a@example.org', 'new@example.org']) {
      assert.deepEqual(await replaceMany(storage, toEmail(email)), { refused: 'not-unique', properties: ['email'] })
    }
    assertSameItem((await findThing(storage, 'b')).item, b)
    assertSameItem((await findThing(storage, 'c')).item, c)
  }, ['unique']),
  manyCase('a transaction can go on after a refused replaceMany, which has replaced nothing', async (storage) => {
    const ids = Array.from({ length: 1800 }, (_, index) => `n${String(index).padStart(4, '0')}`)
    await storage.transaction!(async (inner) => {
      for (const id of ids) assertWritten(await inner.insert({ id, name: 'old' }, unscoped))
    }, unscoped)
    await insertThings(storage, { ...a, email: 'a@example.org' })
    const { entries } = await listThings(storage, { limit: 10_000 })
    await storage.transaction!(async (inner) => {
      const replacements = entries.slice(1).map((before): Replacement<Thing> => {
        const isLast = before === entries.at(-1)
        return { before, item: { ...before.item, name: 'new', ...isLast && { email: 'a@example.org' } } }
      })
      assert.deepEqual(await inner.replaceMany!(replacements, unscoped), {
        refused: 'not-unique',
        properties: ['email']
      })
      const { id, item, version } = entries[1]!
      assertWritten(await inner.replace(id, { ...item, name: 'single' }, version, unscoped))
    }, unscoped)
    const { entries: after } = await listThings(storage, { limit: 10_000 })
    const names = after.map(({ item }) => item['name']).filter((name) => name !== 'old')
    assert.deepEqual(names, ['first', 'single'])
  }, ['unique']),
  manyCase('removeMany removes each item', async (storage) => {
    await insertThings(storage, a, b, c)
    const entries = [await findThing(storage, 'c'), await findThing(storage, 'a')]
    assert.equal(await removeMany(storage, entries), undefined)
    assert.deepEqual(await listIds(storage), ['b'])
    const { version } = await insertThing(storage, a)
    assert.notEqual(version, entries[1]!.version)
  }),
  manyCase('replaceMany and removeMany write as many items as there are', async (storage) => {
    const ids = Array.from({ length: 1800 }, (_, index) => `n${String(index).padStart(4, '0')}`)
    await storage.transaction!(async (inner) => {
      for (const id of ids) assertWritten(await inner.insert({ id, name: 'old' }, unscoped))
    }, unscoped)
    const { entries } = await listThings(storage, { limit: 10_000 })
    const result = await replaceMany(storage, entries.map((entry) => rename(entry, `new ${entry.id}`)))
    assert.ok(Array.isArray(result), JSON.stringify(result))
    const after = await listThings(storage, { limit: 10_000 })
    assert.deepEqual(after.entries.map(({ item }) => item['name']), ids.map((id) => `new ${id}`))
    assert.deepEqual(after.entries.map(({ version }) => version), result.map(({ version }) => version))
    assert.equal(await removeMany(storage, [...after.entries]), undefined)
    assert.deepEqual(await listIds(storage), [])
  }),
  idCase('integer', numberedThings, [-1, 7, 10, 9007199254740991]),
  idCase('uuid', uuidThings, [
    '01900000-0000-7000-8000-000000000001',
    '01900000-0000-7000-8000-00000000000a',
    'fffffff0-0000-7000-8000-000000000000'
  ]),
  {
    title: 'transactions that list with lock and then write lose no update',
    requires: ['transactions'],
    async run (storage) {
      await insertThings(storage, { ...a, rank: 0 }, { ...b, rank: 0 }, c)
      const increment = async (): Promise<void> => {
        for (;;) {
          const result = await transactMany(storage, async (inner) => {
            const { entries } = await inner.list(buildQuery({ limit: 2, lock: true }), unscoped)
            assert.deepEqual(entries.map(({ id }) => id), ['a', 'b'])
            for (const { id, item, version } of entries) {
              const changed = await inner.replace(id, { ...item, rank: Number(item['rank']) + 1 }, version, unscoped)
              if (isRefusal(changed)) return changed
            }
            return undefined
          })
          // Without locks, another transaction may come first.
          if (!isRefusal(result)) return
        }
      }
      await Promise.all(Array.from({ length: 10 }, increment))
      for (const id of ['a', 'b']) assert.equal((await findThing(storage, id)).item['rank'], 10)
    }
  }
]
