// XML 1.0, sections 2.2, 2.11 and 4.3.3: decodes bytes to characters.

import { isUtf8 } from 'node:buffer'
import { Malformed } from '../format.ts'
import { invalidCharacter } from './character.ts'

/** Decodes UTF-8 content. Throws `Malformed`. */
export function decodeXml (content: Buffer): string {
  if (content.length === 0) throw new Malformed('The content is empty.')
  const text = content.toString()
  if (!isUtf8(content)) throw toMalformed('the content is not UTF-8', getValidStart(content, text))
  const decoded = normalize(text)
  const invalidAt = decoded.search(invalidCharacter)
  if (invalidAt !== -1) throw toMalformed('this character is not allowed in XML', decoded.slice(0, invalidAt))
  return decoded
}

/** Creates an error with line and column. `before` is the text before the error. */
export function toMalformed (message: string, before: string): Malformed {
  const line = before.split('\n').length
  const column = Array.from(before.slice(before.lastIndexOf('\n') + 1)).length + 1
  return new Malformed(`Line ${line}, column ${column}: ${message}.`)
}

/** Removes a byte order mark, and turns every line break into LF (XML 1.0, section 2.11). */
function normalize (text: string): string {
  return (text.startsWith('\uFEFF') ? text.slice(1) : text).replace(/\r\n?/g, '\n')
}

/** Returns the text before the first byte that is not UTF-8. */
function getValidStart (content: Buffer, text: string): string {
  const encoded = Buffer.from(text)
  let at = 0
  while (content[at] === encoded[at]) at++
  return normalize(content.toString('utf8', 0, at))
}
