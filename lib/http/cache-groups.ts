// RFC 9875: a cache can drop all responses of a group after a write.

/** Formats a structured field: a list of strings (RFC 9651, section 3.3.3). */
function formatGroups (names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}

export function buildCacheGroups (names: readonly string[]): Readonly<Record<string, string>> {
  return { 'cache-groups': formatGroups(names) }
}

export function buildCacheGroupInvalidation (name: string): Readonly<Record<string, string>> {
  return { 'cache-group-invalidation': formatGroups([name]) }
}
