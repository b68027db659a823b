import type { Filter, Id } from '../../storage/contract.ts'
import type { View } from '../view.ts'
import type { Caller } from './caller.ts'
import type { Scope } from './scope.ts'

/** What a caller may do and see of a collection, decided before the content is read and a transaction begins. */
export interface Access {
  /** Whether the app itself calls: then no rules apply. */
  readonly isApp: boolean
  readonly caller: Caller | undefined
  /** The items and lists, as the caller sees them. */
  readonly view: View
  /** Whether the caller may read what it has written. */
  readonly canRead: boolean
  /** Whether a PUT may create the item. */
  readonly canCreate: boolean
  readonly scope: Scope | undefined
  /** The rows that the conditions of a bulk write can match: those that the caller can list. */
  readonly conditionScope: Scope | undefined
  /** The rows of the parent collection that the caller can read. */
  readonly parentScope: Scope | undefined
}

/** What the URI of a nested collection says about its items. */
export interface Place {
  readonly fixed: Readonly<Record<string, Id>>
  readonly scope: Filter
}
