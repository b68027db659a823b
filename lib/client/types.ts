import type { Patch } from '../http/merge-patch.ts'
import type { InputParameter } from '../engine/call-types.ts'
import type { AddedAction, AddedBulk } from '../engine/action-info.ts'
import type { AddedAggregates, GroupsOf, GroupsQuery, KnownNames } from '../engine/aggregate-types.ts'
import type { AddedRelations, FlatRelatedFilter, ParameterName } from '../relations/types.ts'
import type { PropertyOf } from '../schema/static.ts'

export type { AddsOfCollection, ItemOfCollection } from '../collection.ts'

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

type Scalar = string | number | boolean

/** The query of a list: its parameters, and properties to filter by, with or without an operator. */
export type Query<Item> = {
  readonly limit?: number
  readonly cursor?: string
  readonly offset?: number
  readonly sort?: ReadonlyArray<PropertyOf<Item> | `-${PropertyOf<Item>}` | `${string}.${string}`>
  readonly fields?: ReadonlyArray<PropertyOf<Item>>
  readonly expand?: readonly string[]
  readonly count?: boolean
  readonly q?: string
} & {
  readonly [Property in PropertyOf<Item> as Exclude<Property, ParameterName>]?: Scalar
} & {
  readonly [Key in `${PropertyOf<Item>}.${string}`]?: Scalar | readonly Scalar[]
}

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
  readonly signal?: AbortSignal
  /** Further headers of this request. */
  readonly headers?: RequestHeaders
}

/** A part of a list. */
export interface PageOfItems<Item> {
  /** The items, in the order of the list. */
  readonly items: readonly Item[]
  /** The number of all items that match, if the query has `count`. */
  readonly total: number | undefined
}

/** The methods for custom actions: `client.cancel(order, input)`. Those of the collection take only the input. */
export type ActionMethods<Item, Given extends Marks, Adds> = {
  [Added in Extract<Adds, AddedAction> as Added['action']]: Added['on'] extends 'item'
    ? (item: Target<Item, Given>, ...parameters: [...InputParameter<Added['input']>, call?: Call]) =>
      Promise<Added['output'] extends undefined ? Seen<Item, Given> : Added['output']>
    : (...parameters: [...InputParameter<Added['input']>, call?: Call]) =>
      Promise<Added['output'] extends undefined ? void : Added['output']>
}

/** The methods for several items that `bulk()` adds. */
export type BulkMethods<Item, Given extends Marks, Adds> =
  Pick<ManyMethods<Item, Given>, Extract<Adds, AddedBulk>['bulk']>

/** Which items to write: properties to filter by, with or without an operator, and words to search for. */
export type ManyQuery<Item> = Omit<Query<Item>, Exclude<ParameterName, 'q'>>

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
  createMany (items: ReadonlyArray<Sent<Item, Given>>, call?: Call): Promise<ReadonlyArray<Seen<Item, Given>>>
  /**
   * Changes some properties of all items that match.
   *
   * @example
   * const { count } = await orders.updateMany({ status: 'open' }, { status: 'closed' })
   */
  updateMany (query: ManyQuery<Item>, patch: Patch<Item>, call?: ManyCall): Promise<MatchedItems>
  /**
   * Removes all items that match.
   *
   * @example
   * const { ids } = await orders.removeMany({ 'createdAt.lt': '2026-01-01T00:00:00Z' }, { ids: true })
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

/** Which items to compute figures over: properties to filter by, with or without an operator, and words. */
type AggregateFilter<Item, Place> =
  & ManyQuery<Item>
  & ([Place] extends [never] ? unknown : Place extends AddedRelations ? FlatRelatedFilter<Place> : never)

/** The method for figures over groups of items. */
export interface AggregateMethod<Item, Added extends AddedAggregates, Place = never> {
  /**
   * Returns figures over the items that match, by groups.
   *
   * @example
   * const { groups } = await orders.aggregate({ by: ['status'], sum: ['total'], 'total.gte': 10 })
   */
  aggregate<const Wanted extends GroupsQuery<Added> = Record<never, never>> (
    query?: Wanted &
      AggregateFilter<Item, Place> &
      KnownNames<Wanted, GroupsQuery<Added> & AggregateFilter<Item, Place>>,
    call?: Call
  ): Promise<GroupsOf<Item, Wanted>>
}

/** Takes ids or items. A write with an item fails with a StaleError if the item has changed since it was read. */
export interface Client<Item, Given extends Marks = object> {
  /** Iterates over all items that match. Pages are requested as they are needed. */
  list (query?: Query<Item>, call?: Call): AsyncGenerator<Seen<Item, Given>, void>
  /** Iterates over pages. */
  pages (query?: Query<Item>, call?: Call): AsyncGenerator<PageOfItems<Seen<Item, Given>>, void>
  /** Creates an item, and returns it as the server has stored it. */
  create (item: Sent<Item, Given>, call?: Call): Promise<Seen<Item, Given>>
  /** Returns the same object if it is given an item that has not changed. */
  read (item: Target<Item, Given>, call?: Call): Promise<Seen<Item, Given>>
  /** Replaces an item. */
  replace (item: Target<Item, Given>, by: Sent<Item, Given>, call?: Call): Promise<Seen<Item, Given>>
  /** Changes some properties of an item. */
  update (item: Target<Item, Given>, patch: Patch<Item>, call?: Call): Promise<Seen<Item, Given>>
  /** Removes an item. */
  remove (item: Target<Item, Given>, call?: Call): Promise<void>
}

/** An id, or an item that was read before. */
export type Target<Item, Given extends Marks> = string | number | Seen<Item, Given>
