// RFC 9110 §8.3: Content-Type.

import { token } from './grammar.ts'

const essence = new RegExp(`^(${token}/${token})[ \\t]*(?:;|$)`)

/** What is mostly sent, and has no parameters. */
const usual = new Set(['application/json', 'application/merge-patch+json', 'application/json-patch+json'])

/** The media type in lower case without its parameters; undefined where the field is absent or malformed. */
export function mediaType (field: string | undefined): string | undefined {
  if (field === undefined || usual.has(field)) return field
  return essence.exec(field)?.[1]?.toLowerCase()
}
