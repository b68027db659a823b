// RFC 6901: JSON Pointer.

/** Returns the unescaped segments (RFC 6901, sections 3 and 4); undefined if the text is not a pointer. */
export function parsePointer (text: string): string[] | undefined {
  if (text === '') return []
  if (!text.startsWith('/')) return undefined
  const segments = text.slice(1).split('/')
  if (!text.includes('~')) return segments
  if (/~(?![01])/.test(text)) return undefined
  return segments.map(unescapeSegment)
}

/** The slash first: `~01` means `~1`. */
function unescapeSegment (segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Escapes a member name or an index (RFC 6901, section 3). */
export function escapePointer (segment: string): string {
  return segment.includes('~') || segment.includes('/')
    ? segment.replaceAll('~', '~0').replaceAll('/', '~1')
    : segment
}

/** Builds a pointer from unescaped segments. */
export function toPointer (segments: Iterable<string | number>): string {
  let text = ''
  for (const segment of segments) text += '/' + escapePointer(String(segment))
  return text
}
