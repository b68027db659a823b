// RFC 8259, section 3: the kinds of values, under their names in JSON Schema.

import type { JsonSchema } from '../../storage/contract.ts'

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
