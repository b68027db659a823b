import type { Collection, Parent } from '../collection.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { scopedBy } from '../storage/filter.ts'
import type { Request } from '../request/request.ts'
import type { Filter, Id } from '../storage/contract.ts'

/** What the URI says of the items below it. */
export interface Place {
  readonly fixed: Readonly<Record<string, Id>>
  readonly scope: Filter
}

/** Undefined where the collection lies in no other; 404 where no parent can be called so. */
export function placeOf ({ parent }: Collection, parameters: unknown): Place | Problem | undefined {
  if (parent === undefined) return undefined
  const id = parent.collection.id.read((parameters as { parent: string }).parent)
  if (id === undefined) return problem('not-found')
  return { fixed: { [parent.property]: id }, scope: { property: parent.property, is: 'eq', value: id } }
}

/** 404 where the parent does not exist, or not for the caller: what lies in it does not either. The scope is that of the parent's rows. */
export async function checkParent ({ collection, property }: Parent, { fixed, context }: Request, scope: Filter | undefined): Promise<Problem | undefined> {
  const entry = await collection.storage.find(fixed![property]!, scopedBy(scope, context))
  return entry === undefined ? problem('not-found') : undefined
}
