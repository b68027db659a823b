// RFC 8288, section 3: Link.

export interface LinkValue {
  readonly href: string
  readonly rel: string
  readonly title?: string
  readonly type?: string
}

/** Formats the value of Link. */
export function formatLink (links: Iterable<LinkValue>): string {
  let field = ''
  for (const value of links) field += field === '' ? formatLinkValue(value) : `, ${formatLinkValue(value)}`
  return field
}

const printable = /^[\x20-\x7e]*$/
const plain = /^[a-z-]*$/
// RFC 3986, section 2: characters that a URI cannot contain, and those that would end it here.
const invalidInUri = /[^\x21\x23-\x3b\x3d\x3f-\x7e]/
const allInvalidInUri = new RegExp(invalidInUri, 'gu')

function formatLinkValue ({ href, rel, title, type }: LinkValue): string {
  let value = `<${escapeHref(href)}>; rel=${quote(rel)}`
  if (title !== undefined) {
    value += printable.test(title) ? `; title=${quote(title)}` : `; title*=UTF-8''${encodeExtended(title)}`
  }
  if (type !== undefined) value += `; type=${quote(type)}`
  return value
}

function escapeHref (href: string): string {
  return invalidInUri.test(href) ? href.replace(allInvalidInUri, percentEncode) : href
}

/** RFC 9110, section 5.6.4. */
function quote (text: string): string {
  if (plain.test(text)) return `"${text}"`
  return `"${text.replace(/[^\x20-\x7e]/gu, percentEncode).replace(/["\\]/g, '\\$&')}"`
}

/** RFC 8187, section 3.2. */
function encodeExtended (text: string): string {
  return text.replace(/[^A-Za-z0-9!#$&+.^_`|~-]/gu, percentEncode)
}

function percentEncode (character: string): string {
  return Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '%$&')
}

/** A link to another resource. */
export interface Link {
  /** The URI, which may be relative. */
  readonly href: string
  /** A text for people. */
  readonly title?: string
}

/** Links by relation, such as `self`, `collection` and `next`. */
export type Links = Readonly<Record<string, Link>>

/** The links of a list and of its items. */
export interface ListLinks {
  /** The links of the list. */
  readonly list: Links
  /** The links of each item, in the same order. */
  readonly items: readonly Links[]
}

/** A related item that a response includes, with what it includes itself. */
export interface EmbeddedItem {
  /** As clients see it. */
  readonly item: object
  /** The links of the item. */
  readonly links: Links
}

/** Several related items that a response includes: a page of their list. */
export interface EmbeddedList {
  /** As clients see them. */
  readonly items: readonly object[]
  /** The links of the page and of each item. */
  readonly links: ListLinks
  /** How many there are in all, if they were counted. */
  readonly total: number | undefined
}

/** What a response includes with an item, by the name of the relation. Undefined means that there is no such item. */
export type Embedded = Readonly<Record<string, EmbeddedItem | EmbeddedList | undefined>>
