// OpenAPI 3.1 (XML Object): what the elements of a schema are called.

import { encodeName } from './name.ts'
import { isSchema } from './reference.ts'
import { rootOf } from './typing.ts'
import type { JsonSchema } from '../../storage/contract.ts'

/** The schema with `xml` hints; those it came with are not what is written. */
export function description (schema: JsonSchema): JsonSchema {
  return described(schema, rootOf(schema).element)
}

const one = new Set(['items', 'additionalItems', 'additionalProperties'])
const lists = new Set(['items', 'prefixItems', 'allOf', 'anyOf', 'oneOf'])
const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

function described (schema: JsonSchema, name: string | undefined): JsonSchema {
  const result: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword !== 'xml') result[keyword] = within(keyword, value)
  }
  const wrapped = [schema.type].flat().includes('array')
  if (name !== undefined || wrapped) result['xml'] = { ...name !== undefined && { name }, ...wrapped && { wrapped } }
  return result
}

function within (keyword: string, value: unknown): unknown {
  const name = keyword.toLowerCase().endsWith('items') ? 'item' : undefined
  if (Array.isArray(value)) {
    return lists.has(keyword) ? value.map(schema => isSchema(schema) ? described(schema, name) : schema) : value
  }
  if (!isSchema(value)) return value
  if (one.has(keyword)) return described(value, name)
  if (!maps.has(keyword)) return value
  return Object.fromEntries(Object.entries(value).map(([property, schema]) =>
    [property, isSchema(schema) ? described(schema, keyword === 'properties' ? differing(property) : undefined) : schema]))
}

/** The name of the element of a property, where it is not the name of the property. */
function differing (property: string): string | undefined {
  const element = encodeName(property)
  return element === property ? undefined : element
}
