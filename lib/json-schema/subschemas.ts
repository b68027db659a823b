import type { JsonSchema } from './json-schema.ts'

// Finds the schemas inside a schema, and resolves references.

export function isSchema (value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const combinators = ['allOf', 'anyOf', 'oneOf'] as const

/** Returns the schemas in `allOf`, `anyOf` and `oneOf`, which describe the same value. */
export function getBranches (
  schema: JsonSchema,
  keywords: ReadonlyArray<typeof combinators[number]> = combinators
): readonly JsonSchema[] {
  return keywords.flatMap((keyword) => (schema[keyword] ?? []) as readonly JsonSchema[])
}

/** Returns the schemas of properties that `properties` does not name. */
export function getOpenSchemas (schema: JsonSchema): readonly JsonSchema[] {
  const schemas = [
    schema.additionalProperties,
    schema.unevaluatedProperties,
    ...Object.values(schema.patternProperties ?? {})
  ]
  return schemas.filter(isSchema)
}

/** Returns the schemas of the items of an array. */
export function getItemSchemas (schema: JsonSchema): readonly JsonSchema[] {
  return [schema.items, schema.prefixItems, schema.additionalItems].flat().filter(isSchema)
}

/** Returns all schemas directly inside a schema. */
export function getSubschemas (schema: JsonSchema): readonly JsonSchema[] {
  const schemas = [
    ...Object.values(schema.properties ?? {}),
    ...Object.values(schema.$defs ?? {}),
    ...getOpenSchemas(schema),
    ...getItemSchemas(schema),
    ...getBranches(schema)
  ]
  return schemas.filter(isSchema)
}

/** Returns the schema and the targets of `$ref`, each of which is an `$id`, as in TypeBox, or a path in the root. */
export function resolveSchema (schema: JsonSchema, root: JsonSchema): readonly JsonSchema[] {
  const schemas = new Set([schema])
  for (const { $ref: reference } of schemas) {
    const target = typeof reference === 'string' ? findTarget(reference, root) : undefined
    if (target !== undefined) schemas.add(target)
  }
  return [...schemas]
}

function findTarget (reference: string, root: JsonSchema): JsonSchema | undefined {
  if (reference === '#') return root
  return reference.startsWith('#/') ? findByPath(root, reference.slice(2).split('/')) : findById(reference, root)
}

function findByPath (root: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  const found = path.reduce<unknown>((value, segment) => isSchema(value) ? value[segment] : undefined, root)
  return isSchema(found) ? found : undefined
}

function findById (id: string, root: JsonSchema): JsonSchema | undefined {
  const queue = [root]
  for (const schema of queue) {
    if (schema.$id === id) return schema
    queue.push(...getSubschemas(schema))
  }
  return undefined
}
