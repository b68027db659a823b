import { toPointer } from '../http/json-pointer.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Parent } from './collection.ts'
import type { Entry, Id } from '../storage/contract.ts'
import { withScope } from '../storage/filter.ts'
import type { Operation } from './operation.ts'
import type { OpenTransaction } from './transaction.ts'

// The parent of a nested item has to exist for the caller.

type NestedOperation = Pick<Operation, 'collection' | 'isApp' | 'fixed' | 'parentScope' | 'context' | 'transaction'>

interface SearchedParent {
  readonly id: Id
  readonly transaction: OpenTransaction | undefined
}

/** Finds the parent among the items that the caller can read. */
export function findParent (
  { parentScope, context }: Pick<Operation, 'parentScope' | 'context'>,
  { collection }: Parent,
  { id, transaction }: SearchedParent
): Promise<Entry<object> | undefined> {
  // A part of a batch may be about a parent that an earlier part has created.
  const storage = transaction?.join(collection) ?? collection.storage
  return storage.find(id, withScope(parentScope, context))
}

export interface CheckedItem {
  readonly item: object
  /** Undefined for a new item. */
  readonly before: Entry<object> | undefined
  /** The transaction that is open, if the operation has begun one. A read outside of it could wait for it. */
  readonly transaction: OpenTransaction | undefined
}

/** Over HTTP, the URI names the parent. From code, the item does: 422 if it is none that the caller can read. */
export async function checkParent (
  operation: NestedOperation,
  { item, before, transaction = operation.transaction }: CheckedItem
): Promise<Problem | undefined> {
  const { collection: { attached: { parent } }, isApp, fixed } = operation
  if (parent === undefined || isApp || fixed !== undefined) return undefined
  const { collection, property } = parent
  const value: unknown = Reflect.get(item, property)
  // The caller can read the parent of an item that it has found.
  if (before !== undefined && value === Reflect.get(before.item, property)) return undefined
  const id = typeof value === 'string' || typeof value === 'number' ? collection.id.read(String(value)) : undefined
  if (id !== undefined && await findParent(operation, parent, { id, transaction }) !== undefined) return undefined
  return problem('validation-failed', {
    detail: 'The caller could not see the item after this write.',
    properties: { errors: [{ pointer: toPointer([property]), message: 'is outside the scope of the caller' }] }
  })
}
