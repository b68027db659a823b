// RFC 9875: answers that belong together, so that a cache which keeps one of them fresh can drop them all after a write.

/** A structured-field list of one string (RFC 9651 section 3.3.3). */
function group (name: string): string {
  return `"${name}"`
}

export function cacheGroups (name: string): Readonly<Record<string, string>> {
  return { 'cache-groups': group(name) }
}

export function cacheGroupInvalidation (name: string): Readonly<Record<string, string>> {
  return { 'cache-group-invalidation': group(name) }
}
