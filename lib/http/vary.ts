// RFC 9110 §12.5.5: Vary.

import { split } from './grammar.ts'

/** The field names of both, each once, as they were first written; `*` says it all. */
export function vary (existing: string | undefined, ...names: readonly string[]): string {
  const merged = existing === undefined ? [] : split(existing, ',')
  for (const name of names) {
    const known = name.toLowerCase()
    if (!merged.some(other => other.toLowerCase() === known)) merged.push(name)
  }
  return merged.includes('*') ? '*' : merged.join(', ')
}
