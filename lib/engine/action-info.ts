import type { HTTPMethods } from 'fastify'
import type { ActionName, AnyActionName } from './action.ts'
import type { Rule } from './access/rules.ts'
import type { RouteOptions } from './definition.ts'
import type { Problem } from '../http/problems.ts'
import type { ListQuery } from '../query/list-query.ts'
import type { Lists } from '../query/lists.ts'
import type { QueryRequest } from '../query/parse.ts'
import type { QueryTree } from '../query/tree.ts'
import type { JsonSchema } from '../storage/contract.ts'
import type { Operation, Run, WriteMany } from './operation.ts'

/** The ways to call a collection that are not custom actions. */
export type StandardKey = ActionName | 'query' | 'aggregate' | 'createMany' | 'updateMany' | 'removeMany'

/** What the content of a request is. `parameters` is the input of a custom action in the query string. */
export type Taken = 'representation' | 'patch' | 'bulkPatch' | 'query' | 'input' | 'parameters'

type ResolveQuery = (tree: QueryTree, lists: Lists, defaults?: ListQuery) => ListQuery | Problem

/** A way to call a collection: an entry of its table, which doors, OpenAPI and features read. */
export interface ActionInfo {
  /** Unique in its collection: `list`, `query`, `updateMany`; `finish` and `finish.get` for a custom action. */
  readonly key: StandardKey | (string & Record<never, never>)
  /** The action: the name of its rule, and of its options. */
  readonly name: AnyActionName
  readonly at: 'collection' | 'item'
  /** Whether it only reads. */
  readonly safe: boolean
  /** Whether it is answered like a GET: with an entity tag of what it returns, and 304. */
  readonly reads: boolean
  /** The actions that the caller must be allowed to call. It reads and writes rows in the scopes of all of them. */
  readonly rules: readonly [AnyActionName, ...AnyActionName[]]
  /** None if it is called from code only. */
  readonly methods: readonly HTTPMethods[]
  /** What follows the path of the collection or the item. */
  readonly path: string | undefined
  readonly takes: Taken | undefined
  /** Whether requests have content. */
  readonly takesContent: boolean
  /** Whether the content is an item, or a patch of one. */
  readonly takesItem: boolean
  readonly takesPatch: boolean
  /** Whether responses can have content. */
  readonly returnsContent: boolean
  /** Whether it is another form of an entry: QUERY of a list, or the GET of a custom action. */
  readonly isVariant: boolean
  /** What can be requested beside the content: a list, the content of an item, or groups of items. */
  readonly query: 'list' | 'item' | 'groups' | undefined
  /** Whether several requests have the same effect as one. */
  readonly idempotent: boolean
  /** Runs it. */
  readonly run: Run
  /** Resolves the query for its caller. `defaults` is what it has if it does not state it. Undefined if it has none. */
  readonly resolveQuery: ResolveQuery | undefined
  /** Whether a request needs a precondition, given whether writes to items of the collection do. */
  requiresMatch (general: boolean): boolean
  /** The custom action, if it is one. */
  readonly custom?: CustomAction
  /** Set if it is about several items: an array of new ones, or those that match a filter. */
  readonly bulk?: BulkAction
  /** Set if it computes figures over the items that a list would return. */
  readonly aggregate?: AggregateAction
}

/** A variant of an action that is about several items. Of those with a run of its own, the conditions read. */
export interface BulkAction {
  readonly name: 'create' | 'update' | 'remove'
  /** How many items it can write. */
  readonly maximum: number
  /** Runs it: a PATCH or DELETE of the collection. A POST creates one item or several, so it has none. */
  readonly run: Run | undefined
  /** Returns a function that writes all items of a POST at once. */
  readonly createWriteMany?: (operation: Operation) => WriteMany
}

/** A variant of the action `list` that returns figures over groups of items: a GET of a path of its own. */
export interface AggregateAction {
  /** The last segment of the path. */
  readonly path: string
  /** Runs it. */
  readonly run: Run
  /** Resolves the query for its caller. */
  resolveQuery (tree: QueryTree, lists: Lists): ListQuery | Problem
  /** The schemas of the query parameters that lists do not have in this form, for OpenAPI. */
  readonly parameters: Readonly<Record<string, JsonSchema>>
  /** The schema of the content of responses. */
  readonly output: JsonSchema
}

/**
 * An action that is not one of the six: a POST to a path of its own, such as `/orders/{id}/cancel`. If it only reads,
 * it is a GET as well.
 */
export interface CustomAction {
  /** The last segment of the path. */
  readonly name: string
  /** Whether the path is that of an item or of the collection, followed by the name. */
  readonly at: 'collection' | 'item'
  /** Whether it only reads. */
  readonly safe: boolean
  /** Whether repeating it has no further effect. */
  readonly idempotent: boolean
  /** The schema of the content of requests. */
  readonly input: JsonSchema
  /** The schema of the content of responses; undefined if they have the item, or no content. */
  readonly output: JsonSchema | undefined
  /** Who may call it; undefined if the definition decides. */
  readonly allow: Rule | undefined
  /** Options of its Fastify route. */
  readonly route: RouteOptions
  /** A few words for people, such as `Cancel`. */
  readonly title: string
  readonly description: string | undefined
  /** Returns the input that a query string has; undefined if the action is only a POST. */
  readonly readQuery: ((query: QueryRequest['query']) => object) | undefined
  /** Runs it. */
  readonly run: Run
  /** Returns the output as clients get it: without writeOnly properties. */
  showOutput (output: object): object
  /** Whether requests need If-Match, given whether the writes of the collection do. */
  requiresMatch (general: boolean): boolean
  /** Whether it is possible in the state that the item has. */
  isPossible (item: object): boolean
  /** The source of the function that decides that, because entity tags depend on it. */
  readonly condition: string
}

/** What `action()` adds to the type of a definition: a method of calls from code and of the typed client. */
export interface AddedAction<
  Name extends string = string,
  On extends 'item' | 'collection' = 'item' | 'collection',
  Input = unknown,
  Output = unknown
> {
  /** The name of the method. */
  readonly action: Name
  /** Whether the method takes an item. */
  readonly on: On
  /** What the method takes. */
  readonly input: Input
  /** What the method returns; undefined if that is the item. */
  readonly output: Output
}

/** The names of the methods for several items, of calls from code and of the typed client. */
type BulkMethod = 'createMany' | 'updateMany' | 'removeMany'

/** What `bulk()` adds to the type of a definition: methods of calls from code and of the typed client. */
export interface AddedBulk<Method extends BulkMethod = BulkMethod> {
  /** The names of the methods. */
  readonly bulk: Method
}
