import type { Collection } from '../collection.ts'
import type { Attached } from '../features/feature.ts'
import { deriveListing } from '../listing/listing.ts'
import { createCaches } from '../formats/representation-cache.ts'
import { TagSuffixes } from '../response/tag-suffix.ts'
import { rewriteSchema } from '../schema/rewrite-schema.ts'
import { getValidator } from '../schema/validation.ts'
import { hideProperties, HiddenCache, getVisibleProperties } from '../access/visible.ts'
import type { Hidden } from '../access/visible.ts'

const collections = new HiddenCache<Collection>()

/** Returns the collection for callers who do not see these properties. It has its own cache of representations. */
export function getVisibleCollection (collection: Collection, hidden: Hidden): Collection {
  return collections.get(collection, hidden, () => buildVisibleCollection(collection, hidden))
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
      tagSuffixes: new TagSuffixes({ ...collection, allowedActions }),
      representations: createCaches(collection.formats)
    })
    known.set(key, linking)
  }
  return linking
}

function buildVisibleCollection (collection: Collection, hidden: Hidden): Collection {
  const { formats, order, storage, validate, attached } = collection
  const { filterable, sortable, search } = collection.listing
  const schema = hideProperties(collection, hidden)
  const properties = getVisibleProperties(collection, hidden)
  const draft = rewriteSchema(schema, { optional: ['readOnly'] })
  const isVisible = (property: string): boolean => !hidden.has(property.split('.', 1)[0]!)
  const listingOptions = {
    filter: [...filterable.keys()],
    sort: [...sortable.keys()],
    search: search.filter(isVisible),
    parameters: getOfferedParameters(attached, hidden)
  }
  return Object.freeze({
    ...collection,
    hidden,
    properties,
    // The order would reveal the values of hidden properties.
    order: order.filter(({ property }) => isVisible(property)),
    listing: deriveListing({ schema, properties }, listingOptions, storage.supports),
    validate: { ...validate, draft: (value: unknown) => getValidator(draft)(value) },
    representations: createCaches(formats)
  })
}

function getOfferedParameters ({ queryParameters }: Attached, hidden: Hidden): string[] {
  return [...queryParameters].filter(([, { isOffered }]) => isOffered?.(hidden) !== false).map(([name]) => name)
}
