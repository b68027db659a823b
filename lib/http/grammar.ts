// RFC 9110 §5.6: the rules that fields have in common.

/** §5.6.2: the source of a pattern. */
export const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"

/** §5.6.1: what stands between separators that are not in a quoted string; empty members are dropped. */
export function split (field: string, separator: ',' | ';'): string[] {
  if (!field.includes('"')) return field.split(separator).map(member => member.trim()).filter(member => member !== '')
  const members: string[] = []
  let start = 0
  let quoted = false
  for (let at = 0; at <= field.length; at++) {
    const character = field[at]
    if (quoted && character === '\\') at++
    else if (character === '"') quoted = !quoted
    else if (character === undefined || (character === separator && !quoted)) {
      const member = field.slice(start, at).trim()
      if (member !== '') members.push(member)
      start = at + 1
    }
  }
  return members
}

/** §5.6.4: the text that a token or a quoted string stands for; undefined where it is neither. */
export function word (text: string): string | undefined {
  if (tokenOnly.test(text)) return text
  return quotedOnly.test(text) ? text.slice(1, -1).replace(/\\(.)/g, '$1') : undefined
}

const tokenOnly = new RegExp(`^${token}$`)
const quotedOnly = /^"(?:[^"\\]|\\.)*"$/
