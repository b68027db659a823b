// RFC 9745, section 2: Deprecation.

/** Formats a date as a structured field (RFC 9651, section 3.3.7). */
export function formatDeprecation (since: Date): string {
  return `@${Math.floor(since.getTime() / 1000)}`
}
