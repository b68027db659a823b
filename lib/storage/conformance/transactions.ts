import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context, Storage, Unreachable } from '../contract.ts'
import {
  assertSameItem,
  assertWritten,
  findThing,
  insertThing,
  insertThings,
  listIds,
  listThings,
  unscoped,
  type Case
} from './case.ts'
import type { Thing } from './thing.ts'

const a = { id: 'a', name: 'first' }
const b = { id: 'b', name: 'second' }
const c = { id: 'c', name: 'third' }

async function transact<Result> (
  storage: Storage<Thing>,
  work: (storage: Storage<Thing>) => Promise<Result>,
  context: Pick<Context, 'signal'> = unscoped
): Promise<Result> {
  assert.ok(storage.transaction !== undefined)
  return await storage.transaction(work, context)
}

const transactionCase = (title: string, run: Case['run']): Case => ({
  title,
  requires: ['transactions'],
  run
})

/** Skips storages that do not share transactions, which is optional. */
const joinCase = (title: string, run: (storage: JoiningStorage) => Promise<void>): Case => {
  return transactionCase(`${title}, if transactions are shared`, async (storage) => {
    if (storage.join !== undefined) await run(storage as JoiningStorage)
  })
}

type JoiningStorage = Storage<Thing> & Required<Pick<Storage<Thing>, 'join' | 'database' | 'transaction'>>

const locked = { ...unscoped, lock: true }

/** In milliseconds: after that, work that a storage should not wait for ends. */
const patience = 3000

/** Nothing was written, and the error says so. The transaction does not wait until its work passes the gate. */
async function assertAborted (transaction: Promise<unknown>, gate?: Gate): Promise<void> {
  const timer = setTimeout(() => gate?.open(), patience)
  try {
    await assert.rejects(transaction, (error: Partial<Unreachable>) => {
      assert.equal(error.unreachable, true)
      assert.equal(error.hasNoEffect, true)
      return true
    })
  } finally {
    clearTimeout(timer)
  }
}

interface Gate {
  readonly opened: Promise<void>
  open (): void
}

function createGate (): Gate {
  let open!: () => void
  const opened = new Promise<void>((resolve) => { open = resolve })
  return { opened, open }
}

/** Functions of an app can throw anything. Errors of other programs have codes of any type. */
function createThrownValues (): Record<string, unknown> {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const unreadable = () => assert.fail('a getter that throws')
  return {
    undefined,
    null: null,
    'a string': '23505',
    'a symbol': Symbol('thrown'),
    'a frozen error': Object.freeze(new Error('frozen')),
    'an AbortError': new DOMException('The operation was aborted', 'AbortError'),
    'an error with a numeric code': Object.assign(new Error('14 UNAVAILABLE'), { code: 14 }),
    'an error with a symbol as its code': Object.assign(new Error('odd'), { code: Symbol('code') }),
    'an error with other types': Object.assign(new Error('odd'), { code: null, errno: {}, errcode: 5n }),
    'an error with a getter that throws': Object.defineProperty(new Error(), 'code', { get: unreadable }),
    'a revoked proxy': proxy
  }
}

// No case waits inside a transaction for something outside of it: a storage may block others until it ends.
export const transactionCases: readonly Case[] = [
  transactionCase('a transaction commits everything it writes, and returns its result', async (storage) => {
    await insertThings(storage, a, b)
    const result = await transact(storage, async (inner) => {
      assertWritten(await inner.insert({ ...c }, unscoped))
      assertWritten(await inner.replace('a', { id: 'a', name: 'changed' }, undefined, unscoped))
      assert.equal(await inner.remove('b', undefined, unscoped), undefined)
      return 'done'
    })
    assert.equal(result, 'done')
    assert.deepEqual(await listIds(storage), ['a', 'c'])
    assertSameItem((await findThing(storage, 'a')).item, { id: 'a', name: 'changed' })
  }),
  transactionCase('a transaction that rejects is rolled back, and its rejection is passed on', async (storage) => {
    await insertThings(storage, { ...a, email: 'one@example.org' }, b)
    const { version } = await findThing(storage, 'a')
    const reason = new Error('on purpose')
    await assert.rejects(transact(storage, async (inner) => {
      assertWritten(await inner.insert({ ...c }, unscoped))
      assertWritten(await inner.replace('a', { id: 'a', name: 'changed' }, undefined, unscoped))
      assert.equal(await inner.remove('b', undefined, unscoped), undefined)
      throw reason
    }), (error) => error === reason)
    assert.deepEqual(await listIds(storage), ['a', 'b'])
    const entry = await findThing(storage, 'a')
    assert.equal(entry.version, version)
    assertSameItem(entry.item, { ...a, email: 'one@example.org' })
    await insertThing(storage, c)
  }),
  transactionCase('a transaction that throws anything is rolled back, and the value is passed on', async (storage) => {
    await insertThings(storage, a)
    for (const [description, thrown] of Object.entries(createThrownValues())) {
      const outcome = await transact(storage, async (inner) => {
        assertWritten(await inner.insert({ ...b }, unscoped))
        throw thrown
      }).then(() => assert.fail(`${description}: it was committed`), (reason: unknown) => ({ reason }))
      assert.ok(Object.is(outcome.reason, thrown), `${description} was not passed on`)
      assert.deepEqual(await listIds(storage), ['a'], description)
    }
    await insertThing(storage, b)
  }),
  transactionCase('a transaction reads what it has written', async (storage) => {
    await insertThings(storage, a, b)
    await transact(storage, async (inner) => {
      await inner.insert({ ...c }, unscoped)
      await inner.remove('a', undefined, unscoped)
      const { version } = assertWritten(await inner.replace('b', { id: 'b', name: 'changed' }, undefined, unscoped))
      assert.equal((await findThing(inner, 'b')).version, version)
      assert.equal(await inner.find('a', unscoped), undefined)
      const { entries } = await listThings(inner)
      assert.deepEqual(entries.map(({ item }) => item['name']), ['changed', 'third'])
    })
  }),
  transactionCase('a transaction can continue after a refusal', async (storage) => {
    await insertThings(storage, a)
    await transact(storage, async (inner) => {
      assert.deepEqual(await inner.insert({ ...a }, unscoped), { refused: 'not-unique', properties: ['id'] })
      assert.deepEqual(await inner.replace('a', { ...a }, 'never', unscoped), { refused: 'stale' })
      assert.deepEqual(await inner.remove('b', undefined, unscoped), { refused: 'not-found' })
      assertWritten(await inner.insert({ ...b }, unscoped))
    })
    assert.deepEqual(await listIds(storage), ['a', 'b'])
  }),
  transactionCase('what a transaction rolls back is never visible outside of it', async (storage) => {
    await insertThings(storage, a)
    const seen: Array<Promise<unknown>> = []
    await assert.rejects(transact(storage, async (inner) => {
      await inner.insert({ ...b }, unscoped)
      await inner.remove('a', undefined, unscoped)
      seen.push(storage.find('b', unscoped), listIds(storage), findThing(storage, 'a').then(({ item }) => item['name']))
      await findThing(inner, 'b')
      throw new Error('on purpose')
    }), /on purpose/)
    assert.deepEqual(await Promise.all(seen), [undefined, ['a'], 'first'])
  }),
  transactionCase('parallel writes outside of a transaction are not lost, however it ends', async (storage) => {
    await insertThings(storage, a)
    for (const ends of ['kept', 'rejected']) {
      const others: Array<Promise<unknown>> = []
      const work = transact(storage, async (inner) => {
        await inner.replace('a', { id: 'a', name: `${ends} within` }, undefined, unscoped)
        others.push(insertThing(storage, { id: ends, name: 'by another' }))
        await findThing(inner, 'a')
        if (ends === 'rejected') throw new Error('on purpose')
      })
      if (ends === 'rejected') await assert.rejects(work, /on purpose/)
      else await work
      await Promise.all(others)
      assertSameItem((await findThing(storage, ends)).item, { id: ends, name: 'by another' })
      assert.equal((await findThing(storage, 'a')).item['name'], 'kept within')
    }
  }),
  transactionCase('exactly one of parallel transactions with the same version succeeds', async (storage) => {
    const { version } = await insertThing(storage, a)
    const results = await Promise.all(Array.from({ length: 5 }, (_, runner) => transact(storage, async (inner) => {
      return await inner.replace('a', { ...a, rank: runner }, version, unscoped)
    })))
    assert.equal(results.filter((result) => !('refused' in result)).length, 1)
  }),
  transactionCase('an item that is found with a lock does not change until the transaction ends', async (storage) => {
    await insertThings(storage, { ...a, rank: 0 })
    await Promise.all(Array.from({ length: 5 }, () => transact(storage, async (inner) => {
      const found = await inner.find('a', locked)
      assert.ok(found !== undefined)
      const rank = Number(found.item['rank']) + 1
      assertWritten(await inner.replace('a', { ...a, rank }, found.version, unscoped))
    })))
    assert.equal((await findThing(storage, 'a')).item['rank'], 5)
  }),
  transactionCase('a transaction that is aborted ends at once, whatever its work does', async (storage) => {
    await insertThings(storage, a)
    for (const ending of ['resolves', 'rejects'] as const) {
      const controller = new AbortController()
      const late = createGate()
      await assertAborted(transact(storage, async (inner) => {
        assertWritten(await inner.insert({ ...b }, unscoped))
        controller.abort()
        await late.opened
        if (ending === 'rejects') throw new Error('too late')
      }, controller), late)
      assert.deepEqual(await listIds(storage), ['a'], ending)
      // The next transaction does not wait for the work of the last one.
      await transact(storage, async (inner) => assertWritten(await inner.insert({ ...c }, unscoped)))
      late.open()
      await nextTurn()
      assert.deepEqual(await listIds(storage), ['a', 'c'], ending)
      assert.equal(await storage.remove('c', undefined, unscoped), undefined)
    }
  }),
  transactionCase('a transaction that is aborted before its commit begins is not committed', async (storage) => {
    await insertThings(storage, a)
    const controller = new AbortController()
    await assertAborted(transact(storage, async (inner) => {
      assertWritten(await inner.insert({ ...b }, unscoped))
      assert.equal(await inner.remove('a', undefined, unscoped), undefined)
      controller.abort()
    }, controller))
    assert.deepEqual(await listIds(storage), ['a'])
  }),
  transactionCase('a transaction that is aborted before it begins does not call its work', async (storage) => {
    let calls = 0
    const work = async () => { calls++ }
    await assertAborted(transact(storage, work, { signal: AbortSignal.abort() }))
    assert.equal(calls, 0)
  }),
  transactionCase('a transaction that is aborted while it may wait for others writes nothing', async (storage) => {
    const first = createGate()
    const second = new AbortController()
    const holding = transact(storage, async (inner) => {
      assertWritten(await inner.insert({ ...a }, unscoped))
      await first.opened
    })
    const waiting = transact(storage, async (inner) => inner.insert({ ...b }, unscoped), second)
    second.abort()
    await assertAborted(waiting, first)
    first.open()
    await holding
    assert.deepEqual(await listIds(storage), ['a'])
  }),
  transactionCase('what is read and written after the end of a transaction is refused', async (storage) => {
    const kept: Array<Storage<Thing>> = []
    await transact(storage, async (inner) => { kept.push(inner) })
    await assert.rejects(transact(storage, async (inner) => {
      kept.push(inner)
      throw new Error('on purpose')
    }), /on purpose/)
    const controller = new AbortController()
    await assertAborted(transact(storage, async (inner) => {
      kept.push(inner)
      controller.abort()
    }, controller))
    for (const inner of kept) {
      await assert.rejects(inner.insert({ ...a }, unscoped))
      await assert.rejects(inner.find('a', unscoped))
      await assert.rejects(listThings(inner))
    }
    assert.deepEqual(await listIds(storage), [])
  }),
  joinCase('a storage that has joined a transaction is refused after its end', async (storage) => {
    const controller = new AbortController()
    const joined: Array<Storage<Thing>> = []
    await assertAborted(storage.transaction(async (_inner, handle) => {
      joined.push(storage.join(handle!))
      assertWritten(await joined[0]!.insert({ ...a }, unscoped))
      controller.abort()
    }, controller))
    await assert.rejects(joined[0]!.insert({ ...b }, unscoped))
    assert.deepEqual(await listIds(storage), [])
  }),
  joinCase('a storage that joins a transaction reads and writes in it', async (storage) => {
    await insertThings(storage, a)
    await storage.transaction(async (inner, handle) => {
      assert.ok(handle !== undefined)
      assert.equal(handle.database, storage.database)
      assertWritten(await inner.insert({ ...b }, unscoped))
      const joined = storage.join(handle)
      assert.equal((await joined.find('b', locked))?.item['name'], 'second')
      assertWritten(await joined.replace('a', { id: 'a', name: 'changed' }, undefined, unscoped))
      assert.equal((await inner.find('a', locked))?.item['name'], 'changed')
    }, unscoped)
    assert.equal((await findThing(storage, 'a')).item['name'], 'changed')
    assert.deepEqual(await listIds(storage), ['a', 'b'])
  }),
  joinCase('what a storage has written in a transaction that it joined is rolled back with it', async (storage) => {
    await insertThings(storage, a)
    await assert.rejects(storage.transaction(async (_inner, handle) => {
      assertWritten(await storage.join(handle!).insert({ ...b }, unscoped))
      throw new Error('on purpose')
    }, unscoped), /on purpose/)
    assert.deepEqual(await listIds(storage), ['a'])
  })
]
