import type { Storage, StorageBelow } from './contract.ts'

type Method = 'list' | 'find' | 'insert' | 'replace' | 'remove'

/** Methods that a storage need not have. Without them, the others are called. */
type OptionalMethod = 'listBy' | 'aggregate' | 'insertMany' | 'replaceMany' | 'removeMany'

/** The methods of a storage over another one. */
export type StorageMethods<Item> = Pick<Storage<Item>, Method | OptionalMethod>

/**
 * The parts of a storage that are passed through. A part that is added to the contract does not compile until it is
 * handled here.
 */
type PassedThrough<Item> = {
  [Property in Exclude<keyof Storage<Item>, Method | OptionalMethod | Wrapped>]: Storage<Item>[Property]
}

type Wrapped = 'transaction' | 'join' | 'check' | 'schemaSql' | 'below'

/** How filters and properties are expressed in the storage below. By default, in the same way. */
export type ToBelow = Omit<StorageBelow, 'storage'>

const unchanged: ToBelow = {
  toFilter: (filter) => filter,
  toProperty: (property) => property
}

/** Returns a storage with other methods over this one, within its transactions as well. */
export function wrapStorage<Item, Seen> (
  storage: Storage<Item>,
  createMethods: (storage: Storage<Item>) => StorageMethods<Seen>,
  toBelow: ToBelow = unchanged
): Storage<Seen> {
  const wrap = (inner: Storage<Item>) => wrapStorage(inner, createMethods, toBelow)
  const { receipts, database, ...others }: PassedThrough<Seen> = {
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
    // Relations read rows of any kind.
    below: { ...toBelow, storage: storage as unknown as Storage<object> },
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
