import type { Filter } from './contract.ts'
import { compileFilter } from './memory/filter.ts'

/** Whether an item matches a filter. Every storage must agree with this. */
export function matches (filter: Filter, item: object): boolean {
  return compileFilter(filter)(item)
}
