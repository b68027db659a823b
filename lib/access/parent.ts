import type { Collection, Parent } from '../collection.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { withScope } from '../storage/filter.ts'
import type { Request } from '../request/request.ts'
import type { Filter, Id } from '../storage/contract.ts'

/** What the URI of a nested collection says about its items. */
export interface Place {
  readonly fixed: Readonly<Record<string, Id>>
  readonly scope: Filter
}

/** Undefined if the collection is not nested; 404 if no parent can have this id. */
export function findPlace ({ parent }: Collection, parameters: unknown): Place | Problem | undefined {
  if (parent === undefined) return undefined
  const id = parent.collection.id.read((parameters as { parent: string }).parent)
  if (id === undefined) return problem('not-found')
  return { fixed: { [parent.property]: id }, scope: { property: parent.property, is: 'eq', value: id } }
}

/** 404 if the parent does not exist for the caller. The scope is that of the parent. */
export async function checkParent (
  { collection, property }: Parent,
  { fixed, context }: Request,
  scope: Filter | undefined
): Promise<Problem | undefined> {
  const entry = await collection.storage.find(fixed![property]!, withScope(scope, context))
  return entry === undefined ? problem('not-found') : undefined
}
