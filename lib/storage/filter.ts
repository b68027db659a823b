import type { Context, Filter } from './contract.ts'

/** The context with another scope, such as for the rows of another collection. The signal stays lazy. */
export function withScope (scope: Filter | undefined, context: Context): Context {
  return {
    get signal () { return context.signal },
    scope,
    ...context.lock === true && { lock: true }
  }
}

/** A filter of conditions, whatever these are. */
type Combined<Condition extends object> =
  | Condition
  | { readonly all: ReadonlyArray<Combined<Condition>> }
  | { readonly any: ReadonlyArray<Combined<Condition>> }
  | { readonly not: Combined<Condition> }

/** Whether a filter matches every item because it has no conditions. */
export function isEmptyFilter<Condition extends object> (filter: Combined<Condition>): boolean {
  if ('all' in filter) return filter.all.every(isEmptyFilter)
  if ('any' in filter) return filter.any.some(isEmptyFilter)
  return 'not' in filter && matchesNothing(filter.not)
}

function matchesNothing<Condition extends object> (filter: Combined<Condition>): boolean {
  if ('all' in filter) return filter.all.some(matchesNothing)
  if ('any' in filter) return filter.any.every(matchesNothing)
  return 'not' in filter && isEmptyFilter(filter.not)
}

/** A filter that matches if both match. */
export function joinFilters (first: Filter | undefined, second: Filter | undefined): Filter | undefined {
  if (first === undefined || second === undefined) return first ?? second
  return { all: [first, second] }
}
