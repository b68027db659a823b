import type { Collection } from '../../collection.ts'
import type { Problem } from '../../http/problems.ts'
import { maxOffset } from '../../listing/entries.ts'
import type { ListQuery } from '../../listing/list-query.ts'
import { badParameter } from '../../request/query.ts'

/** Items by their positions, from 0. */
interface ItemRange {
  readonly start: number
  /** The position after the last item; undefined for a page of the default size. */
  readonly end: number | undefined
  /** The parameter that contains the start. */
  readonly startParameter: string
  /** The parameter that contains the end. */
  readonly endParameter: string
}

/** Turns a range into an offset and a limit. */
export function buildRange ({ limit: { maximum } }: Collection, range: ItemRange): ListQuery | Problem {
  const { start, end, startParameter, endParameter } = range
  if (start > maxOffset) {
    const wanted = `at most ${maxOffset}. To go further, use limit=${maximum} and follow the cursor of each page`
    return badParameter(startParameter, wanted, `The number of items that ${startParameter} skips`)
  }
  if (end === undefined) return { offset: start }
  const limit = end - start
  if (!(limit >= 1 && limit <= maximum)) {
    return badParameter(endParameter, `from 1 to ${maximum}`, `The number of items up to ${endParameter}`)
  }
  return { offset: start, limit }
}
