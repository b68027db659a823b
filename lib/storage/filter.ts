import type { Context, Filter } from './contract.ts'

// Which rows a storage is asked for: those of a caller, of a parent, or those that live.

/** For other rows than those that are asked for, such as those of another collection. The signal stays as lazy as it is. */
export function scopedBy (scope: Filter | undefined, context: Context): Context {
  return { get signal () { return context.signal }, scope }
}

/** Both have to hold. */
export function joinedFilter (first: Filter | undefined, second: Filter | undefined): Filter | undefined {
  return first === undefined || second === undefined ? first ?? second : { all: [first, second] }
}
