// RFC 8288 §3: Link.

export interface LinkValue {
  readonly href: string
  readonly rel: string
  readonly title?: string
  readonly type?: string
}

export function link (links: Iterable<LinkValue>): string {
  let field = ''
  for (const value of links) field += field === '' ? linkValue(value) : `, ${linkValue(value)}`
  return field
}

const printable = /^[\x20-\x7e]*$/
const plain = /^[a-z-]*$/
// RFC 3986 §2: what cannot be part of a URI at all, or would end it here.
const unfit = /[^\x21\x23-\x3b\x3d\x3f-\x7e]/
const unfits = new RegExp(unfit, 'gu')

function linkValue ({ href, rel, title, type }: LinkValue): string {
  let value = `<${reference(href)}>; rel=${quoted(rel)}`
  if (title !== undefined) value += printable.test(title) ? `; title=${quoted(title)}` : `; title*=UTF-8''${extended(title)}`
  if (type !== undefined) value += `; type=${quoted(type)}`
  return value
}

function reference (href: string): string {
  return unfit.test(href) ? href.replace(unfits, percentEncoded) : href
}

// RFC 9110 §5.6.4
function quoted (text: string): string {
  if (plain.test(text)) return `"${text}"`
  return `"${text.replace(/[^\x20-\x7e]/gu, percentEncoded).replace(/["\\]/g, '\\$&')}"`
}

// RFC 8187 §3.2
function extended (text: string): string {
  return text.replace(/[^A-Za-z0-9!#$&+.^_`|~-]/gu, percentEncoded)
}

function percentEncoded (character: string): string {
  return Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '%$&')
}
