import type { Format } from '../../formats/format.ts'
import type { Link } from '../../http/link.ts'
import type { ItemType } from '../../schema/item-type.ts'
import type { LinkFailures } from '../../engine/link-failures.ts'
import type { BuildLinks, Neighbors } from '../../engine/links.ts'
import type { View } from '../../engine/view.ts'
import { TagSuffixes } from './tag-suffix.ts'
import type { LinkedRelation } from './tag-suffix.ts'

/** A custom action, as links have it. */
interface LinkedAction {
  readonly name: string
  readonly at: 'collection' | 'item'
  readonly title: string
  /** The source of the function that decides whether it is possible, because entity tags depend on it. */
  readonly condition: string
  isPossible (item: object): boolean
}

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

/** Returns how items are represented for callers who may call only these custom actions, or all of them. */
export function present (
  inputs: PresentationInputs,
  { type, kept }: View,
  allowedActions?: ReadonlySet<string>
): Presentation {
  const key = allowedActions === undefined ? 'all' : `only ${[...allowedActions].join()}`
  const known = kept.get(key)
  if (known instanceof Presentation) return known
  const presentation = new Presentation(type, inputs, allowedActions)
  kept.set(key, presentation)
  return presentation
}
