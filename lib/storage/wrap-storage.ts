import type { Storage, StorageBelow } from './contract.ts'

type Method = 'list' | 'find' | 'insert' | 'replace' | 'remove'

/** Methods that a storage need not have. Without them, the others are called. */
type OptionalMethod = 'listBy' | 'aggregate' | 'insertMany' | 'replaceMany' | 'removeMany'

/** The methods of a storage over another one. */
type StorageMethods = Pick<Storage<object>, Method | OptionalMethod>

/**
 * The parts of a storage that are passed through. A part that is added to the contract does not compile until it is
 * handled here.
 */
type PassedThrough = {
  [Property in Exclude<keyof Storage<object>, Method | OptionalMethod | Wrapped>]: Storage<object>[Property]
}

type Wrapped = 'transaction' | 'join' | 'check' | 'schemaSql' | 'below'

/**
 * Returns a storage with other methods over this one, within its transactions as well. `toFilter` expresses filters in
 * this one; by default, they are the same.
 */
export function wrapStorage (
  storage: Storage<object>,
  createMethods: (storage: Storage<object>) => StorageMethods,
  toFilter: StorageBelow['toFilter'] = (filter) => filter
): Storage<object> {
  const wrap = (inner: Storage<object>) => wrapStorage(inner, createMethods, toFilter)
  const { receipts, database, ...others }: PassedThrough = {
    name: storage.name,
    supports: storage.supports,
    receipts: storage.receipts,
    database: storage.database
  }
  return {
    ...others,
    ...receipts && { receipts },
    ...database && { database },
    ...createMethods(storage),
    below: { storage, toFilter },
    ...storage.check && {
      check: (context) => storage.check!(context)
    },
    ...storage.schemaSql && {
      schemaSql: (context) => storage.schemaSql!(context)
    },
    ...storage.transaction && {
      transaction: (work, context) => {
        return storage.transaction!((inner, handle) => work(wrap(inner), handle), context)
      }
    },
    ...storage.join && {
      join: (handle) => wrap(storage.join!(handle))
    }
  }
}
