// How a search is parsed and what it matches: the same for every storage.

/** More words would make every search of a large table slow. */
export const maxWords = 10

/**
 * Splits a search into words as a storage gets them: in lower case, each once, the longest first. A word that another
 * one contains is left out, because whatever contains the longer word contains it too.
 */
export function parseWords (text: string): readonly string[] {
  const distinct = [...new Set(foldCase(text).split(/\s+/u))].filter((word) => word !== '')
  distinct.sort((a, b) => b.length - a.length)
  return distinct.filter((word, index) => !distinct.slice(0, index).some((longer) => longer.includes(word)))
}

/** Greek has two small letters for one capital: at the end of a word `toLowerCase` returns the second one. */
function foldCase (text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ')
}

/** Creates a function that tells whether each word occurs in one of the texts. It ignores values that are not text. */
export function createWordMatcher (words: readonly string[]): (values: readonly unknown[]) => boolean {
  const fold = words.some((word) => word.includes('σ')) ? foldCase : (text: string) => text.toLowerCase()
  return (values) => {
    const texts = values.filter((value) => typeof value === 'string').map(fold)
    return words.every((word) => texts.some((text) => text.includes(word)))
  }
}
