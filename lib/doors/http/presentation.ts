import type { Format, Link, Links } from '../../formats/format.ts'
import type { ItemType } from '../../schema/item-type.ts'
import type { Entry } from '../../storage/contract.ts'
import type { LinkFailures } from '../../engine/link-failures.ts'
import { TagSuffixes } from './tag-suffix.ts'
import type { LinkedRelation } from './tag-suffix.ts'

/** The collections that the app serves around a collection, for links. Complete when the app is ready. */
export interface Neighbors {
  /** The names of the collections that are nested in its items. */
  readonly children: ReadonlySet<string>
  /** Whether the items that it is nested in can be read. */
  readonly hasParent: boolean
}

/** A custom action, as links have it. */
interface LinkedAction {
  readonly name: string
  readonly at: 'collection' | 'item'
  readonly title: string
  /** The source of the function that decides whether it is possible, because entity tags depend on it. */
  readonly condition: string
  isPossible (item: object): boolean
}

/** The item whose links a feature adds. */
export interface LinkContext {
  /** The path of the collection. */
  readonly path: string
  /** The type of the item, as the caller sees it. */
  readonly type: ItemType
  /** The properties of the item that the response has; undefined means all. */
  readonly fields: readonly string[] | undefined
}

/** Builds links of an item to what the app serves. */
export type BuildLinks = (entry: Entry<object>, context: LinkContext) => Links

/** What the representations of a collection depend on, beside its items. */
export interface PresentationInputs {
  readonly http: {
    readonly formats: readonly Format[]
    /** In milliseconds, rounded up to a second, because dates in HTTP have no milliseconds. */
    readonly definedAt: number
    /** Whether weak entity tags fulfill If-Match. */
    readonly etag: { readonly version?: string | undefined }
    /** Further links of an item. */
    links? (context: { readonly item: object }): Readonly<Record<string, Link>>
  }
  readonly attached: {
    readonly actions: ReadonlyMap<string, LinkedAction>
    readonly relations: ReadonlyMap<string, LinkedRelation>
  }
  readonly app: {
    /** What features add to the links of items. */
    readonly itemLinks: readonly BuildLinks[]
    readonly neighbors: Neighbors
    readonly service: { readonly description?: string | undefined }
    readonly linkFailures?: LinkFailures
  }
}

/** How items are represented for callers who see the same. */
export class Presentation {
  /** The type of the items, as these callers see them. */
  readonly type: ItemType
  readonly inputs: PresentationInputs
  /** The custom actions that they may call; undefined if they may call all. */
  readonly allowedActions: ReadonlySet<string> | undefined
  readonly tagSuffixes: TagSuffixes
  /** The header Link of the last item. All items at one path have the same. */
  itemLink: { readonly path: string, readonly header: string } | undefined

  constructor (type: ItemType, inputs: PresentationInputs, allowedActions: ReadonlySet<string> | undefined) {
    this.type = type
    this.inputs = inputs
    this.allowedActions = allowedActions
    this.tagSuffixes = new TagSuffixes({ ...inputs, ...inputs.http, digest: type.digest, allowedActions })
  }
}
