// RFC 7396: JSON Merge Patch.

import { isObject } from './json-value.ts'
import type { Members } from './json-value.ts'

/** §2. Neither argument is changed; the result shares with them what it can. */
export function mergePatch (target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result: Members = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else set(result, name, mergePatch(Object.hasOwn(result, name) ? result[name] : undefined, value))
  }
  return result
}

// An assignment to `__proto__` would change the prototype instead of adding a member.
function set (object: Members, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
  else object[name] = value
}
