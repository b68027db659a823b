import assert from 'node:assert/strict'
import type { Case } from './conformance/case.ts'
import { fidelity } from './conformance/fidelity.ts'
import { filter } from './conformance/filter.ts'
import { ids } from './conformance/ids.ts'
import { like } from './conformance/like.ts'
import { order } from './conformance/order.ts'
import { pages } from './conformance/pages.ts'
import { races } from './conformance/races.ts'
import { receipts } from './conformance/receipts.ts'
import { scope } from './conformance/scope.ts'
import { search } from './conformance/search.ts'
import { things, type Thing } from './conformance/thing.ts'
import { transactions } from './conformance/transactions.ts'
import { unique } from './conformance/unique.ts'
import { verbs } from './conformance/verbs.ts'
import { versions } from './conformance/versions.ts'
import { walks } from './conformance/walks.ts'
import type { Shape, Storage, Supports } from './contract.ts'

export type { Thing }

/** What tap, node:test and vitest call `test`. */
export type Test = (sentence: string, options: { skip: boolean }, body: () => Promise<void>) => unknown

/** Gives a storage for the shape, fresh and empty, each time it is called. */
export type Open = (shape: Shape) => Storage<Thing> | Promise<Storage<Thing>>

const sentences: readonly Case[] = [
  ...verbs, ...versions, ...races, ...unique, ...ids, ...order, ...pages, ...walks, ...filter, ...like, ...search, ...scope, ...fidelity, ...transactions, ...receipts
]

/**
 * Registers a test for each sentence of the contract. `unsupported` is what the storage does not support: its
 * sentences are skipped, and say so by name; that it is true is a sentence too.
 */
export function conformance (test: Test, open: Open, unsupported: ReadonlyArray<keyof Supports> = []): void {
  test('the storage supports what it is tested for', { skip: false }, async () => {
    const { supports } = await open(things)
    const missing = Object.entries(supports).filter(([, supported]) => !supported).map(([name]) => name)
    assert.deepEqual(missing.sort(), [...unsupported].sort())
  })
  for (const { says, needs = [], shape = things, holds } of sentences) {
    const missing = needs.filter((name) => unsupported.includes(name))
    const skip = missing.length > 0
    test(skip ? `${says} (skipped: does not support ${missing.join(', ')})` : says, { skip }, async () => holds(await open(shape)))
  }
}
