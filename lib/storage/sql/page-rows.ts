import type { Entry, Page, Unreadable } from '../contract.ts'
import type { Row } from './dialect.ts'
import type { Projection } from './projection.ts'

/** How many unreadable rows a page skips. */
export const maxUnreadable = 1000

/** A page, in the direction of travel. */
export type ReadablePage<Item> = Pick<Page<Item>, 'more' | 'unreadable'> & { entries: Array<Entry<Item>> }

/** There is more if there is one row more than the limit. Undefined if a row cannot be read. */
export function readPage<Item> (
  rows: readonly Row[],
  limit: number,
  { read }: Projection<Item>
): ReadablePage<Item> | undefined {
  try {
    return { entries: rows.slice(0, limit).map(read), more: rows.length > limit }
  } catch {
    return undefined
  }
}

/**
 * Reads a page without the unreadable rows. `wanted` is how many rows were requested. Returns a number if so many rows
 * are needed, so that paging does not end at the unreadable ones.
 */
export function readPastUnreadable<Item> (
  rows: readonly Row[],
  { limit, wanted }: { readonly limit: number, readonly wanted: number },
  { read, explain }: Projection<Item>
): ReadablePage<Item> | number {
  const entries: Array<Entry<Item>> = []
  const unreadable: Unreadable[] = []
  let at = 0
  for (; at < rows.length && entries.length < limit; at++) {
    try {
      entries.push(read(rows[at]!))
    } catch {
      unreadable.push(explain(rows[at]!))
    }
  }
  const isFull = at < rows.length
  const isEnd = rows.length < wanted
  if (isFull || isEnd || unreadable.length > maxUnreadable) {
    return { entries, more: !isEnd || isFull, unreadable }
  }
  return limit + 1 + Math.min(unreadable.length * 2, maxUnreadable)
}
