// RFC 9110 §8.3: Content-Type.

import { token } from './grammar.ts'

const essence = new RegExp(`^(${token}/${token})[ \\t]*(?:;|$)`)

/** The media type in lower case without its parameters; undefined where the field is absent or malformed. */
export function mediaType (field: string | undefined): string | undefined {
  if (field === undefined || field === 'application/json') return field
  return essence.exec(field)?.[1]?.toLowerCase()
}
