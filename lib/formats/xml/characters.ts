// XML 1.0, sections 2.2, 2.11, 4.3.3 and 4.6: from bytes to characters, which of them are valid, and references.

import { isUtf8 } from 'node:buffer'
import { Malformed, toMalformed } from '../format.ts'

/** Characters that XML cannot contain, not even as a reference. */
export const invalidCharacter = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u

/** Without a DTD there are no other entities. */
const entities = new Map([['amp', '&'], ['lt', '<'], ['gt', '>'], ['quot', '"'], ['apos', "'"]])

/** `>` must be escaped after `]]` (XML 1.0, section 2.4), and parsers turn a bare CR into LF (section 2.11). */
const references = new Map([['&', '&amp;'], ['<', '&lt;'], ['>', '&gt;'], ['\r', '&#13;']])

export function escapeText (text: string): string {
  return text.replace(/[&<>\r]/g, (character) => `${references.get(character)}`)
}

export function getEntity (name: string): string | undefined {
  return entities.get(name)
}

/** Parses the code of a character reference, such as `65` or `x41`; undefined if XML cannot contain the character. */
export function parseCharacterCode (code: string): string | undefined {
  const point = Number('0' + code)
  const text = point > 0x10ffff ? '\0' : String.fromCodePoint(point)
  return invalidCharacter.test(text) ? undefined : text
}

export function isBlank (text: string): boolean {
  return /^[ \t\n\r]*$/.test(text)
}

/** Decodes UTF-8 content. Throws `Malformed`. */
export function decodeXml (content: Buffer): string {
  if (content.length === 0) throw new Malformed('The content is empty.')
  const text = content.toString()
  if (!isUtf8(content)) throw toMalformed('the content is not UTF-8', getValidStart(content, text))
  const decoded = normalize(text)
  const invalidAt = decoded.search(invalidCharacter)
  if (invalidAt !== -1) throw toMalformed('this character is not allowed in XML', decoded.slice(0, invalidAt))
  return decoded
}

/** Removes a byte order mark, and turns every line break into LF (XML 1.0, section 2.11). */
function normalize (text: string): string {
  return (text.startsWith('\uFEFF') ? text.slice(1) : text).replace(/\r\n?/g, '\n')
}

/** Returns the text before the first byte that is not UTF-8. */
function getValidStart (content: Buffer, text: string): string {
  const encoded = Buffer.from(text)
  let at = 0
  while (content[at] === encoded[at]) at++
  return normalize(content.toString('utf8', 0, at))
}
