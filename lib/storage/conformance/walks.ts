import assert from 'node:assert/strict'
import type { Entry, Id, Query, Storage } from '../contract.ts'
import { by, fill, ids, list, position, type Case } from './case.ts'
import type { Thing } from './thing.ts'

/** Many ties and nulls. */
const many: readonly Thing[] = Array.from({ length: 23 }, (_, index) => ({
  id: `${(index * 9) % 23}`,
  name: ['x', 'y'][index % 2],
  rank: [null, 1, 1, 2, 10][index % 5],
  ...(index % 3 === 0 ? {} : { note: index % 4 === 0 ? null : `note ${index % 4}` })
}))

/** Every page from one end to the other; an entry seen twice or a page too many ends it. */
async function walk (storage: Storage<Thing>, { order, limit }: Pick<Query, 'order' | 'limit'>, backward: boolean): Promise<Id[]> {
  const seen: Id[] = []
  let edge: Entry<Thing> | undefined
  for (let more = true; more;) {
    const from = edge === undefined ? undefined : position(edge, order)
    const page = await list(storage, backward && from !== undefined
      ? { order, limit, before: from }
      : { order: backward ? turned(order) : order, limit, after: from })
    const entries = backward && from === undefined ? page.entries.toReversed() : page.entries
    assert.ok(entries.length <= limit, 'a page is longer than its limit')
    assert.ok(entries.length === limit || !page.more, 'a page that is not full says that there is more')
    if (backward) seen.unshift(...entries.map(({ id }) => id))
    else seen.push(...entries.map(({ id }) => id))
    assert.equal(new Set(seen).size, seen.length, 'an entry is seen twice')
    edge = entries.at(backward ? 0 : -1)
    more = page.more
  }
  return seen
}

function turned (order: Query['order']): Query['order'] {
  return order.map(({ property, descending }) => ({ property, descending: !descending }))
}

async function walked (storage: Storage<Thing>, orders: ReadonlyArray<Query['order']>): Promise<void> {
  await fill(storage, ...many)
  for (const order of orders) {
    const all = await ids(storage, { order })
    assert.equal(all.length, many.length)
    for (const limit of [1, 2, 5, 22, 23, 24]) {
      for (const backward of [false, true]) assert.deepEqual(await walk(storage, { order, limit }, backward), all)
    }
  }
}

export const walks: readonly Case[] = [
  {
    says: 'pages walked by id, forward and backward, have each entry once',
    holds: (storage) => walked(storage, [by('id'), by('-id')])
  },
  {
    says: 'pages walked in any order, forward and backward, have each entry once, through ties and nulls',
    needs: ['order'],
    holds: (storage) => walked(storage, [
      by('rank', 'id'),
      by('-rank', 'id'),
      by('rank', '-id'),
      by('name', 'id'),
      by('name', '-rank', 'id'),
      by('-note', 'rank', '-id'),
      by('note', '-rank', 'name', 'id')
    ])
  }
]
