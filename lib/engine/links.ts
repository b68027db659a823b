import type { Links } from '../http/link.ts'
import type { ItemType } from '../schema/item-type.ts'
import type { Entry } from '../storage/contract.ts'

/** The collections that the app serves around a collection, for links. Complete when the app is ready. */
export interface Neighbors {
  /** The names of the collections that are nested in its items. */
  readonly children: ReadonlySet<string>
  /** Whether the items that it is nested in can be read. */
  readonly hasParent: boolean
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
