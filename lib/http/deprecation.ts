// RFC 9745 section 2: Deprecation, a date as structured fields write it (RFC 9651 section 3.3.7).

export function deprecation (since: Date): string {
  return `@${Math.floor(since.getTime() / 1000)}`
}
