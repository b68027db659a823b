/** Splits a pattern into the texts between its stars; a backslash escapes the next character. */
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

/** A pattern of `ilike`, in small letters, and what has to become small in a text beside the letters A to Z. */
export interface SmallPattern {
  readonly pattern: string
  /** Letters that are equal to one of the pattern, each with the small one. */
  readonly letters: ReadonlyArray<readonly [letter: string, small: string]>
}

// Only the letters of a pattern have to be found in a text, so no database needs tables of Unicode.

/** Returns a pattern that matches texts in which A to Z and the given letters are replaced by small ones. */
export function toSmallPattern (pattern: string): SmallPattern {
  const letters = new Map<string, string>()
  const small = Array.from(pattern, (letter) => {
    const small = toSmall(letter)
    for (const form of [letter, small.toUpperCase(), thirdForms[small] ?? small]) {
      if (form !== small && form > '\x7f' && toSmall(form) === small) letters.set(form, small)
    }
    return small
  })
  return { pattern: small.join(''), letters: [...letters] }
}

/** Greek has two small letters for one capital. */
const thirdForms: Readonly<Record<string, string>> = { σ: 'ς', ß: 'ẞ' }

/** A letter whose small form is several, such as the Turkish İ, is equal to itself only. */
function toSmall (letter: string): string {
  if (letter === thirdForms['σ']) return 'σ'
  const small = letter.toLowerCase()
  return small.length === letter.length || small.length === 1 ? small : letter
}
