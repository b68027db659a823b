// RFC 9110, section 8.8.3: entity tags.

import { isCodingAccepted } from './accept-encoding.ts'

/** As it is written in a header: `"xyzzy"`, or `W/"xyzzy"` if it is weak. */
export type EntityTag = string

const tagPattern = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?=[ \t]*(?:,|$))/y
const gapPattern = /[ \t,]*/y
// Up to the next comma outside quotation marks.
const malformedPattern = /(?:"[^"]*(?:"|$)|[^",])*/y

/** Parses If-Match or If-None-Match. Malformed tags are left out, so that they never match. */
export function parseEntityTags (field: string): '*' | EntityTag[] {
  if (field === '*') return '*'
  const tags: EntityTag[] = []
  for (let at = findEnd(gapPattern, field, 0); at < field.length; at = findEnd(gapPattern, field, at)) {
    const end = findEnd(tagPattern, field, at)
    if (end > at) tags.push(field.slice(at, end))
    at = end > at ? end : findEnd(malformedPattern, field, at)
  }
  return tags
}

function findEnd (pattern: RegExp, field: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(field) ? pattern.lastIndex : at
}

/** RFC 9110, section 8.8.3.2: strong comparison. */
export function isStrongMatch (one: EntityTag, other: EntityTag): boolean {
  return one === other && !one.startsWith('W/')
}

/** RFC 9110, section 8.8.3.2: weak comparison. */
export function isWeakMatch (one: EntityTag, other: EntityTag): boolean {
  return one === other || removeWeakness(one) === removeWeakness(other)
}

function removeWeakness (tag: EntityTag): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag
}

const codingPattern = /-(gzip|br|deflate|zstd)"$/

/** Returns the tag of an encoded representation (RFC 9110, section 8.8.3.3). */
export function addCoding (tag: EntityTag, coding: string): EntityTag {
  return `${tag.slice(0, -1)}-${coding}"`
}

/** Returns the tag of the representation before it was encoded. */
export function removeCoding (tag: EntityTag): EntityTag {
  return tag.replace(codingPattern, '"')
}

/**
 * Returns the tag of the representation before it was encoded, if the client accepts the coding. Otherwise the tag
 * identifies a representation that is not selected (RFC 9110, section 13.1.2), and is returned as it is.
 */
export function removeAcceptedCoding (tag: EntityTag, acceptEncoding: string | undefined): EntityTag {
  const coding = codingPattern.exec(tag)?.[1]
  return coding !== undefined && isCodingAccepted(acceptEncoding, coding) ? removeCoding(tag) : tag
}

interface KnownTags {
  readonly 'if-none-match'?: string | undefined
  readonly 'accept-encoding'?: string | undefined
}

/** Returns the tag under which the client stores the representation, by its If-None-Match: it may be an encoded one. */
export function getKnownTag (tag: EntityTag, fields: KnownTags): EntityTag {
  const { 'if-none-match': field, 'accept-encoding': acceptEncoding } = fields
  if (field === undefined || field === tag) return tag
  const given = parseEntityTags(field)
  if (given === '*') return tag
  const encoded = given.map(removeWeakness).find((known) => (
    known !== tag && removeAcceptedCoding(known, acceptEncoding) === tag
  ))
  return encoded ?? tag
}

/** Builds a strong entity tag. Invalid characters are escaped, so that two versions never share a tag. */
export function buildEntityTag (version: string, form: string): EntityTag {
  return `"${escapeTag(version)}.${escapeTag(form)}"`
}

/**
 * Whether the tag identifies another form of this version: with some of the properties, or with included items.
 * `getSelectionVersion` adds to the version of the item.
 */
export function isOtherForm (tag: EntityTag, version: string): boolean {
  const start = `"${escapeTag(version)}`
  const known = removeWeakness(tag)
  return known.startsWith(start) && /^[~+]/.test(known.slice(start.length))
}

const unsafePattern = /[^\x21\x23\x24\x26-\x7e]/g

/** Most tags need no escape, and replace() alone would take three times as long to find that out. */
function escapeTag (text: string): string {
  return text.search(unsafePattern) === -1 ? text : text.replace(unsafePattern, escapeCharacter)
}

function escapeCharacter (character: string): string {
  return '%' + character.charCodeAt(0).toString(16).padStart(4, '0')
}
