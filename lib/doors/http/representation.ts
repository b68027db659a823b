import { hash } from 'node:crypto'
import { findJson } from '../../formats/entries.ts'
import type { EntryTag, Format, Formatted, Links } from '../../formats/format.ts'
import type { Headers } from './response.ts'
import { formatDate } from '../../http/date.ts'
import { buildEntityTag } from '../../http/entity-tag.ts'
import { freezeJson } from '../../http/json-value.ts'
import { isSettled } from '../../http/preconditions.ts'
import { buildItemLinkHeader, buildItemLinks } from './links.ts'
import type { Entry, Page } from '../../storage/contract.ts'
import type { Presentation } from './presentation.ts'
import { applySelection, getPositionVersion, getSelectionVersion } from './selection.ts'
import type { Selection } from './selection.ts'

/** RFC 9110, section 8.8.3.3: each format of a version has its own tag. So has each definition. */
export function buildEtag ({ tagSuffixes }: Presentation, version: string, format: Format): string {
  return buildEntityTag(version, tagSuffixes.get(format))
}

/** The tag is that of the whole item in plain JSON, whatever the response has of it. */
function tagEntry (presentation: Presentation, entry: Entry<object>): EntryTag {
  const json = findJson(presentation.inputs.http.formats)!
  return { id: entry.id, tag: buildEtag(presentation, presentation.type.getVersion(entry), json) }
}

/**
 * Returns a text that changes when an entry of the page changes or moves, or when a next page appears or disappears.
 * The links of the page contain the positions of entries.
 */
export function joinVersions ({ type }: Presentation, { entries, more }: Page<object>, selection?: Selection): string {
  let versions = `${more}\n`
  for (const entry of entries) {
    const version = selection === undefined ? type.getVersion(entry) : getSelectionVersion(type, entry, selection)
    versions += `${entry.id} ${version}${getPositionVersion(entry)}\n`
  }
  return versions
}

/** Shortens the versions of a page for its entity tag. */
export function hashVersions (versions: string): string {
  return hash('sha1', versions, 'base64url')
}

/** Returns when the item last changed, by the storage or by its timestamp; undefined if neither is known. */
export function getLastModified (presentation: Presentation, entry: Entry<object>): Date | undefined {
  const { timestamps: { updated }, hidden } = presentation.type
  // The time of the storage includes changes of properties that are hidden from the caller.
  const stored = hidden === undefined ? entry.modified : undefined
  if (stored !== undefined || updated === undefined || hidden?.has(updated) === true) return stored
  return parseTimestamp((entry.item as Record<string, string>)[updated] ?? '')
}

let lastText = ''
let lastDate: Date | undefined

/** Parsing takes 4 % of the library's part of a PATCH, and items that are written in a row often have the same time. */
function parseTimestamp (text: string): Date | undefined {
  if (text !== lastText) {
    const date = new Date(text)
    lastDate = Number.isNaN(date.getTime()) ? undefined : date
    lastText = text
  }
  return lastDate
}

/**
 * Returns when the representation last changed: with the item, or when this process started. A deploy may have hidden a
 * property, which does not change the date of the item.
 */
export function getRepresentationDate (presentation: Presentation, entry: Entry<object>): Date | undefined {
  const modified = getLastModified(presentation, entry)
  return modified === undefined || modified.getTime() >= presentation.inputs.http.definedAt
    ? modified
    : new Date(presentation.inputs.http.definedAt)
}

export interface RenderTarget {
  readonly format: Format
  /** The path of the collection. */
  readonly path: string
}

interface ContentTarget extends RenderTarget {
  /** What the response has of the item; undefined for the whole item. */
  readonly selection?: Selection | undefined
}

/** The content of an entry in a format, with its headers. */
interface Representation {
  readonly content: Formatted
  readonly headers: Headers
}

/** Renders an entry with its headers. */
export function represent (presentation: Presentation, entry: Entry<object>, target: RenderTarget): Representation {
  return {
    content: renderContent(presentation, entry, target),
    headers: buildEntryHeaders(presentation, entry, target, { 'content-type': target.format.mediaType })
  }
}

/** Renders the content of an entry, or what is selected of it. */
export function renderContent (presentation: Presentation, entry: Entry<object>, target: ContentTarget): Formatted {
  const { format, selection } = target
  return format.item(
    protectItem(format, applySelection(presentation.type, entry, selection, format.embed)),
    buildContentLinks(presentation, entry, target),
    presentation.type.messages.read,
    format.hasTags === true ? tagEntry(presentation, entry) : undefined
  )
}

/** A format of an app cannot change an item, which the engine or another response may have as well. */
function protectItem (format: Format, item: object): object {
  return format.keepsItems === true ? item : freezeJson(item)
}

const noLinks: Links = Object.freeze({})

function buildContentLinks (
  presentation: Presentation,
  entry: Entry<object>,
  { format, path, selection }: ContentTarget
): Links {
  if (format.hasLinks === false) return noLinks
  return buildItemLinks(presentation, entry, { path, fields: selection?.fields })
}

/** Adds the headers of an entry to `headers`. A 304 has them as well: RFC 9110, section 15.4.5. */
export function buildEntryHeaders (
  presentation: Presentation,
  entry: Entry<object>,
  target: RenderTarget,
  headers: Record<string, string> = {}
): Record<string, string> {
  headers.etag = buildEtag(presentation, presentation.type.getVersion(entry), target.format)
  addLinkHeader(presentation, target, headers)
  const modified = getRepresentationDate(presentation, entry)
  // A date that a later change could have as well is no validator. A date in the future is never sent.
  if (modified !== undefined && isSettled(modified)) headers['last-modified'] = formatDate(modified)
  return headers
}

/** Adds the header Link, which does not depend on the version of the entry. */
export function addLinkHeader (
  presentation: Presentation,
  { path }: RenderTarget,
  headers: Record<string, string>
): void {
  headers.link = buildItemLinkHeader(presentation, path)
}

interface SelectionTarget extends RenderTarget {
  readonly selection: Selection
}

/** Renders what is selected of an entry. */
export function representSelection (
  presentation: Presentation,
  entry: Entry<object>,
  target: SelectionTarget
): Representation {
  return {
    content: renderContent(presentation, entry, target),
    headers: { 'content-type': target.format.mediaType, ...buildSelectionHeaders(presentation, entry, target) }
  }
}

/**
 * Builds the headers of what is selected of an entry. With related items there is no Last-Modified: they change
 * separately.
 */
export function buildSelectionHeaders (
  presentation: Presentation,
  entry: Entry<object>,
  target: SelectionTarget
): Record<string, string> {
  const { format, selection } = target
  const { 'last-modified': modified, ...headers } = buildEntryHeaders(presentation, entry, target)
  const etag = buildEtag(presentation, getSelectionVersion(presentation.type, entry, selection), format)
  if (modified === undefined || selection.additions.length > 0) return { ...headers, etag }
  return { ...headers, etag, 'last-modified': modified }
}

interface ListTarget extends RenderTarget {
  /** The links of the list. */
  readonly links: Links
  /** The items as the response has them. */
  readonly items: readonly object[]
  readonly selection: Selection | undefined
  /** How many items there are in all, if they were counted. */
  readonly total?: number | undefined
}

/** Renders a page of entries. */
export function representList (
  presentation: Presentation,
  entries: ReadonlyArray<Entry<object>>,
  target: ListTarget
): Formatted {
  const { format, links, items, total } = target
  const itemLinks = entries.map((entry) => buildContentLinks(presentation, entry, target))
  const shown = items.map((item) => protectItem(format, item))
  const tags = format.hasTags === true
    ? { entries: entries.map((entry) => tagEntry(presentation, entry)), total }
    : undefined
  return format.list(shown, { list: links, items: itemLinks }, presentation.type.messages.read, tags)
}
