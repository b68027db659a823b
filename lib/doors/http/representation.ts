import { findJson } from '../../formats/entries.ts'
import type { EntryTag, Format } from '../../formats/format.ts'
import { formatDate } from '../../http/date.ts'
import { buildEntityTag } from '../../http/entity-tag.ts'
import { isSettled } from '../../http/preconditions.ts'
import type { Id } from '../../storage/contract.ts'
import { buildItemLinkHeader } from './links.ts'
import type { Presentation } from './presentation.ts'

// What versions are in HTTP: entity tags and dates.

/** RFC 9110, section 8.8.3.3: each format of a version has its own tag. So has each definition. */
export function buildEtag ({ tagSuffixes }: Presentation, version: string, format: Format): string {
  return buildEntityTag(version, tagSuffixes.get(format))
}

/** The tag of the whole item in plain JSON, whatever the response has of it. */
export function tagVersion (presentation: Presentation, id: Id, version: string): EntryTag {
  const json = findJson(presentation.inputs.http.formats)!
  return { id, tag: buildEtag(presentation, version, json) }
}

/**
 * Returns when the representation last changed: with the item, or when this process started. A deploy may have hidden a
 * property, which does not change the date of the item.
 */
export function getRepresentationDate ({ inputs }: Presentation, modified: Date | undefined): Date | undefined {
  const { definedAt } = inputs.http
  return modified === undefined || modified.getTime() >= definedAt ? modified : new Date(definedAt)
}

/** An item, as a response has it. */
interface Versioned {
  readonly version: string
  readonly modified: Date | undefined
}

interface HeaderTarget {
  /** The path of the collection. */
  readonly path: string
  readonly headers: Record<string, string>
}

/** Adds the headers of an item. A 304 has them as well: RFC 9110, section 15.4.5. */
export function addItemHeaders (
  { presentation, format }: { readonly presentation: Presentation, readonly format: Format },
  { version, modified }: Versioned,
  { path, headers }: HeaderTarget
): void {
  headers.etag = buildEtag(presentation, version, format)
  addLinkHeader(presentation, path, headers)
  const date = getRepresentationDate(presentation, modified)
  // A date that a later change could have as well is no validator. A date in the future is never sent.
  if (date !== undefined && isSettled(date)) headers['last-modified'] = formatDate(date)
}

/** Adds the header Link of an item, which does not depend on its version. */
export function addLinkHeader (presentation: Presentation, path: string, headers: Record<string, string>): void {
  headers.link = buildItemLinkHeader(presentation, path)
}
