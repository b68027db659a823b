import type { Storage } from './contract.ts'

// A storage in front of another: what a deadline, tombstones and older versions have in common.

type Verb = 'list' | 'find' | 'insert' | 'replace' | 'remove'

/** Whatever of the contract is no verb goes through as it is; what comes new to the contract does not compile before it is decided on here. */
type Passed<Item> = { [Property in Exclude<keyof Storage<Item>, Verb | 'transaction' | 'exclusive' | 'check'>]: Storage<Item>[Property] }

/** The storage with other verbs, in its transactions as well. */
export function layered<Item, Seen> (storage: Storage<Item>, verbs: (storage: Storage<Item>) => Pick<Storage<Seen>, Verb>): Storage<Seen> {
  const { receipts, ...passed }: Passed<Seen> = { name: storage.name, supports: storage.supports, receipts: storage.receipts }
  return {
    ...passed,
    ...receipts && { receipts },
    ...verbs(storage),
    ...storage.check && { check: context => storage.check!(context) },
    ...storage.transaction && { transaction: work => storage.transaction!(inner => work(layered(inner, verbs))) },
    ...storage.exclusive && { exclusive: work => storage.exclusive!(inner => work(layered(inner, verbs))) }
  }
}
