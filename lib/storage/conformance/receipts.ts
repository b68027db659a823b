import assert from 'node:assert/strict'
import type { Receipt, Receipts, Storage } from '../contract.ts'
import { everywhere, ids, insert, kept, type Case } from './case.ts'
import type { Thing } from './thing.ts'

const now = Date.UTC(2026, 0, 1)
const later = now + 30_000

let count = 0

/** As it begins; each has a token of its own. */
function claimed (name: string, expires = later): Receipt {
  return { key: name.padEnd(43, '-'), fingerprint: 'f'.repeat(43), token: `token ${++count}`, expires, answer: undefined }
}

function done (claim: Receipt, answer = '{"status":201,"content":"äöü \\u0000 \\"…\\""}'): Receipt {
  return { ...claim, expires: now + 86_400_000, answer }
}

function receiptsOf ({ receipts }: Storage<Thing>): Receipts {
  assert.ok(receipts !== undefined)
  return receipts
}

/** What stands at a key `at` that time, which another claim is told of. */
async function standing (storage: Storage<Thing>, name: string, at = now): Promise<Receipt | undefined> {
  const other = claimed(name)
  const found = await receiptsOf(storage).claim(other, at, everywhere)
  if (found === undefined) await receiptsOf(storage).release(other, everywhere)
  return found
}

async function transact (storage: Storage<Thing>, work: (storage: Storage<Thing>) => Promise<void>): Promise<void> {
  assert.ok(storage.transaction !== undefined)
  await storage.transaction(work)
}

const receipt = (says: string, holds: Case['holds']): Case => ({ says, needs: ['receipts', 'transactions'], holds })

export const receipts: readonly Case[] = [
  receipt('a key is claimed once, and the next is told of the claim', async (storage) => {
    const [first, other] = [claimed('a'), claimed('b')]
    assert.equal(await receiptsOf(storage).claim(first, now, everywhere), undefined)
    assert.equal(await receiptsOf(storage).claim(other, now, everywhere), undefined)
    assert.deepEqual(await standing(storage, 'a'), first)
    assert.deepEqual(await standing(storage, 'b'), other)
  }),
  receipt('of parallel claims of one key exactly one is made, and the others are told of it', async (storage) => {
    const claims = Array.from({ length: 10 }, () => claimed('a'))
    const results = await Promise.all(claims.map((claim) => receiptsOf(storage).claim(claim, now, everywhere)))
    const winner = claims.filter((_, index) => results[index] === undefined)
    assert.equal(winner.length, 1)
    assert.deepEqual(results.filter((result) => result !== undefined), Array.from({ length: 9 }, () => winner[0]))
  }),
  receipt('an answer is kept with what its transaction writes, to the letter', async (storage) => {
    const claim = claimed('a')
    await receiptsOf(storage).claim(claim, now, everywhere)
    await transact(storage, async (inner) => {
      kept(await inner.insert({ id: 'a', name: 'first' }, everywhere))
      assert.equal(await receiptsOf(inner).keep(done(claim), everywhere), true)
    })
    assert.deepEqual(await ids(storage), ['a'])
    assert.deepEqual(await standing(storage, 'a'), done(claim))
  }),
  receipt('with a transaction that rejects, its answer is gone as well, and the claim stands', async (storage) => {
    const claim = claimed('a')
    await receiptsOf(storage).claim(claim, now, everywhere)
    await assert.rejects(transact(storage, async (inner) => {
      await receiptsOf(inner).keep(done(claim), everywhere)
      kept(await inner.insert({ id: 'a', name: 'first' }, everywhere))
      throw new Error('on purpose')
    }), /on purpose/)
    assert.deepEqual(await ids(storage), [])
    assert.deepEqual(await standing(storage, 'a'), claim)
  }),
  receipt('a claim that has expired is succeeded by another, and its own answer is no longer kept', async (storage) => {
    const [late, next] = [claimed('a', now), claimed('a')]
    await receiptsOf(storage).claim(late, now - 1, everywhere)
    assert.equal(await receiptsOf(storage).claim(next, now, everywhere), undefined)
    await transact(storage, async (inner) => assert.equal(await receiptsOf(inner).keep(done(late), everywhere), false))
    await receiptsOf(storage).release(late, everywhere)
    assert.deepEqual(await standing(storage, 'a'), next)
    await transact(storage, async (inner) => assert.equal(await receiptsOf(inner).keep(done(next), everywhere), true))
    assert.deepEqual(await standing(storage, 'a'), done(next))
  }),
  receipt('an expired claim that nobody has succeeded can still be answered', async (storage) => {
    const claim = claimed('a', now)
    await receiptsOf(storage).claim(claim, now - 1, everywhere)
    await transact(storage, async (inner) => assert.equal(await receiptsOf(inner).keep(done(claim), everywhere), true))
    assert.deepEqual(await standing(storage, 'a'), done(claim))
  }),
  receipt('of parallel claims of an expired key exactly one is made', async (storage) => {
    await receiptsOf(storage).claim(claimed('a', now), now - 1, everywhere)
    const results = await Promise.all(Array.from({ length: 10 }, () => receiptsOf(storage).claim(claimed('a'), now, everywhere)))
    assert.equal(results.filter((result) => result === undefined).length, 1)
  }),
  receipt('a claim is released by who holds it, and an answer never', async (storage) => {
    const claim = claimed('a')
    await receiptsOf(storage).claim(claim, now, everywhere)
    await receiptsOf(storage).release(claimed('a'), everywhere)
    assert.deepEqual(await standing(storage, 'a'), claim)
    await receiptsOf(storage).release(claim, everywhere)
    assert.equal(await standing(storage, 'a'), undefined)
    await receiptsOf(storage).claim(claim, now, everywhere)
    await transact(storage, async (inner) => { await receiptsOf(inner).keep(done(claim), everywhere) })
    await receiptsOf(storage).release(claim, everywhere)
    assert.deepEqual(await standing(storage, 'a'), done(claim))
  }),
  receipt('an answer is kept once', async (storage) => {
    const claim = claimed('a')
    await receiptsOf(storage).claim(claim, now, everywhere)
    await transact(storage, async (inner) => { await receiptsOf(inner).keep(done(claim), everywhere) })
    await transact(storage, async (inner) => assert.equal(await receiptsOf(inner).keep(done(claim, 'again'), everywhere), false))
    assert.deepEqual(await standing(storage, 'a'), done(claim))
  }),
  receipt('a sweep takes what has expired, and nothing else', async (storage) => {
    const [old, recent] = [claimed('a', now), claimed('b', now + 1)]
    await insert(storage, { id: 'a', name: 'first' })
    await receiptsOf(storage).claim(old, now - 1, everywhere)
    await receiptsOf(storage).claim(recent, now - 1, everywhere)
    await receiptsOf(storage).sweep(now, everywhere)
    assert.equal(await standing(storage, 'a', now - 1), undefined)
    assert.deepEqual(await standing(storage, 'b', now - 1), recent)
    assert.deepEqual(await ids(storage), ['a'])
  })
]
