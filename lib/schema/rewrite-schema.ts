import type { Annotation } from './properties.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { getBranches, isSchema, resolveSchema } from '../json-schema/subschemas.ts'

// Derives the schema of each kind of message from the schema of the items. Done here, and not with TypeBox, because
// `Type.Partial` of one generation of TypeBox returns an empty schema for a schema of the other one.

export interface DerivationRule {
  /** Leaves out properties with this annotation. */
  readonly drop?: Annotation
  /** Makes properties with one of these annotations optional. */
  readonly optional?: readonly Annotation[]
  /** Makes properties with a default optional. */
  readonly filled?: boolean
  /** Makes properties with these names optional. */
  readonly optionalNames?: ReadonlySet<string> | undefined
  /**
   * RFC 7396: every property is optional, none has a default, and null removes an optional one.
   * Arrays are replaced as a whole.
   */
  readonly partial?: boolean
}

/** Derives a schema by a rule. Objects are closed at every depth, unless the schema opens them. */
export function rewriteSchema (schema: JsonSchema, rule: DerivationRule): JsonSchema {
  return rewrite(schema, { rule, root: schema, isInArray: false }, false)
}

/** Returns the schema without restrictions on these properties. The library sets them, and sets only valid values. */
export function trustProperties (schema: JsonSchema, properties: readonly string[]): JsonSchema {
  const trusted = Object.fromEntries(properties.map((property) => [property, { readOnly: true }]))
  return { ...schema, properties: { ...schema.properties, ...trusted } }
}

/** Whether the schema, a part of `root`, has the annotation itself or in one of its branches. */
export function hasAnnotation (schema: JsonSchema, annotation: Annotation, root: JsonSchema): boolean {
  const queue = new Set([schema])
  for (const part of queue) {
    if (part[annotation] === true) return true
    for (const other of [...resolveSchema(part, root), ...getBranches(part)]) queue.add(other)
  }
  return false
}

interface Derivation {
  readonly rule: DerivationRule
  readonly root: JsonSchema
  /** Whether the schema is inside an array, which a patch replaces as a whole. */
  readonly isInArray: boolean
}

/**
 * Rewrites a schema. `isPart` is true for a part of an intersection. Only the whole intersection is closed, because
 * one part does not know the properties of another.
 */
type Rewrite = (schema: JsonSchema, isPart: boolean) => JsonSchema

/** Rewrites the schemas in the value of a keyword. */
type KeywordRewriter = (value: unknown, rewrite: Rewrite, isPart: boolean) => unknown

const rewriteOne: KeywordRewriter = (value, rewrite) => isSchema(value) ? rewrite(value, false) : value

const rewriteList: KeywordRewriter = (value, rewrite, isPart) => {
  return (value as JsonSchema[]).map((schema) => rewrite(schema, isPart))
}

const rewriteMap: KeywordRewriter = (value, rewrite) => {
  const entries = Object.entries(value as Record<string, JsonSchema>)
  return Object.fromEntries(entries.map(([name, schema]) => [name, rewrite(schema, false)]))
}

const rewriteItems: KeywordRewriter = (value, rewrite) => {
  return Array.isArray(value) ? rewriteList(value, rewrite, false) : rewriteOne(value, rewrite, false)
}

const keywordRewriters: Readonly<Record<string, KeywordRewriter>> = {
  items: rewriteItems,
  prefixItems: rewriteItems,
  additionalItems: rewriteOne,
  additionalProperties: rewriteOne,
  unevaluatedProperties: rewriteOne,
  patternProperties: rewriteMap,
  $defs: rewriteMap,
  anyOf: rewriteList,
  oneOf: rewriteList,
  allOf: (value, rewrite) => rewriteList(value, rewrite, true)
}

const arrayKeywords = new Set(['items', 'prefixItems', 'additionalItems'])

function rewrite (schema: JsonSchema, derivation: Derivation, isPart: boolean): JsonSchema {
  const result: Record<string, unknown> = {}
  const inArray = { ...derivation, isInArray: true }
  for (const [keyword, value] of Object.entries(schema)) {
    const inner = arrayKeywords.has(keyword) ? inArray : derivation
    const rewriteInner: Rewrite = (innerSchema, isInnerPart) => rewrite(innerSchema, inner, isInnerPart)
    result[keyword] = keywordRewriters[keyword]?.(value, rewriteInner, isPart) ?? value
  }
  if (derivation.rule.partial === true) delete result.default
  if (schema.properties !== undefined) rewriteProperties(schema, derivation, result)
  if (isPart) return result

  const hasProperties = schema.properties !== undefined || schema.patternProperties !== undefined
  if (schema.allOf !== undefined) result.unevaluatedProperties ??= false
  else if (hasProperties) result.additionalProperties ??= false
  return result
}

function rewriteProperties (schema: JsonSchema, derivation: Derivation, result: Record<string, unknown>): void {
  const { properties = {}, required = [] } = schema
  const { rule: { drop, optional = [], filled = false, optionalNames }, root } = derivation
  const isPartial = derivation.rule.partial === true && !derivation.isInArray
  const hasAny = (name: string, annotations: readonly Annotation[]): boolean => {
    return annotations.some((annotation) => hasAnnotation(properties[name] ?? {}, annotation, root))
  }

  const kept = Object.entries(properties).filter(([name]) => drop === undefined || !hasAny(name, [drop]))
  result.properties = Object.fromEntries(kept.map(([name, property]) => {
    const rewritten = rewrite(property, derivation, false)
    return [name, isPartial && !required.includes(name) ? makeNullable(rewritten) : rewritten]
  }))

  const optionalAnnotations = drop === undefined ? optional : [drop, ...optional]
  const isRequired = (name: string): boolean => {
    if (filled && properties[name]?.default !== undefined) return false
    if (optionalNames?.has(name) === true) return false
    return !hasAny(name, optionalAnnotations)
  }
  const stillRequired = isPartial ? [] : required.filter(isRequired)
  if (stillRequired.length > 0) result.required = stillRequired
  else delete result.required
}

function makeNullable (schema: JsonSchema): JsonSchema {
  const branches = [schema, ...getBranches(schema, ['anyOf', 'oneOf'])]
  if (branches.some(allowsNull)) return schema
  const hasPlainType = typeof schema.type === 'string' && schema.enum === undefined && schema.const === undefined
  return hasPlainType ? { ...schema, type: [schema.type, 'null'] } : { anyOf: [schema, { type: 'null' }] }
}

/** Keywords that can refuse null. Others, such as `minLength`, only restrict values of one type. */
const restrictions = ['enum', 'const', '$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if']

/** Whether a schema names null as a type, or allows everything. Branches are not considered. */
function allowsNull (schema: JsonSchema): boolean {
  if (schema.type !== undefined) return [schema.type].flat().includes('null')
  return restrictions.every((keyword) => schema[keyword] === undefined)
}

type SchemaWithProperties = JsonSchema & { readonly properties: Readonly<Record<string, JsonSchema>> }

/** Returns the schema with further annotations, given by property. */
export function addAnnotations<Schema extends SchemaWithProperties> (
  schema: Schema,
  annotations: Readonly<Record<string, Annotation>>
): Schema {
  const properties = Object.entries<JsonSchema>(schema.properties).map(([name, property]) => {
    // A property may have the name of a method of Object.prototype.
    const annotation = Object.hasOwn(annotations, name) ? annotations[name] : undefined
    return [name, annotation === undefined ? property : { ...property, [annotation]: true }]
  })
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** Returns the schema with one property that is not required. */
export function makeOptional (schema: JsonSchema, name: string): JsonSchema {
  const { required = [] } = schema
  return { ...schema, required: required.filter((property) => property !== name) }
}
