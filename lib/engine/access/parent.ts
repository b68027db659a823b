import type { Collection, Parent } from '../collection.ts'
import type { Place } from './access.ts'
import { problem } from '../../http/problems.ts'
import type { Problem } from '../../http/problems.ts'
import type { Filter } from '../../storage/contract.ts'
import { toBaseRows } from '../../storage/related.ts'

/** Undefined if the collection is not nested; 404 if no parent can have this id. */
export function findPlace (parent: Parent | undefined, parameters: unknown): Place | Problem | undefined {
  if (parent === undefined) return undefined
  const id = parent.collection.id.read((parameters as { parent: string }).parent)
  if (id === undefined) return problem('not-found')
  return { fixed: { [parent.property]: id }, scope: { property: parent.property, is: 'eq', value: id } }
}

/** Whether a statement about nested items can have a condition about their parents. */
export function canRelateToParent ({ storage: { database, supports } }: Collection, { collection }: Parent): boolean {
  return database !== undefined && database === collection.storage.database && supports.relations === true
}

/** The nested items whose parents are among these rows. */
export function buildParentFilter ({ collection, property }: Parent, scope: Filter | undefined): Filter {
  return { related: { property, equals: collection.id.property, ...toBaseRows(collection.storage, scope) } }
}
