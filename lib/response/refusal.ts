import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { pointer } from '../http/json-pointer.ts'
import type { CommitRefused, Refusal } from '../storage/contract.ts'

/** What each refusal of a storage is called in HTTP. */
const refusals: { readonly [Reason in Refusal['refused']]: (refusal: Extract<Refusal, { refused: Reason }>) => Problem } = {
  'not-found': () => problem('not-found'),
  stale: () => problem('concurrent-update', { detail: 'The item was changed by other requests each time. Read it again, then repeat the request.' }),
  'not-unique': ({ properties }) => problem('not-unique', {
    detail: `Another item has this ${properties.join(' and ')} already.`,
    members: { errors: properties.map(property => ({ pointer: pointer([property]), message: 'must be unique' })) }
  }),
  conflict: () => problem('conflict', { detail: 'Other data refers to this item, or it refers to data that does not exist, or a rule of the database forbids the write.' }),
  unstorable: ({ properties }) => problem('validation-failed', {
    detail: properties.length === 0 ? 'The database cannot store one of the values.' : `The database cannot store the value of ${properties.join(' and ')}.`,
    members: { errors: (properties.length === 0 ? [[]] : properties.map(property => [property])).map(path => ({ pointer: pointer(path), message: 'cannot be stored: it is too long, out of range or nested too deeply for the database' })) }
  })
}

export function isRefusal<Result extends object> (result: Result | Refusal): result is Refusal {
  return 'refused' in result
}

/** What a transaction that was refused as a whole says; undefined for any other error. */
export function refusalIn (thrown: unknown): Refusal | undefined {
  return (Object(thrown) as Partial<CommitRefused>).refusal
}

export function problemOfRefusal (refusal: Refusal): Problem {
  // Each reason is looked up in its own row; TypeScript does not follow that the row takes it.
  return (refusals[refusal.refused] as (refusal: Refusal) => Problem)(refusal)
}
