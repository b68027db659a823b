import { hash } from 'node:crypto'
import type { Collection, Representation } from './definition.ts'
import type { Format, Links } from './formats/format.ts'
import { formatDate } from './http/date.ts'
import { entityTag } from './http/entity-tag.ts'
import { itemLink, itemLinks } from './links.ts'
import { without } from './schema/marks.ts'
import type { Entry, Page } from './storage/contract.ts'

/** RFC 9110 section 8.8.3.3: the formats of one version have different tags. */
export function tagOf (version: string, format: Format): string {
  return entityTag(`${version}.${format.name}`)
}

/** The version of a list: it changes when any entry of the page does, or where a link to more comes or goes. */
export function versionOfList ({ entries, more }: Page<object>, selected?: readonly string[]): string {
  let versions = `${more} ${selected?.join() ?? ''}\n`
  for (const { id, version } of entries) versions += `${id} ${version}\n`
  return hash('sha1', versions, 'base64url')
}

/** Where the item tells when it last changed; when it was made says nothing of that. */
export function modifiedOf ({ timestamps: { updated } }: Collection, entry: Entry<object>): Date | undefined {
  if (entry.modified !== undefined || updated === undefined) return entry.modified
  const moment = new Date((entry.item as Record<string, string>)[updated] ?? '')
  return Number.isNaN(moment.getTime()) ? undefined : moment
}

/** `path` is that of the collection. An entry never changes, so neither does what is written of it, unless its links do. */
export function represent (collection: Collection, entry: Entry<object>, [format, path]: [Format, string]): Representation {
  const written = collection.written.get(format)!
  const known = written.get(entry)
  if (known !== undefined && known.path === path) return known
  const representation = {
    path,
    content: format.item(visible(collection, entry), format.join === undefined ? itemLinks(collection, entry, path) : none, collection.schemas.read),
    fields: { 'content-type': format.mediaType, ...entryFields(collection, entry, [format, path]) }
  }
  written.set(entry, representation)
  return representation
}

/** A list can be joined only of items that carry no links. */
const none: Links = Object.freeze({})

export function visible (collection: Collection, entry: Entry<object>): object {
  // Of an object, `without` makes an object.
  return without(entry.item, collection.members, 'writeOnly') as object
}

/** The fields that go with a representation, also where it is not sent: a 304 repeats them (RFC 9110 section 15.4.5). */
export function entryFields (collection: Collection, entry: Entry<object>, [format, path]: [Format, string]): Record<string, string> {
  const fields: Record<string, string> = { etag: tagOf(entry.version, format), link: itemLink(collection, path) }
  const modified = modifiedOf(collection, entry)
  if (modified !== undefined) fields['last-modified'] = formatDate(modified)
  return fields
}

/** Of an item, only the members that the client wants; what is written so is not kept. */
export function representSelected (collection: Collection, entry: Entry<object>, { format, path, selected }: { format: Format, path: string, selected: readonly string[] }): Representation {
  const fields = entryFields(collection, entry, [format, path])
  return {
    path,
    content: format.item(picked(visible(collection, entry), selected), itemLinks(collection, entry, path), collection.schemas.read),
    fields: { ...fields, 'content-type': format.mediaType, etag: tagOf(versionOfSelected(entry, selected), format) }
  }
}

/** What is selected makes another representation, with a tag of its own. */
export function versionOfSelected ({ version }: Entry<object>, selected: readonly string[] | undefined): string {
  return selected === undefined ? version : `${version}~${selected.join()}`
}

function picked (item: object, selected: readonly string[]): object {
  return Object.fromEntries(Object.entries(item).filter(([name]) => selected.includes(name)))
}

interface ListParts {
  readonly format: Format
  readonly path: string
  readonly links: Links
  readonly selected: readonly string[] | undefined
}

/** A page of entries as the client sees it. */
export function representList (collection: Collection, entries: ReadonlyArray<Entry<object>>, { format, path, links, selected }: ListParts): string {
  if (format.join !== undefined && selected === undefined) return format.join(entries.map(entry => represent(collection, entry, [format, path]).content))
  const items = entries.map(entry => selected === undefined ? visible(collection, entry) : picked(visible(collection, entry), selected))
  return format.list(items, { list: links, items: entries.map(entry => itemLinks(collection, entry, path)) }, collection.schemas.read)
}
