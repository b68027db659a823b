import type { Collection } from './collection.ts'
import type { Attached } from './features/feature.ts'
import { deriveListing } from './listing/listing.ts'
import { createCaches } from './formats/representation-cache.ts'
import { rewriteSchema } from './schema/rewrite-schema.ts'
import { getValidator } from './schema/validation.ts'
import { hideProperties, HiddenCache, getVisibleProperties } from './access/visible.ts'
import type { Hidden } from './access/visible.ts'

const knownCollections = new HiddenCache<Collection>()

/** The collection as it is to a caller who does not see these properties; what was written of it is never what others are shown. */
export function collectionSeen (collection: Collection, hidden: Hidden): Collection {
  return knownCollections.get(collection, hidden, () => narrowed(collection, hidden))
}

function narrowed (collection: Collection, hidden: Hidden): Collection {
  const { formats, order, storage, validate: { item } } = collection
  const [schema, properties] = [hideProperties(collection, hidden), getVisibleProperties(collection, hidden)]
  const isSeen = (property: string): boolean => !hidden.has(property.split('.', 1)[0]!)
  const { filterable, sortable, search } = collection.listing
  const draft = rewriteSchema(schema, { optional: ['readOnly'] })
  return Object.freeze({
    ...collection,
    hidden,
    properties,
    // The order tells its properties.
    order: order.filter(({ property }) => isSeen(property)),
    listing: deriveListing({ schema, properties }, { filter: [...filterable.keys()], sort: [...sortable.keys()], search: search.filter(isSeen), parameters: getOfferedParameters(collection.attached, hidden) }, storage.supports),
    validate: { draft: (value: unknown) => getValidator(draft)(value), item },
    written: createCaches(formats)
  })
}

function getOfferedParameters ({ queryParameters }: Attached, hidden: Hidden): string[] {
  return [...queryParameters].filter(([, { isOffered }]) => isOffered?.(hidden) !== false).map(([name]) => name)
}
