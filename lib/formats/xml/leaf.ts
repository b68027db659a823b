// The value of an element that has only text.

import { isBlank } from './character.ts'
import type { Kind } from './kind.ts'

const booleanPattern = /^[ \t\n\r]*(?:true|false)[ \t\n\r]*$/
const numberPattern = /^[ \t\n\r]*-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?[ \t\n\r]*$/

/** Parses text as a kind of value; undefined if it is invalid. */
export function parseLeaf (text: string, kind: Kind): unknown {
  switch (kind) {
    case 'string': return text
    case 'number': return numberPattern.test(text) ? Number(text) : undefined
    case 'boolean': return booleanPattern.test(text) ? text.includes('true') : undefined
    case 'null': return isBlank(text) ? null : undefined
    case 'array': return isBlank(text) ? [] : undefined
    case 'object': return isBlank(text) ? {} : undefined
  }
}

/** Escapes text as in a JSON string, including the characters that XML cannot contain. */
export function escapeJson (text: string): string {
  return JSON.stringify(text).slice(1, -1).replaceAll('\uFFFE', '\\uFFFE').replaceAll('\uFFFF', '\\uFFFF')
}

/** Undoes `escapeJson`; undefined if the text is not the inside of a JSON string. */
export function unescapeJson (text: string): string | undefined {
  try {
    return JSON.parse(`"${text}"`)
  } catch {
    return undefined
  }
}
