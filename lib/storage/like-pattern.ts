/** Splits a `like` pattern into the texts between its stars; a backslash escapes the next character. */
export function splitPattern (pattern: string): string[] {
  return splitUnescaped(pattern, '*')
}

/** Splits text at a character, unless a backslash precedes it; a backslash escapes every character. */
export function splitUnescaped (text: string, separator: string): string[] {
  const parts: string[] = []
  let part = ''
  for (const [token] of text.matchAll(/\\?[^]/gu)) {
    if (token === separator) {
      parts.push(part)
      part = ''
    } else {
      part += token.length > 1 && token.startsWith('\\') ? token.slice(1) : token
    }
  }
  return [...parts, part]
}
