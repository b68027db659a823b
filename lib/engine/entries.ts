import type { Lists } from '../query/lists.ts'
import { Problem, problem } from '../http/problems.ts'
import { badParameter } from '../query/check-query.ts'
import type { Context, Incomparable, Page, Position, Query, Storage } from '../storage/contract.ts'
import { getPosition, resolveCursor } from '../query/cursor.ts'
import { toStorageQuery } from '../query/list-query.ts'
import type { ListQuery } from '../query/list-query.ts'

/** How many items are skipped at a time. */
const skipStep = 1000

/** Where entries are read. */
interface EntrySource {
  readonly storage: Storage<object>
  readonly context: Context
}

interface FoundEntries {
  readonly page: Page<object>
  /** The query that was sent to the storage. */
  readonly query: Query
}

/** Finds the entries of a page. */
export async function findEntries (
  lists: Lists,
  listQuery: ListQuery,
  source: EntrySource
): Promise<FoundEntries | Problem> {
  const firstPage = toStorageQuery(lists, listQuery)
  const isFirstPage = listQuery.cursor === undefined && listQuery.offset === undefined
  try {
    const start = isFirstPage ? undefined : await findStart(lists, firstPage, { listQuery, ...source })
    if (start instanceof Problem) return start
    const query = start === undefined ? firstPage : { ...firstPage, ...start }
    return { page: await source.storage.list(query, source.context), query }
  } catch (error) {
    return toIncomparableProblem(error)
  }
}

/** Returns the problem of a value that the storage cannot compare. Throws any other error. */
export function toIncomparableProblem (error: unknown): Problem {
  if ((error as Partial<Incomparable> | undefined)?.incomparable !== true) throw error
  return problem('invalid-query', {
    detail: 'The database cannot compare a value of the query: ' +
      'it is out of the range of its column, or has another type.'
  })
}

interface ListRequest extends EntrySource {
  readonly listQuery: ListQuery
}

type PageStart = Partial<Pick<Query, 'after' | 'before'>>

/** Finds where a page begins that is not the first one. */
async function findStart (
  lists: Lists,
  query: Query,
  listRequest: ListRequest
): Promise<PageStart | Problem> {
  const { listQuery: { cursor, offset, filter, search, order = lists.order }, storage, context } = listRequest
  if (offset !== undefined) {
    if (cursor !== undefined) return badParameter('cursor', 'left out if the page is requested by offset')
    return { after: await findPositionAt(query, listRequest) }
  }
  const binding = { filter, search, order }
  return await resolveCursor(lists, cursor!, { binding, query, storage, context })
}

/** Returns the position of the last skipped item; undefined if there is none. */
async function findPositionAt (
  query: Query,
  { listQuery: { offset = 0 }, storage, context }: ListRequest
): Promise<Position | undefined> {
  const own = query.order.filter(({ related }) => related === undefined)
  const properties = [...new Set(own.map(({ property }) => property.split('.', 1)[0]!))]
  let after: Position | undefined
  let remaining = offset
  let hasMore = true
  while (remaining > 0 && hasMore) {
    const limit = Math.min(remaining, skipStep)
    const page = await storage.list({ ...query, after, limit, properties, count: false }, context)
    const last = page.entries.at(-1)
    if (last !== undefined) after = getPosition(last, query.order)
    remaining -= page.entries.length
    hasMore = page.more
  }
  return after
}
