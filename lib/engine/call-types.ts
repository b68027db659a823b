import type { Caller } from './access/caller.ts'
import type { Patch } from '../http/merge-patch.ts'
import type { AddedAction, AddedBulk } from './action-info.ts'
import type { AddedAggregates, GroupsOf, GroupsQuery, KnownNames } from './aggregate-types.ts'
import type { Transaction } from './definition.ts'
import type { CallFilter } from './filter-types.ts'
import type {
  AddedRelations,
  CheckedExpansion,
  Expanded,
  ExpandObject,
  Expansion,
  RelatedFilter,
  SortKey
} from './relation-types.ts'
import type { PropertyOf } from '../schema/static.ts'
import type { Id } from '../storage/contract.ts'

// The types of calls from code. docs/from-code.md explains them.

/** The options of every call. */
export interface CallOptions {
  /**
   * On whose behalf the call is made: `access.allow`, `access.scope` and `access.visible` apply as they do to the
   * requests of this caller. `caller: undefined` is an anonymous caller. Without this property, the app itself calls,
   * and may do everything.
   *
   * @default the app itself
   * @example
   * await app.collection(orders).create(item, { caller: request.user })
   */
  readonly caller?: Caller | undefined
  /**
   * Aborts the call: its statements are cancelled where the database can do that.
   *
   * @default the call is not aborted
   * @example
   * await app.collection(orders).read(id, { signal: AbortSignal.timeout(1000) })
   */
  readonly signal?: AbortSignal | undefined
  /**
   * The transaction of the same database that the call becomes a part of. What it reads with `read` does not change
   * until the transaction ends. If what it lists has changed by the time it writes it, the transaction runs again.
   *
   * @default the call is a transaction of its own
   * @example
   * await app.collection(products).update(id, { stock: 0 }, { transaction })
   */
  readonly transaction?: Transaction | undefined
  /**
   * Makes a call safe to repeat, if the collection has `idempotency()`: a call with the key of an earlier one returns
   * what that has returned. For calls that would do something else the second time: `create` and `update`, custom
   * actions that are not idempotent, and writes to several items. The key belongs to the caller.
   *
   * @default each call is done
   * @example
   * await app.collection(orders).create(item, { idempotencyKey: message.id })
   */
  readonly idempotencyKey?: string | undefined
}

/** The options of a write to an item. */
export interface WriteCallOptions extends CallOptions {
  /**
   * The tag of an entry that was read before, or the `If-Match` of a request. If the item has changed since, the call
   * fails with `precondition-failed`.
   *
   * @default the item may have changed
   * @example
   * await app.collection(orders).update(id, { status: 'paid' }, { ifMatch: entry.tag })
   */
  readonly ifMatch?: string | undefined
}

/** An item, and what identifies its version. */
export interface Entry<Item> {
  /** The value in the URI of the item. */
  readonly id: Id
  /**
   * For the app itself, the whole item. For a caller, what that caller sees: without `writeOnly` and hidden properties.
   */
  readonly item: Readonly<Item>
  /** The entity tag, as HTTP responses have it. */
  readonly tag: string
}

/** Which items to list. */
export interface CallQuery<Item> {
  /**
   * Conditions. The app itself can use every queryable property, whatever `list.filter` offers to clients.
   *
   * @default all items
   * @example
   * filter: { status: 'open', 'total.gte': 100 }
   */
  readonly filter?: CallFilter<Item>
  /**
   * Properties to sort by. A `-` means descending.
   *
   * @default `list.order` of the definition
   * @example
   * sort: ['-createdAt']
   */
  readonly sort?: ReadonlyArray<PropertyOf<Item> | `-${PropertyOf<Item>}` | `${string}.${string}`>
  /**
   * Words to search for, if the definition has `list.search`.
   *
   * @default no search
   * @example
   * q: 'ada lovelace'
   */
  readonly q?: string
  /**
   * How many items are read at a time.
   *
   * @default `list.limit.maximum` of the definition
   * @example
   * limit: 500
   */
  readonly limit?: number
  /**
   * Where to begin: the `next` of a page, with the same filter, order and words.
   *
   * @default the first item
   * @example
   * cursor: page.next
   */
  readonly cursor?: string
  /**
   * How many items come before the first one, up to 10000. They are read past: a `cursor` is faster.
   *
   * @default 0
   * @example
   * offset: 50
   */
  readonly offset?: number
  /**
   * Whether pages say how many items match in all.
   *
   * @default false
   * @example
   * count: true
   */
  readonly count?: boolean
}

/** A part of a list. */
export interface PageOfEntries<Item> {
  /** The items, in the order of the list. */
  readonly entries: ReadonlyArray<Entry<Item>>
  /** The `cursor` of the next page; null on the last page. */
  readonly next: string | null
  /** How many items match in all, if the query has `count`. */
  readonly total: number | undefined
}

/** The input of a custom action. It can be left out if it has no required properties. */
export type InputParameter<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input]

/** The methods for custom actions: `app.collection(orders).cancel(id, input, options)`. */
export type ActionCalls<Item, Adds> = {
  [Added in Extract<Adds, AddedAction> as Added['action']]: Added['on'] extends 'item'
    ? (id: Id, ...parameters: [...InputParameter<Added['input']>, options?: WriteCallOptions]) =>
      Promise<Added['output'] extends undefined ? Entry<Item> : Added['output']>
    : (...parameters: [...InputParameter<Added['input']>, options?: CallOptions]) =>
      Promise<Added['output'] extends undefined ? void : Added['output']>
}

/**
 * What `app.collection(definition)` returns: a method for each action, also for custom ones. The methods follow the
 * rules of the definition, as HTTP requests do. A call that is refused throws a `ProblemError`.
 */
export type CollectionCalls<Item, Adds = never> = {
  // Two mapped types are compared by their methods. For an intersection of conditional types, compilers and editors
  // compare all that the conditions may lead to, which takes seconds.
  [Method in keyof MethodsOf<Item, Adds>]: MethodsOf<Item, Adds>[Method]
}

/** The methods, by what the features add. */
type MethodsOf<Item, Adds> =
  StandardCalls<Item, Extract<Adds, AddedRelations>> &
  ActionCalls<Item, Adds> &
  BulkCalls<Item, Adds> &
  AggregateCalls<Item, Extract<Adds, AddedAggregates>, Extract<Adds, AddedRelations>>

/** The method that `aggregates()` adds. */
type AggregateCalls<Item, Added, Place> =
  [Added] extends [never]
    ? unknown
    : Added extends AddedAggregates ? AggregateCall<Item, Added, Place> : never

/** Which items to compute figures over. */
type AggregateConditions<Item, Place> =
  & Pick<CallQuery<Item>, 'q'>
  & ([Place] extends [never]
    ? Pick<CallQuery<Item>, 'filter'>
    : Place extends AddedRelations ? Pick<RelatedQuery<Place>, 'filter'> : never)

type FilterOf<Query> = Query extends { readonly filter: infer Filter } ? Filter : unknown

/** The method for figures over groups of items. */
export interface AggregateCall<Item, Added extends AddedAggregates, Place = never> {
  /**
   * Computes figures over the items that match, by groups.
   *
   * @example
   * const { groups } = await app.collection(orders).aggregate({ by: ['status'], sum: ['total'], sort: ['-sum.total'] })
   */
  aggregate<const Query extends GroupsQuery<Added> = Record<never, never>> (
    query?: Query &
      AggregateConditions<Item, Place> &
      KnownNames<Query, GroupsQuery<Added> & AggregateConditions<Item, Place>> &
      { readonly filter?: KnownNames<FilterOf<Query>, FilterOf<Required<AggregateConditions<Item, Place>>>> },
    options?: CallOptions
  ): Promise<GroupsOf<Item, Query>>
}

/** The methods that all collections have. With relations, those that read know them. */
type StandardCalls<Item, Place> =
  [Place] extends [never] ? BasicCalls<Item> : Place extends AddedRelations ? RelatedCalls<Item, Place> : never

/** The methods for several items that `bulk()` adds. */
export type BulkCalls<Item, Adds> = Pick<ManyCalls<Item>, Extract<Adds, AddedBulk>['bulk']>

/** The items that matched a query. */
export interface MatchedItems {
  /** How many items matched. */
  readonly count: number
  /** Their ids, in order. */
  readonly ids: readonly Id[]
}

/** The methods for several items. Each writes all of them or none. */
export interface ManyCalls<Item> {
  /**
   * Creates several items, from 1 to the `maximum` of `bulk()`.
   *
   * @example
   * const [ada, bob] = await app.collection(users).createMany([{ name: 'Ada' }, { name: 'Bob' }])
   */
  createMany (
    items: ReadonlyArray<Partial<Item>>,
    options?: CallOptions
  ): Promise<ReadonlyArray<Entry<Item>>>
  /**
   * Changes all items that match, with a merge patch (RFC 7396). Fails with `too-many-matches` if there are more than
   * the `maximum` of `bulk()`.
   *
   * @example
   * const { count } = await app.collection(orders).updateMany({ filter: { status: 'open' } }, { status: 'closed' })
   */
  updateMany (query: ManyQuery<Item>, patch: Patch<Item>, options?: CallOptions): Promise<MatchedItems>
  /**
   * Removes all items that match.
   *
   * @example
   * const { ids } = await app.collection(orders).removeMany({ filter: { status: 'draft' } })
   */
  removeMany (query: ManyQuery<Item>, options?: CallOptions): Promise<MatchedItems>
}

/** Which items to write: a filter, or words to search for, or both. */
export type ManyQuery<Item> = Pick<CallQuery<Item>, 'filter' | 'q'>

/** The methods that all collections have. */
export interface BasicCalls<Item> {
  /**
   * Creates an item. Properties that have a default, or that hooks set, can be left out.
   *
   * @example
   * const { id, tag } = await app.collection(users).create({ email: 'ada@example.com' })
   */
  create (item: Partial<Item>, options?: CallOptions): Promise<Entry<Item>>
  /** Reads an item. Fails with `not-found` if there is none. */
  read (id: Id, options?: CallOptions): Promise<Entry<Item>>
  /**
   * Iterates over all items that match. Pages are read as they are needed.
   *
   * @example
   * for await (const { item } of app.collection(users).list({ filter: { role: 'admin' } })) console.log(item.email)
   */
  list (query?: CallQuery<Item>, options?: CallOptions): AsyncGenerator<Entry<Item>, void>
  /** Iterates over pages. */
  pages (query?: CallQuery<Item>, options?: CallOptions): AsyncGenerator<PageOfEntries<Item>, void>
  /** Replaces an item. Properties that are left out get their default, or are removed. */
  replace (id: Id, item: Partial<Item>, options?: WriteCallOptions): Promise<Entry<Item>>
  /**
   * Changes some properties: a merge patch (RFC 7396), in which null removes an optional property; or an array of
   * operations (RFC 6902).
   *
   * @example
   * await app.collection(users).update(id, { name: 'Ada' })
   */
  update (id: Id, patch: Patch<Item> | readonly PatchOperation[], options?: WriteCallOptions): Promise<Entry<Item>>
  /** Removes an item. */
  remove (id: Id, options?: WriteCallOptions): Promise<void>
  /**
   * Runs the work in a transaction of the database, which commits everything or, if the work throws, nothing. The work
   * is called again if the database rolled back in favor of another transaction, such as after a deadlock, or if
   * another transaction has changed an item that this one has listed and then writes.
   *
   * @example
   * await app.collection(accounts).transaction(async (transaction) => {
   *   await app.collection(accounts).update(from, { balance: 0 }, { transaction })
   *   await app.collection(accounts).update(to, { balance: 10 }, { transaction })
   * })
   */
  transaction<Result> (work: (transaction: Transaction) => Promise<Result>): Promise<Result>
}

/** What a read includes. */
export interface ReadCallOptions<in out Place extends AddedRelations, in out Given = Expansion<Place>>
  extends CallOptions {
  /**
   * The related items to include: paths, or an object with options for each relation.
   *
   * @default none
   * @example
   * await app.collection(articles).read(id, { expand: ['author', 'comments.author'] })
   */
  readonly expand?: Given & CheckedExpansion<Given, ExpandObject<Place>>
}

/** Which items to list, with conditions and orders that can be about related items, and what to include. */
export interface RelatedQuery<in out Place extends AddedRelations, in out Given = Expansion<Place>>
  extends Omit<CallQuery<object>, 'filter' | 'sort'>, Pick<ReadCallOptions<Place, Given>, 'expand'> {
  /**
   * Conditions. Those of relations are nested: `some` and `none` of related items, or how many there are.
   *
   * @default all items
   * @example
   * filter: { status: 'published', 'author.country': 'AT', comments: { some: { 'text.like': '*x*' } } }
   */
  readonly filter?: RelatedFilter<Place>
  /**
   * Properties to sort by, also those of a related item. A `-` means descending.
   *
   * @default `list.order` of the definition
   * @example
   * sort: ['author.name', '-createdAt']
   */
  readonly sort?: ReadonlyArray<SortKey<Place>>
}

/** The methods of a collection with relations. Those that read know what they include. */
export interface RelatedCalls<in out Item, in out Place extends AddedRelations>
  extends Omit<BasicCalls<Item>, 'list' | 'pages' | 'read'> {
  /**
   * Reads an item, with the related items that `expand` names. Fails with `not-found` if there is none.
   *
   * @example
   * const { item } = await app.collection(articles).read(id, { expand: ['author'] })
   */
  read<const Given extends Expansion<Place>> (
    id: Id,
    options?: ReadCallOptions<Place, Given>
  ): Promise<Entry<Expanded<Item, Place, Given>>>
  /**
   * Iterates over all items that match, with the related items that `expand` names. Pages are read as they are needed.
   *
   * @example
   * const query = { expand: { author: true, comments: { limit: 5, sort: ['-createdAt'] } } } as const
   * for await (const { item } of app.collection(articles).list(query)) console.log(item.author?.name)
   */
  list<const Given extends Expansion<Place>> (
    query?: RelatedQuery<Place, Given>,
    options?: CallOptions
  ): AsyncGenerator<Entry<Expanded<Item, Place, Given>>, void>
  /** Iterates over pages, with the related items that `expand` names. */
  pages<const Given extends Expansion<Place>> (
    query?: RelatedQuery<Place, Given>,
    options?: CallOptions
  ): AsyncGenerator<PageOfEntries<Expanded<Item, Place, Given>>, void>
}

/** An operation of a JSON Patch (RFC 6902). */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'
  readonly path: string
  readonly from?: string
  readonly value?: unknown
}
