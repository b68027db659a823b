// OpenAPI 3.1, XML Object: the names of elements in a schema.

import { encodeName } from './name.ts'
import { getRoot, isSchema } from './typing.ts'
import type { JsonSchema } from '../../storage/contract.ts'

/** Returns the schema with `xml` keywords. They replace those of the app, because the format does not follow these. */
export function describeXml (schema: JsonSchema): JsonSchema {
  return addXmlKeyword(schema, getRoot(schema).element)
}

const schemaKeywords = new Set(['items', 'additionalItems', 'additionalProperties'])
const listKeywords = new Set(['items', 'prefixItems', 'allOf', 'anyOf', 'oneOf'])
const mapKeywords = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

function addXmlKeyword (schema: JsonSchema, name: string | undefined): JsonSchema {
  // A component of the document has keywords of its own.
  if (typeof schema['$ref'] === 'string' && schema['$ref'].startsWith('#/components/')) return schema
  const result: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword !== 'xml') result[keyword] = describeKeyword(keyword, value)
  }
  const wrapped = [schema.type].flat().includes('array')
  if (name !== undefined || wrapped) result['xml'] = { ...name !== undefined && { name }, ...wrapped && { wrapped } }
  return result
}

function describeKeyword (keyword: string, value: unknown): unknown {
  const name = keyword.toLowerCase().endsWith('items') ? 'item' : undefined
  if (Array.isArray(value)) {
    if (!listKeywords.has(keyword)) return value
    return value.map((schema) => isSchema(schema) ? addXmlKeyword(schema, name) : schema)
  }
  if (!isSchema(value)) return value
  if (schemaKeywords.has(keyword)) return addXmlKeyword(value, name)
  if (!mapKeywords.has(keyword)) return value
  return Object.fromEntries(Object.entries(value).map(([property, schema]) => {
    if (!isSchema(schema)) return [property, schema]
    return [property, addXmlKeyword(schema, keyword === 'properties' ? getElementName(property) : undefined)]
  }))
}

/** Returns the name of the element of a property; undefined if it is the name of the property. */
function getElementName (property: string): string | undefined {
  const element = encodeName(property)
  return element === property ? undefined : element
}
