// How a search is read and what it matches: the same for every storage.

/** More words would make every search of a large table slow. */
export const mostWords = 10

/**
 * The words of a search as a storage gets them: in lower case, each once, the longest first. A word that occurs in
 * another one is left out, because whatever contains the longer word contains it too.
 */
export function parseWords (text: string): readonly string[] {
  const distinct = [...new Set(foldCase(text).split(/\s+/u))].filter((word) => word !== '')
  distinct.sort((a, b) => b.length - a.length)
  return distinct.filter((word, index) => !distinct.slice(0, index).some((longer) => longer.includes(word)))
}

/** Greek has two small letters for one capital: at the end of a word `toLowerCase` gives the second one. */
function foldCase (text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ')
}

/** Whether each word occurs in one of the texts; values that are not text are skipped. */
export function wordMatcher (words: readonly string[]): (values: readonly unknown[]) => boolean {
  const fold = words.some((word) => word.includes('σ')) ? foldCase : (text: string) => text.toLowerCase()
  return (values) => {
    const texts = values.filter((value) => typeof value === 'string').map(fold)
    return words.every((word) => texts.some((text) => text.includes(word)))
  }
}
