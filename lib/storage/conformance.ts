import assert from 'node:assert/strict'
import { aggregateCases } from './conformance/aggregates.ts'
import type { Case } from './conformance/case.ts'
import { fidelityCases } from './conformance/fidelity.ts'
import { filterCases } from './conformance/filter.ts'
import { idCases } from './conformance/ids.ts'
import { likeCases } from './conformance/like.ts'
import { manyCases } from './conformance/many.ts'
import { methodCases } from './conformance/methods.ts'
import { orderCases } from './conformance/order.ts'
import { pageCases } from './conformance/pages.ts'
import { raceCases } from './conformance/races.ts'
import { receiptCases } from './conformance/receipts.ts'
import { relationCases } from './conformance/relations.ts'
import { scopeCases } from './conformance/scope.ts'
import { searchCases } from './conformance/search.ts'
import { things, type Thing } from './conformance/thing.ts'
import { transactionCases } from './conformance/transactions.ts'
import { uniqueCases } from './conformance/unique.ts'
import { versionCases } from './conformance/versions.ts'
import { walkCases } from './conformance/walks.ts'
import type { Shape, Storage, Supports } from './contract.ts'

export type { Thing }

/** The `test` function of tap, node:test or vitest. */
export type Test = (title: string, options: { skip: boolean }, body: () => Promise<void>) => unknown

/**
 * Returns a new, empty storage for the shape each time it is called. With `beside`, which only storages that support
 * relations get, it is in the database of that storage.
 */
export type Open = (shape: Shape, beside?: Storage<Thing>) => Storage<Thing> | Promise<Storage<Thing>>

const cases: readonly Case[] = [
  ...methodCases,
  ...versionCases,
  ...raceCases,
  ...uniqueCases,
  ...idCases,
  ...orderCases,
  ...pageCases,
  ...walkCases,
  ...filterCases,
  ...likeCases,
  ...searchCases,
  ...scopeCases,
  ...aggregateCases,
  ...fidelityCases,
  ...transactionCases,
  ...manyCases,
  ...receiptCases,
  ...relationCases
]

/**
 * Registers a test for each rule of the contract. Rules that need what the storage does not support (`unsupported`) are
 * skipped, with the reason in the title. One test checks that `unsupported` is what the storage itself states.
 *
 * @example
 * conformance(test, (shape) => redis(client)(shape), ['search', 'count'])
 */
export function conformance (test: Test, open: Open, unsupported: ReadonlyArray<keyof Supports> = []): void {
  test('the storage supports what it is tested for', { skip: false }, async () => {
    const { supports } = await open(things)
    const missing = Object.entries(supports).filter(([, supported]) => supported === false).map(([name]) => name)
    // Storages can leave out what is not supported by default.
    const stated = unsupported.filter((name) => supports[name] !== undefined)
    assert.deepEqual(missing.sort(), stated.sort())
  })
  for (const { title, requires = [], shape = things, beside, run } of cases) {
    const missing = requires.filter((name) => unsupported.includes(name))
    const skip = missing.length > 0
    const fullTitle = skip ? `${title} (skipped: does not support ${missing.join(', ')})` : title
    test(fullTitle, { skip }, async () => {
      const storage = await open(shape)
      // A storage that leaves out `relations` does not support them.
      if (requires.some((name) => storage.supports[name] === undefined)) return
      await run(storage, beside && await openBeside(open, beside, storage))
    })
  }
}

async function openBeside (open: Open, shape: Shape, storage: Storage<Thing>): Promise<Storage<Thing>> {
  const other = await open(shape, storage)
  const message = 'open(shape, beside) must return a storage with the same `database` as the storage `beside`'
  assert.ok(storage.database !== undefined && other.database === storage.database, message)
  return other
}
