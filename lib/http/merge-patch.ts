// RFC 7396: JSON Merge Patch.

import { isObject } from './json-value.ts'
import type { JsonObject } from './json-value.ts'

/** A merge patch (RFC 7396): null removes an optional property. */
export type Patch<Value> = Value extends readonly unknown[] ? Value : Value extends object
  ? { [Property in keyof Value]?: Patch<Value[Property]> | (undefined extends Value[Property] ? null : never) }
  : Value

/** Returns the patched value (RFC 7396, section 2). Changes neither argument; the result may share parts with them. */
export function applyMergePatch (target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result: JsonObject = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else setMember(result, name, applyMergePatch(Object.hasOwn(result, name) ? result[name] : undefined, value))
  }
  return result
}

/** An assignment to `__proto__` would change the prototype instead of adding a member. */
function setMember (object: JsonObject, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
  } else {
    object[name] = value
  }
}
