/** Precedes the number that temporarily replaces a name. */
const mark = '\uE000'
const colon = /\s*:/y
const quote = 0x22
const backslash = 0x5c

/**
 * JSON.parse, but for names with escapes: V8 since 12.8 sometimes returns another name for them
 * (https://github.com/nodejs/node/issues/63785), so they are replaced before and restored afterwards.
 */
export function parseJson (text: string): unknown {
  if (!text.includes('\\')) return JSON.parse(text)
  const names: unknown[] = []
  let plain = ''
  let copied = 0
  for (let start = text.indexOf('"'), end; start !== -1; start = text.indexOf('"', end)) {
    end = findStringEnd(text, start)
    colon.lastIndex = end
    if (!colon.test(text)) continue
    const name = text.slice(start, end)
    if (!name.includes('\\') && !name.startsWith(mark, 1)) continue
    plain += `${text.slice(copied, start)}"${mark}${names.push(JSON.parse(name)) - 1}"`
    copied = end
  }
  if (names.length === 0) return JSON.parse(text)
  return restoreNames(JSON.parse(plain + text.slice(copied)), names)
}

/** The index after the closing quote, or the end of the text if there is none. */
function findStringEnd (text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at + 1
    if (code === backslash) at++
  }
  return text.length
}

function restoreNames (value: unknown, names: readonly unknown[]): unknown {
  if (Array.isArray(value)) return value.map((part) => restoreNames(part, names))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, part]) => [
    name.startsWith(mark) ? names[Number(name.slice(1))] : name,
    restoreNames(part, names)
  ])
  return Object.fromEntries(entries)
}
