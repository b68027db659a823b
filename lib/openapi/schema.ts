import { branches, isSchema, resolved } from '../schema/subschemas.ts'
import type { JsonSchema } from '../storage/contract.ts'
import type { Components, Reference } from './components.ts'
import { pascal } from './names.ts'

// A schema as OpenAPI 3.1 has it: JSON Schema 2020-12, with references into the document. TypeBox writes tuples as draft 7 did, and unions of
// constants one by one.

interface Place {
  readonly components: Components
  readonly name: string
  readonly root: JsonSchema
  readonly self: Reference
}

/** The schema as a component; what bears an `$id` in it, as a recursive type does, becomes one of its own. */
export function schemaComponent (components: Components, name: string, schema: JsonSchema): Reference {
  return components.reference('schemas', name, self => written(schema, { components, name, root: schema, self }))
}

function written (schema: JsonSchema, place: Place): JsonSchema {
  const out: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    const write = keywords[keyword]
    if (write === undefined) out[keyword] = value
    else Object.assign(out, write(value, inner => part(inner, place), schema))
  }
  if (typeof schema.$ref === 'string') out.$ref = target(schema, place)
  return out
}

function part (schema: JsonSchema, place: Place): JsonSchema {
  return typeof schema.$id === 'string' ? { $ref: identified(schema, place) } : written(schema, place)
}

function target (schema: JsonSchema, place: Place): string {
  const { $ref } = schema as { $ref: string }
  if ($ref.startsWith('#/components/')) return $ref
  if ($ref === '#' || $ref === place.root.$id) return place.self.$ref
  if ($ref.startsWith('#')) return place.self.$ref + $ref.slice(1)
  // Whatever a schema refers to is in it: it was compiled.
  return identified(resolved(schema, place.root).at(-1)!, place)
}

function identified (schema: JsonSchema, place: Place): string {
  const { components, name } = place
  return components.reference('schemas', name + pascal(String(schema.$id)), () => written(schema, place)).$ref
}

type Write = (value: unknown, rewrite: (schema: JsonSchema) => JsonSchema, schema: JsonSchema) => JsonSchema

const one = (keyword: string): Write => (value, rewrite) => ({ [keyword]: isSchema(value) ? rewrite(value) : value })
const many = (keyword: string): Write => (value, rewrite) => ({ [keyword]: (value as JsonSchema[]).map(rewrite) })
const each = (keyword: string): Write => (value, rewrite) => ({ [keyword]: Object.fromEntries(Object.entries(value as Record<string, JsonSchema>).map(([name, schema]) => [name, rewrite(schema)])) })
const nothing: Write = () => ({})

/** Constants of one type are easier to read, and to generate code of, as an enumeration. */
const union = (keyword: 'anyOf' | 'oneOf'): Write => (value, rewrite, schema) => {
  const choices = branches(schema, [keyword])
  const types = new Set(choices.map(({ type, const: constant }) => constant === undefined ? undefined : type))
  const [type] = types
  return types.size === 1 && type !== undefined ? { type, enum: choices.map(choice => choice.const) } : many(keyword)(value, rewrite, schema)
}

const keywords: Readonly<Record<string, Write>> = {
  $id: nothing,
  $schema: nothing,
  immutable: value => ({ 'x-immutable': value }),
  properties: each('properties'),
  patternProperties: each('patternProperties'),
  $defs: each('$defs'),
  additionalProperties: one('additionalProperties'),
  unevaluatedProperties: one('unevaluatedProperties'),
  not: one('not'),
  items: (value, rewrite, schema) => (Array.isArray(value) ? many('prefixItems') : one('items'))(value, rewrite, schema),
  prefixItems: many('prefixItems'),
  // None that are more is what the number says, too; some linters want to see a schema.
  additionalItems: (value, rewrite, schema) => !Array.isArray(schema.items) ? {} : value === false ? { items: {}, maxItems: schema.items.length } : one('items')(value, rewrite, schema),
  anyOf: union('anyOf'),
  oneOf: union('oneOf'),
  allOf: many('allOf')
}
