// XML 1.0 §2.3: which property names can name an element, and how the others are written.
//
// A character that cannot stand in a name is written `_xHHHH_`, its UTF-16 code unit in hexadecimal (ISO/IEC 9075-14 §9.1);
// an underscore that would read as the start of such an escape is escaped itself, and the empty name is `_`.

const start = String.raw`A-Z_a-z\xC0-\xD6\xD8-\xF6\xF8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C-\u200D\u2070-\u218F\u2C00-\u2FEF\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\u{10000}-\u{EFFFF}`
const rest = String.raw`\u0300-\u036F${start}\-.0-9\xB7\u203F-\u2040`

/** A name without a colon (Namespaces in XML §3 gives it a meaning), from where `lastIndex` points. */
export const nameToken = new RegExp(`[${start}][${rest}]*`, 'uy')

const plain = /^(?!xml)[a-z][a-z\d]*$/i
const underscore = new RegExp(`_(?=x[\\dA-Fa-f]{4}(?:_|[^${rest}]))`, 'gu')
const unfit = new RegExp(`[^${rest}]`, 'gu')
// Names that begin with `xml` are reserved.
const unfitStart = new RegExp(`^(?:[^${start}]|x(?=ml))`, 'iu')
const escapes = /_x([\dA-Fa-f]{4})_/g

export function encodeName (name: string): string {
  if (plain.test(name)) return name
  if (name === '') return '_'
  if (name === '_') return escape(name)
  return name.replace(underscore, escape).replace(unfit, escape).replace(unfitStart, escape)
}

export function decodeName (name: string): string {
  if (name === '_') return ''
  return name.includes('_x') ? name.replace(escapes, unescape) : name
}

function escape (characters: string): string {
  let escaped = ''
  for (let at = 0; at < characters.length; at++) {
    escaped += `_x${characters.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0')}_`
  }
  return escaped
}

function unescape (_escape: string, digits: string): string {
  return String.fromCharCode(parseInt(digits, 16))
}
