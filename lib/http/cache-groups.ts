// RFC 9875: a cache can drop all responses of a group after a write.

/** Formats a structured field: a list of one string (RFC 9651, section 3.3.3). */
function formatGroup (name: string): string {
  return `"${name}"`
}

export function buildCacheGroups (name: string): Readonly<Record<string, string>> {
  return { 'cache-groups': formatGroup(name) }
}

export function buildCacheGroupInvalidation (name: string): Readonly<Record<string, string>> {
  return { 'cache-group-invalidation': formatGroup(name) }
}
