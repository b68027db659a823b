// The text of an element without elements, as a value.

import { isBlank } from './character.ts'
import type { Kind } from './kind.ts'

const boolean = /^[ \t\n\r]*(?:true|false)[ \t\n\r]*$/
const number = /^[ \t\n\r]*-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?[ \t\n\r]*$/

/** Undefined where the text is not of the kind. */
export function leaf (text: string, kind: Kind): unknown {
  switch (kind) {
    case 'string': return text
    case 'number': return number.test(text) ? Number(text) : undefined
    case 'boolean': return boolean.test(text) ? text.includes('true') : undefined
    case 'null': return isBlank(text) ? null : undefined
    case 'array': return isBlank(text) ? [] : undefined
    case 'object': return isBlank(text) ? {} : undefined
  }
}

/** The inside of a JSON string, with an escape for each character that XML has not. */
export function escapeJson (text: string): string {
  return JSON.stringify(text).slice(1, -1).replaceAll('\uFFFE', '\\uFFFE').replaceAll('\uFFFF', '\\uFFFF')
}

export function unescapeJson (text: string): string | undefined {
  try {
    return JSON.parse(`"${text}"`)
  } catch {
    return undefined
  }
}
