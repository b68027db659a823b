import type { Collection } from '../collection.ts'
import type { Links } from '../formats/format.ts'
import { link } from '../http/link.ts'
import type { LinkValue } from '../http/link.ts'
import type { Entry, Id } from '../storage/contract.ts'
import { isUuid } from '../schema/uuid.ts'

// RFC 8288: where one can go from here. `path` is always that of the collection.

export function itemPath (path: string, id: Id): string {
  // Of what most ids are, nothing must be encoded.
  return `${path}/${typeof id === 'string' && isUuid(id) ? id : encodeURIComponent(id)}`
}

/** The links of an item, for the formats that carry them. */
export function itemLinks (collection: Collection, entry: Entry<object>, path: string): Links {
  const self = itemPath(path, entry.id)
  return {
    self: { href: self },
    collection: { href: path },
    ...collection.neighbors.hasParent && { up: { href: path.slice(0, path.lastIndexOf('/')) } },
    ...Object.fromEntries([...collection.neighbors.children].map(name => [name, { href: `${self}/${name}` }])),
    ...collection.links?.({ item: entry.item })
  }
}

const written = new WeakMap<Collection, { readonly path: string, readonly field: string }>()

/** The field Link of an item: the same for all items at one path. */
export function itemLink (collection: Collection, path: string): string {
  const known = written.get(collection)
  if (known?.path === path) return known.field
  const field = link([{ href: path, rel: 'collection' }, ...described(collection)])
  written.set(collection, { path, field })
  return field
}

/** In characters. Each link has the whole query string, and clients and proxies refuse long header sections. */
const longestLink = 8000

/** The header Link of a list; undefined if there is nowhere to go. If it would be too long, only `next` is left of the pages. */
export function listLink (collection: Collection, pages: Links): string | undefined {
  const links = described(collection)
  const rels = Object.keys(pages)
  const length = rels.reduce((sum, rel) => sum + pages[rel]!.href.length, 0)
  for (const rel of rels) if (length <= longestLink || rel === 'next') links.push({ href: pages[rel]!.href, rel })
  return links.length === 0 ? undefined : link(links)
}

/** RFC 8631 section 4.1. */
function described ({ service: { description } }: Collection): LinkValue[] {
  return description === undefined ? [] : [{ href: description, rel: 'service-desc' }]
}
