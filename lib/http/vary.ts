// RFC 9110, section 12.5.5: Vary.

import { splitList } from './grammar.ts'

/** Adds names to the value of Vary, each once. `*` includes all others. */
export function mergeVary (existing: string | undefined, ...names: readonly string[]): string {
  const merged = existing === undefined ? [] : splitList(existing, ',')
  for (const name of names) {
    const lowerCased = name.toLowerCase()
    if (!merged.some((other) => other.toLowerCase() === lowerCased)) merged.push(name)
  }
  return merged.includes('*') ? '*' : merged.join(', ')
}
