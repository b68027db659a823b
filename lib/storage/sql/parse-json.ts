/** Stands ahead of the number that a name is known by meanwhile. */
const mark = '\uE000'
const colon = /\s*:/y

/**
 * JSON.parse, but for names with escapes: V8 since 12.8 takes such a name for another one at times
 * (https://github.com/nodejs/node/issues/63785), so these are kept from it.
 */
export function parseJson (text: string): unknown {
  if (!text.includes('\\')) return JSON.parse(text)
  const names: unknown[] = []
  let plain = ''
  let copied = 0
  for (let start = text.indexOf('"'), end; start !== -1; start = text.indexOf('"', end)) {
    end = endOfString(text, start)
    colon.lastIndex = end
    if (!colon.test(text)) continue
    const name = text.slice(start, end)
    if (!name.includes('\\') && !name.startsWith(mark, 1)) continue
    plain += `${text.slice(copied, start)}"${mark}${names.push(JSON.parse(name)) - 1}"`
    copied = end
  }
  return names.length === 0 ? JSON.parse(text) : renamed(JSON.parse(plain + text.slice(copied)), names)
}

/** The place after its closing quote, or the end of a text that has none. */
function endOfString (text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) return at + 1
    if (code === 0x5c) at++
  }
  return text.length
}

function renamed (value: unknown, names: readonly unknown[]): unknown {
  if (Array.isArray(value)) return value.map((part) => renamed(part, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name.startsWith(mark) ? names[Number(name.slice(1))] : name, renamed(part, names)]))
}
