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
