import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { toPointer } from '../http/json-pointer.ts'
import type { CommitRefused, Refusal } from '../storage/contract.ts'

type ToProblem<Reason extends Refusal['refused']> = (refusal: Extract<Refusal, { refused: Reason }>) => Problem

const toProblem: { readonly [Reason in Refusal['refused']]: ToProblem<Reason> } = {
  'not-found': () => problem('not-found'),
  stale: () => problem('concurrent-update', {
    detail: 'The item was changed by other requests each time. Read it again, then repeat the request.'
  }),
  'not-unique': ({ properties }) => problem('not-unique', {
    detail: properties.length === 0
      ? 'Another item has one of these values already, and it must be unique.'
      : `Another item has this ${properties.join(' and ')} already.`,
    properties: {
      errors: properties.map((property) => ({ pointer: toPointer([property]), message: 'must be unique' }))
    }
  }),
  conflict: () => problem('conflict', {
    detail: 'Other data refers to this item, or it refers to data that does not exist, ' +
      'or a rule of the database forbids the write.'
  }),
  'missing-target': ({ properties }) => {
    const paths = properties.length === 0 ? [[]] : properties.map((property) => [property])
    const named = properties.length === 1
      ? `There is no item with this ${properties[0]!}.`
      : `${properties.join(' and ')} refer to items that do not exist.`
    return problem('validation-failed', {
      detail: properties.length === 0 ? 'The item refers to an item that does not exist.' : named,
      properties: {
        errors: paths.map((path) => ({ pointer: toPointer(path), message: 'must refer to an existing item' }))
      }
    })
  },
  referenced: () => problem('conflict', {
    detail: 'Other items refer to this item. Delete or change them first.'
  }),
  unstorable: ({ properties }) => {
    const paths = properties.length === 0 ? [[]] : properties.map((property) => [property])
    const message = 'cannot be stored: it is missing, too long, out of range or nested too deeply for the database'
    return problem('validation-failed', {
      detail: properties.length === 0
        ? 'The database cannot store one of the values.'
        : `The database cannot store the value of ${properties.join(' and ')}.`,
      properties: { errors: paths.map((path) => ({ pointer: toPointer(path), message })) }
    })
  }
}

export function isRefusal<Result extends object> (result: Result | Refusal): result is Refusal {
  return 'refused' in result
}

/** Returns the refusal that a rolled back transaction has thrown; undefined for any other error. */
export function getRefusal (thrown: unknown): Refusal | undefined {
  return (Object(thrown) as Partial<CommitRefused>).refusal
}

/** Turns the refusal of a storage into a problem, which names no properties that are hidden from the caller. */
export function refusalToProblem (refusal: Refusal, hidden?: ReadonlySet<string>): Problem {
  // TypeScript cannot see that the function belongs to this reason.
  return (toProblem[refusal.refused] as (refusal: Refusal) => Problem)(omitHiddenNames(refusal, hidden))
}

/** Returns the refusal without the names of hidden properties. */
export function omitHiddenNames<Refused extends Refusal> (
  refusal: Refused,
  hidden: ReadonlySet<string> | undefined
): Refused {
  if (hidden === undefined || !('properties' in refusal)) return refusal
  return { ...refusal, properties: refusal.properties.filter((property) => !hidden.has(property)) }
}
