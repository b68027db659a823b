import type { LinkFailures } from './link-failures.ts'
import type { BuildLinks, Neighbors } from './links.ts'
import type { BoundAction } from './operation.ts'
import type { View } from './view.ts'
import type { AddsOfFeature, AnyFeature, Attached, Feature, FeaturesOf, InferredFeatures } from './feature.ts'
import type { Format } from '../formats/format.ts'
import type { Link } from '../http/link.ts'
import type { CachePolicy } from '../http/cache-control.ts'
import type { AccessRules } from './access/rules.ts'
import type { Identity } from '../schema/ids.ts'
import type { Lists } from '../query/lists.ts'
import type { ItemType } from '../schema/item-type.ts'
import type { CollectionCalls } from './call-types.ts'
import type {
  ActionName,
  EtagOptions,
  HookOptions,
  PutOptions,
  RouteOptions,
  Transaction
} from './definition.ts'
import type { JsonSchema, Storage } from '../storage/contract.ts'
import type { WriteQueue } from './write-queue.ts'

/** The collection that another one is nested in, and the property of nested items that holds the id of the parent. */
export interface Parent {
  readonly collection: Collection
  readonly property: string
}

/** What the service plugin sets for all collections of an app. Complete when the app is ready. */
export interface ServiceInfo {
  /** An absolute URI that precedes the codes of problems in their types. */
  readonly problems?: string | undefined
  /** The URI of the OpenAPI document. */
  readonly description?: string | undefined
  /** The path and the title of the home document. */
  readonly home?: { readonly href: string, readonly title: string } | undefined
}

/** A collection as an app serves it. */
export interface Served {
  readonly collection: Collection
  /** Where it is served, with the prefix. It may have parameters, such as `:parent`. */
  readonly path: string
}

/** Finds collections that an app serves. */
export interface ServedCollections {
  /** Finds the collection of the app that has this storage. */
  readonly findServed?: (baseStorage: object) => Served | undefined
}

/** What the app that serves a collection adds to it. */
export interface ServingApp extends ServedCollections {
  readonly neighbors: Neighbors
  readonly service: ServiceInfo
  /** What features add to the links of items. */
  readonly itemLinks: readonly BuildLinks[]
  /** Logs functions that fail to decide about links. */
  readonly linkFailures?: LinkFailures
  /** Calls a collection of the app, as part of a transaction if there is one. */
  readonly openCollection?: <Other extends object, Adds>(
    definition: Definition<Other, Adds>,
    transaction: Transaction | undefined
  ) => CollectionCalls<Other, Adds>
}

/** For a collection that no app serves yet. */
export const noApp: ServingApp = Object.freeze({
  neighbors: { children: new Set<string>(), hasParent: false },
  service: {},
  itemLinks: []
})

declare const addsType: unique symbol

/**
 * What `define()` returns: pass it to `app.register(collection, ...)`. `Adds` is what its features add to calls from
 * code and to the typed client, such as custom actions; only the compiler uses it.
 *
 * @example
 * const users = define({ name: 'users', schema: User, storage: memory() }).with(bulk())
 * await app.register(collection, users)
 */
export interface Definition<Item = object, Adds = never> {
  /** The path segment of the collection: `users` is served at `/users`. */
  readonly name: string
  /** The schema, in which the id and the timestamps are `readOnly`. */
  readonly schema: JsonSchema
  /** The opened storage, for jobs and scripts. It does not apply the rules of the definition, such as validation. */
  readonly storage: Storage<Item>
  /** The property that holds the id, and who generates it. */
  readonly id: Identity
  /** Sets of properties whose values together are unique. */
  readonly unique: ReadonlyArray<readonly string[]>
  /** The actions that are served. */
  readonly actions: ReadonlySet<ActionName>
  /** The features that were added with `with()`. */
  readonly features: readonly AnyFeature[]
  /**
   * The same definition with further features. Their order does not matter, and both definitions use the same storage.
   *
   * @example
   * orders.with(idempotency(), softDelete({ property: 'deletedAt' }))
   */
  with<Added extends FeaturesOf<Item>> (
    ...features: InferredFeatures<Added, Item>
  ): Definition<Item, Adds | AddsOfFeature<Added[number]>>
  /** A method, so that definitions with different features can be assigned to each other. */
  [addsType]? (adds: Adds): void
}

/** The items of a definition. */
export type ItemOfCollection<Of> = Of extends Definition<infer Item> ? Item : never

/** What the features of a definition add, such as custom actions. */
export type AddsOfCollection<Of> = Of extends Definition<ItemOfCollection<Of>, infer Adds> ? Adds : never

/** The options of a collection that are about requests and responses. */
export interface HttpOptions<Item = object> {
  readonly routes: Readonly<Partial<Record<ActionName | 'all', RouteOptions>>>
  readonly formats: readonly Format[]
  /** Those of the formats, in their order. */
  readonly mediaTypes: readonly string[]
  readonly etag: Readonly<Required<EtagOptions>>
  readonly cache: { readonly list: CachePolicy, readonly read: CachePolicy }
  /** RFC 9875: the headers of successful reads and of writes; undefined if caches store no responses. */
  readonly groups: {
    readonly read: Readonly<Record<string, string>>
    readonly write: Readonly<Record<string, string>>
  } | undefined
  /** The header WWW-Authenticate of a 401 that has none. */
  readonly challenge: string
  /** The origins whose pages may send requests without a CORS preflight; `*` means all. */
  readonly trustedOrigins: readonly string[] | '*'
  /** In milliseconds, rounded up to a second, because dates in HTTP have no milliseconds. */
  readonly definedAt: number
  /** Further links of an item. */
  links? (context: { readonly item: Readonly<Item> }): Readonly<Record<string, Link>>
}

/** A definition with its defaults filled in and everything derived that can be derived when the app starts. */
export interface Collection<Item = object> extends Definition<Item> {
  /** The storage without the layers of features. */
  readonly baseStorage: Storage<Item>
  /** One for all definitions of the same items, which differ in their features. */
  readonly writeQueue: WriteQueue
  readonly type: ItemType
  /** Who may do what; undefined if everyone may do everything. */
  readonly access: AccessRules | undefined
  /** How callers who see all properties can query lists. */
  readonly lists: Lists
  readonly put: Readonly<Required<PutOptions>>
  readonly hooks: Readonly<HookOptions<Item>>
  /** What only the door for HTTP needs. */
  readonly http: HttpOptions<Item>
  /** What depends on the caller, by the properties that it does not see: see engine/view.ts. */
  readonly views: Map<string, View>
  /** The actions as doors call them, by action and door: see engine/engine.ts. */
  readonly bound: Map<string, BoundAction>
  readonly app: ServingApp
  /** What the features have attached. */
  readonly attached: Attached
  with (...features: ReadonlyArray<Feature<Item, unknown> | undefined>): Collection<Item>
}

/** Returns the route of the item that a collection is nested in, without the prefix; empty if it is not nested. */
export function buildParentRoute ({ attached: { parent } }: Collection): string {
  return parent === undefined ? '' : `/${parent.collection.name}/:parent`
}

/** Returns the route of a collection, without the prefix. */
export function buildCollectionRoute (collection: Collection): string {
  return `${buildParentRoute(collection)}/${collection.name}`
}

/** Whether the value is what `define()` returns, for callers without TypeScript. */
export function isDefinition (value: unknown): boolean {
  return (Object(value) as Partial<Collection>).attached !== undefined
}

/** `define()` returns a collection, although the type `Definition` shows only a part of it. */
export function toCollection<Item> (definition: Definition<Item>): Collection<Item> {
  return definition as Collection<Item>
}
