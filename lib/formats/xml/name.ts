// XML 1.0, section 2.3: which property names are names of elements, and how the others are written.
//
// A character that a name cannot contain is written `_xHHHH_`, its UTF-16 code unit in hexadecimal (ISO/IEC 9075-14,
// section 9.1). An underscore that looks like the start of such an escape is escaped itself. The empty name is `_`.

const startCharacters = String.raw`A-Z_a-z\xC0-\xD6\xD8-\xF6\xF8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C-\u200D` +
  String.raw`\u2070-\u218F\u2C00-\u2FEF\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\u{10000}-\u{EFFFF}`
const nameCharacters = String.raw`\u0300-\u036F${startCharacters}\-.0-9\xB7\u203F-\u2040`

/** A name at `lastIndex`. It has no colon, which namespaces use (Namespaces in XML, section 3). */
export const nameToken = new RegExp(`[${startCharacters}][${nameCharacters}]*`, 'uy')

const plainName = /^(?!xml)[a-z][a-z\d]*$/i
const escapeLikeUnderscore = new RegExp(`_(?=x[\\dA-Fa-f]{4}(?:_|[^${nameCharacters}]))`, 'gu')
const invalidCharacter = new RegExp(`[^${nameCharacters}]`, 'gu')
// Names that begin with `xml` are reserved.
const invalidStart = new RegExp(`^(?:[^${startCharacters}]|x(?=ml))`, 'iu')
const escapes = /_x([\dA-Fa-f]{4})_/g

/** Returns the name of the element of a property. */
export function encodeName (name: string): string {
  if (plainName.test(name)) return name
  if (name === '') return '_'
  if (name === '_') return escape(name)
  return name.replace(escapeLikeUnderscore, escape).replace(invalidCharacter, escape).replace(invalidStart, escape)
}

/** Returns the name of the property of an element. */
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
