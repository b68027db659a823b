import type { Served, ServedCollections } from '../engine/collection.ts'
import type { Relation } from '../engine/feature.ts'
import type { Link, Links } from '../http/link.ts'
import { buildItemPath, mergeLinks } from '../doors/http/links.ts'
import type { BuildLinks, LinkContext } from '../engine/links.ts'
import type { Entry, Id } from '../storage/contract.ts'
import { readId } from './relation.ts'

/** Returns a function that builds the links of an item to the items and lists that it is related to. */
export function createRelationLinks (relations: ReadonlyMap<string, Relation>, app: ServedCollections): BuildLinks {
  return ({ id, item }, { path, type: { hidden }, fields }) => {
    const links: Record<string, Link> = {}
    for (const [name, relation] of relations) {
      const { property, isMany, equals } = relation
      if (hidden?.has(property) === true) continue
      const target = relation.findTarget(app)
      if (isMany) {
        const href = buildListUrl(target, equals, { id, path: buildTargetPath(target, { path, property: equals, id }) })
        if (href !== undefined) links[name] = { href }
        continue
      }
      const isShown = fields === undefined || fields.includes(property)
      const key = isShown ? readId(item, property) : undefined
      // A value that no id can have, such as "..", would lead elsewhere.
      if (key === undefined || target.collection.id.read(String(key)) === undefined) continue
      const outer = buildTargetPath(target, { path })
      if (outer !== undefined) links[name] = { href: buildItemPath(outer, key) }
    }
    return links
  }
}

/** The URL of the list of items whose property has the id; undefined if it has no path. */
function buildListUrl (
  { collection: { attached: { parent }, lists } }: Served,
  property: string,
  { id, path }: { readonly id: Id, readonly path: string | undefined }
): string | undefined {
  if (path === undefined || parent?.property === property) return path
  const name = lists.parameters.has(property) ? `${property}.eq` : property
  return `${path}?${encodeURIComponent(name)}=${encodeURIComponent(id)}`
}

interface Place {
  /** The path of a collection of the same app. */
  readonly path: string
  /** The property that holds the id of an item of that collection, which the other one may be nested in. */
  readonly property?: string
  readonly id?: Id
}

/**
 * The path of a collection, with the parameters of its prefix as in the path of the other one, and the id of the item
 * that it is nested in; undefined if it has parameters that are not known. Links are built without a request, so its
 * parameters are not available.
 */
function buildTargetPath ({ path: route, collection }: Served, { path, property, id }: Place): string | undefined {
  const { parent } = collection.attached
  const known = path.split('/')
  let isSame = true
  const filled = route.split('/').map((segment, index) => {
    if (!segment.startsWith(':')) {
      if (segment !== known[index]) isSame = false
      return segment
    }
    if (segment === ':parent' && parent !== undefined) {
      return id !== undefined && parent.property === property ? encodeURIComponent(id) : undefined
    }
    return isSame ? known[index] : undefined
  })
  return filled.includes(undefined) ? undefined : filled.join('/')
}

/** Builds the links of an included item. */
export function buildIncludedLinks ({ collection }: Served, entry: Entry<object>, context: LinkContext): Links {
  const { path } = context
  const own = { self: { href: buildItemPath(path, entry.id) }, collection: { href: path } }
  return mergeLinks(own, collection.app.itemLinks.map((build) => build(entry, context)))
}
