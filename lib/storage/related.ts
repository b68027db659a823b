import type { Filter, Storage } from './contract.ts'

/** The rows of a storage, as the storage without the layers of features has them. */
export interface BaseRows {
  readonly storage: Storage<object>
  /** Finds there what the filter finds in the storage with its layers. */
  readonly filter: Filter | undefined
}

/** Follows the layers of a storage down to the storage that relations refer to. */
export function toBaseRows (storage: Storage<object>, filter: Filter | undefined): BaseRows {
  const { below } = storage
  return below === undefined ? { storage, filter } : toBaseRows(below.storage, below.toFilter(filter))
}
