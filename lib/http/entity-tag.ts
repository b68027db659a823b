// RFC 9110 §8.8.3: entity tags.

/** As it stands in a field: `"xyzzy"`, or `W/"xyzzy"` where it is weak. */
export type EntityTag = string

const tag = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?=[ \t]*(?:,|$))/y
const gap = /[ \t,]*/y
// Up to the next comma that no quotation marks hold.
const malformed = /(?:"[^"]*(?:"|$)|[^",])*/y

/** The members of If-Match or If-None-Match; malformed ones are left out, so that they never match. */
export function parseEntityTags (field: string): '*' | EntityTag[] {
  if (field === '*') return '*'
  const tags: EntityTag[] = []
  for (let at = end(gap, field, 0); at < field.length; at = end(gap, field, at)) {
    const next = end(tag, field, at)
    if (next > at) tags.push(field.slice(at, next))
    at = next > at ? next : end(malformed, field, at)
  }
  return tags
}

function end (pattern: RegExp, field: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(field) ? pattern.lastIndex : at
}

/** §8.8.3.2 */
export function strongMatch (one: EntityTag, other: EntityTag): boolean {
  return one === other && !one.startsWith('W/')
}

/** §8.8.3.2 */
export function weakMatch (one: EntityTag, other: EntityTag): boolean {
  return one === other || opaque(one) === opaque(other)
}

function opaque (tag: EntityTag): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag
}

const coding = /-(?:gzip|br|deflate|zstd)"$/

/** §8.8.3.3: a coding makes another representation, with a tag of its own. */
export function codedTag (tag: EntityTag, coding: string): EntityTag {
  return `${tag.slice(0, -1)}-${coding}"`
}

/** The tag of what the coding was applied to. */
export function uncodedTag (tag: EntityTag): EntityTag {
  return tag.replace(coding, '"')
}

/** The tag by which a client knows the representation, as its If-None-Match tells: it may have it in a coding. */
export function knownTag (tag: EntityTag, field: string | undefined): EntityTag {
  if (field === undefined || field === tag) return tag
  const given = parseEntityTags(field)
  const known = given === '*' ? [] : given.map(opaque)
  return known.includes(tag) ? tag : known.find(coded => uncodedTag(coded) === tag) ?? tag
}

const unsafe = /[^\x21\x23\x24\x26-\x7e]/g

/** Whether all of it can stand in a tag. By hand: every answer has one. */
function isSafe (text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x21 || code > 0x7e || code === 0x22 || code === 0x25) return false
  }
  return true
}

/** A strong entity tag of a version of something and of its form. What cannot stand in one is escaped, so that two versions never share a tag. */
export function entityTag (version: string, form: string): EntityTag {
  return `"${safe(version)}.${safe(form)}"`
}

function safe (text: string): string {
  return isSafe(text) ? text : text.replace(unsafe, escape)
}

function escape (character: string): string {
  return '%' + character.charCodeAt(0).toString(16).padStart(4, '0')
}
