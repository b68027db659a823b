// JSON Schema 2020-12 §8.2: a `$ref` to an `$id`, or to a JSON Pointer, in the same root schema.

import { parsePointer } from '../../http/json-pointer.ts'
import type { JsonSchema } from '../../storage/contract.ts'

export function isSchema (value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What a reference leads to; undefined where that is out of reach. */
export function dereference (reference: string, root: JsonSchema): unknown {
  if (!reference.startsWith('#')) return identified(reference, root)
  const segments = parsePointer(reference.slice(1))
  return segments?.reduce<unknown>((found, segment) => typeof found === 'object' && found !== null ? Reflect.get(found, segment) : undefined, root)
}

function identified (id: string, root: JsonSchema): JsonSchema | undefined {
  const nodes = new Set<unknown>([root])
  // A set also gives what is added to it while it is walked.
  for (const node of nodes) {
    if (isSchema(node) && node['$id'] === id) return node
    if (typeof node === 'object' && node !== null) for (const child of Object.values(node)) nodes.add(child)
  }
  return undefined
}
