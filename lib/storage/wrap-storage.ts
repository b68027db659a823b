import type { Storage } from './contract.ts'

type Method = 'list' | 'find' | 'insert' | 'replace' | 'remove'

/**
 * The parts of a storage that are passed through. A part that is added to the contract does not compile until it is
 * handled here.
 */
type PassedThrough<Item> = {
  [Property in Exclude<keyof Storage<Item>, Method | 'transaction' | 'exclusive' | 'check'>]: Storage<Item>[Property]
}

/** Returns a storage with other methods over this one, within its transactions as well. */
export function wrapStorage<Item, Seen> (
  storage: Storage<Item>,
  createMethods: (storage: Storage<Item>) => Pick<Storage<Seen>, Method>
): Storage<Seen> {
  const { receipts, ...others }: PassedThrough<Seen> = {
    name: storage.name,
    supports: storage.supports,
    receipts: storage.receipts
  }
  return {
    ...others,
    ...receipts && { receipts },
    ...createMethods(storage),
    ...storage.check && {
      check: (context) => storage.check!(context)
    },
    ...storage.transaction && {
      transaction: (work) => storage.transaction!((inner) => work(wrapStorage(inner, createMethods)))
    },
    ...storage.exclusive && {
      exclusive: (work) => storage.exclusive!((inner) => work(wrapStorage(inner, createMethods)))
    }
  }
}
