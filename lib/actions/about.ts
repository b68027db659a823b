import { allowedActions } from '../access/authorize.ts'
import { getRepresentationTypes } from '../request/content.ts'
import type { Collection } from '../collection.ts'
import type { About, Link, Offer } from '../formats/format.ts'
import { registered } from '../registry.ts'
import type { Request } from '../request/request.ts'
import type { JsonSchema } from '../storage/contract.ts'

// What a page can tell beside the content: what the caller can ask and do here, and where else there is something.

/** By collection, which is another one to callers who do not see all of it. */
const offers = new WeakMap<Collection, Offer>()

function offerOf (collection: Collection): Offer {
  let offer = offers.get(collection)
  if (offer === undefined) offers.set(collection, offer = offered(collection))
  return offer
}

function offered (collection: Collection): Offer {
  const { name, id, schemas: { create, replace, read }, hidden, mediaTypes, listing: { filterable, sortable, parameters }, limit, service } = collection
  return {
    name,
    id: id.property,
    schemas: { create: seen(create, hidden), replace: seen(replace, hidden), read: seen(read, hidden) },
    mediaTypes,
    takesJson: getRepresentationTypes(collection).includes('application/json'),
    filters: [...filterable.values()],
    sorts: [...sortable.keys()],
    search: parameters.has('q'),
    counts: parameters.has('count'),
    limit,
    description: service.description
  }
}

function seen (schema: JsonSchema, hidden: Collection['hidden']): JsonSchema {
  return hidden === undefined ? schema : { ...schema, properties: Object.fromEntries(Object.entries({ ...schema.properties }).filter(([name]) => !hidden.has(name))) }
}

interface Known {
  /** Whether an item is asked for, or the collection. */
  readonly at: 'collection' | 'item'
  readonly tag: string | undefined
  readonly total: string | undefined
}

export async function aboutOf (collection: Collection, { path, search, fixed, scope, original }: Request, { at, tag, total }: Known): Promise<About> {
  return {
    offer: offerOf(collection),
    path,
    search,
    origin: `${original.protocol}://${original.host}`,
    trail: trailOf(collection, path, at),
    actions: await allowedActions(collection, original),
    fixed: Object.keys({ ...scope?.values, ...fixed }),
    related: relatedPaths(collection, original),
    tag,
    total
  }
}

/** The collections and items in which the target lies, and itself. */
function trailOf (collection: Collection, path: string, at: Known['at']): Link[] {
  const above = path.slice(0, path.lastIndexOf('/'))
  if (at === 'item') return [...trailOf(collection, above, 'collection'), { href: path, title: nameOf(path) }]
  return [...collection.parent === undefined ? [] : trailOf(collection.parent.collection, above, 'item'), { href: path, title: collection.name }]
}

function nameOf (path: string): string {
  return decodeURIComponent(path.slice(path.lastIndexOf('/') + 1))
}

/** By property, where the app serves what it refers to; a prefix may have parameters, which are those of the target. */
function relatedPaths ({ attached }: Collection, { server, params }: Request['original']): ReadonlyMap<string, string> {
  const given = params as Readonly<Record<string, string | undefined>>
  const paths = [...attached.relations].map(([property, { baseStorage }]) => {
    const place = registered(server).find(({ collection }) => collection.baseStorage === baseStorage && collection.parent === undefined)
    return [property, place?.path.replace(/:(\w+)/g, (parameter, name: string) => given[name] ?? parameter) ?? ':'] as const
  })
  return new Map(paths.filter(([, path]) => !path.includes(':')))
}
