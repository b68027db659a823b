import assert from 'node:assert/strict'
import type { Storage } from '../contract.ts'
import { everywhere, fill, find, ids, insert, kept, list, same, type Case } from './case.ts'
import type { Thing } from './thing.ts'

const a = { id: 'a', name: 'first' }
const b = { id: 'b', name: 'second' }
const c = { id: 'c', name: 'third' }

async function transact<Result> (storage: Storage<Thing>, work: (storage: Storage<Thing>) => Promise<Result>): Promise<Result> {
  assert.ok(storage.transaction !== undefined)
  return await storage.transaction(work)
}

const transaction = (says: string, holds: Case['holds']): Case => ({ says, needs: ['transactions'], holds })

// Nothing here waits inside a transaction for what goes on outside: a storage may let others wait until it is over.
export const transactions: readonly Case[] = [
  transaction('all that a transaction writes is kept, and its result is passed on', async (storage) => {
    await fill(storage, a, b)
    const result = await transact(storage, async (inner) => {
      kept(await inner.insert({ ...c }, everywhere))
      kept(await inner.replace('a', { id: 'a', name: 'changed' }, undefined, everywhere))
      assert.equal(await inner.remove('b', undefined, everywhere), undefined)
      return 'done'
    })
    assert.equal(result, 'done')
    assert.deepEqual(await ids(storage), ['a', 'c'])
    same((await find(storage, 'a')).item, { id: 'a', name: 'changed' })
  }),
  transaction('a transaction that rejects leaves nothing behind, and its rejection is passed on', async (storage) => {
    await fill(storage, { ...a, email: 'one@example.org' }, b)
    const { version } = await find(storage, 'a')
    const reason = new Error('on purpose')
    await assert.rejects(transact(storage, async (inner) => {
      kept(await inner.insert({ ...c }, everywhere))
      kept(await inner.replace('a', { id: 'a', name: 'changed' }, undefined, everywhere))
      assert.equal(await inner.remove('b', undefined, everywhere), undefined)
      throw reason
    }), (error) => error === reason)
    assert.deepEqual(await ids(storage), ['a', 'b'])
    const entry = await find(storage, 'a')
    assert.equal(entry.version, version)
    same(entry.item, { ...a, email: 'one@example.org' })
    await insert(storage, c)
  }),
  transaction('a transaction sees what it has written', async (storage) => {
    await fill(storage, a, b)
    await transact(storage, async (inner) => {
      await inner.insert({ ...c }, everywhere)
      await inner.remove('a', undefined, everywhere)
      const { version } = kept(await inner.replace('b', { id: 'b', name: 'changed' }, undefined, everywhere))
      assert.equal((await find(inner, 'b')).version, version)
      assert.equal(await inner.find('a', everywhere), undefined)
      const { entries } = await list(inner)
      assert.deepEqual(entries.map(({ item }) => item['name']), ['changed', 'third'])
    })
  }),
  transaction('a transaction goes on after a refusal', async (storage) => {
    await fill(storage, a)
    await transact(storage, async (inner) => {
      assert.deepEqual(await inner.insert({ ...a }, everywhere), { refused: 'not-unique', properties: ['id'] })
      assert.deepEqual(await inner.replace('a', { ...a }, 'never', everywhere), { refused: 'stale' })
      assert.deepEqual(await inner.remove('b', undefined, everywhere), { refused: 'not-found' })
      kept(await inner.insert({ ...b }, everywhere))
    })
    assert.deepEqual(await ids(storage), ['a', 'b'])
  }),
  transaction('nobody else ever sees what a transaction did not keep', async (storage) => {
    await fill(storage, a)
    const seen: Array<Promise<unknown>> = []
    await assert.rejects(transact(storage, async (inner) => {
      await inner.insert({ ...b }, everywhere)
      await inner.remove('a', undefined, everywhere)
      seen.push(storage.find('b', everywhere), ids(storage), find(storage, 'a').then(({ item }) => item['name']))
      await find(inner, 'b')
      throw new Error('on purpose')
    }), /on purpose/)
    assert.deepEqual(await Promise.all(seen), [undefined, ['a'], 'first'])
  }),
  transaction('what others write meanwhile is not lost, however the transaction ends', async (storage) => {
    await fill(storage, a)
    for (const ends of ['kept', 'rejected']) {
      const others: Array<Promise<unknown>> = []
      const work = transact(storage, async (inner) => {
        await inner.replace('a', { id: 'a', name: `${ends} within` }, undefined, everywhere)
        others.push(insert(storage, { id: ends, name: 'by another' }))
        await find(inner, 'a')
        if (ends === 'rejected') throw new Error('on purpose')
      })
      if (ends === 'rejected') await assert.rejects(work, /on purpose/)
      else await work
      await Promise.all(others)
      same((await find(storage, ends)).item, { id: ends, name: 'by another' })
      assert.equal((await find(storage, 'a')).item['name'], 'kept within')
    }
  }),
  transaction('of parallel transactions that expect one version exactly one wins', async (storage) => {
    const { version } = await insert(storage, a)
    const results = await Promise.all(Array.from({ length: 5 }, (_, runner) => transact(storage, async (inner) => {
      return await inner.replace('a', { ...a, rank: runner }, version, everywhere)
    })))
    assert.equal(results.filter((result) => !('refused' in result)).length, 1)
  }),
  transaction('of parallel exclusive transactions that insert into an empty list exactly one does, where there are such', async (storage) => {
    if (storage.exclusive === undefined) return
    await Promise.all(Array.from({ length: 8 }, (_, runner) => storage.exclusive!(async (inner) => {
      if ((await ids(inner)).length === 0) kept(await inner.insert({ id: `runner ${runner}`, name: 'only' }, everywhere))
    })))
    assert.equal((await ids(storage)).length, 1)
  }),
  transaction('what an exclusive transaction has read is not changed by others before it ends, where there are such', async (storage) => {
    if (storage.exclusive === undefined) return
    await fill(storage, a)
    const others: Array<Promise<unknown>> = []
    await storage.exclusive(async (inner) => {
      assert.deepEqual(await ids(inner), ['a'])
      if (others.length === 0) others.push(insert(storage, b))
      for (let time = 0; time < 20; time++) await find(inner, 'a')
      assert.deepEqual(await ids(inner), ['a'])
      kept(await inner.insert({ ...c }, everywhere))
      assert.deepEqual(await ids(inner), ['a', 'c'])
    })
    await Promise.all(others)
    assert.deepEqual(await ids(storage), ['a', 'b', 'c'])
  }),
  transaction('an exclusive transaction that rejects leaves nothing behind, and its rejection is passed on, where there are such', async (storage) => {
    if (storage.exclusive === undefined) return
    const reason = new Error('on purpose')
    await assert.rejects(storage.exclusive(async (inner) => {
      kept(await inner.insert({ ...a }, everywhere))
      throw reason
    }), (error) => error === reason)
    assert.deepEqual(await ids(storage), [])
  })
]
