import type { JsonSchema } from '../storage/contract.ts'

// Where a schema holds others, and what its references mean.

export function isSchema (value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const unions = ['allOf', 'anyOf', 'oneOf'] as const

/** The schemas of the same value. */
export function branches (schema: JsonSchema, keywords: ReadonlyArray<typeof unions[number]> = unions): readonly JsonSchema[] {
  return keywords.flatMap(keyword => (schema[keyword] ?? []) as readonly JsonSchema[])
}

/** The schemas of properties that `properties` does not name. */
export function openings (schema: JsonSchema): readonly JsonSchema[] {
  return [schema.additionalProperties, schema.unevaluatedProperties, ...Object.values(schema.patternProperties ?? {})].filter(isSchema)
}

/** The schemas of the items of an array. */
export function elements (schema: JsonSchema): readonly JsonSchema[] {
  return [schema.items, schema.prefixItems, schema.additionalItems].flat().filter(isSchema)
}

/** All schemas directly below. */
export function subschemas (schema: JsonSchema): readonly JsonSchema[] {
  return [...Object.values(schema.properties ?? {}), ...Object.values(schema.$defs ?? {}), ...openings(schema), ...elements(schema), ...branches(schema)].filter(isSchema)
}

/** The schema and, where it is a reference, what it refers to: by `$id`, as TypeBox does, or by the path within the root. */
export function resolved (schema: JsonSchema, root: JsonSchema): readonly JsonSchema[] {
  const { $ref: reference } = schema
  if (typeof reference !== 'string') return [schema]
  const target = reference === '#' ? root : reference.startsWith('#/') ? at(root, reference.slice(2).split('/')) : called(reference, root)
  return target === undefined ? [schema] : [schema, target]
}

function at (root: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  const found = path.reduce<unknown>((value, segment) => isSchema(value) ? value[segment] : undefined, root)
  return isSchema(found) ? found : undefined
}

function called (id: string, root: JsonSchema): JsonSchema | undefined {
  const waiting = [root]
  for (const schema of waiting) {
    if (schema.$id === id) return schema
    waiting.push(...subschemas(schema))
  }
  return undefined
}
