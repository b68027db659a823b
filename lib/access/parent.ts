import type { Parent } from '../collection.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Filter, Id } from '../storage/contract.ts'

/** What the URI of a nested collection says about its items. */
export interface Place {
  readonly fixed: Readonly<Record<string, Id>>
  readonly scope: Filter
}

/** Undefined if the collection is not nested; 404 if no parent can have this id. */
export function findPlace (parent: Parent | undefined, parameters: unknown): Place | Problem | undefined {
  if (parent === undefined) return undefined
  const id = parent.collection.id.read((parameters as { parent: string }).parent)
  if (id === undefined) return problem('not-found')
  return { fixed: { [parent.property]: id }, scope: { property: parent.property, is: 'eq', value: id } }
}
