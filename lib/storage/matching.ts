import type { ItemFilter } from './contract.ts'
import { compileFilter } from './memory/filter.ts'

/** Whether an item matches a filter. Every storage must agree with this. */
export function matches (filter: ItemFilter, item: object): boolean {
  return compileFilter(filter)(item)
}
