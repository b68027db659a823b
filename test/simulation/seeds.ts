// Histories that have found a bug. They always run. A seed means another history once the plan or the scheduler
// changes: then find one that fails without the fix again, or remove it.

export const seeds: ReadonlyArray<{ readonly seed: number, readonly bug: string }> = []
