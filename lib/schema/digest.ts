import { hash } from 'node:crypto'
import type { JsonSchema } from '../storage/contract.ts'
import { isSchema } from '../json-schema/subschemas.ts'

// The bytes of a representation depend on the item and on the definition. A deploy can change the definition while
// the item and its version stay. Without a suffix for the definition, caches would keep serving the old bytes.

/** Increase it if the same item and definition are rendered differently: see test/doors/http/tag-suffix.test.ts. */
const revision = 1

const digestLength = 6

export function shortDigest (value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'base64url').slice(0, digestLength)
}

/** Returns a digest of the schema of items. `concealed` are the properties that some callers do not see. */
export function digestSchema (schema: JsonSchema, concealed: readonly string[]): string {
  return shortDigest([revision, withoutValues(schema), concealed])
}

/** Keywords that do not change how an item is rendered. Their values may differ between the processes of an app. */
const valueKeywords = new Set(['default', 'examples', '$comment'])
/** Keywords whose keys are names, not keywords. */
const mapKeywords = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

function withoutValues (schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutValues)
  if (!isSchema(schema)) return schema
  const entries = Object.entries(schema).filter(([keyword]) => !valueKeywords.has(keyword))
  return Object.fromEntries(entries.map(([keyword, value]) => {
    const isMap = mapKeywords.has(keyword) && isSchema(value)
    return [keyword, isMap ? mapWithoutValues(value) : withoutValues(value)]
  }))
}

function mapWithoutValues (schemas: JsonSchema): unknown {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, withoutValues(schema)]))
}
