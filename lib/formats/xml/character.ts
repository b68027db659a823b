// XML 1.0, sections 2.2 and 4.6: valid characters, and those that are written as references.

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
