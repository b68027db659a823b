// RFC 8259 §3: the kinds of values there are, under the names JSON Schema gives them.

import type { JsonSchema } from '../../storage/contract.ts'

const kinds = ['string', 'number', 'boolean', 'null', 'array', 'object'] as const

export type Kind = typeof kinds[number]

export function kindNamed (word: string): Kind | undefined {
  return kinds.find(kind => kind === word)
}

/** What JSON has no value for counts as null. */
export function kindOf (value: unknown): Kind {
  switch (typeof value) {
    case 'string': return 'string'
    case 'number': return 'number'
    case 'boolean': return 'boolean'
    case 'object': return value === null ? 'null' : Array.isArray(value) ? 'array' : 'object'
    default: return 'null'
  }
}

/** The kinds a schema allows by itself; none where it leaves that open. */
export function kindsIn (schema: JsonSchema): Kind[] {
  if (schema.type !== undefined) return [schema.type].flat().map(type => kindNamed(type) ?? 'number')
  if (schema['const'] !== undefined) return [kindOf(schema['const'])]
  return Array.isArray(schema['enum']) ? schema['enum'].map(kindOf) : []
}
