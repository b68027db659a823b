import type { AddedAction } from '../engine/action-info.ts'
import type { Patch } from '../http/merge-patch.ts'
import type { AddsOfCollection, Call, ItemOfCollection } from './types.ts'

// The types of the client for batches, derived from the types of the definitions.

/** What parts of all kinds can have. */
interface CommonPart {
  /** A name for references of later parts. */
  readonly id?: string
}

/** Values of the content that come from earlier parts: `{ '/orderId': 'o#/id' }`. */
interface ReferringPart extends CommonPart {
  readonly refs?: Readonly<Record<string, `${string}#${string}`>>
}

/** Entity tags, as in the headers: that of an earlier result, or `*`. */
interface ConditionalPart {
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
}

type ListPath<Path extends string> = Path | `${Path}?${string}`

/** The parts that are about the items of a collection. What refs add need not be in the content. */
type ItemPart<Path extends string, Item> =
  | CommonPart & { readonly method: 'GET', readonly path: ListPath<Path> }
  | ReferringPart & { readonly method: 'POST', readonly path: Path, readonly content?: Partial<Item> }
  | CommonPart & ConditionalPart & { readonly method: 'GET' | 'DELETE', readonly path: `${Path}/${string}` }
  | ReferringPart & ConditionalPart & {
    readonly method: 'PUT'
    readonly path: `${Path}/${string}`
    readonly content?: Partial<Item>
  }
  | ReferringPart & ConditionalPart & {
    readonly method: 'PATCH'
    readonly path: `${Path}/${string}`
    readonly content?: Patch<Item> | readonly object[]
  }

type ActionPath<Path extends string, Added extends AddedAction> = Added['on'] extends 'item'
  ? `${Path}/${string}/${Added['action']}`
  : `${Path}/${Added['action']}`

/** The parts that call custom actions. */
type ActionPart<Path extends string, Added> = Added extends AddedAction
  ? ReferringPart & ConditionalPart & {
    readonly method: 'POST'
    readonly path: ActionPath<Path, Added>
    readonly content?: Partial<Added['input']>
  }
  : never

/** A part of a batch. `Collections` has the definitions, by the paths of their collections. */
export type BatchPart<Collections extends object> = {
  [Path in keyof Collections & string]:
    | ItemPart<Path, ItemOfCollection<Collections[Path]>>
    | ActionPart<Path, AddsOfCollection<Collections[Path]>>
}[keyof Collections & string]

/** The output of an action, or the item if it has none. */
type OutputOf<Added extends AddedAction, Item> = Added['output'] extends object ? Added['output'] : Item

type ActionContent<Path extends string, PartPath extends string, Added, Item> = Added extends AddedAction
  ? PartPath extends ActionPath<Path, Added> ? OutputOf<Added, Item> : never
  : never

/** The content of a part that is about the collection at this path; never if it is about another one. */
type ContentAt<Path extends string, Definition, Part> =
  Part extends { readonly method: infer Method, readonly path: infer PartPath extends string }
    ? PartPath extends ListPath<Path>
      ? Method extends 'GET' ? ReadonlyArray<ItemOfCollection<Definition>> : ItemOfCollection<Definition>
      : PartPath extends `${Path}/${string}`
        ? Method extends 'POST'
          ? ActionContent<Path, PartPath, AddsOfCollection<Definition>, ItemOfCollection<Definition>>
          : Method extends 'DELETE' ? undefined : ItemOfCollection<Definition>
        : never
    : never

type ContentOf<Collections extends object, Part> = {
  [Path in keyof Collections & string]: ContentAt<Path, Collections[Path], Part>
}[keyof Collections & string]

/** What a part has led to. */
export interface BatchResult<Content = unknown> {
  /** That of the part. */
  readonly id?: string
  /** The status that a single request would have had. */
  readonly status: number
  /** The entity tag of the item. */
  readonly etag?: string
  /** The path of a created item. */
  readonly location?: string
  /** The item, the items of a list, or the output of an action. Missing if the caller may not read it. */
  readonly content: Content
  /** The path of the next page of a list. */
  readonly next?: string
  /** How many items match in all, if the list has `count=true`. */
  readonly total?: number
}

/** The results of parts, in their order. */
export type BatchResults<Collections extends object, Parts extends readonly unknown[]> = {
  readonly [Index in keyof Parts]: BatchResult<ContentOf<Collections, Parts[Index]>>
}

/** A client for batches. */
export interface BatchClient<Collections extends object> {
  /** Runs all parts in one transaction. Throws a `ResponseError` if one of them is refused: then nothing is written. */
  batch<const Parts extends ReadonlyArray<BatchPart<Collections>>> (
    parts: Parts,
    call?: Call
  ): Promise<BatchResults<Collections, Parts>>
  /** Does the same, and rolls everything back. */
  preview<const Parts extends ReadonlyArray<BatchPart<Collections>>> (
    parts: Parts,
    call?: Call
  ): Promise<BatchResults<Collections, Parts>>
}
