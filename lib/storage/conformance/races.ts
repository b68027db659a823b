import assert from 'node:assert/strict'
import type { Entry, Refusal } from '../contract.ts'
import { assertSameItem, assertWritten, findThing, insertThing, listIds, unscoped, type Case } from './case.ts'
import type { Thing } from './thing.ts'

const a = { id: 'a', name: 'first' }

/** Starts 20 calls before the first can end. */
async function runParallel<Result> (start: (runner: number) => Promise<Result>): Promise<Result[]> {
  return await Promise.all(Array.from({ length: 20 }, (_, runner) => start(runner)))
}

/** Returns the only entry; all other writes must be refused for this reason. */
function findWinner (results: ReadonlyArray<Entry<Thing> | Refusal>, refusal: Refusal['refused']): Entry<Thing> {
  const winners = results.flatMap((result) => 'refused' in result ? [] : [result])
  const [first] = winners
  assert.equal(winners.length, 1, `${winners.length} of ${results.length} succeeded`)
  assert.ok(first !== undefined)
  for (const result of results) {
    assert.ok(!('refused' in result) || result.refused === refusal, `refused: ${JSON.stringify(result)}`)
  }
  return first
}

export const raceCases: readonly Case[] = [
  {
    title: 'exactly one of 20 parallel replaces with the same version succeeds',
    async run (storage) {
      const { version } = await insertThing(storage, a)
      const results = await runParallel((runner) => storage.replace('a', { ...a, rank: runner }, version, unscoped))
      const won = findWinner(results, 'stale')
      const entry = await findThing(storage, 'a')
      assert.equal(entry.version, won.version)
      assertSameItem(entry.item, won.item)
    }
  },
  {
    title: 'exactly one of 20 parallel removes with the same version succeeds',
    async run (storage) {
      const { version } = await insertThing(storage, a)
      const results = await runParallel(() => storage.remove('a', version, unscoped))
      assert.equal(results.filter((result) => result === undefined).length, 1)
      for (const result of results) {
        assert.ok([undefined, 'not-found', 'stale'].includes(result?.refused), `refused as ${result?.refused}`)
      }
    }
  },
  {
    title: 'exactly one of parallel replaces and removes with the same version succeeds, whichever starts',
    async run (storage) {
      for (const starter of [0, 1]) {
        const { version } = await insertThing(storage, a)
        const results = await runParallel<Entry<Thing> | Refusal | undefined>((runner) => runner % 2 === starter
          ? storage.replace('a', { ...a, rank: runner }, version, unscoped)
          : storage.remove('a', version, unscoped))
        assert.equal(results.filter((result) => result === undefined || !('refused' in result)).length, 1)
        await storage.remove('a', undefined, unscoped)
      }
    }
  },
  {
    title: 'exactly one of 20 parallel removes without a version succeeds',
    async run (storage) {
      await insertThing(storage, a)
      const results = await runParallel(() => storage.remove('a', undefined, unscoped))
      assert.equal(results.filter((result) => result === undefined).length, 1)
    }
  },
  {
    title: 'parallel replaces without a version all succeed, each with its own version',
    async run (storage) {
      await insertThing(storage, a)
      const results = await runParallel((runner) => storage.replace('a', { ...a, rank: runner }, undefined, unscoped))
      const seen = results.map((result) => assertWritten(result).version)
      assert.equal(new Set(seen).size, results.length)
      assert.ok(seen.includes((await findThing(storage, 'a')).version))
    }
  },
  {
    title: 'exactly one of 20 parallel inserts with the same id succeeds',
    async run (storage) {
      const results = await runParallel((runner) => storage.insert({ ...a, rank: runner }, unscoped))
      const won = findWinner(results, 'not-unique')
      assertSameItem((await findThing(storage, 'a')).item, won.item)
    }
  },
  {
    title: 'exactly one of 20 parallel inserts with the same unique value succeeds',
    requires: ['unique'],
    async run (storage) {
      const results = await runParallel((runner) => {
        return storage.insert({ id: `a${runner}`, name: '', email: 'one@example.org' }, unscoped)
      })
      const won = findWinner(results, 'not-unique')
      assert.deepEqual(await listIds(storage), [won.id])
    }
  },
  {
    title: 'exactly one of 20 parallel replaces with the same unique value succeeds',
    requires: ['unique'],
    async run (storage) {
      await runParallel((runner) => insertThing(storage, { id: `a${runner}`, name: '' }))
      const results = await runParallel((runner) => {
        const thing = { id: `a${runner}`, name: '', email: 'one@example.org' }
        return storage.replace(thing.id, thing, undefined, unscoped)
      })
      const won = findWinner(results, 'not-unique')
      assert.equal((await findThing(storage, won.id)).item['email'], 'one@example.org')
    }
  }
]
