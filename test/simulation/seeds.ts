// Histories that have found a bug. They always run. A seed means another history once the plan or the scheduler
// changes: then find one that fails without the fix again, or remove it.

export const seeds: ReadonlyArray<{ readonly seed: number, readonly bug: string }> = [
  { seed: 216, bug: 'a batch was refused if one of its writes lost a race, because it was repeated alone' },
  { seed: 375, bug: 'a transaction whose listed item was removed did not run again if the call had a caller with a scope' },
  { seed: 1085, bug: 'a write whose function of redirects() never returned held up all later writes to its item' }
]
