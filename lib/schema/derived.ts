import type { Mark } from './properties.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { branches, isSchema, resolved } from './subschemas.ts'

// One schema in, and out of it what each message is held to. Derived here, as JSON Schema, and not by TypeBox: a `Type.Partial` of one of
// its generations over a schema of the other silently describes nothing.

export interface Rule {
  /** Properties with this mark are not part of it. */
  readonly drop?: Mark
  /** Properties with one of these marks may be absent. */
  readonly optional?: readonly Mark[]
  /** Properties with a default may be absent. */
  readonly filled?: boolean
  /** RFC 7396: any property may be absent, none has a default, and null takes an optional one away. An array is given as a whole. */
  readonly partial?: boolean
}

/** The schema as the messages of one kind keep to it: closed at every depth, unless it opens an object itself. */
export function derived (schema: JsonSchema, rule: Rule): JsonSchema {
  return rewritten(schema, { rule, root: schema, whole: false }, false)
}

/** The schema, which takes whatever these read-only properties are: what fills them is held to it already. */
export function trusting (schema: JsonSchema, properties: readonly string[]): JsonSchema {
  return { ...schema, properties: { ...schema.properties, ...Object.fromEntries(properties.map(property => [property, { readOnly: true }])) } }
}

/** Whether the schema, as a part of `root`, has the mark in itself or in one of its branches. */
export function bears (schema: JsonSchema, mark: Mark, root: JsonSchema): boolean {
  const waiting = new Set([schema])
  for (const each of waiting) {
    if (each[mark] === true) return true
    for (const other of [...resolved(each, root), ...branches(each)]) waiting.add(other)
  }
  return false
}

interface Derivation {
  readonly rule: Rule
  readonly root: JsonSchema
  /** Inside of an array, which no patch takes apart. */
  readonly whole: boolean
}

type Rewrite = (schema: JsonSchema, part: boolean) => JsonSchema

/** Where a schema holds others. `part` is told of those that describe a part of an intersection, which is closed as a whole: one part does not know the properties of another. */
type Rewriting = (value: unknown, rewrite: Rewrite, part: boolean) => unknown

const one: Rewriting = (value, rewrite) => isSchema(value) ? rewrite(value, false) : value
const many: Rewriting = (value, rewrite, part) => (value as JsonSchema[]).map(schema => rewrite(schema, part))
const each: Rewriting = (value, rewrite) => Object.fromEntries(Object.entries(value as Record<string, JsonSchema>).map(([name, schema]) => [name, rewrite(schema, false)]))
const items: Rewriting = (value, rewrite) => Array.isArray(value) ? many(value, rewrite, false) : one(value, rewrite, false)

const rewritings: Readonly<Record<string, Rewriting>> = {
  items,
  prefixItems: items,
  additionalItems: one,
  additionalProperties: one,
  unevaluatedProperties: one,
  patternProperties: each,
  $defs: each,
  anyOf: many,
  oneOf: many,
  allOf: (value, rewrite) => many(value, rewrite, true)
}

const ofArrays = new Set(['items', 'prefixItems', 'additionalItems'])

function rewritten (schema: JsonSchema, derivation: Derivation, part: boolean): JsonSchema {
  const out: Record<string, unknown> = {}
  const whole = { ...derivation, whole: true }
  for (const [keyword, value] of Object.entries(schema)) {
    const below = ofArrays.has(keyword) ? whole : derivation
    out[keyword] = rewritings[keyword]?.(value, (inner, part) => rewritten(inner, below, part), part) ?? value
  }
  if (derivation.rule.partial === true) delete out.default
  if (schema.properties !== undefined) properties(schema, derivation, out)
  if (part) return out
  if (schema.allOf !== undefined) out.unevaluatedProperties ??= false
  else if (schema.properties !== undefined || schema.patternProperties !== undefined) out.additionalProperties ??= false
  return out
}

function properties ({ properties = {}, required = [] }: JsonSchema, derivation: Derivation, out: Record<string, unknown>): void {
  const { rule: { drop, optional = [] }, root } = derivation
  const partial = derivation.rule.partial === true && !derivation.whole
  const any = (name: string, marks: readonly Mark[]): boolean => marks.some(mark => bears(properties[name] ?? {}, mark, root))
  const left = Object.entries(properties).filter(([name]) => drop === undefined || !any(name, [drop]))
  out.properties = Object.fromEntries(left.map(([name, property]) => {
    const written = rewritten(property, derivation, false)
    return [name, partial && !required.includes(name) ? nullable(written) : written]
  }))
  const lenient = drop === undefined ? optional : [drop, ...optional]
  const given = (name: string): boolean => derivation.rule.filled !== true || properties[name]?.default === undefined
  const needed = partial ? [] : required.filter(name => given(name) && !any(name, lenient))
  if (needed.length > 0) out.required = needed
  else delete out.required
}

function nullable (schema: JsonSchema): JsonSchema {
  if ([schema, ...branches(schema, ['anyOf', 'oneOf'])].some(({ type }) => [type].flat().includes('null'))) return schema
  const plain = typeof schema.type === 'string' && schema.enum === undefined && schema.const === undefined
  return plain ? { ...schema, type: [schema.type, 'null'] } : { anyOf: [schema, { type: 'null' }] }
}

/** The schema with further marks on its properties. */
export function marked<Schema extends JsonSchema & { readonly properties: Readonly<Record<string, JsonSchema>> }> (schema: Schema, marks: Readonly<Record<string, Mark>>): Schema {
  const properties = Object.entries<JsonSchema>(schema.properties).map(([name, property]) => {
    // Own ones: a property may be called as a method of objects is.
    const mark = Object.hasOwn(marks, name) ? marks[name] : undefined
    return [name, mark === undefined ? property : { ...property, [mark]: true }]
  })
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** Where it may be absent: a new item has no id before the storage has made it. */
export function lacking (schema: JsonSchema, absent: string): JsonSchema {
  return { ...schema, required: [schema.required].flat().filter(property => property !== undefined).filter(property => property !== absent) }
}
