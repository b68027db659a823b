import type { ItemType } from '../schema/item-type.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Entry, Page, Query } from '../storage/contract.ts'
import { applySelection } from '../response/selection.ts'
import type { Selection } from '../response/selection.ts'
import type { ListQuery } from './list-query.ts'

/** In characters of the items, before a format writes them. Without it, 100 items of 1 MB make a response of 100 MB. */
export const maxPageLength = 4_194_304

interface PageDetails {
  readonly query: Query
  readonly listQuery: ListQuery
  readonly selection: Selection | undefined
}

/** Ends a page early if its items are too long; its links lead to the others. A page has at least one item. */
export function limitPageLength (
  type: ItemType,
  page: Page<object>,
  { query, listQuery, selection }: PageDetails
): Page<object> | Problem {
  const isBackward = query.before !== undefined
  const entries = isBackward ? page.entries.toReversed() : page.entries
  let length = 0
  const end = entries.findIndex((entry, index) => {
    length += estimateLength(selection === undefined ? type.show(entry.item) : applySelection(type, entry, selection))
    return length > maxPageLength && index > 0
  })
  if (end < 0) return page
  // A client that continues by offset would skip the items that are cut off.
  if (listQuery.offset !== undefined) {
    return problem('invalid-query', {
      detail: `The items are longer than the ${maxPageLength} characters that a page can have. Request fewer items.`
    })
  }
  const kept: ReadonlyArray<Entry<object>> = entries.slice(0, end)
  return { ...page, entries: isBackward ? kept.toReversed() : kept, more: true }
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
