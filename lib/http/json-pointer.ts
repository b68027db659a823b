// RFC 6901: JSON Pointer.

/** §3 and §4: the segments, unescaped; undefined where the text is not a pointer. */
export function parsePointer (text: string): string[] | undefined {
  if (text === '') return []
  if (!text.startsWith('/')) return undefined
  const segments = text.slice(1).split('/')
  if (!text.includes('~')) return segments
  if (/~(?![01])/.test(text)) return undefined
  return segments.map(unescape)
}

// `~01` is `~1`: the slash goes first.
function unescape (segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** §3: one member name or index as it stands between two slashes. */
export function escapePointer (segment: string): string {
  return segment.includes('~') || segment.includes('/')
    ? segment.replaceAll('~', '~0').replaceAll('/', '~1')
    : segment
}

export function pointer (segments: Iterable<string | number>): string {
  let text = ''
  for (const segment of segments) text += '/' + escapePointer(String(segment))
  return text
}
