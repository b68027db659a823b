import assert from 'node:assert/strict'
import type { Receipt, Receipts, Storage } from '../contract.ts'
import { assertWritten, insertThing, listIds, unscoped, type Case } from './case.ts'
import type { Thing } from './thing.ts'

const now = Date.UTC(2026, 0, 1)
const later = now + 30_000

let count = 0

/** Creates a claim with its own token. */
function createClaim (name: string, expires = later): Receipt {
  return {
    key: name.padEnd(43, '-'),
    fingerprint: 'f'.repeat(43),
    token: `token ${++count}`,
    expires,
    answer: undefined
  }
}

function toAnswered (claim: Receipt, answer = '{"status":201,"content":"äöü \\u0000 \\"…\\""}'): Receipt {
  return { ...claim, expires: now + 86_400_000, answer }
}

function getReceipts ({ receipts }: Storage<Thing>): Receipts {
  assert.ok(receipts !== undefined)
  return receipts
}

/** Returns the receipt of a key at this time, as another claim gets it. */
async function findReceipt (storage: Storage<Thing>, name: string, at = now): Promise<Receipt | undefined> {
  const other = createClaim(name)
  const found = await getReceipts(storage).claim(other, at, unscoped)
  if (found === undefined) await getReceipts(storage).release(other, unscoped)
  return found
}

async function transact (storage: Storage<Thing>, work: (storage: Storage<Thing>) => Promise<void>): Promise<void> {
  assert.ok(storage.transaction !== undefined)
  await storage.transaction(work, unscoped)
}

/** Keeps a response in a transaction, and returns whether it was stored. */
async function keepInTransaction (storage: Storage<Thing>, receipt: Receipt): Promise<boolean> {
  let isStored = false
  await transact(storage, async (inner) => { isStored = await getReceipts(inner).keep(receipt, unscoped) })
  return isStored
}

const receiptCase = (title: string, run: Case['run']): Case => ({
  title,
  requires: ['receipts', 'transactions'],
  run
})

export const receiptCases: readonly Case[] = [
  receiptCase('a key is claimed once, and the next request gets the existing claim', async (storage) => {
    const [first, other] = [createClaim('a'), createClaim('b')]
    assert.equal(await getReceipts(storage).claim(first, now, unscoped), undefined)
    assert.equal(await getReceipts(storage).claim(other, now, unscoped), undefined)
    assert.deepEqual(await findReceipt(storage, 'a'), first)
    assert.deepEqual(await findReceipt(storage, 'b'), other)
  }),
  receiptCase('exactly one of parallel claims of a key succeeds, and the others get that claim', async (storage) => {
    const claims = Array.from({ length: 10 }, () => createClaim('a'))
    const results = await Promise.all(claims.map((claim) => getReceipts(storage).claim(claim, now, unscoped)))
    const winner = claims.filter((_, index) => results[index] === undefined)
    assert.equal(winner.length, 1)
    assert.deepEqual(results.filter((result) => result !== undefined), Array.from({ length: 9 }, () => winner[0]))
  }),
  receiptCase('a response is stored unchanged, together with what its transaction writes', async (storage) => {
    const claim = createClaim('a')
    await getReceipts(storage).claim(claim, now, unscoped)
    await transact(storage, async (inner) => {
      assertWritten(await inner.insert({ id: 'a', name: 'first' }, unscoped))
      assert.equal(await getReceipts(inner).keep(toAnswered(claim), unscoped), true)
    })
    assert.deepEqual(await listIds(storage), ['a'])
    assert.deepEqual(await findReceipt(storage, 'a'), toAnswered(claim))
  }),
  receiptCase('a transaction that rejects rolls back its response, and the claim stays', async (storage) => {
    const claim = createClaim('a')
    await getReceipts(storage).claim(claim, now, unscoped)
    await assert.rejects(transact(storage, async (inner) => {
      await getReceipts(inner).keep(toAnswered(claim), unscoped)
      assertWritten(await inner.insert({ id: 'a', name: 'first' }, unscoped))
      throw new Error('on purpose')
    }), /on purpose/)
    assert.deepEqual(await listIds(storage), [])
    assert.deepEqual(await findReceipt(storage, 'a'), claim)
  }),
  receiptCase('an expired claim can be replaced, and then its own response is not stored', async (storage) => {
    const [late, next] = [createClaim('a', now), createClaim('a')]
    await getReceipts(storage).claim(late, now - 1, unscoped)
    assert.equal(await getReceipts(storage).claim(next, now, unscoped), undefined)
    assert.equal(await keepInTransaction(storage, toAnswered(late)), false)
    await getReceipts(storage).release(late, unscoped)
    assert.deepEqual(await findReceipt(storage, 'a'), next)
    assert.equal(await keepInTransaction(storage, toAnswered(next)), true)
    assert.deepEqual(await findReceipt(storage, 'a'), toAnswered(next))
  }),
  receiptCase('an expired claim that was not replaced can still get its response', async (storage) => {
    const claim = createClaim('a', now)
    await getReceipts(storage).claim(claim, now - 1, unscoped)
    assert.equal(await keepInTransaction(storage, toAnswered(claim)), true)
    assert.deepEqual(await findReceipt(storage, 'a'), toAnswered(claim))
  }),
  receiptCase('exactly one of parallel claims of an expired key succeeds', async (storage) => {
    await getReceipts(storage).claim(createClaim('a', now), now - 1, unscoped)
    const claims = Array.from({ length: 10 }, () => createClaim('a'))
    const results = await Promise.all(claims.map((claim) => getReceipts(storage).claim(claim, now, unscoped)))
    assert.equal(results.filter((result) => result === undefined).length, 1)
  }),
  receiptCase('release removes only its own claim, and never a response', async (storage) => {
    const claim = createClaim('a')
    await getReceipts(storage).claim(claim, now, unscoped)
    await getReceipts(storage).release(createClaim('a'), unscoped)
    assert.deepEqual(await findReceipt(storage, 'a'), claim)
    await getReceipts(storage).release(claim, unscoped)
    assert.equal(await findReceipt(storage, 'a'), undefined)
    await getReceipts(storage).claim(claim, now, unscoped)
    await keepInTransaction(storage, toAnswered(claim))
    await getReceipts(storage).release(claim, unscoped)
    assert.deepEqual(await findReceipt(storage, 'a'), toAnswered(claim))
  }),
  receiptCase('a response is stored once', async (storage) => {
    const claim = createClaim('a')
    await getReceipts(storage).claim(claim, now, unscoped)
    await keepInTransaction(storage, toAnswered(claim))
    assert.equal(await keepInTransaction(storage, toAnswered(claim, 'again')), false)
    assert.deepEqual(await findReceipt(storage, 'a'), toAnswered(claim))
  }),
  receiptCase('the clock of the database, if it has one, has milliseconds since 1970', async (storage) => {
    const receipts = getReceipts(storage)
    const time = await receipts.now?.(unscoped) ?? now
    assert.ok(Number.isSafeInteger(time), String(time))
    assert.ok(time > Date.UTC(2000, 0) && time < Date.UTC(9999, 0), new Date(time).toISOString())
  }),
  receiptCase('sweep removes expired receipts, and nothing else', async (storage) => {
    const [old, recent] = [createClaim('a', now), createClaim('b', now + 1)]
    await insertThing(storage, { id: 'a', name: 'first' })
    await getReceipts(storage).claim(old, now - 1, unscoped)
    await getReceipts(storage).claim(recent, now - 1, unscoped)
    await getReceipts(storage).sweep(now, unscoped)
    assert.equal(await findReceipt(storage, 'a', now - 1), undefined)
    assert.deepEqual(await findReceipt(storage, 'b', now - 1), recent)
    assert.deepEqual(await listIds(storage), ['a'])
  })
]
