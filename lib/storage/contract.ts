// What a storage is called with and what it returns. Types only: an implementation imports nothing else of this
// library.

import type { JsonSchema } from '../json-schema/json-schema.ts'

export type { JsonSchema }

/** The value in the URI of an item. */
export type Id = string | number

/** Where the id of a new item comes from: a random UUID, the client, the storage, or a function. */
export type GenerateId = 'uuid' | 'client' | 'storage' | (() => Id)

/**
 * Opaque. Two different contents of one id never have the same version, not even after the item was deleted and created
 * again: entity tags are built from it, and a rendered response is reused as long as the version is the same.
 * Clients see it, so it must not be a counter.
 */
export type Version = string

/** A stored item, with its version. */
export interface Entry<Item> {
  /** The value in the URI of the item. */
  readonly id: Id
  /** The item, which is not changed after it was returned. */
  readonly item: Readonly<Item>
  /** Changes with every write. */
  readonly version: Version
  /** When the item last changed, if the storage knows it better than the item does. */
  readonly modified?: Date
  /** Where the entry stands in the order of its page, if that order has properties of related rows. */
  readonly position?: Position
}

/**
 * An item to insert: complete, except for the id if the storage generates it. Integers are within -(2^53 - 1) to
 * 2^53 - 1. Date-times are canonical, in items and in filters: in UTC with milliseconds (`2026-01-01T04:00:00.000Z`),
 * within the years 0001 to 9999, so that the order of texts is the order of instants.
 */
export type Draft<Item> = Readonly<Item>

/** A value that can be compared. */
export type Scalar = string | number | boolean

/** `eq` of null is written `null: true`; a missing property counts as null. */
export type Condition<Property extends string = string> =
  | {
    readonly property: Property
    readonly is: 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte'
    readonly value: Scalar
  }
  | { readonly property: Property, readonly is: 'in' | 'nin', readonly value: readonly Scalar[] }
  /** `*` matches any run of characters, `\` escapes the next character; `ilike` ignores the case of letters. */
  | { readonly property: Property, readonly is: 'like' | 'ilike', readonly value: string }
  | { readonly property: Property, readonly is: 'null', readonly value: boolean }
  /** The property is an array that has this value, or one of these, as an item. Only with `supports.arrays`. */
  | { readonly property: Property, readonly is: 'contains', readonly value: Scalar }
  | { readonly property: Property, readonly is: 'overlaps', readonly value: readonly Scalar[] }

/** A filter that can be applied to an item alone. A property is a path: `price`, or `address.city` for a nested one. */
export type ItemFilter<Property extends string = string> =
  | Condition<Property>
  | { readonly all: ReadonlyArray<ItemFilter<Property>> }
  | { readonly any: ReadonlyArray<ItemFilter<Property>> }
  | { readonly not: ItemFilter<Property> }

/** The same, with conditions about the rows of other collections. */
export type Filter<Property extends string = string> =
  | Condition<Property>
  | RelatedCondition<Property>
  | { readonly all: ReadonlyArray<Filter<Property>> }
  | { readonly any: ReadonlyArray<Filter<Property>> }
  | { readonly not: Filter<Property> }

/**
 * The rows of another collection in the same database that belong to a row: those in which a property has the same
 * value. Null is equal to nothing.
 */
export interface RelatedRows<Property extends string = string> {
  /** The storage of the other collection, without the layers of features. It can be this one. */
  readonly storage: Storage<object>
  /** The property of this collection: a top-level one. */
  readonly property: Property
  /** The property of the other collection: a top-level one. One of the two is an id. */
  readonly equals: string
  /** Which of these rows count: what the client looks for, among the rows that the caller can read. */
  readonly filter: Filter | undefined
}

/** Whether there is a related row; with `count`, whether there are so many. */
export interface RelatedCondition<Property extends string = string> {
  readonly related: RelatedRows<Property>
  /** Compares the number of related rows. */
  readonly count?: { readonly is: 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte', readonly value: number }
}

/** A property to sort by. */
export interface Order {
  /** A property, or a path such as `address.city`. */
  readonly property: string
  /** Whether the greatest value comes first. */
  readonly descending: boolean
  /**
   * The property is one of the related row, of which there is at most one: `equals` is the id of the other collection.
   * Without a row, the value is null.
   */
  readonly related?: RelatedRows
}

/**
 * Where a page begins: the values of the properties of `order`, in its order. `null` if the property is null or
 * missing.
 */
export type Position = ReadonlyArray<Scalar | null>

/** Which entries a page has, and in which order. */
export interface Query {
  /** The conditions that entries must meet; undefined if there are none. */
  readonly filter: Filter | undefined
  /**
   * Words that must all occur, in any letter case, each in one of the properties. They are in lower case (with σ for
   * ς), each occurs once, none is contained in another, the longest comes first, and there are at most 10.
   */
  readonly search: { readonly words: readonly string[], readonly properties: readonly string[] } | undefined
  /**
   * Never empty, and it ends with the id, so that the order is total. Null is greater than every value; text is ordered
   * by code point.
   */
  readonly order: readonly Order[]
  /** Only entries past this position in `order`. */
  readonly after: Position | undefined
  /** Only entries ahead of this position, the nearest of them; still returned in `order`. */
  readonly before: Position | undefined
  /** How many entries the page has at most. */
  readonly limit: number
  /** Only these properties are needed; the storage may return more. */
  readonly properties: readonly string[] | undefined
  /** Whether the total number of entries is requested. */
  readonly count: boolean
  /**
   * Within a transaction: the rows of the page must not change before the transaction ends. With `existence`, it is
   * enough that they are not removed, so that several transactions can lock them at the same time; `removal` waits for
   * these as well. A storage with one kind of lock takes it for all. One that cannot lock rows ignores it, because
   * writes compare the version.
   */
  readonly lock?: boolean | 'existence' | 'removal'
  /**
   * With `lock`: also finds rows that others have committed since the transaction began. Only few rows are read in this
   * way, by their ids or by an index.
   */
  readonly latest?: boolean
}

/** A part of a list. */
export interface Page<Item> {
  /** The entries, in the order of the query. */
  readonly entries: ReadonlyArray<Entry<Item>>
  /** Whether more entries follow in the direction of travel. */
  readonly more: boolean
  /** How many entries match in all, unreadable rows included; only if `count` is true. */
  readonly total?: number
  /** Rows of this page whose values do not match the schema, because another writer changed them. They are logged. */
  readonly unreadable?: readonly Unreadable[]
}

/** A part of a date or date-time, in UTC: `2026`, `2026-01`, `2026-01-31`, `2026-01-31T12`. */
export type DatePart = 'year' | 'month' | 'day' | 'hour'

/** What rows are grouped by: a property, or a part of one that is a date or date-time. */
export interface Grouping {
  readonly property: string
  readonly part?: DatePart
}

/**
 * What is computed for each group: the number of its rows, of the different values of a property, or the sum, average,
 * least or greatest of its values. Null and missing values do not count.
 */
export type Figure =
  | { readonly figure: 'count' }
  | { readonly figure: 'distinct' | 'sum' | 'avg' | 'min' | 'max', readonly property: string }

/** The groups of entries that are wanted, and what of each. */
export interface AggregateQuery {
  readonly filter: Filter | undefined
  readonly search: Query['search']
  /** Empty: all entries are one group, even if there are none. Otherwise each group has an entry. */
  readonly by: readonly Grouping[]
  readonly figures: readonly Figure[]
  /** What groups are ordered by: positions in `by`, then `figures`. It has all of `by`, so that the order is total. */
  readonly order: ReadonlyArray<{ readonly at: number, readonly descending: boolean }>
  /** How many groups are returned at most. */
  readonly limit: number
  /** Longer texts are refused, so a storage can cut them off after one more character. By default, they are not. */
  readonly maxTextLength?: number
}

/** The groups, in the order of the query. */
export interface Aggregates {
  readonly groups: ReadonlyArray<{
    /** The values of `by`. Null and missing values are one group. */
    readonly by: ReadonlyArray<Scalar | null>
    /**
     * The values of `figures`: those of a sum, average, minimum and maximum are null if the group has no values. The
     * average is the sum, divided by the number of values as doubles are divided.
     */
    readonly figures: ReadonlyArray<Scalar | null>
  }>
  /** Whether there are more groups than the limit. */
  readonly more: boolean
}

/**
 * A sum that a double cannot represent, or an integer that another writer has stored: one that is not within
 * -(2^53 - 1) to 2^53 - 1. An error thrown by `aggregate` that has `inexact: true` is sent to the client as 400.
 */
export interface Inexact extends Error {
  readonly inexact: true
}

/**
 * More groups and different values than a storage computes in its process. An error thrown by `aggregate` that has
 * `tooManyGroups: true` is sent to the client as 400, with the maximum.
 */
export interface TooManyGroups extends Error {
  readonly tooManyGroups: true
  /** How many values the groups, their figures and the sets of different values have at most. */
  readonly maximum: number
}

/** A row whose values do not match the schema. */
export interface Unreadable {
  /** Undefined if the id cannot be read either. */
  readonly id: Id | undefined
  /** For the log. */
  readonly reason: string
}

/** What every method of a storage is called with. */
export interface Context {
  /** Aborted when the client has disconnected or the timeout has passed. */
  readonly signal: AbortSignal
  /**
   * The rows that this caller can read and write; applied in the same step as the method itself. Rows outside the scope
   * do not exist for the caller.
   */
  readonly scope: Filter | undefined
  /** Within a transaction: the row that `find` returns must not change before the transaction ends. */
  readonly lock?: boolean
}

/** An open transaction of a database, which other storages of this database can join. */
export interface TransactionHandle {
  /** That of the storage. */
  readonly database: object
  /** Returns the connection of the driver, for statements of the app. */
  getClient? (context: Pick<Context, 'signal'>): Promise<unknown>
}

/** A write that was not done, and why. */
export type Refusal =
  | { readonly refused: 'not-found' }
  | { readonly refused: 'stale' }
  | { readonly refused: 'not-unique', readonly properties: readonly string[] }
  /** Other data does not allow it, such as a check. */
  | { readonly refused: 'conflict' }
  /** These properties refer to rows that do not exist. Empty if the database does not report which. */
  | { readonly refused: 'missing-target', readonly properties: readonly string[] }
  /** Other rows refer to this one. */
  | { readonly refused: 'referenced' }
  /**
   * The database cannot store the values of these properties: missing, too long, out of range, nested too deeply.
   * Empty if it does not report which.
   */
  | { readonly refused: 'unstorable', readonly properties: readonly string[] }

/** One of several items to replace. */
export interface Replacement<Item> {
  /** The entry as it was read. Its version is the expected one. */
  readonly before: Entry<Item>
  /** The whole new item. */
  readonly item: Readonly<Item>
}

/** What a definition can use of this storage. Plain, complete and frozen. */
export interface Supports {
  /** The storage can generate ids. */
  readonly generatedIds: boolean
  /** The storage enforces `unique`. */
  readonly unique: boolean
  /** The storage applies `filter` and the scope of the caller. */
  readonly filter: boolean
  /** The storage applies the conditions `contains` and `overlaps` to arrays. False by default. */
  readonly arrays?: boolean
  /** Lists can be ordered by any property; without it, only by the id. */
  readonly order: boolean
  /** The storage applies `search`. */
  readonly search: boolean
  /** The storage returns the total number of entries. */
  readonly count: boolean
  /** The storage has `transaction`. */
  readonly transactions: boolean
  /** The storage keeps responses by the key of their request, in the transaction of the write. */
  readonly receipts: boolean
  /**
   * The storage applies related conditions and sorts by properties of related rows, of storages with the same
   * `database`, and it has `listBy`. False by default.
   */
  readonly relations?: boolean
}

/** A request with an idempotency key: a claim while the request runs, and its response afterwards. */
export interface Receipt {
  /** 43 characters of base64url, like the fingerprint. */
  readonly key: string
  /** Identifies the content of the request. */
  readonly fingerprint: string
  /** Identifies the claim; unique, at most 40 characters. */
  readonly token: string
  /** In milliseconds since 1970. From then on the receipt no longer counts. */
  readonly expires: number
  /** Undefined while the request runs. */
  readonly answer: string | undefined
}

/** Each call is atomic, across processes as well. `keep` is called within a transaction, the others outside of one. */
export interface Receipts {
  /** Stores the claim and returns undefined; returns the existing receipt instead if it has not expired at `now`. */
  claim (receipt: Receipt, now: number, context: Pick<Context, 'signal'>): Promise<Receipt | undefined>
  /**
   * Replaces the claim with the same key and token. Returns false if it does not exist, because another request has
   * claimed the key since.
   */
  keep (receipt: Receipt, context: Pick<Context, 'signal'>): Promise<boolean>
  /** Removes the claim; a stored response stays, and so does the claim of another request. */
  release (receipt: Receipt, context: Pick<Context, 'signal'>): Promise<void>
  /**
   * Returns the time by the clock of the database, in milliseconds since 1970. Without it, receipts expire by the clock
   * of each process.
   */
  now? (context: Pick<Context, 'signal'>): Promise<number>
  /** Removes the receipts that expired up to this time. */
  sweep (expired: number, context: Pick<Context, 'signal'>): Promise<void>
}

/** Stores the items of a collection. docs/storage.md explains how to write one. */
export interface Storage<Item> {
  /** The name of the storage, for messages. */
  readonly name: string
  /** What a definition can use of this storage. */
  readonly supports: Supports
  /** Returns a page of entries. */
  list (query: Query, context: Context): Promise<Page<Item>>
  /**
   * Returns a page for each of the values: of the entries in which the property has this value. The values are
   * different from each other. The number of statements does not depend on the number of values, and no more rows are
   * read than the pages have, and one more for each. `after` and `before` of the query are undefined.
   */
  listBy? (
    by: { readonly property: string, readonly values: readonly Id[] },
    query: Query,
    context: Context
  ): Promise<ReadonlyArray<Page<Item>>>
  /** Returns figures over the entries that match, by groups. */
  aggregate? (query: AggregateQuery, context: Context): Promise<Aggregates>
  /** Returns the entry with this id; undefined if there is none. */
  find (id: Id, context: Context): Promise<Entry<Item> | undefined>
  /** Stores a new item, unless the id or a unique value exists. */
  insert (draft: Draft<Item>, context: Context): Promise<Entry<Item> | Refusal>
  /** Compares and writes in one step. Without `expected`, the item only has to exist. */
  replace (
    id: Id,
    item: Readonly<Item>,
    expected: Version | undefined,
    context: Context
  ): Promise<Entry<Item> | Refusal>
  /** Compares and removes in one step. Without `expected`, the item only has to exist. */
  remove (id: Id, expected: Version | undefined, context: Context): Promise<Refusal | undefined>
  /**
   * Does what `insert` does for several items, in a number of statements that does not depend on the number of items.
   * Called within a transaction. Returns the entries in the order of the drafts. After a refusal, none is inserted, and
   * the library calls `insert` for each item, to find out which one is refused. So it does without this method.
   */
  insertMany? (drafts: ReadonlyArray<Draft<Item>>, context: Context): Promise<ReadonlyArray<Entry<Item>> | Refusal>
  /**
   * The same with `replace`, for different items. It returns `stale` if an item has another version, or does not exist;
   * then the transaction is rolled back.
   */
  replaceMany? (
    replacements: ReadonlyArray<Replacement<Item>>,
    context: Context
  ): Promise<ReadonlyArray<Entry<Item>> | Refusal>
  /** The same with `remove`, for entries as they were read. */
  removeMany? (entries: ReadonlyArray<Entry<Item>>, context: Context): Promise<Refusal | undefined>
  /**
   * Commits everything that `work` writes, or nothing: a rejection of `work`, whatever it is, rolls back and is passed
   * on.
   * A commit that the database refuses, such as for a deferred constraint, rejects with a `CommitRefused`.
   * `work` may be called again after the database rolled it back, such as after a deadlock.
   *
   * If the signal is aborted before the commit begins, the transaction rolls back at once and rejects with an
   * `Unreachable` that has no effect. It does not wait for `work`, whose result is ignored, and rejects what `work`
   * reads and writes from then on. If the signal is aborted before `work` is called, `work` is not called. A commit
   * that has begun decides: its outcome is that of the transaction.
   */
  transaction?<Result>(
    work: (storage: Storage<Item>, handle?: TransactionHandle) => Promise<Result>,
    context: Pick<Context, 'signal'>
  ): Promise<Result>
  /** Identifies the database. Storages with the same object can join the transactions of each other. */
  readonly database?: object
  /** Returns this storage within a transaction of the same database. It is called with an open transaction. */
  join? (handle: TransactionHandle): Storage<Item>
  /** The responses to requests with an idempotency key. */
  readonly receipts?: Receipts
  /** For a storage over another one: that one, and how filters are expressed there. */
  readonly below?: StorageBelow
  /**
   * Looks for mistakes in what the storage finds in place, such as a table without a unique index. Returns a sentence
   * for each: what is wrong, then what to do. Called when the app starts; a mistake stops the start, and a warning is
   * logged. Rejects if the check is not possible now.
   */
  check? (context: CheckContext): Promise<readonly Finding[]>
  /**
   * Returns the SQL that changes the tables to what the definition needs, with comments; empty if they match. It is not
   * run.
   */
  schemaSql? (context: CheckContext): Promise<string>
}

/** The storage that another one, such as that of a feature, reads and writes. */
export interface StorageBelow {
  readonly storage: Storage<object>
  /** The filter that finds there what this filter finds here. Without one, all rows that exist here. */
  toFilter (filter: Filter | undefined): Filter | undefined
}

/** A mistake, or a warning about something that works but is slow. */
export type Finding = string | { readonly warning: string }

/** What an app does with a storage. */
export interface StorageUse {
  /** Whether it inserts items. */
  readonly creates: boolean
  /** Whether it inserts or changes items. */
  readonly writes: boolean
  /** Whether it stores responses by the key of their request. */
  readonly receipts: boolean
  /** The properties by which relations find items, so that an index helps. None by default. */
  readonly keys?: readonly RelationKey[]
  /** The properties that refer to items of this storage, which have to exist. None by default. */
  readonly referrers?: readonly Referrer[]
}

/** A property with ids of related items. Relations find the items that have an id there. */
export interface RelationKey {
  /** Of the collection that the storage stores. */
  readonly property: string
  /** The order in which the items with the same id are read; empty if they are read in any. */
  readonly order: readonly Order[]
  /** The storage of the items with these ids, if they have to exist. */
  readonly references?: Storage<object>
}

/** A property that refers to items of another storage, or of the same one. */
export interface Referrer {
  /** The storage of the items that have the property. */
  readonly storage: Storage<object>
  /** The property that has the ids. */
  readonly property: string
}

/** What `check` and `schemaSql` of a storage get. */
export interface CheckContext extends Pick<Context, 'signal'> {
  /** By default, the app inserts and changes items, and stores no responses. */
  readonly use?: StorageUse
  /** For `schemaSql`: the storages whose SQL precedes in the same text. None by default. */
  readonly earlier?: ReadonlyArray<Storage<object>>
}

/**
 * Thrown by a transaction that was refused as a whole: nothing was committed. Every thrown error that has a `refusal`
 * is handled like this.
 */
export interface CommitRefused extends Error {
  readonly refusal: Refusal
}

/** The collection that a storage stores. */
export interface Shape {
  /** The name of the collection. */
  readonly name: string
  /** A JSON Schema of type object. */
  readonly schema: JsonSchema
  /** The property that holds the id, and where its value comes from. */
  readonly id: { readonly property: string, readonly generate: GenerateId }
  /** Sets of properties whose values together must be unique; a set with a null is not compared. */
  readonly unique: ReadonlyArray<readonly string[]>
  /** What lists are ordered and filtered by, so that an index helps: `list.order` and `list.filter`. */
  readonly lists?: { readonly order: readonly Order[], readonly filter: readonly string[] }
  /** Returns the item with canonical date-times: for items that do not come from a request, such as seeds. */
  readonly canonical?: <Item>(item: Item) => Item
}

/** What a definition is given as its storage: `memory()`, `sqlite(database)`, or a function of the app. */
export type Adapter<Item> = (shape: Shape) => Storage<Item>

/**
 * A temporary failure: the storage cannot be reached, or is too busy. Every thrown error that has `unreachable: true`
 * is sent to the client as 503 with Retry-After; every other one as 500.
 */
export interface Unreachable extends Error {
  /** Marks the error as temporary. */
  readonly unreachable: true
  /** Seconds after which a retry makes sense. */
  readonly retryAfter?: number
  /** A sentence for the client. By default, it states that the storage does not respond. */
  readonly detail?: string | undefined
  /** Whether the failed write may have been done. False by default. */
  readonly isOutcomeUnknown?: boolean
  /** Whether the failed write is certainly not done, such as without a connection. False by default. */
  readonly hasNoEffect?: boolean
  /** Whether other writers are the cause, as of a deadlock. It is logged in one line, without a stack. */
  readonly isContention?: boolean
}

/**
 * A value of the query that the storage cannot compare, such as an integer that is out of the range of its column.
 * An error thrown by `list` that has `incomparable: true` is sent to the client as 400.
 */
export interface Incomparable extends Error {
  readonly incomparable: true
}

/** What subscribers of the tracing channel `fastify-collections:statement` get. */
export interface StatementEvent {
  /** The name of the collection; undefined for BEGIN, COMMIT and the like, because collections share transactions. */
  readonly collection: string | undefined
  /** The first word of the text, such as SELECT. */
  readonly operation: string
  /** The SQL, with placeholders instead of values. */
  readonly text: string
  /** What was thrown, if the statement failed. */
  readonly error?: unknown
}
