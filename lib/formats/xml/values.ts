// RFC 8259, section 3: the kinds of values, under their names in JSON Schema, and the text of an element that has one.

import type { JsonSchema } from '../../storage/contract.ts'
import { isBlank } from './characters.ts'

const kinds = ['string', 'number', 'boolean', 'null', 'array', 'object'] as const

export type Kind = typeof kinds[number]

export function parseKind (text: string): Kind | undefined {
  return kinds.find((kind) => kind === text)
}

/** Returns the kind of a value. A value that JSON does not have counts as null. */
export function getKind (value: unknown): Kind {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value as Kind
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value) ? 'array' : 'object'
    default:
      return 'null'
  }
}

/** Returns the kinds that a schema states itself; none if it leaves them open. */
export function getKinds (schema: JsonSchema): Kind[] {
  if (schema.type !== undefined) return [schema.type].flat().map((type) => parseKind(type) ?? 'number')
  if (schema['const'] !== undefined) return [getKind(schema['const'])]
  return Array.isArray(schema['enum']) ? schema['enum'].map(getKind) : []
}

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
