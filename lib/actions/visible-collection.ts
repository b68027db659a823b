import type { Collection } from '../collection.ts'
import type { Attached } from '../features/feature.ts'
import { deriveListing } from '../listing/listing.ts'
import { createCaches } from '../formats/representation-cache.ts'
import { TagSuffixes } from '../response/tag-suffix.ts'
import type { Hidden } from '../access/visible.ts'
import type { ItemType } from '../schema/item-type.ts'

/** By the type of the items that callers see. */
const collections = new WeakMap<Collection, WeakMap<ItemType, Collection>>()

/** Returns the collection for callers who do not see these properties. It has its own cache of representations. */
export function getVisibleCollection (collection: Collection, hidden: Hidden): Collection {
  let known = collections.get(collection)
  if (known === undefined) collections.set(collection, known = new WeakMap())
  const type = collection.type.hide(hidden)
  let visible = known.get(type)
  if (visible === undefined) known.set(type, visible = buildVisibleCollection(collection, type, hidden))
  return visible
}

const linkingCollections = new WeakMap<Collection, Map<string, Collection>>()

/** Returns the collection for callers who may call only these custom actions. Its links leave out the others. */
export function getLinkingCollection (collection: Collection, allowedActions: ReadonlySet<string>): Collection {
  let known = linkingCollections.get(collection)
  if (known === undefined) linkingCollections.set(collection, known = new Map())
  const key = [...allowedActions].join()
  let linking = known.get(key)
  if (linking === undefined) {
    linking = Object.freeze({
      ...collection,
      allowedActions,
      tagSuffixes: new TagSuffixes({ ...collection, digest: collection.type.digest, allowedActions }),
      representations: createCaches(collection.formats)
    })
    known.set(key, linking)
  }
  return linking
}

function buildVisibleCollection (collection: Collection, type: ItemType, hidden: Hidden): Collection {
  const { formats, order, storage, attached } = collection
  const { filterable, sortable, search } = collection.listing
  const isVisible = (property: string): boolean => !hidden.has(property.split('.', 1)[0]!)
  const listingOptions = {
    filter: [...filterable.keys()],
    sort: [...sortable.keys()],
    search: search.filter(isVisible),
    parameters: getOfferedParameters(attached, hidden)
  }
  return Object.freeze({
    ...collection,
    type,
    // The order would reveal the values of hidden properties.
    order: order.filter(({ property }) => isVisible(property)),
    listing: deriveListing(type, listingOptions, storage.supports),
    representations: createCaches(formats)
  })
}

function getOfferedParameters ({ queryParameters }: Attached, hidden: Hidden): string[] {
  return [...queryParameters].filter(([, { isOffered }]) => isOffered?.(hidden) !== false).map(([name]) => name)
}
