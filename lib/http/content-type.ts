// RFC 9110, section 8.3: Content-Type.

import { token } from './grammar.ts'

const essence = new RegExp(`^(${token}/${token})[ \\t]*(?:;|$)`)

/** The most frequent values, which have no parameters and need no parsing. */
const frequent = new Set(['application/json', 'application/merge-patch+json', 'application/json-patch+json'])

/** Returns the media type in lower case without parameters; undefined if the header is missing or malformed. */
export function parseMediaType (field: string | undefined): string | undefined {
  if (field === undefined || frequent.has(field)) return field
  return essence.exec(field)?.[1]?.toLowerCase()
}
