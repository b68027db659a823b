import type { Collection } from '../../collection.ts'
import type { Problem } from '../../http/problems.ts'
import { mostSkipped } from '../../listing/entries.ts'
import type { Question } from '../../listing/question.ts'
import { badParameter } from '../../request/query.ts'

interface Stretch {
  readonly start: number
  /** Past the last; undefined for as many as a page has. */
  readonly end: number | undefined
  /** The parameters that say so. */
  readonly from: string
  readonly to: string
}

/** Items by their numbers, from 0. */
export function stretch ({ limit: { maximum } }: Collection, { start, end, from, to }: Stretch): Question | Problem {
  if (start > mostSkipped) return badParameter(from, `at most ${mostSkipped}. To go further, use limit=${maximum} and follow the cursor of each page`, `The number of items that ${from} skips`)
  if (end === undefined) return { offset: start }
  const limit = end - start
  if (!(limit >= 1 && limit <= maximum)) return badParameter(to, `from 1 to ${maximum}`, `The number of items up to ${to}`)
  return { offset: start, limit }
}
