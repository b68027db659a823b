import type { Collection } from '../collection.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Entry, Page, Query } from '../storage/contract.ts'
import { applyView, toVisibleItem } from '../response/view.ts'
import type { View } from '../response/view.ts'
import type { Question } from './question.ts'

/** In characters of the items, before a format writes them. Without it, 100 items of 1 MB make a response of 100 MB. */
export const longestPage = 4_194_304

interface Listed {
  readonly query: Query
  readonly question: Question
  readonly view: View | undefined
}

/** Ends a page early if its items are too long; the links lead to the others. A page has at least one item. */
export function limitLength (collection: Collection, page: Page<object>, { query, question, view }: Listed): Page<object> | Problem {
  const isBackward = query.before !== undefined
  const entries = isBackward ? page.entries.toReversed() : page.entries
  let length = 0
  const end = entries.findIndex((entry, index) => {
    length += lengthOf(view === undefined ? toVisibleItem(collection, entry) : applyView(collection, entry, view))
    return length > longestPage && index > 0
  })
  if (end < 0) return page
  // A client that counts the items would never see those that are left out.
  if (question.offset !== undefined) {
    return problem('invalid-query', { detail: `These items are longer than the ${longestPage} characters that a page can have. Request fewer of them.` })
  }
  const kept: ReadonlyArray<Entry<object>> = entries.slice(0, end)
  return { ...page, entries: isBackward ? kept.toReversed() : kept, more: true }
}

/** About what a value takes in JSON. */
function lengthOf (value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  let length = 2
  if (Array.isArray(value)) {
    for (const part of value) length += lengthOf(part) + 1
    return length
  }
  for (const name in value) length += name.length + 4 + lengthOf((value as Record<string, unknown>)[name])
  return length
}
