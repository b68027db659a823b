// JSON Schema 2020-12, section 8.2: a `$ref` to an `$id`, or to a JSON Pointer, in the same root schema.

import { parsePointer } from '../../http/json-pointer.ts'
import type { JsonSchema } from '../../storage/contract.ts'

export function isSchema (value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the target of a reference; undefined if the root does not contain it. */
export function dereference (reference: string, root: JsonSchema): unknown {
  if (!reference.startsWith('#')) return findById(reference, root)
  const segments = parsePointer(reference.slice(1))
  return segments?.reduce<unknown>((found, segment) => {
    return typeof found === 'object' && found !== null ? Reflect.get(found, segment) : undefined
  }, root)
}

function findById (id: string, root: JsonSchema): JsonSchema | undefined {
  const nodes = new Set<unknown>([root])
  // A loop over a set also visits what is added during the loop.
  for (const node of nodes) {
    if (isSchema(node) && node['$id'] === id) return node
    if (typeof node !== 'object' || node === null) continue
    for (const child of Object.values(node)) nodes.add(child)
  }
  return undefined
}
