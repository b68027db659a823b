import { hash } from 'node:crypto'
import type { Collection } from '../collection.ts'
import type { Format, Formatted, Links } from '../formats/format.ts'
import { formatDate } from '../http/date.ts'
import { buildEntityTag } from '../http/entity-tag.ts'
import { clockTolerance, isSettled } from '../http/preconditions.ts'
import { buildItemLinkHeader, buildItemLinks } from './links.ts'
import type { Representation } from '../formats/representation-cache.ts'
import type { Entry, Page } from '../storage/contract.ts'
import { applyView, getVersion, getViewVersion } from './view.ts'
import type { View } from './view.ts'

/** RFC 9110, section 8.8.3.3: each format of a version has its own tag. So has each definition. */
export function buildEtag ({ tagSuffixes }: Collection, version: string, format: Format): string {
  return buildEntityTag(version, tagSuffixes.get(format))
}

/** Returns a text that changes when an entry of the page changes, or when a next page appears or disappears. */
export function joinVersions ({ type }: Collection, { entries, more }: Page<object>, view?: View): string {
  let versions = `${more}\n`
  for (const entry of entries) {
    const version = view === undefined ? getVersion(type, entry) : getViewVersion(type, entry, view)
    versions += `${entry.id} ${version}\n`
  }
  return versions
}

/** Shortens the versions of a page for its entity tag. */
export function hashVersions (versions: string): string {
  return hash('sha1', versions, 'base64url')
}

/** Returns when the item last changed, by the storage or by its timestamp; undefined if neither is known. */
export function getLastModified (collection: Collection, entry: Entry<object>): Date | undefined {
  const { timestamps: { updated }, hidden } = collection.type
  // The time of the storage includes changes of properties that are hidden from the caller.
  const stored = hidden === undefined ? entry.modified : undefined
  if (stored !== undefined || updated === undefined || hidden?.has(updated) === true) return stored
  const date = new Date((entry.item as Record<string, string>)[updated] ?? '')
  return Number.isNaN(date.getTime()) ? undefined : date
}

/**
 * Returns when the representation last changed: with the item, or when this process started. A deploy may have hidden a
 * property, which does not change the date of the item.
 */
export function getRepresentationDate (collection: Collection, entry: Entry<object>): Date | undefined {
  const modified = getLastModified(collection, entry)
  return modified === undefined || modified.getTime() >= collection.definedAt
    ? modified
    : new Date(collection.definedAt)
}

export interface RenderTarget {
  readonly format: Format
  /** The path of the collection. */
  readonly path: string
}

/** Renders an entry with its headers. The result is cached for entries that cannot change. */
export function represent (collection: Collection, entry: Entry<object>, target: RenderTarget): Representation {
  const { format, path } = target
  const cache = collection.representations.get(format)
  const cached = cache?.get(entry, path)
  if (cached !== undefined && (cached.datedFrom === undefined || cached.datedFrom > Date.now())) return cached
  const representation = {
    path,
    content: cached?.content ?? renderContent(collection, entry, target),
    fields: buildEntryHeaders(collection, entry, target, { 'content-type': format.mediaType })
  }
  // Storages that keep their entries freeze them. Others return new objects for each request.
  if (Object.isFrozen(entry)) {
    cache?.add(entry, { ...representation, datedFrom: findDatedFrom(collection, entry, representation) })
  }
  return representation
}

/** Returns from when on the representation has a Last-Modified; undefined if it has one, or never gets one. */
function findDatedFrom (
  collection: Collection,
  entry: Entry<object>,
  { fields }: Pick<Representation, 'fields'>
): number | undefined {
  const modified = 'last-modified' in fields ? undefined : getRepresentationDate(collection, entry)
  return modified === undefined ? undefined : modified.getTime() + clockTolerance
}

/** Renders the content without caching it: an item that was just written may never be read. */
export function renderContent (collection: Collection, entry: Entry<object>, target: RenderTarget): Formatted {
  return target.format.item(
    collection.type.show(entry.item),
    buildContentLinks(collection, entry, target),
    collection.type.messages.read
  )
}

const noLinks: Links = Object.freeze({})

/** Formats whose lists are joined from rendered items have no links in their content. */
function buildContentLinks (collection: Collection, entry: Entry<object>, { format, path }: RenderTarget): Links {
  return format.join === undefined ? buildItemLinks(collection, entry, path) : noLinks
}

/** Adds the headers of an entry to `fields`. A 304 has them as well: RFC 9110, section 15.4.5. */
export function buildEntryHeaders (
  collection: Collection,
  entry: Entry<object>,
  target: RenderTarget,
  fields: Record<string, string> = {}
): Record<string, string> {
  fields.etag = buildEtag(collection, getVersion(collection.type, entry), target.format)
  addLinkHeader(collection, target, fields)
  const modified = getRepresentationDate(collection, entry)
  // A date that a later change could have as well is no validator. A date in the future is never sent.
  if (modified !== undefined && isSettled(modified)) fields['last-modified'] = formatDate(modified)
  return fields
}

/** Adds the header Link, which does not depend on the version of the entry. */
export function addLinkHeader (collection: Collection, { path }: RenderTarget, fields: Record<string, string>): void {
  fields.link = buildItemLinkHeader(collection, path)
}

interface ViewTarget extends RenderTarget {
  readonly view: View
}

/** Renders an entry in a view. Views are not cached. */
export function representView (
  collection: Collection,
  entry: Entry<object>,
  target: ViewTarget
): Pick<Representation, 'content' | 'fields'> {
  const { format, view } = target
  return {
    content: format.item(
      applyView(collection.type, entry, view),
      buildContentLinks(collection, entry, target),
      collection.type.messages.read
    ),
    fields: { 'content-type': format.mediaType, ...buildViewHeaders(collection, entry, target) }
  }
}

/** Builds the headers of an entry in a view. With related items there is no Last-Modified: they change separately. */
export function buildViewHeaders (
  collection: Collection,
  entry: Entry<object>,
  target: ViewTarget
): Record<string, string> {
  const { format, view } = target
  const { 'last-modified': modified, ...fields } = buildEntryHeaders(collection, entry, target)
  const etag = buildEtag(collection, getViewVersion(collection.type, entry, view), format)
  if (modified === undefined || view.additions.length > 0) return { ...fields, etag }
  return { ...fields, etag, 'last-modified': modified }
}

interface ListTarget extends RenderTarget {
  /** The links of the list, for formats that have links in their content. */
  readonly links: () => Links
  readonly view: View | undefined
}

/** Renders a page of entries. */
export function representList (
  collection: Collection,
  entries: ReadonlyArray<Entry<object>>,
  target: ListTarget
): Formatted {
  const { format, links, view } = target
  if (format.join !== undefined && view === undefined) {
    return format.join(entries.map((entry) => represent(collection, entry, target).content))
  }
  const items = entries.map((entry) => (
    view === undefined ? collection.type.show(entry.item) : applyView(collection.type, entry, view)
  ))
  const itemLinks = entries.map((entry) => buildContentLinks(collection, entry, target))
  return format.list(items, { list: links(), items: itemLinks }, collection.type.messages.read)
}
