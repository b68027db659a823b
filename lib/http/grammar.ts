// RFC 9110, section 5.6: common rules for defining field values.

/** RFC 9110, section 5.6.2: the source of a pattern. */
export const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"

/** Splits a field value at separators outside quoted strings (RFC 9110, section 5.6.1). Empty elements are dropped. */
export function splitList (field: string, separator: ',' | ';'): string[] {
  if (!field.includes('"')) {
    return field.split(separator).map((element) => element.trim()).filter((element) => element !== '')
  }
  const elements: string[] = []
  let start = 0
  let isQuoted = false
  for (let at = 0; at <= field.length; at++) {
    const character = field[at]
    if (isQuoted && character === '\\') {
      at++
    } else if (character === '"') {
      isQuoted = !isQuoted
    } else if (character === undefined || (character === separator && !isQuoted)) {
      const element = field.slice(start, at).trim()
      if (element !== '') elements.push(element)
      start = at + 1
    }
  }
  return elements
}

/** Returns the text of a token or a quoted string (RFC 9110, section 5.6.4); undefined if it is neither. */
export function parseWord (text: string): string | undefined {
  if (tokenPattern.test(text)) return text
  return quotedPattern.test(text) ? text.slice(1, -1).replace(/\\(.)/g, '$1') : undefined
}

const tokenPattern = new RegExp(`^${token}$`)
const quotedPattern = /^"(?:[^"\\]|\\.)*"$/
