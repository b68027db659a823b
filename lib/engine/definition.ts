import type { FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { Caller, DatabaseClient } from './access/caller.ts'
import type { AccessOptions } from './access/rules.ts'
import type { ActionName } from './action.ts'
import type { BasicCalls, CallOptions, CollectionCalls, Entry } from './call-types.ts'
import type { Definition } from './collection.ts'
import type { Format } from '../formats/format.ts'
import type { Link } from '../http/link.ts'
import type { ItemOf, ObjectSchema, PropertyOf } from '../schema/static.ts'
import type { Adapter, GenerateId, Id } from '../storage/contract.ts'

// What a user writes. docs/definition.md has a section for each option.

export { actionNames } from './action.ts'
export type { ActionName, AnyActionName } from './action.ts'

/** Route options of Fastify, except for those that the library sets itself. */
export type RouteOptions = Omit<RouteShorthandOptions, OwnedRouteOption>

export const ownedRouteOptions = [
  'schema',
  'attachValidation',
  'exposeHeadRoute',
  'validatorCompiler',
  'serializerCompiler',
  'schemaErrorFormatter',
  'errorHandler',
  'prefixTrailingSlash'
] as const

type OwnedRouteOption = typeof ownedRouteOptions[number]

/** A write that is about to happen: the argument of `hooks.beforeValidation`. */
export interface Change<Item> {
  /** What the client requested. */
  readonly action: 'create' | 'replace' | 'update'
  /** The name of the custom action that writes the item, as an `update`; undefined for the other writes. */
  readonly customAction: string | undefined
  /**
   * The item to write, which the hook may change or replace. Properties that are `readOnly` are missing unless
   * something has set them already.
   */
  readonly item: Item
  /** A copy of the stored item; undefined on create. */
  readonly before: Readonly<Item> | undefined
  /** The values of a new item that no client can choose: those that the scope of the caller, or the URI, sets. */
  readonly imposed: Readonly<Partial<Item>>
  /** The caller of the request, or of the call from code; undefined if anonymous, and for the app itself. */
  readonly caller: Caller | undefined
  /**
   * Who has caused the write: the caller or, if a hook or a custom action calls as the app in its transaction, the
   * caller of that. For audit logs.
   */
  readonly initiator: Caller | undefined
  /** The HTTP request; undefined if the call comes from code, also on behalf of a caller. */
  readonly request: FastifyRequest | undefined
}

/** A write that is stored: the argument of `hooks.afterCommit`. */
export interface CommittedChange<Item> {
  /** What was done. */
  readonly action: 'create' | 'replace' | 'update' | 'remove'
  /** The name of the custom action that has written the item, as an `update`; undefined for the other writes. */
  readonly customAction: string | undefined
  /** A copy of the item before the write; undefined on create. */
  readonly before: Readonly<Item> | undefined
  /** A copy of the item after the write; undefined on remove. */
  readonly after: Readonly<Item> | undefined
  /** The caller of the request, or of the call from code; undefined if anonymous, and for the app itself. */
  readonly caller: Caller | undefined
  /**
   * Who has caused the write: the caller or, if a hook or a custom action calls as the app in its transaction, the
   * caller of that. For audit logs.
   */
  readonly initiator: Caller | undefined
  /** The HTTP request; undefined if the call comes from code, also on behalf of a caller. */
  readonly request: FastifyRequest | undefined
}

/** A transaction of the database, in hooks and in `app.collection(definition).transaction()`. */
export interface Transaction {
  /**
   * The connection of the driver, on which the transaction runs, for statements of the app: the client of pg, the
   * connection of mysql2, or the SQLite database. Undefined in memory. Declare its type in `CollectionTypes`.
   *
   * @example
   * await transaction.client.query('INSERT INTO outbox (event) VALUES ($1)', ['order created'])
   */
  readonly client: DatabaseClient
  /**
   * Aborted if the transaction is rolled back because the client has disconnected or the time of `timeout` is over.
   * Pass it to everything that takes long.
   *
   * @example
   * await fetch(url, { signal: transaction.signal })
   */
  readonly signal: AbortSignal
  /**
   * Calls a collection of the same database as part of the transaction.
   *
   * @example
   * await transaction.collection(products).update(item.product, { stock: 0 })
   */
  collection<Item extends object, Adds> (definition: Definition<Item, Adds>): CollectionCalls<Item, Adds>
  /**
   * Reads several items, and locks them until the transaction ends. Every transaction locks them in the same order,
   * whatever the order of the ids, so that two of them do not wait for each other. Fails with `not-found` if one of the
   * items does not exist. The items are those of a definition, or of its calls, such as `collection` in `run` of a
   * custom action.
   *
   * @example
   * const [source, target] = await transaction.lock(accounts, [from, to])
   */
  lock<Item extends object, Adds, const Ids extends readonly Id[]> (
    target: Definition<Item, Adds> | Pick<BasicCalls<Item>, 'read'>,
    ids: Ids,
    options?: Omit<CallOptions, 'transaction'>
  ): Promise<LockedItems<Item, Ids>>
}

/** The items, in the order of their ids in the call. */
export type LockedItems<Item, Ids extends readonly Id[]> = { readonly [Index in keyof Ids]: Entry<Item> }

type PendingProperty = 'customAction' | 'before' | 'caller' | 'initiator' | 'request'

/** A write inside its transaction, before it is stored: the argument of `hooks.beforeWrite`. */
export type PendingWrite<Item> = Pick<CommittedChange<Item>, PendingProperty> & {
  readonly transaction: Transaction
} & (
  | {
    readonly action: 'create' | 'replace' | 'update'
    /** The item to write, which the hook may change or replace. */
    readonly item: Item
  }
  | { readonly action: 'remove', readonly item: undefined }
)

/** A write inside its transaction, after it is stored: the argument of `hooks.afterWrite`. */
export interface StoredWrite<Item> extends CommittedChange<Item> {
  /** The transaction of the write. */
  readonly transaction: Transaction
}

/** A property, or a nested one such as `address.city`. */
export type PropertyPath<Item> = PropertyOf<Item> | `${PropertyOf<Item>}.${string}`

/** How many items a page has. */
export interface LimitOptions {
  /**
   * If the client sends no `limit`.
   *
   * @default 20
   * @example
   * list: { limit: { default: 50 } }
   */
  default?: number
  /**
   * The largest `limit` that a client can send.
   *
   * @default 100
   * @example
   * list: { limit: { maximum: 500 } }
   */
  maximum?: number
}

/** What PUT does. */
export interface PutOptions {
  /**
   * Whether PUT creates an item that does not exist.
   *
   * @default false
   * @example
   * put: { create: true }
   */
  create?: boolean
}

/** Entity tags and preconditions. */
export interface EtagOptions {
  /**
   * Whether PUT, PATCH and DELETE without a precondition respond with 428.
   *
   * @default false
   * @example
   * etag: { required: true }
   */
  required?: boolean
  /**
   * A text that changes when something else changes that responses contain, such as a value that the function `links`
   * reads from the environment. It is part of every entity tag.
   *
   * @default ''
   * @example
   * etag: { version: process.env['CDN_HOST'] }
   */
  version?: string | undefined
}

/** How lists are read. */
export interface ListOptions<Item> {
  /**
   * How many items a page has if the client does not say, and at most.
   *
   * @default { default: 20, maximum: 100 }
   * @example
   * limit: { default: 50, maximum: 500 }
   */
  limit?: LimitOptions
  /**
   * Whether clients can request a page by the number of items before it, with `?offset=`. The storage reads past them:
   * set it to false if a list is so large that nobody should do that.
   *
   * @default true
   * @example
   * offset: false
   */
  offset?: boolean
  /**
   * The order of a list if the client requests none. A `-` means descending. The id is always added at the end.
   *
   * @default the id
   * @example
   * order: ['-createdAt']
   */
  order?: ReadonlyArray<PropertyOf<Item> | `-${PropertyOf<Item>}`>
  /**
   * The properties that clients can filter by.
   *
   * @default every string, number and boolean, and every array of these, that clients can read
   * @example
   * filter: ['email', 'address.city']
   */
  filter?: ReadonlyArray<PropertyPath<Item>>
  /**
   * The properties that clients can sort by.
   *
   * @default every string, number and boolean that clients can read
   * @example
   * sort: ['name', 'createdAt']
   */
  sort?: ReadonlyArray<PropertyPath<Item>>
  /**
   * The strings that `?q=` searches.
   *
   * @default none: there is no `?q=`
   * @example
   * search: ['name', 'email']
   */
  search?: ReadonlyArray<PropertyPath<Item>>
}

/** Functions that are called around a write. */
export interface HookOptions<Item> {
  /**
   * Called with valid content, before the whole item is validated and written. Changes the item, or returns another
   * one to write. A throw refuses the write. After a race it is called again.
   *
   * @default the item is written as the client sent it
   * @example
   * beforeValidation: async ({ item, before }) => ({ ...item, slug: before?.slug ?? await createSlug(item.title) })
   */
  beforeValidation? (change: Change<Item>): Item | void | Promise<Item | void>
  /**
   * Called inside the transaction of a write, before it is stored, also for a DELETE. Changes the item, returns another
   * one to write, or does neither. A throw refuses the write and undoes everything in the transaction. Called again
   * after a race.
   *
   * @default the item is written as it was validated
   * @example
   * beforeWrite: ({ action, before }) => {
   *   if (action === 'remove' && before?.status === 'paid') throw problem('conflict', { detail: 'It is paid.' })
   * }
   */
  beforeWrite? (write: PendingWrite<Item>): Item | void | Promise<Item | void>
  /**
   * Called inside the transaction of a write, after it is stored, also for a DELETE: what it writes is stored with the
   * item or not at all. A throw undoes everything in the transaction.
   *
   * @default nothing is called
   * @example
   * afterWrite: async ({ action, after, transaction }) => {
   *   await transaction.collection(events).create({ action, order: after?.id })
   * }
   */
  afterWrite? (write: StoredWrite<Item>): void | Promise<void>
  /**
   * Called after a write is stored, also after a DELETE. The response waits for it. A throw is only logged.
   *
   * @default nothing is called
   * @example
   * afterCommit: ({ action, after }) => { events.emit(action, after) }
   */
  afterCommit? (change: CommittedChange<Item>): void | Promise<void>
}

/** The argument of `define()`. */
export interface Options<Schema extends ObjectSchema, Item extends object = ItemOf<Schema>> {
  /**
   * The path segment of the collection: `users` is served at `/users`.
   *
   * @example
   * name: 'users'
   */
  name: string
  /**
   * The schema of an item: an object of TypeBox, zod, valibot or arktype. The keywords `readOnly`, `writeOnly`,
   * `immutable` and `default` of its properties apply.
   *
   * @example
   * schema: Type.Object({
   *   id: Type.String({ format: 'uuid', readOnly: true }),
   *   email: Type.String({ format: 'email' })
   * })
   */
  schema: Schema
  /**
   * Where items are stored: `memory()`, `sqlite(database)`, `postgres(pool)`, `mysql(pool)`, or your own.
   *
   * @example
   * storage: postgres(pool)
   */
  storage: Adapter<Item>
  /**
   * The property that is in the URI of an item, and where its value comes from: a random UUID, the client, the storage,
   * or a function.
   *
   * @default { property: 'id', generate: 'uuid' }
   * @example
   * id: { property: 'slug', generate: 'client' }
   */
  id?: { property?: PropertyOf<Item>, generate?: GenerateId }
  /**
   * Properties, or sets of properties, whose value no two items share.
   *
   * @default []
   * @example
   * unique: ['email', ['team', 'number']]
   */
  unique?: ReadonlyArray<PropertyOf<Item> | ReadonlyArray<PropertyOf<Item>>>
  /**
   * The date-times that the library sets when an item is created and updated; `false` sets none.
   *
   * @default `createdAt` and `updatedAt`, if the schema has them as readOnly date-times
   * @example
   * timestamps: { created: 'born', updated: 'changed' }
   */
  timestamps?: false | { created?: PropertyOf<Item>, updated?: PropertyOf<Item> }
  /**
   * The actions to serve. The others respond with 405.
   *
   * @default ['list', 'create', 'read', 'replace', 'update', 'remove']
   * @example
   * actions: ['list', 'read']
   */
  actions?: readonly ActionName[]
  /**
   * Route options of Fastify, for all actions or for one.
   *
   * @default {}
   * @example
   * routes: { all: { logLevel: 'warn' }, remove: { onRequest: requireAdmin } }
   */
  routes?: Partial<Record<ActionName | 'all', RouteOptions>>
  /**
   * Who may do what, with which rows, and who sees which properties.
   *
   * @default everyone may do everything
   * @example
   * access: {
   *   authenticate: async ({ request }) => (await request.jwtVerify<{ sub: string }>()).sub,
   *   allow: { list: 'public' }
   * }
   */
  access?: AccessOptions<Item>
  /**
   * Pages, order, filters and search of lists.
   *
   * @default pages of 20 items in the order of the id
   * @example
   * list: { order: ['-createdAt'], search: ['name'] }
   */
  list?: ListOptions<Item>
  /**
   * Whether PUT creates an item that does not exist.
   *
   * @default { create: false }
   * @example
   * put: { create: true }
   */
  put?: PutOptions
  /**
   * Entity tags and preconditions.
   *
   * @default { required: false, version: '' }
   * @example
   * etag: { required: true }
   */
  etag?: EtagOptions
  /**
   * `Cache-Control` of successful reads.
   *
   * @default 'no-cache'; 'no-store' if the request has credentials or responses depend on the caller
   * @example
   * cache: { list: 'no-cache', read: 'private, max-age=60' }
   */
  cache?: string | { list?: string, read?: string }
  /**
   * The formats of representations. The first is the default.
   *
   * @default [json]
   * @example
   * formats: [json, xml]
   */
  formats?: readonly Format[]
  /**
   * Further links of an item, by relation, for formats that have links.
   *
   * @default no further links
   * @example
   * links: ({ item }) => ({ avatar: { href: `/avatars/${item.id}` } })
   */
  links? (context: { readonly item: Readonly<Item> }): Record<string, Link>
  /**
   * Functions that are called around a write.
   *
   * @default none
   * @example
   * hooks: { afterCommit: ({ action, after }) => { events.emit(action, after) } }
   */
  hooks?: HookOptions<Item>
}
