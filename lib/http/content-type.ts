// RFC 9110 §8.3: Content-Type.

import { split, token, word } from './grammar.ts'

const essence = new RegExp(`^(${token}/${token})[ \\t]*(?:;|$)`)

/** The media type in lower case without its parameters; undefined where the field is absent or malformed. */
export function mediaType (field: string | undefined): string | undefined {
  if (field === undefined || field === 'application/json') return field
  return essence.exec(field)?.[1]?.toLowerCase()
}

/** §8.3.2: in lower case; undefined where none is named. */
export function charset (field: string | undefined): string | undefined {
  if (field === undefined || !field.includes(';')) return undefined
  const parameter = split(field, ';').find(parameter => /^charset=/i.test(parameter))
  return parameter === undefined ? undefined : word(parameter.slice('charset='.length))?.toLowerCase()
}
