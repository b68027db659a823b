import type { Patch } from '../http/merge-patch.ts'
import type { CallQuery, InputParameter, ManyQuery, RelatedQuery } from '../engine/call-types.ts'
import type { AddedAction, AddedBulk } from '../engine/action-info.ts'
import type { AddedAggregates, GroupsOf, GroupsQuery, KnownNames } from '../engine/aggregate-types.ts'
import type { AddedRelations } from '../engine/relation-types.ts'
import type { PropertyOf } from '../schema/static.ts'

export type { AddsOfCollection, ItemOfCollection } from '../engine/collection.ts'

// The types of the client, derived from the type of the definition.

/** The properties that the schema marks with `readOnly`, `writeOnly` and `default`. Its type does not contain that. */
export interface Marks {
  /** Names of properties that the server sets. */
  readonly readOnly?: string
  /** Names of properties that are not part of responses. */
  readonly writeOnly?: string
  /** Names of properties that can be left out. */
  readonly default?: string
}

type Mark<Given extends Marks, Name extends keyof Marks, Otherwise> =
  Given extends Readonly<Record<Name, infer Names extends string>> ? Names : Otherwise

/** The properties that are read-only if the marks do not say which are. */
type ReadOnlyByDefault = 'id' | 'createdAt' | 'updatedAt'

/** An item as a client reads it. */
export type Seen<Item, Given extends Marks> = Readonly<Omit<Item, Mark<Given, 'writeOnly', never>>>

/** An item as a client sends it. Properties that are read-only or have a default are optional. */
export type Sent<Item, Given extends Marks> =
  Omit<Item, Mark<Given, 'readOnly', ReadOnlyByDefault> | Mark<Given, 'default', never>> & Partial<Item>

/** An item, and what identifies its version. It may be copied, stored and sent as JSON. */
export interface Entry<Item> {
  /** The value in the URI of the item. */
  readonly id: string | number
  /** The entity tag, for `If-Match`; undefined if the server did not send it. */
  readonly tag: string | undefined
  /** The item, as the caller sees it. */
  readonly item: Item
}

/** Which part of a list to read. */
export interface PageQuery<Item> {
  /** How many items a page has; the default of the server if it is left out. */
  readonly limit?: number | undefined
  /** `next` of the page before. */
  readonly cursor?: string | undefined
  /** How many items come before the page. The pages after it are read by their cursors. */
  readonly offset?: number | undefined
  /** The properties of each item; all if it is left out. */
  readonly fields?: ReadonlyArray<PropertyOf<Item>> | undefined
}

/** Which items to list: the queries of calls from code, and which part of the list. */
export interface Query<Item>
  extends PageQuery<Item>, Partial<Pick<CallQuery<Item>, 'filter' | 'sort' | 'q' | 'count'>> {}

type RequestHeaders = Readonly<Record<string, string>>

/** The options of `client()`. */
export interface ClientOptions {
  /**
   * Used instead of the global fetch, for example to log, to retry or to use an agent.
   *
   * @default the global `fetch`
   * @example
   * client<typeof users>('/users', { fetch: fetchWithRetry })
   */
  readonly fetch?: typeof fetch
  /**
   * Headers of every request, such as Authorization. A function is called for each request.
   *
   * @default none
   * @example
   * client<typeof users>('/users', { headers: () => ({ authorization: `Bearer ${getToken()}` }) })
   */
  readonly headers?: RequestHeaders | (() => RequestHeaders | Promise<RequestHeaders>)
  /**
   * The property that is the id.
   *
   * @default 'id'
   * @example
   * client<typeof articles>('/articles', { id: 'slug' })
   */
  readonly id?: string
  /**
   * The `path` of `aggregates()`.
   *
   * @default 'aggregate'
   * @example
   * client<typeof orders>('/orders', { aggregatePath: 'figures' })
   */
  readonly aggregatePath?: string
}

/** The options of a single request. */
export interface Call {
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined
  /** Further headers of this request. */
  readonly headers?: RequestHeaders | undefined
}

/** The options of a write to an item. */
export interface WriteCall extends Call {
  /** The tag of an entry, or `*`. With an entry as the first argument, it replaces the tag of the entry. */
  readonly ifMatch?: string
}

/** A part of a list. */
export interface PageOfEntries<Item> {
  /** The items with their ids and tags, in the order of the list. */
  readonly entries: ReadonlyArray<Entry<Item>>
  /** The `cursor` of the next page; null if this is the last one. */
  readonly next: string | null
  /** How many items match in all, if the query has `count`. */
  readonly total: number | undefined
}

/** The methods for custom actions: `orders.cancel(entry, input)`. Those of the collection take only the input. */
export type ActionMethods<Item, Given extends Marks, Adds> = {
  [Added in Extract<Adds, AddedAction> as Added['action']]: Added['on'] extends 'item'
    ? (item: Target<Item, Given>, ...parameters: [...InputParameter<Added['input']>, call?: WriteCall]) =>
      Promise<Added['output'] extends undefined ? Entry<Seen<Item, Given>> : Added['output']>
    : (...parameters: [...InputParameter<Added['input']>, call?: Call]) =>
      Promise<Added['output'] extends undefined ? void : Added['output']>
}

/** The methods for several items that `bulk()` adds. */
export type BulkMethods<Item, Given extends Marks, Adds> =
  Pick<ManyMethods<Item, Given>, Extract<Adds, AddedBulk>['bulk']>

/** The options of a write to all items that match. */
export interface ManyCall extends Call {
  /** Whether the result has the ids of the items. */
  readonly ids?: boolean
}

/** The items that matched a query. */
export interface MatchedItems {
  /** How many items matched; undefined if the caller may not read. */
  readonly count: number | undefined
  /** Their ids, if they were requested. */
  readonly ids: ReadonlyArray<string | number> | undefined
}

/** The methods for several items. Each writes all of them or none. */
export interface ManyMethods<Item, Given extends Marks = object> {
  /**
   * Creates several items, and returns them as the server has stored them. The result is empty if the caller may not
   * read.
   *
   * @example
   * const [ada, bob] = await users.createMany([{ name: 'Ada' }, { name: 'Bob' }])
   */
  createMany (items: ReadonlyArray<Sent<Item, Given>>, call?: Call): Promise<ReadonlyArray<Entry<Seen<Item, Given>>>>
  /**
   * Changes some properties of all items that match. The filter can have what a query string can express: conditions
   * that must all be met.
   *
   * @example
   * const { count } = await orders.updateMany({ filter: { status: 'open' } }, { status: 'closed' })
   */
  updateMany (query: ManyQuery<Item>, patch: Patch<Item>, call?: ManyCall): Promise<MatchedItems>
  /**
   * Removes all items that match. The filter is that of `updateMany`.
   *
   * @example
   * const { ids } = await orders.removeMany({ filter: { 'createdAt.lt': new Date(2026, 0) } }, { ids: true })
   */
  removeMany (query: ManyQuery<Item>, call?: ManyCall): Promise<MatchedItems>
}

/** The method that `aggregates()` adds. */
export type AggregateMethods<Item, Adds> =
  AggregateMethodOf<Item, Extract<Adds, AddedAggregates>, Extract<Adds, AddedRelations>>

type AggregateMethodOf<Item, Added, Place> =
  [Added] extends [never]
    ? unknown
    : Added extends AddedAggregates ? AggregateMethod<Item, Added, Place> : never

/** Which items to compute figures over. */
type AggregateConditions<Item, Place> =
  & Pick<CallQuery<Item>, 'q'>
  & ([Place] extends [never]
    ? Pick<CallQuery<Item>, 'filter'>
    : Place extends AddedRelations ? Pick<RelatedQuery<Place>, 'filter'> : never)

type FilterOf<Query> = Query extends { readonly filter: infer Filter } ? Filter : unknown

/** The method for figures over groups of items. */
export interface AggregateMethod<Item, Added extends AddedAggregates, Place = never> {
  /**
   * Returns figures over the items that match, by groups.
   *
   * @example
   * const { groups } = await orders.aggregate({ by: ['status'], sum: ['total'], filter: { 'total.gte': 10 } })
   */
  aggregate<const Wanted extends GroupsQuery<Added> = Record<never, never>> (
    query?: Wanted &
      AggregateConditions<Item, Place> &
      KnownNames<Wanted, GroupsQuery<Added> & AggregateConditions<Item, Place>> &
      { readonly filter?: KnownNames<FilterOf<Wanted>, FilterOf<Required<AggregateConditions<Item, Place>>>> },
    call?: Call
  ): Promise<GroupsOf<Item, Wanted>>
}

/** Takes ids or entries. A write with an entry fails with a StaleError if the item has changed since it was read. */
export interface Client<Item, Given extends Marks = object> {
  /** Iterates over all items that match. Pages are requested as they are needed. */
  list (query?: Query<Item>, call?: Call): AsyncGenerator<Entry<Seen<Item, Given>>, void>
  /**
   * Iterates over pages. `next` of a page is the `cursor` of the next one, also in another process or after a reload.
   *
   * @example
   * const { value: page } = await orders.pages({ filter: { status: 'open' }, cursor }).next()
   */
  pages (query?: Query<Item>, call?: Call): AsyncGenerator<PageOfEntries<Seen<Item, Given>>, undefined>
  /** Creates an item, and returns it as the server has stored it. */
  create (item: Sent<Item, Given>, call?: Call): Promise<Entry<Seen<Item, Given>>>
  /** Reads an item. */
  read (item: Target<Item, Given>, call?: Call): Promise<Entry<Seen<Item, Given>>>
  /** Replaces an item. */
  replace (item: Target<Item, Given>, by: Sent<Item, Given>, call?: WriteCall): Promise<Entry<Seen<Item, Given>>>
  /**
   * Changes some properties of an item.
   *
   * @example
   * const changed = await orders.update(entry, { status: 'paid' })
   * await orders.update(7, { status: 'paid' }, { ifMatch: request.headers['if-match'] ?? '*' })
   */
  update (item: Target<Item, Given>, patch: Patch<Item>, call?: WriteCall): Promise<Entry<Seen<Item, Given>>>
  /** Removes an item. */
  remove (item: Target<Item, Given>, call?: WriteCall): Promise<void>
}

/** An id, or an entry that was read before. */
export type Target<Item, Given extends Marks> = string | number | Entry<Seen<Item, Given>>
