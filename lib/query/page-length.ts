import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Page, Query } from '../storage/contract.ts'
import type { ListQuery } from './list-query.ts'

/** In characters of the items, before a format writes them. Without it, 100 items of 1 MB make a response of 100 MB. */
export const maxPageLength = 4_194_304

/** A page, and its items as the response has them. */
export interface ShownPage {
  readonly page: Page<object>
  readonly items: readonly object[]
}

interface PageQueries {
  readonly query: Query
  readonly listQuery: ListQuery
}

/** Ends a page early if its items are too long; its links lead to the others. A page has at least one item. */
export function limitPageLength (shown: ShownPage, { query, listQuery }: PageQueries): ShownPage | Problem {
  const { page, items } = shown
  const isBackward = query.before !== undefined
  let length = 0
  const count = (isBackward ? items.toReversed() : items).findIndex((item, index) => {
    length += estimateLength(item)
    return length > maxPageLength && index > 0
  })
  if (count < 0) return shown
  // A client that continues by offset would skip the items that are cut off.
  if (listQuery.offset !== undefined) {
    return problem('invalid-query', {
      detail: `The items are longer than the ${maxPageLength} characters that a page can have. Request fewer items.`
    })
  }
  const keep = <Part>(all: readonly Part[]): readonly Part[] => isBackward ? all.slice(-count) : all.slice(0, count)
  return { page: { ...page, entries: keep(page.entries), more: true }, items: keep(items) }
}

/** Estimates the length of a value in JSON. */
export function estimateLength (value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  let length = 2
  if (Array.isArray(value)) {
    for (const item of value) length += estimateLength(item) + 1
    return length
  }
  for (const name in value) length += name.length + 4 + estimateLength((value as Record<string, unknown>)[name])
  return length
}
