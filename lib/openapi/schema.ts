import { textPattern } from '../formats/format.ts'
import { getBranches, isSchema, resolveSchema } from '../json-schema/subschemas.ts'
import type { JsonSchema } from '../storage/contract.ts'
import type { Components } from './components.ts'
import type { Reference } from '../engine/operation-object.ts'
import { toPascalCase } from './names.ts'

// Converts schemas for OpenAPI 3.1: JSON Schema 2020-12, with references into the document.
// TypeBox writes tuples as in draft 7, and enumerations as unions of constants.

interface SchemaContext {
  readonly components: Components
  readonly name: string
  readonly root: JsonSchema
  readonly self: Reference
}

/**
 * Adds the schema as a component. Subschemas with an `$id`, such as recursive types, become components as well.
 * `build` is called for the first reference, and may refer to the component.
 */
export function addSchemaComponent (components: Components, name: string, build: () => JsonSchema): Reference {
  return components.reference('schemas', name, (self) => {
    const schema = build()
    return convertSchema(schema, { components, name, root: schema, self })
  })
}

function convertSchema (schema: JsonSchema, context: SchemaContext): JsonSchema {
  const out: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    const convert = keywords[keyword]
    if (convert === undefined) out[keyword] = value
    else Object.assign(out, convert(value, (inner) => convertSubschema(inner, context), schema))
  }
  if (typeof schema.$ref === 'string') out.$ref = convertReference(schema, context)
  return canContainNull(schema) ? { ...out, pattern: textPattern } : out
}

/** Whether a schema does not say that a text cannot contain U+0000, which is true of every item. */
function canContainNull ({ type, format, pattern, enum: values, const: constant }: JsonSchema): boolean {
  return [type].flat().includes('string') && [format, pattern, values, constant].every((value) => value === undefined)
}

function convertSubschema (schema: JsonSchema, context: SchemaContext): JsonSchema {
  return typeof schema.$id === 'string' ? { $ref: addSubschema(schema, context) } : convertSchema(schema, context)
}

function convertReference (schema: JsonSchema, context: SchemaContext): string {
  const { $ref } = schema as { $ref: string }
  const { root, self } = context
  if ($ref.startsWith('#/components/')) return $ref
  if ($ref === '#' || $ref === root.$id) return self.$ref
  if ($ref.startsWith('#')) return self.$ref + $ref.slice(1)
  const [, target] = resolveSchema(schema, root)
  // The target exists: the schema was compiled.
  return addSubschema(target!, context)
}

function addSubschema (schema: JsonSchema, context: SchemaContext): string {
  const { components, name } = context
  const componentName = name + toPascalCase(String(schema.$id))
  return components.reference('schemas', componentName, () => convertSchema(schema, context)).$ref
}

type ConvertInner = (schema: JsonSchema) => JsonSchema
type ConvertKeyword = (value: unknown, convertInner: ConvertInner, schema: JsonSchema) => JsonSchema

const convertOne = (keyword: string): ConvertKeyword => (value, convertInner) => (
  { [keyword]: isSchema(value) ? convertInner(value) : value }
)

const convertArray = (keyword: string): ConvertKeyword => (value, convertInner) => (
  { [keyword]: (value as JsonSchema[]).map(convertInner) }
)

const convertMap = (keyword: string): ConvertKeyword => (value, convertInner) => {
  const schemas = Object.entries(value as Record<string, JsonSchema>)
  return { [keyword]: Object.fromEntries(schemas.map(([name, schema]) => [name, convertInner(schema)])) }
}

const omit: ConvertKeyword = () => ({})

/** Converts constants of one type to an enumeration, which is easier to read and better supported by generators. */
const convertUnion = (keyword: 'anyOf' | 'oneOf'): ConvertKeyword => (value, convertInner, schema) => {
  const choices = getBranches(schema, [keyword])
  const types = new Set(choices.map(({ type, const: constant }) => constant === undefined ? undefined : type))
  const [type] = types
  if (types.size === 1 && type !== undefined) return { type, enum: choices.map((choice) => choice.const) }
  return convertArray(keyword)(value, convertInner, schema)
}

const keywords: Readonly<Record<string, ConvertKeyword>> = {
  $id: omit,
  $schema: omit,
  immutable: (value) => ({ 'x-immutable': value }),
  properties: convertMap('properties'),
  patternProperties: convertMap('patternProperties'),
  $defs: convertMap('$defs'),
  additionalProperties: convertOne('additionalProperties'),
  unevaluatedProperties: convertOne('unevaluatedProperties'),
  not: convertOne('not'),
  items: (value, convertInner, schema) => {
    const convert = Array.isArray(value) ? convertArray('prefixItems') : convertOne('items')
    return convert(value, convertInner, schema)
  },
  prefixItems: convertArray('prefixItems'),
  additionalItems: (value, convertInner, schema) => {
    if (!Array.isArray(schema.items)) return {}
    // `maxItems` is enough, but some linters require `items`.
    if (value === false) return { items: {}, maxItems: schema.items.length }
    return convertOne('items')(value, convertInner, schema)
  },
  anyOf: convertUnion('anyOf'),
  oneOf: convertUnion('oneOf'),
  allOf: convertArray('allOf')
}
