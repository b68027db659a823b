// What a storage is asked and what it answers. Types only: an implementation imports nothing else of this library.

/** The value that stands in the URI of an item. */
export type Id = string | number

/** Where the id of a new item comes from: a random UUID, the client, the storage, or a function. */
export type GenerateId = 'uuid' | 'client' | 'storage' | (() => Id)

/**
 * Opaque. Two different contents of one id never have the same version, not even after delete and re-create: entity tags are
 * made of it, and what was rendered is sent again as long as it is the same. Clients see it, so it must not be a counter.
 */
export type Version = string

export interface Entry<Item> {
  readonly id: Id
  readonly item: Readonly<Item>
  readonly version: Version
  /** When the item last changed, where the storage knows it better than the item does. */
  readonly modified?: Date
}

/**
 * An item on its way in: whole, but for the id where the storage generates it. Integers are within -(2^53 - 1) to
 * 2^53 - 1. Date-times are canonical, in items and in filters: in UTC with milliseconds (`2026-01-01T04:00:00.000Z`),
 * within the years 0001 to 9999, so that the order of texts is the order of instants.
 */
export type Draft<Item> = Readonly<Item>

export type Scalar = string | number | boolean

/** `eq` of null is written `null: true`; a property that is absent counts as null. */
export type Condition<Property extends string = string> =
  | { readonly property: Property, readonly is: 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte', readonly value: Scalar }
  | { readonly property: Property, readonly is: 'in' | 'nin', readonly value: readonly Scalar[] }
  /** `*` stands for any run of characters, `\` takes the next character as it is; letter case counts. */
  | { readonly property: Property, readonly is: 'like', readonly value: string }
  | { readonly property: Property, readonly is: 'null', readonly value: boolean }

/** A property is a path: `price`, or `address.city` for a nested one. */
export type Filter<Property extends string = string> =
  | Condition<Property>
  | { readonly all: ReadonlyArray<Filter<Property>> }
  | { readonly any: ReadonlyArray<Filter<Property>> }
  | { readonly not: Filter<Property> }

export interface Order {
  readonly property: string
  readonly descending: boolean
}

/** The values of the properties of `order`, in its order: where a page begins. `null` where the property is null or absent. */
export type Position = ReadonlyArray<Scalar | null>

export interface Query {
  readonly filter: Filter | undefined
  /**
   * Words that must all occur, in any letter case, each in one of the properties. They are given in lower case (with σ for ς),
   * each once, none within another, the longest first, and at most 10 of them.
   */
  readonly search: { readonly words: readonly string[], readonly properties: readonly string[] } | undefined
  /** Never empty, and it ends with the id: the order is total. Null is greater than every value; text is ordered by code point. */
  readonly order: readonly Order[]
  /** Only entries past this position in `order`. */
  readonly after: Position | undefined
  /** Only entries ahead of this position, the nearest of them; still answered in `order`. */
  readonly before: Position | undefined
  readonly limit: number
  /** Only these properties are needed; more may be given. */
  readonly properties: readonly string[] | undefined
  readonly count: boolean
}

export interface Page<Item> {
  readonly entries: ReadonlyArray<Entry<Item>>
  /** Whether more entries follow in the direction of travel. */
  readonly more: boolean
  /** How many entries match in all; only where `count` was asked. Rows that cannot be read count. */
  readonly total?: number
  /** Rows that belong here but hold what the schema cannot mean, because another writer put it there. They are left out and logged. */
  readonly unreadable?: readonly Unreadable[]
}

export interface Unreadable {
  /** Undefined if it cannot be read either. */
  readonly id: Id | undefined
  /** For the log. */
  readonly reason: string
}

export interface Context {
  /** Aborted when the client has gone or the deadline has passed. */
  readonly signal: AbortSignal
  /** The rows this caller can see and touch; applied in the same step as the verb itself. A row outside is absent. */
  readonly scope: Filter | undefined
}

/** A write that was not done, and why. */
export type Refusal =
  | { readonly refused: 'not-found' }
  | { readonly refused: 'stale' }
  | { readonly refused: 'not-unique', readonly properties: readonly string[] }
  /** The state of other data does not allow it: something refers to the item, it refers to what is not there, or a rule of the data forbids it. */
  | { readonly refused: 'conflict' }
  /** The database at hand cannot store the value of these properties: too long, out of range, nested too deeply. Empty if it does not tell of which. */
  | { readonly refused: 'unstorable', readonly properties: readonly string[] }

/** Plain, complete and frozen: what a definition may ask of this storage. */
export interface Supports {
  /** The storage can make ids itself. */
  readonly generatedIds: boolean
  /** `unique` is kept. */
  readonly unique: boolean
  /** `filter` and the row scope are applied. */
  readonly filter: boolean
  /** Any property can be ordered by; without it, only the id. */
  readonly order: boolean
  readonly search: boolean
  readonly count: boolean
  readonly transactions: boolean
  /** Answers are kept by the key of their request, in the transaction of the write. */
  readonly receipts: boolean
}

/** What is kept of a request that bears a key: who works at it or, once it is done, what was answered. */
export interface Receipt {
  /** Of 43 characters of base64url, as the fingerprint is. */
  readonly key: string
  /** Of what is asked by the request. */
  readonly fingerprint: string
  /** Of the claim: no two have the same. At most 40 characters. */
  readonly token: string
  /** In milliseconds since 1970. From then on the receipt counts for absent. */
  readonly expires: number
  /** Undefined while the request runs. */
  readonly answer: string | undefined
}

/** Each call is one step, across processes as well. Within a transaction only `keep` is asked, and only there. */
export interface Receipts {
  /** Puts it there and answers undefined; where one stands there that has not expired `now`, answers that one. */
  claim (receipt: Receipt, now: number, context: Pick<Context, 'signal'>): Promise<Receipt | undefined>
  /** Takes the place of the claim with the same key and token; false where there is none, because another has claimed the key since. */
  keep (receipt: Receipt, context: Pick<Context, 'signal'>): Promise<boolean>
  /** Takes the claim away; what was answered stays, and so does the claim of another. */
  release (receipt: Receipt, context: Pick<Context, 'signal'>): Promise<void>
  /** Removes what had expired by then. */
  sweep (expired: number, context: Pick<Context, 'signal'>): Promise<void>
}

export interface Storage<Item> {
  readonly name: string
  readonly supports: Supports
  list (query: Query, context: Context): Promise<Page<Item>>
  find (id: Id, context: Context): Promise<Entry<Item> | undefined>
  insert (draft: Draft<Item>, context: Context): Promise<Entry<Item> | Refusal>
  /** Compare and write are one step. Without `expected` only the existence is compared. */
  replace (id: Id, item: Readonly<Item>, expected: Version | undefined, context: Context): Promise<Entry<Item> | Refusal>
  remove (id: Id, expected: Version | undefined, context: Context): Promise<Refusal | undefined>
  /**
   * All that `work` writes is kept together or not at all; a rejection of `work` undoes it and is passed on.
   * A commit that the data refuses, such as by a deferred constraint, rejects with a `CommitRefused`.
   */
  transaction?<Result>(work: (storage: Storage<Item>) => Promise<Result>): Promise<Result>
  /**
   * A transaction during which no other writer, in any process, changes what `work` has read: for a write that depends on a list.
   * `work` may be called again where the database has undone it, such as after a deadlock.
   */
  exclusive?<Result>(work: (storage: Storage<Item>) => Promise<Result>): Promise<Result>
  readonly receipts?: Receipts
  /**
   * Looks for mistakes in what the storage finds in place, such as a table without a unique index, and returns a sentence for each:
   * what is wrong, then what to do. Called when the app starts, which then does not. Rejects if it cannot tell now.
   */
  check? (context: Pick<Context, 'signal'>): Promise<readonly string[]>
}

/** Thrown by a transaction that was refused as a whole: nothing was kept. Any thrown error that carries a `refusal` counts. */
export interface CommitRefused extends Error {
  readonly refusal: Refusal
}

/** What a storage is told of the collection it keeps. */
export interface Shape {
  readonly name: string
  /** A JSON Schema of type object. */
  readonly schema: JsonSchema
  readonly id: { readonly property: string, readonly generate: GenerateId }
  /** Each entry is a set of properties whose values together occur once; a set with a null in it is not compared. */
  readonly unique: ReadonlyArray<readonly string[]>
  /** The same item with canonical date-times: for items that come another way than by a request, such as seeds. */
  readonly canonical?: <Item>(item: Item) => Item
}

export interface JsonSchema {
  readonly [keyword: string]: unknown
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

/** What a user hands to a definition: `memory()`, `sqlite(database)`, or a function of their own. */
export type Adapter<Item> = (shape: Shape) => Storage<Item>

/**
 * A fault that passes: the storage cannot be reached, or is too busy, now. Any thrown error that carries
 * `unreachable: true` is told to the client as 503 with Retry-After; every other one as 500.
 */
export interface Unreachable extends Error {
  readonly unreachable: true
  /** Seconds after which a retry makes sense. */
  readonly retryAfter?: number
}

/**
 * A value of the query that the storage cannot compare with what it has, such as an integer that is out of the range of
 * its column. An error thrown by `list` that carries `incomparable: true` is sent to the client as 400.
 */
export interface Incomparable extends Error {
  readonly incomparable: true
}
