import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { ActionName } from './action.ts'
import type { AccessRules } from './access/rules.ts'
import type { Problem } from '../http/problems.ts'
import type { Identity } from '../schema/ids.ts'
import type { Collection, HttpOptions, Parent, Served, ServedCollections } from './collection.ts'
import type { QueryParameter } from '../query/query-parameter.ts'
import type { ParseExpansion } from '../query/tree.ts'
import type { DescribedComponents, DescribedContents, OperationObject } from './operation-object.ts'
import type { Transaction } from './definition.ts'
import type { ItemSchema } from '../schema/checks.ts'
import type { Entry, Order, Referrer, RelationKey, Storage, Supports } from '../storage/contract.ts'
import type { BuildLinks } from './links.ts'
import type { PropertyOf } from '../schema/static.ts'
import type { Timestamps } from '../schema/timestamps.ts'
import type { ActionInfo, AggregateAction, BulkAction, CustomAction } from './action-info.ts'
import type { Decide, Layer, LayerOptions, Operation, Position } from './operation.ts'

declare const itemType: unique symbol
declare const addsType: unique symbol

/** The names of the properties of an item; any name if its type is not known. */
export type FeatureProperty<Item> = [keyof Item] extends [never] ? string : PropertyOf<Item>

/**
 * An optional capability of a collection. A definition gets it with `.with()`; a definition without it neither loads
 * nor calls it.
 *
 * `Item` is the type of the items that the feature can be added to, and `Adds` is what it adds to the type of the
 * definition, such as a custom action. Only the compiler uses them: a feature works with any object.
 */
export interface Feature<in Item = never, out Adds = never> {
  /** Unique within a definition, such as `idempotency`. */
  readonly name: string
  /**
   * States that the layers of the feature do not change the entries that they get. By default, entries are frozen
   * before a layer gets them, which costs a few microseconds for each item.
   *
   * @default false
   * @example
   * const quota: Feature<object> = { name: 'quota', keepsEntries: true, setup (host) { ... } }
   */
  readonly keepsEntries?: boolean
  /** Attaches the feature. Called when the definition is created. */
  setup (host: Host): void
  readonly [itemType]?: (item: Item) => void
  readonly [addsType]?: Adds
}

/** Any feature, whatever it adds and whichever items it is for. */
export type AnyFeature = Feature<never, unknown>

/** Features for items of a type, in any number. Those that are undefined are left out. */
export type FeaturesOf<Item> = ReadonlyArray<Feature<Item, unknown> | undefined>

/**
 * The features that a call is given. While the compiler has not inferred them, they are features for items of the type:
 * so it knows what functions such as `run` of an action take.
 */
export type InferredFeatures<Added extends FeaturesOf<Item>, Item> = [Added] extends [never] ? FeaturesOf<Item> : Added

/** What features add to the type of a definition. A feature whose type does not say so adds nothing. */
export type AddsOfFeature<Added> =
  Added extends Feature<never, infer Adds> ? unknown extends Adds ? never : Adds : never

/** The collection that a feature is added to, without what features add. */
export interface CollectionInfo {
  readonly name: string
  readonly schema: ItemSchema
  readonly storage: Storage<object>
  readonly id: Identity
  readonly timestamps: Timestamps
  readonly actions: ReadonlySet<ActionName>
  readonly access: AccessRules | undefined
  readonly http: Pick<HttpOptions, 'routes' | 'formats' | 'cache'>
  /** The option `filter`. */
  readonly filter: readonly string[] | undefined
}

/** A write of one item, in its transaction. */
export interface WriteEvent {
  readonly action: 'create' | 'replace' | 'update' | 'remove'
  /** Undefined on create. */
  readonly before: Entry<object> | undefined
  /** Undefined on remove. */
  readonly after: Entry<object> | undefined
  /** The operation that writes it. Its `request` is undefined if the write comes from code. */
  readonly operation: Operation
  /** The transaction of the write, as hooks of the definition get it: other collections can join it. */
  readonly transaction: Transaction
}

/** A relation of a collection to another one, or to itself. */
export interface Relation {
  readonly name: string
  /** The name of the other collection, for messages. */
  readonly to: string
  /** Whether an item can have several related items. */
  readonly isMany: boolean
  /** The property of this collection. Its value is that of `equals` in the other collection. */
  readonly property: string
  readonly equals: string
  /** How many items are included by default; undefined for a relation to one item. */
  readonly limit: number | undefined
  /** The default order of included items; undefined if it is that of the other collection. */
  readonly order: readonly Order[] | undefined
  /** Whether the related item has to exist, and cannot be removed. */
  readonly references: boolean
  readonly canFilter: boolean
  readonly canSort: boolean
  /** The other collection as `relate()` got it. */
  readonly target: Collection
  /** Finds the other collection as the app serves it, with its access, scope and features. */
  findTarget (app: ServedCollections): Served
}

/** The functions that a feature can add with `addHook()`. */
export interface Hooks {
  /**
   * Called with the headers of a batch, for each part. Returns a problem if the operation needs other headers.
   */
  onHeaders (headers: IncomingHttpHeaders, action: ActionInfo): Problem | undefined
  /**
   * Called before the transaction of a batch begins, for each part. Calls the rules that the operation needs besides
   * those of its action: none must run in the transaction. `getDecision` returns what it has returned, or calls it.
   */
  onRules: Decide
  /** Called after each write of an item, with the storage of its transaction. A throw rolls the transaction back. */
  onWrite (write: WriteEvent, storage: Storage<object>): Promise<void>
}

/** Helpers to describe an operation. */
export interface DescribeTools {
  readonly components: DescribedComponents
  /** The content of messages, by media type. */
  readonly contents: DescribedContents
}

/** What a feature attaches itself to. */
export interface Host {
  /** The collection that the feature is added to. */
  readonly collection: CollectionInfo
  /** What all features of the definition have attached. Collections of an app have the same object. */
  readonly attached: Attached
  /** Refuses the definition with an error that says how to fix it. */
  fail (message: string): never
  /** Refuses options that are not an object, or that have other names than these, for callers without TypeScript. */
  checkOptions (feature: string, options: object, names: readonly string[]): void
  /** Refuses storages without this support. `why` is a clause, such as "idempotency stores responses". */
  require (support: keyof Supports, why: string): void
  /** Marks a property of the schema: clients cannot write a property that is `readOnly`. */
  markProperty (property: string, mark: 'readOnly' | 'writeOnly'): void
  /** Changes which rows of the storage exist. `wrap` gets the storage below, and is called once. */
  wrapRows (wrap: (storage: Storage<object>) => Storage<object>): void
  /**
   * Puts a function around a position of every operation, over HTTP and from code. Return `next` to leave an action
   * unchanged.
   *
   * @example
   * host.wrap('operation', (next, { safe }) => safe ? next : async (operation) => {
   *   return isReadOnly() ? problem('service-unavailable') : next(operation)
   * })
   */
  wrap<At extends Position> (position: At, wrap: Layer<At>['wrap'], options?: LayerOptions): void
  /** Item routes also match segments that cannot be ids, such as those longer than 100 characters. */
  matchAnySegment (): void
  /** Adds a parameter to the query string of lists, or of lists and items. */
  addQueryParameter (name: string, parameter: QueryParameter): void
  /** Adds a function that is called at a certain point of a request. A function that is added twice is called once. */
  addHook<Name extends keyof Hooks> (name: Name, hook: Hooks[Name]): void
  /** Adds an action with a path of its own. */
  addAction (action: CustomAction): void
  /** Adds a variant of an action that is about several items. */
  addBulkAction (action: BulkAction): void
  /** Adds figures over groups of items, with a path of its own. */
  addAggregate (action: AggregateAction): void
  /** Serves the collection within the items of another one, which a property names. */
  nestIn (parent: Collection, property: string): void
  /** Adds the relations to other collections, and how queries request to include their items. */
  addRelations (relations: ReadonlyMap<string, Relation>, parseExpansion: ParseExpansion): void
  /** States that relations find items by a property, so that the storage can have an index for it. */
  addKey (key: RelationKey): void
  /**
   * Adds links to items, for formats that have links in their content. Those of the library take precedence. `create`
   * is called once for each app that serves the collection.
   */
  addItemLinks (create: (app: ServedCollections) => BuildLinks): void
  /** States that a property of another collection refers to items of this one, which have to exist. */
  addReferrer (referrer: Referrer): void
  /** Completes the OpenAPI description of each action. */
  describe (change: (operation: OperationObject, action: ActionInfo, tools: DescribeTools) => void): void
  /** Runs a Fastify plugin in the context of the collection, before its routes are added. */
  register (plugin: (app: FastifyInstance) => void | Promise<void>): void
}

/** What the features of a definition have attached, as the core needs it. */
export interface Attached {
  /** The custom actions, by name. */
  readonly actions: ReadonlyMap<string, CustomAction>
  /** The variants of actions that are about several items, by the name of the action. */
  readonly bulk: ReadonlyMap<BulkAction['name'], BulkAction>
  /** The figures over groups of items. */
  readonly aggregate: AggregateAction | undefined
  /** The properties that features have marked. */
  readonly marks: Readonly<Record<string, 'readOnly' | 'writeOnly'>>
  readonly matchesAnySegment: boolean
  /** What features need of the storage. */
  readonly required: ReadonlySet<keyof Supports>
  readonly queryParameters: ReadonlyMap<string, QueryParameter>
  /** The collection that this one is nested in. */
  readonly parent: Parent | undefined
  /** The names of the features that change which rows of the storage exist. */
  readonly rowLayers: readonly string[]
  /** By name. */
  readonly relations: ReadonlyMap<string, Relation>
  readonly parseExpansion: ParseExpansion | undefined
  /** The properties by which relations find items. */
  readonly keys: readonly RelationKey[]
  readonly itemLinks: ReadonlyArray<Parameters<Host['addItemLinks']>[0]>
  /** The properties that refer to items, which have to exist. */
  readonly referrers: readonly Referrer[]
  readonly hooks: { readonly [Name in keyof Hooks]: ReadonlyArray<Hooks[Name]> }
  /** All hooks `onWrite`, one after another; undefined if there is none. */
  readonly onWrite: Hooks['onWrite'] | undefined
  readonly descriptions: ReadonlyArray<Parameters<Host['describe']>[0]>
  readonly plugins: ReadonlyArray<Parameters<Host['register']>[0]>
  readonly layers: readonly Layer[]
}
