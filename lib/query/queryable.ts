import { isObject } from '../http/json-value.ts'
import type { Properties } from '../schema/properties.ts'
import { isUnorderedNumeral } from '../schema/numerals.ts'
import { getBranches } from '../json-schema/subschemas.ts'
import type { JsonSchema } from '../storage/contract.ts'

/** A property that lists can be filtered or sorted by: a scalar, or an array of scalars, that clients can see. */
export interface QueryableProperty {
  /** The path of the property, with dots. */
  readonly property: string
  /** Of an array, the type of its items. */
  readonly type: 'string' | 'number' | 'integer' | 'boolean'
  /** Whether it is an array, which can only be filtered. */
  readonly isArray: boolean
  /** The schema of an operand: its type and format, without the length and range that items must have. */
  readonly schema: JsonSchema
  /** Whether it can be sorted by, and compared with less and greater. False for decimals written as text. */
  readonly ordered: boolean
  /** Whether it is a property of related items. */
  readonly isRelated?: boolean
  /** Whether every item has a value, as a count. */
  readonly isNeverNull?: boolean
}

const scalarTypes = new Set(['string', 'number', 'integer', 'boolean'])

/** A schema, and what it states about its properties. */
interface DescribedSchema {
  readonly schema: JsonSchema
  readonly properties: Properties
}

interface FindOptions {
  /** Whether `writeOnly` properties are among them. */
  readonly writeOnly?: boolean
}

/** Finds the queryable properties of a schema, by their path. */
export function findQueryable (
  described: DescribedSchema,
  { writeOnly = false }: FindOptions = {}
): ReadonlyMap<string, QueryableProperty> {
  return new Map([...visitProperties(described, '', writeOnly)].map((queryable) => [queryable.property, queryable]))
}

function * visitProperties (
  { schema, properties }: DescribedSchema,
  path: string,
  writeOnly: boolean
): Generator<QueryableProperty> {
  for (const [name, propertySchema] of Object.entries(schema.properties ?? {})) {
    // The schema names the property, so `named` has it.
    const info = properties.named.get(name)!
    // In a path, a dot in a name would look like one between names.
    if ((info.writeOnly && !writeOnly) || name.includes('.')) continue
    const property = path + name
    const [variant, ...others] = getVariants(propertySchema)
    if (variant === undefined || others.length > 0) continue
    yield * visitProperties({ schema: variant, properties: info }, `${property}.`, writeOnly)
    const compared = getItemVariant(variant) ?? variant
    const isArray = compared !== variant
    const type = getScalarType(compared)
    if (type === undefined) continue
    yield {
      property,
      type,
      isArray,
      schema: { type, ...getOperandKeywords(propertySchema, compared) },
      ordered: !isArray && !isUnorderedNumeral({ ...compared, type })
    }
  }
}

/** Returns the schemas that a value can have, except null. A union of constants is one variant, an enum. */
function getVariants (schema: JsonSchema): JsonSchema[] {
  const branches = getBranches(schema, ['anyOf', 'oneOf'])
  if (branches.length === 0) return [schema]
  const variants = branches.filter((branch) => branch.type !== 'null')
  const [first] = variants
  if (first === undefined) return []
  const type = getScalarType(first)
  const areConstants = variants.every((variant) => variant.const !== undefined && getScalarType(variant) === type)
  return areConstants ? [{ type: type!, enum: variants.map((variant) => variant.const) }] : variants
}

/** Returns the schema that all items of an array have; undefined if it is no array, or they have several. */
function getItemVariant ({ type, items }: JsonSchema): JsonSchema | undefined {
  const isArray = [type].flat().filter((name) => name !== 'null').join() === 'array'
  if (!isArray || !isObject(items)) return undefined
  const [variant, ...others] = getVariants(items)
  return others.length === 0 ? variant : undefined
}

function getScalarType ({ type, const: constant }: JsonSchema): QueryableProperty['type'] | undefined {
  const named = type ?? (constant === undefined ? undefined : typeof constant)
  const [only, ...others] = [named].flat().filter((name) => name !== 'null')
  if (typeof only !== 'string' || others.length > 0 || !scalarTypes.has(only)) return undefined
  return only as QueryableProperty['type']
}

function getOperandKeywords (schema: JsonSchema, { format, enum: values, const: constant }: JsonSchema): JsonSchema {
  const allowed = values ?? (constant === undefined ? undefined : [constant])
  return {
    ...format !== undefined && { format },
    ...allowed !== undefined && { enum: (allowed as unknown[]).filter((value) => value !== null) },
    ...typeof schema.description === 'string' && { description: schema.description }
  }
}
