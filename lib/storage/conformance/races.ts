import assert from 'node:assert/strict'
import type { Entry, Refusal } from '../contract.ts'
import { everywhere, find, ids, insert, kept, same, type Case } from './case.ts'
import type { Thing } from './thing.ts'

const a = { id: 'a', name: 'first' }

/** Starts all of them before the first can end. */
async function race<Result> (start: (runner: number) => Promise<Result>): Promise<Result[]> {
  return await Promise.all(Array.from({ length: 20 }, (_, runner) => start(runner)))
}

function winner (results: ReadonlyArray<Entry<Thing> | Refusal>, refusal: Refusal['refused']): Entry<Thing> {
  const winners = results.flatMap((result) => 'refused' in result ? [] : [result])
  const [first] = winners
  assert.equal(winners.length, 1, `${winners.length} of ${results.length} won`)
  assert.ok(first !== undefined)
  for (const result of results) assert.ok(!('refused' in result) || result.refused === refusal, `refused: ${JSON.stringify(result)}`)
  return first
}

export const races: readonly Case[] = [
  {
    says: 'of 20 parallel replaces that expect one version exactly one wins',
    async holds (storage) {
      const { version } = await insert(storage, a)
      const won = winner(await race((runner) => storage.replace('a', { ...a, rank: runner }, version, everywhere)), 'stale')
      const entry = await find(storage, 'a')
      assert.equal(entry.version, won.version)
      same(entry.item, won.item)
    }
  },
  {
    says: 'of 20 parallel removes that expect one version exactly one wins',
    async holds (storage) {
      const { version } = await insert(storage, a)
      const results = await race(() => storage.remove('a', version, everywhere))
      assert.equal(results.filter((result) => result === undefined).length, 1)
      for (const result of results) assert.ok([undefined, 'not-found', 'stale'].includes(result?.refused), `refused as ${result?.refused}`)
    }
  },
  {
    says: 'of parallel replaces and removes that expect one version exactly one wins, whichever starts',
    async holds (storage) {
      for (const starter of [0, 1]) {
        const { version } = await insert(storage, a)
        const results = await race<Entry<Thing> | Refusal | undefined>((runner) => runner % 2 === starter
          ? storage.replace('a', { ...a, rank: runner }, version, everywhere)
          : storage.remove('a', version, everywhere))
        assert.equal(results.filter((result) => result === undefined || !('refused' in result)).length, 1)
        await storage.remove('a', undefined, everywhere)
      }
    }
  },
  {
    says: 'of 20 parallel removes that expect no version exactly one wins',
    async holds (storage) {
      await insert(storage, a)
      const results = await race(() => storage.remove('a', undefined, everywhere))
      assert.equal(results.filter((result) => result === undefined).length, 1)
    }
  },
  {
    says: 'parallel replaces that expect no version are all done, each with a version of its own',
    async holds (storage) {
      await insert(storage, a)
      const results = await race((runner) => storage.replace('a', { ...a, rank: runner }, undefined, everywhere))
      const seen = results.map((result) => kept(result).version)
      assert.equal(new Set(seen).size, results.length)
      assert.ok(seen.includes((await find(storage, 'a')).version))
    }
  },
  {
    says: 'of 20 parallel inserts of one id exactly one wins',
    async holds (storage) {
      const won = winner(await race((runner) => storage.insert({ ...a, rank: runner }, everywhere)), 'not-unique')
      same((await find(storage, 'a')).item, won.item)
    }
  },
  {
    says: 'of 20 parallel inserts of one unique value exactly one wins',
    needs: ['unique'],
    async holds (storage) {
      const won = winner(await race((runner) => storage.insert({ id: `a${runner}`, name: '', email: 'one@example.org' }, everywhere)), 'not-unique')
      assert.deepEqual(await ids(storage), [won.id])
    }
  },
  {
    says: 'of 20 parallel replaces with one unique value exactly one wins',
    needs: ['unique'],
    async holds (storage) {
      await race((runner) => insert(storage, { id: `a${runner}`, name: '' }))
      const won = winner(await race((runner) => storage.replace(`a${runner}`, { id: `a${runner}`, name: '', email: 'one@example.org' }, undefined, everywhere)), 'not-unique')
      assert.equal((await find(storage, won.id)).item['email'], 'one@example.org')
    }
  }
]
