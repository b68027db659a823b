import assert from 'node:assert/strict'
import type { AggregateQuery, Figure, Grouping, Storage } from '../contract.ts'
import { insertThings, scopedTo, unscoped, type Case } from './case.ts'
import { numberedThings, type Thing } from './thing.ts'

const all: readonly Thing[] = [
  { id: 'a', name: 'apple', team: 'red', number: 1, rank: 2, price: 0.5, done: true, at: '2024-01-31T23:59:59.999Z' },
  { id: 'b', name: 'Apple', team: 'red', number: 2, rank: 3, price: 1.25, done: false, at: '2024-02-01T00:00:00.000Z' },
  { id: 'c', name: 'äpple', team: 'Red', number: 1, rank: null, price: -4, at: '2024-02-29T12:00:00.000Z' },
  { id: 'd', name: 'zebra', team: 'blue', number: 1, rank: 2, done: true, place: { city: 'Rome', floor: 1 } },
  { id: 'e', name: '😀', rank: -10, place: { city: 'Bonn', floor: 3, since: '2023-12-31T23:00:00.000Z' } },
  { id: 'f', name: '\uffee', at: '2024-02-29T13:00:00.000Z', place: { city: 'Rome' } }
]

/** Parses `team`, `at.month` or `place.city`. */
function toGrouping (name: string): Grouping {
  const match = /^(.+)\.(year|month|day|hour)$/.exec(name)
  return match === null ? { property: name } : { property: match[1]!, part: match[2] as NonNullable<Grouping['part']> }
}

/** Parses `count` or `sum rank`. */
function toFigure (text: string): Figure {
  const [figure = '', property = ''] = text.split(' ')
  return property === '' ? { figure: 'count' } : { figure, property } as Figure
}

interface Given extends Partial<Pick<AggregateQuery, 'filter' | 'search' | 'limit'>> {
  readonly by?: readonly string[]
  readonly figures?: readonly string[]
  /** The position of what comes first. */
  readonly sort?: { readonly at: number, readonly descending: boolean }
}

function buildAggregateQuery ({ by = [], figures = ['count'], sort, ...given }: Given): AggregateQuery {
  return {
    filter: undefined,
    search: undefined,
    limit: 100,
    ...given,
    by: by.map(toGrouping),
    figures: figures.map(toFigure),
    order: [...sort === undefined ? [] : [sort], ...by.map((_, at) => ({ at, descending: false }))]
  }
}

async function aggregate (storage: Storage<Thing>, given: Given, context = unscoped): Promise<unknown[]> {
  const { groups } = await storage.aggregate!(buildAggregateQuery(given), context)
  return groups.map(({ by, figures }) => [...by, ...figures])
}

/** A storage need not have the method. */
const aggregateCase = (title: string, run: Case['run'], options: Partial<Case> = {}): Case => ({
  title,
  requires: ['filter'],
  ...options,
  async run (storage, beside) {
    if (storage.aggregate === undefined) return
    if (options.shape === undefined) await insertThings(storage, ...all)
    await run(storage, beside)
  }
})

export const aggregateCases: readonly Case[] = [
  aggregateCase('aggregate groups by exact values, null and missing last, and counts', async (storage) => {
    assert.deepEqual(await aggregate(storage, { by: ['team'] }), [['Red', 1], ['blue', 1], ['red', 2], [null, 2]])
    assert.deepEqual(await aggregate(storage, { by: ['done'] }), [[false, 1], [true, 2], [null, 3]])
    assert.deepEqual(await aggregate(storage, { by: ['rank'] }), [[-10, 1], [2, 2], [3, 1], [null, 2]])
    assert.deepEqual(await aggregate(storage, { by: ['place.city'] }), [['Bonn', 1], ['Rome', 2], [null, 3]])
    assert.deepEqual(
      await aggregate(storage, { by: ['team', 'number'] }),
      [['Red', 1, 1], ['blue', 1, 1], ['red', 1, 1], ['red', 2, 1], [null, null, 2]]
    )
    const names = await aggregate(storage, { by: ['name'] })
    assert.deepEqual(names.map((row) => (row as unknown[])[0]), ['Apple', 'apple', 'zebra', 'äpple', '\uffee', '😀'])
  }),
  aggregateCase('aggregate groups by parts of date-times, in UTC', async (storage) => {
    assert.deepEqual(await aggregate(storage, { by: ['at.year'] }), [['2024', 4], [null, 2]])
    assert.deepEqual(await aggregate(storage, { by: ['at.month'] }), [['2024-01', 1], ['2024-02', 3], [null, 2]])
    assert.deepEqual(
      await aggregate(storage, { by: ['at.day'] }),
      [['2024-01-31', 1], ['2024-02-01', 1], ['2024-02-29', 2], [null, 2]]
    )
    assert.deepEqual(
      await aggregate(storage, { by: ['at.hour'] }),
      [['2024-01-31T23', 1], ['2024-02-01T00', 1], ['2024-02-29T12', 1], ['2024-02-29T13', 1], [null, 2]]
    )
    assert.deepEqual(await aggregate(storage, { by: ['place.since.year'] }), [['2023', 1], [null, 5]])
    assert.deepEqual((await aggregate(storage, { by: ['at'] }))[0], ['2024-01-31T23:59:59.999Z', 1])
  }),
  aggregateCase('aggregate computes sums, averages, minima, maxima and distinct counts', async (storage) => {
    const figures = ['count', 'sum rank', 'avg rank', 'min rank', 'max rank', 'distinct rank']
    assert.deepEqual(await aggregate(storage, { figures }), [[6, -3, -0.75, -10, 3, 3]])
    assert.deepEqual(
      await aggregate(storage, { by: ['team'], figures }),
      [
        ['Red', 1, null, null, null, null, 0],
        ['blue', 1, 2, 2, 2, 2, 1],
        ['red', 2, 5, 2.5, 2, 3, 2],
        [null, 2, -10, -10, -10, -10, 1]
      ]
    )
    assert.deepEqual(
      await aggregate(storage, { figures: ['sum price', 'avg price', 'min price', 'max price', 'distinct price'] }),
      [[-2.25, -0.75, -4, 1.25, 3]]
    )
    assert.deepEqual(
      await aggregate(storage, {
        figures: ['min name', 'max name', 'distinct name', 'distinct team', 'distinct done']
      }),
      [['Apple', '😀', 6, 3, 2]]
    )
    assert.deepEqual(
      await aggregate(storage, { figures: ['min at', 'max at', 'max place.floor', 'min place.city'] }),
      [['2024-01-31T23:59:59.999Z', '2024-02-29T13:00:00.000Z', 3, 'Bonn']]
    )
    // A third, as doubles are divided.
    assert.deepEqual(
      await aggregate(storage, { figures: ['avg number'], filter: { property: 'number', is: 'null', value: false } }),
      [[1.25]]
    )
    const few = { property: 'id', is: 'in', value: ['a', 'b', 'e'] } as const
    assert.deepEqual(await aggregate(storage, { figures: ['avg rank'], filter: few }), [[-5 / 3]])
  }),
  aggregateCase('aggregate over no rows has no groups, and one row without groups', async (storage) => {
    const filter = { property: 'id', is: 'eq', value: 'nothing' } as const
    assert.deepEqual(await aggregate(storage, { by: ['team'], filter }), [])
    const figures = ['count', 'sum rank', 'avg price', 'min name', 'max at', 'distinct rank']
    assert.deepEqual(await aggregate(storage, { figures, filter }), [[0, null, null, null, null, 0]])
  }),
  aggregateCase('aggregate orders by groups and figures, and says whether there are more', async (storage) => {
    const figures = ['count', 'sum rank', 'avg rank']
    const sortBy = async (at: number, descending: boolean) => {
      const rows = await aggregate(storage, { by: ['team'], figures, sort: { at, descending } })
      return rows.map((row) => (row as unknown[])[0])
    }
    assert.deepEqual(await sortBy(0, true), [null, 'red', 'blue', 'Red'])
    assert.deepEqual(await sortBy(1, true), ['red', null, 'Red', 'blue'])
    assert.deepEqual(await sortBy(2, false), [null, 'blue', 'red', 'Red'])
    assert.deepEqual(await sortBy(3, true), ['Red', 'red', 'blue', null])
    const query = buildAggregateQuery({ by: ['team'], limit: 3 })
    const { groups, more } = await storage.aggregate!(query, unscoped)
    assert.deepEqual([groups.length, more], [3, true])
    assert.equal((await storage.aggregate!({ ...query, limit: 4 }, unscoped)).more, false)
  }),
  aggregateCase('aggregate counts nothing outside the scope', async (storage) => {
    const red = scopedTo({ property: 'team', is: 'eq', value: 'red' })
    assert.deepEqual(await aggregate(storage, { by: ['team'], figures: ['sum rank'] }, red), [['red', 5]])
    const filter = { property: 'team', is: 'eq', value: 'blue' } as const
    assert.deepEqual(await aggregate(storage, { figures: ['count', 'max name'], filter }, red), [[0, null]])
  }),
  aggregateCase('aggregate applies a search', async (storage) => {
    const search = { words: ['äpple'], properties: ['name'] }
    assert.deepEqual(await aggregate(storage, { figures: ['count', 'min price', 'sum rank'], search }), [[1, -4, null]])
    const found = { words: ['apple'], properties: ['name'] }
    assert.deepEqual(
      await aggregate(storage, { by: ['team'], figures: ['count', 'sum rank'], search: found }),
      [['red', 2, 5]]
    )
  }, { requires: ['filter', 'search'] }),
  aggregateCase('aggregate adds integers exactly, and refuses sums beyond 2^53 - 1', async (storage) => {
    const large = Number.MAX_SAFE_INTEGER
    await insertThings(
      storage,
      { id: 1, name: 'a', rank: large, number: 1 },
      { id: 2, name: 'a', rank: -1, number: 2 },
      { id: 3, name: 'b', rank: large - 1, number: 3 }
    )
    const isOf = (name: string) => ({ property: 'name', is: 'eq', value: name }) as const
    assert.deepEqual(
      await aggregate(storage, { figures: ['sum rank', 'max rank'], filter: isOf('a') }),
      [[large - 1, large]]
    )
    await assert.rejects(aggregate(storage, { figures: ['sum rank'] }), { inexact: true })
    await assert.rejects(aggregate(storage, { figures: ['avg rank'] }), { inexact: true })
    assert.deepEqual(await aggregate(storage, { figures: ['sum id', 'max rank', 'distinct rank'] }), [[6, large, 3]])
  }, { shape: numberedThings })
]
