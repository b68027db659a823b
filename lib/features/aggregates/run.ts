import type { Run } from '../../engine/operation.ts'
import { Problem, problem } from '../../http/problems.ts'
import { toIncomparableProblem } from '../../engine/entries.ts'
import { toStorageQuery } from '../../query/list-query.ts'
import type { GroupQuery } from '../../query/list-query.ts'
import { estimateLength, maxPageLength } from '../../query/page-length.ts'
import type { Aggregates, Inexact, TooManyGroups } from '../../storage/contract.ts'

/** In characters. Without it, 1000 groups of 1 MB are 1 GB, and three times that with minimum and maximum. */
const maxTextLength = 10_000

/** Computes the figures. */
export const aggregate: Run = async (operation) => {
  const { lists, storage, context } = operation
  const listQuery = operation.query()
  if (listQuery instanceof Problem) return listQuery
  const { filter, search } = toStorageQuery(lists, listQuery)
  // The query was parsed as that of an aggregate.
  const query = listQuery.groups!
  let result: Aggregates
  try {
    // A definition whose storage does not have the method is refused.
    result = await storage.aggregate!({ ...query, filter, search, maxTextLength }, context)
  } catch (error) {
    return toProblem(error)
  }
  if (hasInfinity(result)) return inexact()
  if (hasLongText(result)) {
    return problem('invalid-query', {
      detail: `A text is longer than the ${maxTextLength} characters that it can have in a group. ` +
        'Add a filter, or request less.'
    })
  }
  const output = toOutput(query, result)
  if (estimateLength(output) <= maxPageLength) return { kind: 'groups', output }
  return problem('invalid-query', {
    detail: `The groups are longer than the ${maxPageLength} characters that a response can have. Request fewer groups.`
  })
}

/** Throws an error that is not about the query. */
function toProblem (error: unknown): Problem {
  const { inexact: isInexact, tooManyGroups, maximum } = (error ?? {}) as Partial<Inexact & TooManyGroups>
  if (isInexact === true) return inexact()
  if (tooManyGroups !== true) return toIncomparableProblem(error)
  return problem('invalid-query', {
    detail: `The groups, their figures and the different values that they count are more than ${maximum} values. ` +
      'Add a filter, group by less, or request fewer figures.'
  })
}

function inexact (): Problem {
  return problem('invalid-query', {
    detail: 'A sum or a value is too large to be exact: it is not within -(2^53 - 1) to 2^53 - 1, ' +
      'or has too many digits. Add a filter, or group by more.'
  })
}

/** JSON has no infinity. */
function hasInfinity ({ groups }: Aggregates): boolean {
  return groups.some(({ figures }) => figures.some((value) => typeof value === 'number' && !Number.isFinite(value)))
}

function hasLongText ({ groups }: Aggregates): boolean {
  const isLong = (value: unknown): boolean => typeof value === 'string' && value.length > maxTextLength
  return groups.some(({ by, figures }) => by.some(isLong) || figures.some(isLong))
}

/** `{ groups: [{ by: { status: 'open' }, count: 2, sum: { total: 30 } }], more: false }` */
function toOutput ({ by, figures }: GroupQuery, { groups, more }: Aggregates): object {
  return {
    groups: groups.map((group) => {
      const row: Record<string, unknown> = {
        by: Object.fromEntries(by.map(({ property, part }, index) => [
          part === undefined ? property : `${property}.${part}`,
          group.by[index]
        ]))
      }
      for (const [index, figure] of figures.entries()) {
        const value = group.figures[index]
        if ('property' in figure) Object.assign(row[figure.figure] ??= {}, { [figure.property]: value })
        else row.count = value
      }
      return row
    }),
    more
  }
}
