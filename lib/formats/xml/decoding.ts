// XML 1.0 §2.2, §2.11 and §4.3.3: bytes as characters.

import { isUtf8 } from 'node:buffer'
import { Malformed } from '../format.ts'
import { noCharacter } from './character.ts'

export function decode (content: Buffer): string {
  if (content.length === 0) throw new Malformed('The content is empty.')
  const text = content.toString()
  if (!isUtf8(content)) throw malformed('the content is not UTF-8', sound(content, text))
  const decoded = normal(text)
  const found = decoded.search(noCharacter)
  if (found !== -1) throw malformed('this character is not allowed in XML', decoded.slice(0, found))
  return decoded
}

/** The place of the fault is the end of the text ahead of it. */
export function malformed (what: string, ahead: string): Malformed {
  const line = ahead.split('\n').length
  const column = Array.from(ahead.slice(ahead.lastIndexOf('\n') + 1)).length + 1
  return new Malformed(`Line ${line}, column ${column}: ${what}.`)
}

/** Without the byte order mark; §2.11: every line break is LF. */
function normal (text: string): string {
  return (text.startsWith('\uFEFF') ? text.slice(1) : text).replace(/\r\n?/g, '\n')
}

/** The text ahead of the first byte that is not UTF-8. */
function sound (content: Buffer, text: string): string {
  const encoded = Buffer.from(text)
  let at = 0
  while (content[at] === encoded[at]) at++
  return normal(content.toString('utf8', 0, at))
}
