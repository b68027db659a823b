import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { Access, Place } from './access/access.ts'
import type { Caller } from './access/caller.ts'
import type { Scope } from './access/scope.ts'
import type { Collection } from './collection.ts'
import type { ActionInfo } from './action-info.ts'
import type { CachePolicy } from '../http/cache-control.ts'
import { Problem } from '../http/problems.ts'
import type { ListQuery } from '../query/list-query.ts'
import type { Lists } from '../query/lists.ts'
import type { QueryTree } from '../query/tree.ts'
import type { Addition } from './selection.ts'
import type { Context, Entry, Filter, Id, Page, Query, Refusal, Storage } from '../storage/contract.ts'
import { joinFilters } from '../storage/filter.ts'
import type { Progress } from './progress.ts'
import type { Preferences } from '../http/prefer.ts'
import type { Rendering } from './rendering.ts'
import type { OpenTransaction } from './transaction.ts'
import type { View } from './view.ts'

// What the engine is called with and what it returns. Nothing here knows a header, a status or bytes.

/** Where an operation comes from: an HTTP request, `app.collection(definition)`, a part of a batch, or an agent. */
export type Door = 'http' | 'code' | 'batch' | 'agents'

/** The context of an operation for storages, which features can abort. */
export interface AbortableContext extends Context {
  /** Aborts the work of storages: no client waits for the response any more. */
  abort? (reason: Error): void
}

/** The signal of work that nobody aborts. */
export const neverAborted: AbortSignal = new AbortController().signal

/** An action as a door calls it. */
export interface BoundAction {
  readonly collection: Collection
  readonly door: Door
  readonly action: ActionInfo
  /** The functions of the action, with the layers of features. */
  readonly steps: Steps
}

/** Parsed content, which may be any value. The object distinguishes it from a problem. */
export interface ParsedContent {
  readonly value: unknown
}

/** What an operation has with an idempotency key. */
export interface Keyed {
  readonly key: string
  /** Where the key is used. Elsewhere, it is another one. */
  readonly place: string
  /** A digest of everything that is requested. */
  readonly fingerprint: string
  /** The headers that identify a caller without an id. */
  readonly headers: IncomingHttpHeaders
}

/** What a door has got. The operation has it parsed when it needs it. */
export interface Input {
  /** The idempotency key, for the feature that does an operation once; undefined if there is none. */
  getKeyed (): Keyed | Problem | undefined
  /** What the query has if it does not state it. */
  readonly defaults?: ListQuery | undefined
  /** Parses the query: the query string, and an object as the content of QUERY has it. */
  parseQuery (): QueryTree | Problem
  /** Parses the content. */
  parseContent (): ParsedContent | Problem
  /** Applies the content, a patch, to an item. */
  applyPatch (item: object): ParsedContent | Problem
}

/** What a door knows of a call, beside the action and what the caller may do. */
export interface Call {
  readonly input: Input
  /** The path segment of the item, which need not look like an id; empty for the collection. */
  readonly segment: string
  /** What the URI of a nested collection says about its items. */
  readonly place?: Place | undefined
  /** The ids of new items, as far as the app states them. */
  readonly ids?: ReadonlyArray<Id | undefined> | undefined
  readonly context: AbortableContext
  /** The transaction that the call joins. */
  readonly transaction?: OpenTransaction | undefined
  /** The log of the request, or of the app. */
  readonly log: FastifyBaseLogger
  /** The request of Fastify; undefined if the call comes from code. */
  readonly request: FastifyRequest | undefined
  /** The preconditions; undefined if there are none. */
  readonly check?: ((entry: Entry<object> | undefined) => Problem | undefined) | undefined
  readonly prefers?: Preferences['return']
  readonly decisions?: Decisions
}

/** Returns the rows that an operation reads: those of the caller, and of the parent in the URI. */
export function getScope (access: Access, place: Place | undefined): Filter | undefined {
  const scope = joinFilters(access.scope?.filter, access.conditionScope?.filter)
  return place === undefined ? scope : joinFilters(place.scope, scope)
}

/**
 * What is wanted. A door makes it once the caller is authorized. Layers pass on changed copies, which inherit from it,
 * so it has no private members.
 */
export class Operation implements BoundAction {
  /** Whose items it reads or writes. */
  readonly collection: Collection
  /** Where it comes from. */
  readonly door: Door
  /** What it does. */
  readonly action: ActionInfo
  /** The functions of the action, with the layers of features. */
  readonly steps: Steps
  /** The name of the custom action; undefined for the six others. */
  readonly customAction: string | undefined
  /** What the door has got, for features that are about HTTP. */
  readonly input: Input
  /** The path segment of the item, which need not look like an id; empty for the collection. */
  readonly segment: string
  /** Undefined for the collection, and if no item can have this segment. For a new item, the id that the app states. */
  readonly id: Id | undefined
  /** The ids of several new items, as far as the app states them. */
  readonly ids: ReadonlyArray<Id | undefined> | undefined
  /** Properties whose values the URI sets, such as the id of the parent of a nested collection. */
  readonly fixed: Readonly<Record<string, Id>> | undefined
  /** What the caller sees. */
  readonly view: View
  /** How the caller can query lists, with the relations that the query names. A layer adds these. */
  readonly lists: Lists
  /** Undefined if anonymous, and for the app itself. */
  readonly caller: Caller | undefined
  /** The caller or, for a call of the app in a transaction, the initiator of that transaction. */
  readonly initiator: Caller | undefined
  /** Whether the app itself calls: then no rules apply. */
  readonly isApp: boolean
  /** The rows of the caller, and the values that are set on new ones. The context already has the filter. */
  readonly scope: Scope | undefined
  /** The rows of the parent collection that the caller can read. */
  readonly parentScope: Filter | undefined
  /** That of the collection, or the same within the transaction that the operation has joined. */
  readonly storage: Storage<object>
  /** What storages are called with. */
  readonly context: AbortableContext
  /** The transaction that the operation has joined. */
  readonly transaction: OpenTransaction | undefined
  /** The log of the request, or of the app. */
  readonly log: FastifyBaseLogger
  /** The request of Fastify, for functions of the app; undefined if the call comes from code. */
  readonly request: FastifyRequest | undefined
  /** The preconditions; undefined if there are none: then a DELETE need not read the item. */
  readonly check: Call['check']
  /** Whether a PUT may create the item. */
  readonly canCreate: boolean
  /** How much of what it writes the caller wants to get. */
  readonly prefers: Preferences['return']
  /** Set by batches. What the hooks `onRules` of features have returned before the transaction began. */
  readonly decisions: Decisions | undefined
  /** Set by layers. Called in the transaction of the write, with the outcome. A problem rolls it back. */
  readonly beforeCommit?: (outcome: Outcome, storage: Storage<object>) => Promise<Problem | undefined>
  /** Set by a layer. By collection, the rows that the caller can refer to; undefined if it can refer to none. */
  readonly readableTargets?: ReadonlyMap<object, { readonly scope: Filter | undefined } | undefined>
  /** Set by a layer that limits the time. */
  readonly progress?: Progress
  /** Set by features. Writes several changes at once, if no hook needs the single ones. */
  readonly writeMany?: WriteMany
  /** Set by calls for the pages after the first. Where the page begins. */
  readonly after?: Query['after']
  /** The query is parsed and resolved once. A layer that changes `lists` sets `resolvedQuery` to undefined. */
  parsedQuery?: QueryTree | Problem
  resolvedQuery?: ListQuery | Problem | undefined

  constructor ({ collection, door, action, steps }: BoundAction, access: Access, call: Call) {
    const { input, segment, place, ids, context, transaction, log, request, check } = call
    this.collection = collection
    this.door = door
    this.action = action
    this.steps = steps
    this.customAction = action.custom?.name
    this.input = input
    this.segment = segment
    this.id = action.at === 'item' ? collection.id.read(segment) : ids?.[0]
    this.ids = ids
    this.fixed = place?.fixed
    this.view = access.view
    this.lists = access.view.lists
    this.caller = access.caller
    this.initiator = access.isApp ? transaction?.initiator : access.caller
    this.isApp = access.isApp
    this.scope = access.scope
    this.parentScope = access.parentScope?.filter
    this.storage = transaction === undefined ? collection.storage : transaction.join(collection)
    this.context = context
    this.transaction = transaction
    this.log = log
    this.request = request
    this.check = check
    this.canCreate = access.canCreate
    // A caller who may write but not read gets no content.
    this.prefers = access.canRead ? call.prefers : 'minimal'
    this.decisions = call.decisions
  }

  /** Parses what a read requests. */
  parseQuery (): QueryTree | Problem {
    this.parsedQuery ??= this.input.parseQuery()
    return this.parsedQuery
  }

  /** Returns what a read requests, as far as the caller can. Called before anything is read. */
  query (): ListQuery | Problem {
    const listQuery = this.resolvedQuery ??= resolveQuery(this)
    const { after } = this
    if (after === undefined || listQuery instanceof Problem) return listQuery
    const { cursor, offset, ...rest } = listQuery
    // The items are counted once.
    return { ...rest, after, count: false }
  }

  /** Parses the content. Called after the preconditions: RFC 9110, section 13.2.1. */
  content (): ParsedContent | Problem {
    return this.input.parseContent()
  }

  /** Applies the content, a patch, to an item. */
  patch (item: object): ParsedContent | Problem {
    return this.input.applyPatch(item)
  }
}

function resolveQuery (operation: Operation): ListQuery | Problem {
  const { action, input, lists } = operation
  if (action.resolveQuery === undefined) return {}
  const tree = operation.parseQuery()
  return tree instanceof Problem ? tree : action.resolveQuery(tree, lists, input.defaults)
}

/** What is known of an operation before it runs. */
export type RuleSource = Pick<
  Operation,
  'collection' | 'action' | 'view' | 'caller' | 'isApp' | 'request' | 'parseQuery'
>

/** Calls rules, and returns what they have decided. */
export type Decide<Decision = unknown> = (source: RuleSource) => Promise<Decision>

/** What rules have decided, by the function that has called them. */
export type Decisions = ReadonlyMap<Decide, unknown>

/** What an operation leads to. Only failures are thrown. */
export type Outcome =
  | EntryOutcome
  | PageOutcome
  | GroupsOutcome
  | { readonly kind: 'output', readonly output: object | undefined, readonly entry: Entry<object> | undefined }
  | { readonly kind: 'removed', readonly entry: Entry<object> | undefined }
  | { readonly kind: 'many', readonly entries: ReadonlyArray<Entry<object>> }
  /** The items that matched the filter of a write to several items, in the order of their ids. */
  | { readonly kind: 'matched', readonly ids: readonly Id[] }
  | Moved
  /** What an earlier operation with the same key has led to, as its caller saw it. */
  | { readonly kind: 'replayed', readonly rendering: Rendering }

/** An item that was read or written. */
export interface EntryOutcome {
  readonly kind: 'entry'
  readonly entry: Entry<object>
  readonly created: boolean
  /** What a read requests of it. */
  readonly listQuery?: ListQuery
  readonly related?: RelatedData
  /** Whether the result is for this caller only, whatever the cache policy says. */
  readonly isPrivate?: boolean
}

/** The other collections that an outcome depends on. */
export interface RelatedData {
  /** What is added to the items; undefined if nothing is. */
  readonly addition: Addition | undefined
  /** Whether what the caller can read of the other collections depends on the caller. */
  readonly dependsOnCaller: boolean
  /** The request headers that identify the caller to them. */
  readonly vary?: readonly string[]
  /** The policies of the other collections for caches. */
  readonly policies?: readonly CachePolicy[]
  /** The names of the other collections. */
  readonly collections: readonly string[]
}

/** A part of a list. */
export interface PageOutcome {
  readonly kind: 'page'
  readonly page: Page<object>
  /** The query that was sent to the storage. */
  readonly query: Query
  readonly listQuery: ListQuery
  /** How the caller can query the list. */
  readonly lists: Lists
  readonly related?: RelatedData
  readonly isPrivate?: boolean
}

/** Figures over groups of items. */
export interface GroupsOutcome {
  readonly kind: 'groups'
  /** What the caller gets. */
  readonly output: object
  readonly related?: RelatedData
  readonly isPrivate?: boolean
}

/** The item has another id, or another URI. */
export interface Moved {
  readonly kind: 'moved'
  readonly to: Id | { readonly href: string }
  readonly status: 301 | 308
}

/** A write of one item. */
export interface ItemChange {
  readonly action: 'create' | 'replace' | 'update' | 'remove'
  readonly before: Entry<object> | undefined
  /** Undefined if the item is removed. */
  readonly item: object | undefined
}

/** The refusal of one of several changes, and those of `others` if they are known. */
export type ChangeRefusal = Refusal & { readonly index?: number, readonly others?: readonly ChangeRefusal[] }

/** The content of a write. */
export interface Content {
  /** The representation, or the item after the patch. */
  readonly value: unknown
  /** The item that it is compared with; undefined for a new one. */
  readonly base: object | undefined
  /** Whether the value is an array of items. */
  readonly isMany?: boolean
}

export interface FindOptions {
  readonly id: Id | undefined
  readonly storage: Storage<object>
  readonly context: Context
  /** Whether a DELETE has just found no such row in this context, so that it need not be read. */
  readonly isMissing?: boolean
}

export interface WriteOptions {
  readonly storage: Storage<object>
  /** Whether the writes are part of a transaction. */
  readonly isInTransaction: boolean
  /** The same, if functions of the app run in it. */
  readonly transaction: OpenTransaction | undefined
}

export type Run = (operation: Operation) => Promise<Outcome | Problem>
export type Find = (
  operation: Operation,
  options: FindOptions
) => Promise<Entry<object> | Moved | Problem | undefined>
export type ReadContent = (
  operation: Operation,
  before: Entry<object> | undefined
) => Content | Problem
export type Write = (
  operation: Operation,
  changes: readonly ItemChange[],
  options: WriteOptions
) => Promise<ReadonlyArray<Entry<object> | undefined> | ChangeRefusal | Problem>

/** Writes several changes at once. Undefined if nothing was written, because it is not possible or was refused. */
export type WriteMany = (
  changes: readonly ItemChange[],
  options: WriteOptions
) => Promise<ReadonlyArray<Entry<object> | undefined> | ChangeRefusal | undefined>

/** Where features put layers, from the outside in. `find`, `content` and `write` may run again after a race. */
export interface Positions {
  /** The whole operation, after the caller was authorized. */
  operation: Run
  /** Everything that reads or writes the items of the collection. */
  authorized: Run
  /** Reads the item that the operation is about. Lists have none. */
  find: Find
  /** Parses the content. */
  content: ReadContent
  /** Writes the changes of one or more items. */
  write: Write
}

export type Position = keyof Positions

/** What a feature puts around a position. */
export interface Layer<At extends Position = Position> extends LayerOptions {
  readonly feature: string
  /** Whether the feature does not change the entries that it gets. */
  readonly keepsEntries: boolean
  readonly position: At
  /** Returns `next` to leave an action unchanged. */
  readonly wrap: (next: Positions[At], action: ActionInfo) => Positions[At]
}

/** Where a layer applies. */
export interface LayerOptions {
  /**
   * The doors that the layer is for.
   *
   * @default all
   * @example
   * host.wrap('operation', wrap, { doors: ['http'] })
   */
  readonly doors?: readonly Door[]
  /**
   * Whether the layer is left out of operations that join a transaction.
   *
   * @default false
   * @example
   * host.wrap('operation', wrap, { outermost: true })
   */
  readonly outermost?: boolean
  /**
   * The features whose layers at the same position this one surrounds. Other layers are in the order of their names.
   *
   * @default []
   * @example
   * host.wrap('find', wrap, { outside: ['soft-delete'] })
   */
  readonly outside?: readonly string[]
  /**
   * Whether a layer of `write` needs a transaction. False if it only changes what is written.
   *
   * @default true
   * @example
   * host.wrap('write', wrap, { transaction: false })
   */
  readonly transaction?: boolean
}

/** The composed functions of an action. */
export interface Steps {
  readonly run: Run
  readonly find: Find
  readonly content: ReadContent
  readonly write: Write
  readonly hasFindLayers: boolean
  /** Whether a layer of `write` needs a transaction. */
  readonly writesInTransaction: boolean
  /** The features at each position, from the outside in. */
  readonly layers: Readonly<Record<Position, readonly string[]>>
}

/**
 * Returns the operation with changes, for the next layer. A copy by `{ ...operation }` would lose the methods of a
 * request.
 *
 * @example
 * next(changeOperation(operation, { prefers: 'minimal' }))
 */
export function changeOperation (operation: Operation, changes: Partial<Operation>): Operation {
  return Object.assign(Object.create(operation) as Operation, changes)
}
