import { hideInLists, openLists } from '../query/lists.ts'
import type { Lists } from '../query/lists.ts'
import type { ItemType } from '../schema/item-type.ts'
import type { Supports } from '../storage/contract.ts'

/** The part of a collection that callers see differently. */
export interface Viewed {
  readonly type: ItemType
  readonly lists: Lists
  readonly storage: { readonly supports: Supports }
  readonly attached: { readonly marks: Readonly<Record<string, unknown>> }
  readonly views: Map<string, View>
}

/** Beyond this many kinds of callers, the view that was created first goes. */
const maxViews = 64

/** What depends on the caller. Callers who do not see the same properties share one. */
export class View {
  /** The type of the items, as the caller sees them. */
  readonly type: ItemType
  /** How the caller can query lists. */
  readonly lists: Lists
  /** What doors keep for callers who see the same. */
  readonly kept = new Map<string, unknown>()

  constructor (type: ItemType, lists: Lists) {
    this.type = type
    this.lists = lists
  }
}

/** Returns the view of callers who do not see these properties. */
export function getView (collection: Viewed, hidden?: ReadonlySet<string>): View {
  const key = hidden === undefined ? '' : JSON.stringify([...hidden])
  return collection.views.get(key) ?? addView(collection, key, createView(collection, hidden))
}

function createView (collection: Viewed, hidden: ReadonlySet<string> | undefined): View {
  const { type, lists, storage: { supports } } = collection
  const visible = type.hide(hidden)
  return new View(visible, visible === type ? lists : hideInLists(lists, visible, supports))
}

/**
 * Returns the view of the app itself. It may set `readOnly` properties, except for those that the library sets, and
 * filter and sort by every property that a storage can compare.
 */
export function getAppView (collection: Viewed): View {
  return collection.views.get('app') ?? addView(collection, 'app', createAppView(collection))
}

function createAppView (collection: Viewed): View {
  const { type, lists, attached, storage: { supports } } = collection
  const open = type.open(Object.keys(attached.marks))
  return new View(open, openLists(lists, open, supports))
}

function addView ({ views }: Viewed, key: string, view: View): View {
  views.set(key, view)
  if (views.size > maxViews) views.delete(views.keys().next().value!)
  return view
}
