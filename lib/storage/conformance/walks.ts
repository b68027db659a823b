import assert from 'node:assert/strict'
import type { Entry, Id, Query, Storage } from '../contract.ts'
import { getPosition, insertThings, listIds, listThings, orderBy, type Case } from './case.ts'
import type { Thing } from './thing.ts'

/** Many equal values and nulls. */
const many: readonly Thing[] = Array.from({ length: 23 }, (_, index) => ({
  id: `${(index * 9) % 23}`,
  name: ['x', 'y'][index % 2],
  rank: [null, 1, 1, 2, 10][index % 5],
  ...(index % 3 === 0 ? {} : { note: index % 4 === 0 ? null : `note ${index % 4}` })
}))

/** Reads every page from one end to the other. Rejects if an entry occurs twice. */
async function walkPages (
  storage: Storage<Thing>,
  { order, limit }: Pick<Query, 'order' | 'limit'>,
  backward: boolean
): Promise<Id[]> {
  const seen: Id[] = []
  let edge: Entry<Thing> | undefined
  for (let more = true; more;) {
    const from = edge === undefined ? undefined : getPosition(edge, order)
    const page = await listThings(storage, backward && from !== undefined
      ? { order, limit, before: from }
      : { order: backward ? reverseOrder(order) : order, limit, after: from })
    const entries = backward && from === undefined ? page.entries.toReversed() : page.entries
    assert.ok(entries.length <= limit, 'a page is longer than its limit')
    assert.ok(entries.length === limit || !page.more, 'a page that is not full reports more')
    if (backward) seen.unshift(...entries.map(({ id }) => id))
    else seen.push(...entries.map(({ id }) => id))
    assert.equal(new Set(seen).size, seen.length, 'an entry occurs twice')
    edge = entries.at(backward ? 0 : -1)
    more = page.more
  }
  return seen
}

function reverseOrder (order: Query['order']): Query['order'] {
  return order.map(({ property, descending }) => ({ property, descending: !descending }))
}

async function assertWalks (storage: Storage<Thing>, orders: ReadonlyArray<Query['order']>): Promise<void> {
  await insertThings(storage, ...many)
  for (const order of orders) {
    const all = await listIds(storage, { order })
    assert.equal(all.length, many.length)
    for (const limit of [1, 2, 5, 22, 23, 24]) {
      for (const backward of [false, true]) assert.deepEqual(await walkPages(storage, { order, limit }, backward), all)
    }
  }
}

export const walkCases: readonly Case[] = [
  {
    title: 'paging by id, forward and backward, returns each entry once',
    run: (storage) => assertWalks(storage, [orderBy('id'), orderBy('-id')])
  },
  {
    title: 'paging in any order, forward and backward, returns each entry once, with equal values and nulls',
    requires: ['order'],
    run: (storage) => assertWalks(storage, [
      orderBy('rank', 'id'),
      orderBy('-rank', 'id'),
      orderBy('rank', '-id'),
      orderBy('name', 'id'),
      orderBy('name', '-rank', 'id'),
      orderBy('-note', 'rank', '-id'),
      orderBy('note', '-rank', 'name', 'id')
    ])
  }
]
