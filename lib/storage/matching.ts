import type { Filter } from './contract.ts'
import { filter } from './memory/filter.ts'

/** What a filter means, for those who have the item already: every storage is held to mean the same. */
export function matches (by: Filter, item: object): boolean {
  return filter(by)(item)
}
