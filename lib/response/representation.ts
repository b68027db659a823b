import { hash } from 'node:crypto'
import type { Collection } from '../collection.ts'
import type { Format, Links } from '../formats/format.ts'
import { formatDate } from '../http/date.ts'
import { entityTag } from '../http/entity-tag.ts'
import { itemLink, itemLinks } from './links.ts'
import type { Representation } from '../formats/remembered.ts'
import type { Entry, Page } from '../storage/contract.ts'
import { seen, versionOf, versionSeen, visible } from './view.ts'
import type { View } from './view.ts'

/** RFC 9110, section 8.8.3.3: the formats of one version have different tags, and so has another definition. */
export function tagOf ({ tagSuffixes }: Collection, version: string, format: Format): string {
  return entityTag(version, tagSuffixes.get(format))
}

/** All that a page is made of: it changes when any entry does, or where a link to more comes or goes. */
export function versionsOf (collection: Collection, { entries, more }: Page<object>, view?: View): string {
  let versions = `${more}\n`
  for (const entry of entries) versions += `${entry.id} ${view === undefined ? versionOf(collection, entry) : versionSeen(collection, entry, view)}\n`
  return versions
}

/** The same, so short that a tag can be made of it. */
export function versionOfList (versions: string): string {
  return hash('sha1', versions, 'base64url')
}

/** Where the item tells when it last changed; when it was made says nothing of that. */
export function modifiedOf ({ timestamps: { updated }, hidden }: Collection, entry: Entry<object>): Date | undefined {
  // A storage may know of changes to what the caller does not see.
  const known = hidden === undefined ? entry.modified : undefined
  if (known !== undefined || updated === undefined || hidden?.has(updated) === true) return known
  const moment = new Date((entry.item as Record<string, string>)[updated] ?? '')
  return Number.isNaN(moment.getTime()) ? undefined : moment
}

/** In what format, and at which collection. */
export interface Wanted {
  readonly format: Format
  readonly path: string
}

export function represent (collection: Collection, entry: Entry<object>, wanted: Wanted): Representation {
  const { format, path } = wanted
  const written = collection.written.get(format)
  const known = written?.recall(entry, path)
  if (known !== undefined) return known
  const representation = { path, content: contentOf(collection, entry, wanted), fields: entryFields(collection, entry, wanted, { 'content-type': format.mediaType }) }
  // A frozen entry never changes, so neither does what is written of it, unless its links do. Others are made anew by their storage each time.
  if (Object.isFrozen(entry)) written?.keep(entry, representation)
  return representation
}

/** The content alone, written anew and not kept: what was just stored may never be read. */
export function contentOf (collection: Collection, entry: Entry<object>, wanted: Wanted): string {
  return wanted.format.item(visible(collection, entry), carried(collection, entry, wanted), collection.schemas.read)
}

const none: Links = Object.freeze({})

/** A list can be joined only of items that carry no links. */
function carried (collection: Collection, entry: Entry<object>, { format, path }: Wanted): Links {
  return format.join === undefined ? itemLinks(collection, entry, path) : none
}

/** The given fields, and those that go with a representation also where it is not sent: a 304 repeats them (RFC 9110 section 15.4.5). */
export function entryFields (collection: Collection, entry: Entry<object>, wanted: Wanted, fields: Record<string, string> = {}): Record<string, string> {
  fields.etag = tagOf(collection, versionOf(collection, entry), wanted.format)
  linkFields(collection, wanted, fields)
  const modified = modifiedOf(collection, entry)
  // Section 8.8.2.1: a clock elsewhere may be ahead of ours, but nothing is told to have changed later than it is now.
  if (modified !== undefined) fields['last-modified'] = formatDate(modified.getTime() > Date.now() ? new Date() : modified)
  return fields
}

/** The given fields, and those that go with a representation of any version. */
export function linkFields (collection: Collection, { path }: Wanted, fields: Record<string, string>): Record<string, string> {
  fields.link = itemLink(collection, path)
  return fields
}

interface WantedSeen extends Wanted {
  readonly view: View
}

/** As the client wants to see it; what is written so is not kept. */
export function representSeen (collection: Collection, entry: Entry<object>, wanted: WantedSeen): Pick<Representation, 'content' | 'fields'> {
  const { format, view } = wanted
  return {
    content: format.item(seen(collection, entry, view), carried(collection, entry, wanted), collection.schemas.read),
    fields: { 'content-type': format.mediaType, ...seenFields(collection, entry, wanted) }
  }
}

/** When the item changed says nothing of what it refers to. */
export function seenFields (collection: Collection, entry: Entry<object>, wanted: WantedSeen): Record<string, string> {
  const { format, view } = wanted
  const { 'last-modified': modified, ...fields } = entryFields(collection, entry, wanted)
  const etag = tagOf(collection, versionSeen(collection, entry, view), format)
  return modified === undefined || view.additions.length > 0 ? { ...fields, etag } : { ...fields, etag, 'last-modified': modified }
}

interface WantedList extends Wanted {
  /** Of the list, for the formats that carry links. */
  readonly links: () => Links
  readonly view: View | undefined
}

/** A page of entries as the client sees it. */
export function representList (collection: Collection, entries: ReadonlyArray<Entry<object>>, wanted: WantedList): string {
  const { format, links, view } = wanted
  if (format.join !== undefined && view === undefined) return format.join(entries.map(entry => represent(collection, entry, wanted).content))
  const items = entries.map(entry => view === undefined ? visible(collection, entry) : seen(collection, entry, view))
  return format.list(items, { list: links(), items: entries.map(entry => carried(collection, entry, wanted)) }, collection.schemas.read)
}
