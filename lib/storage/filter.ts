import type { Context, Filter } from './contract.ts'

/** The context with another scope, such as for the rows of another collection. The signal stays lazy. */
export function withScope (scope: Filter | undefined, context: Context): Context {
  return {
    get signal () { return context.signal },
    scope,
    ...context.lock === true && { lock: true }
  }
}

/** A filter that matches if both match. */
export function joinFilters (first: Filter | undefined, second: Filter | undefined): Filter | undefined {
  if (first === undefined || second === undefined) return first ?? second
  return { all: [first, second] }
}
