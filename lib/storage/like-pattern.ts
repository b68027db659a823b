/** Splits a `like` pattern into the texts between its stars; a backslash escapes the next character. */
export function splitPattern (pattern: string): string[] {
  const texts: string[] = []
  let text = ''
  for (const [token] of pattern.matchAll(/\\?[^]/gu)) {
    if (token === '*') {
      texts.push(text)
      text = ''
    } else {
      text += token.length > 1 && token.startsWith('\\') ? token.slice(1) : token
    }
  }
  return [...texts, text]
}
