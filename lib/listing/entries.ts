import type { Collection } from '../collection.ts'
import { Problem, problem } from '../http/problems.ts'
import { badParameter } from '../request/query.ts'
import type { Context, Incomparable, Page, Position, Query } from '../storage/contract.ts'
import { positionOf, readCursor } from './cursor.ts'
import { queryOf } from './question.ts'
import type { Question } from './question.ts'

/** More are not counted off: it would cost the storage more the further one goes, which a cursor does not. */
export const mostSkipped = 10_000

/** So many at a time. */
const stride = 1000

/** The page of the storage that answers a question, and the query that was sent to the storage. */
export async function findEntries (collection: Collection, question: Question, context: Context): Promise<{ page: Page<object>, query: Query } | Problem> {
  const asked = queryOf(collection, question)
  const isFirst = question.cursor === undefined && question.offset === undefined
  try {
    const start = isFirst ? undefined : await beginning(collection, asked, { question, context })
    if (start instanceof Problem) return start
    const query = start === undefined ? asked : { ...asked, ...start }
    return { page: await collection.storage.list(query, context), query }
  } catch (error) {
    if ((error as Partial<Incomparable> | undefined)?.incomparable !== true) throw error
    return problem('invalid-query', {
      detail: 'The database cannot compare a value of the query: it is out of the range of its column, or has another type.'
    })
  }
}

interface Asked {
  readonly question: Question
  readonly context: Context
}

/** Where a page begins that is not the first one. */
async function beginning (collection: Collection, query: Query, asked: Asked): Promise<Partial<Pick<Query, 'after' | 'before'>> | Problem> {
  const { question: { cursor, offset, filter, search }, context } = asked
  if (offset !== undefined) {
    if (cursor !== undefined) return badParameter('cursor', 'left out if items are counted from the beginning')
    return { after: await positionAfter(collection, query, asked) }
  }
  return await readCursor(collection, cursor!, { bound: { filter, search, order: query.order }, context })
}

/** The place of the last of so many items; undefined where none stands before the page. */
async function positionAfter (collection: Collection, query: Query, { question: { offset = 0 }, context }: Asked): Promise<Position | undefined> {
  const properties = [...new Set(query.order.map(({ property }) => property.split('.', 1)[0]!))]
  let after: Position | undefined
  for (let left = offset, more = true; left > 0 && more;) {
    const page = await collection.storage.list({ ...query, after, limit: Math.min(left, stride), properties, count: false }, context)
    const last = page.entries.at(-1)
    if (last !== undefined) after = positionOf(last.item, query.order)
    left -= page.entries.length
    more = page.more
  }
  return after
}
