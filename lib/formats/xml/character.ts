// XML 1.0 §2.2 and §4.6: the characters there are, and the ones that are written as a reference.

/** What cannot stand in XML, not even as a reference. */
export const noCharacter = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u

/** Without a DTD there are no other entities. */
const entities = new Map([['amp', '&'], ['lt', '<'], ['gt', '>'], ['quot', '"'], ['apos', "'"]])

// §2.4 wants `>` escaped after `]]`; §2.11 has a reader turn a bare CR into LF.
const references = new Map([['&', '&amp;'], ['<', '&lt;'], ['>', '&gt;'], ['\r', '&#13;']])

export function escapeText (text: string): string {
  return text.replace(/[&<>\r]/g, character => `${references.get(character)}`)
}

export function entity (name: string): string | undefined {
  return entities.get(name)
}

/** By its code, `65` or `x41`. */
export function character (code: string): string | undefined {
  const point = Number('0' + code)
  const text = point > 0x10ffff ? '\0' : String.fromCodePoint(point)
  return noCharacter.test(text) ? undefined : text
}

export function isBlank (text: string): boolean {
  return /^[ \t\n\r]*$/.test(text)
}
