import type { Condition, Filter, JsonSchema, Scalar } from '../storage/contract.ts'
import { toInstant } from '../storage/instant.ts'
import { branches, elements, isSchema, openings, resolved } from './subschemas.ts'
import { isDateTime } from './validation.ts'

// A date-time is an instant. Each is brought into one form, in UTC with milliseconds, before it is compared or stored:
// then the order of texts is the order of instants, on every storage and at every depth.

/** Where the values of a schema have date-times; only the places that have one at or below them. */
export interface DateTimes {
  /** The value itself is one if it is text. */
  isDateTime: boolean
  readonly named: Map<string, DateTimes>
  others: DateTimes | undefined
  items: DateTimes | undefined
}

/** Undefined if the schema has none, so that its items cost nothing. The id is not one of them: it is a name, taken as it is. */
export function dateTimesOf (schema: JsonSchema, id: string): DateTimes | undefined {
  const { [id]: excluded, ...properties } = schema.properties ?? {}
  const finder = new Finder(schema)
  const found = finder.find([{ ...schema, properties }])
  return finder.prune(found)
}

class Finder {
  readonly #root: JsonSchema
  /** By the schemas of a value, so that a recursive schema ends. */
  readonly #known = new Map<string, DateTimes>()
  readonly #numbers = new Map<JsonSchema, number>()
  readonly #choices = new Set<JsonSchema>()

  constructor (root: JsonSchema) {
    this.#root = root
  }

  /** What several schemas say of one value, be they branches of a union or parts of an intersection. */
  find (given: readonly JsonSchema[]): DateTimes {
    const schemas = this.#spread(given)
    const key = schemas.map(schema => this.#number(schema)).sort((a, b) => a - b).join()
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const found: DateTimes = { isDateTime: isUnambiguous(schemas), named: new Map(), others: undefined, items: undefined }
    this.#known.set(key, found)
    for (const name of new Set(schemas.flatMap(({ properties = {} }) => Object.keys(properties)))) {
      found.named.set(name, this.find(schemas.flatMap(schema => this.#property(schema, name))))
    }
    found.others = this.#optional(schemas.flatMap(openings))
    found.items = this.#optional(schemas.flatMap(elements))
    return found
  }

  /** Without the places that have no date-time at or below them. */
  prune (root: DateTimes): DateTimes | undefined {
    const kept = new Set([...this.#known.values()].filter(({ isDateTime }) => isDateTime))
    for (let size = -1; size < kept.size;) {
      size = kept.size
      for (const node of this.#known.values()) if (children(node).some(child => kept.has(child))) kept.add(node)
    }
    for (const node of kept) {
      for (const [name, child] of node.named) if (!kept.has(child)) node.named.delete(name)
      if (node.others !== undefined && !kept.has(node.others)) node.others = undefined
      if (node.items !== undefined && !kept.has(node.items)) node.items = undefined
    }
    return kept.has(root) ? root : undefined
  }

  #optional (schemas: readonly JsonSchema[]): DateTimes | undefined {
    return schemas.length === 0 ? undefined : this.find(schemas)
  }

  /** A choice of a union that does not name the property may still take it, and mean something else by it. */
  #property (schema: JsonSchema, name: string): readonly JsonSchema[] {
    const { properties, additionalProperties } = schema
    if (properties !== undefined && Object.hasOwn(properties, name)) return [properties[name]!]
    return this.#choices.has(schema) && (additionalProperties === true || isAnything(schema)) ? [anything] : openings(schema)
  }

  /** With all that they refer to and consist of. */
  #spread (given: readonly JsonSchema[]): readonly JsonSchema[] {
    const all = new Set(given)
    for (const schema of all) {
      for (const choice of branches(schema, ['anyOf', 'oneOf'])) this.#choices.add(choice)
      for (const other of [...resolved(schema, this.#root), ...branches(schema)]) all.add(other)
    }
    return [...all]
  }

  #number (schema: JsonSchema): number {
    const number = this.#numbers.get(schema) ?? this.#numbers.size
    this.#numbers.set(schema, number)
    return number
  }
}

const anything: JsonSchema = {}

/** An object without named properties takes any. */
function isAnything (schema: JsonSchema): boolean {
  const { type = 'object', properties, patternProperties } = schema
  return [type].flat().includes('object') && properties === undefined && patternProperties === undefined &&
    schema.$ref === undefined && branches(schema).length === 0 && openings(schema).length === 0
}

function children ({ named, others, items }: DateTimes): DateTimes[] {
  return [...named.values(), others, items].filter(child => child !== undefined)
}

/** Whether any text that the schemas take is a date-time. */
function isUnambiguous (schemas: readonly JsonSchema[]): boolean {
  const texts = schemas.filter(takesText)
  return texts.length > 0 && texts.every(({ format }) => format === 'date-time')
}

function takesText (schema: JsonSchema): boolean {
  const { type, const: constant, enum: values } = schema
  if (type !== undefined) return [type].flat().includes('string')
  if (constant !== undefined) return typeof constant === 'string'
  if (Array.isArray(values)) return values.some(value => typeof value === 'string')
  // One that only refers to others, or joins them, says nothing of its own.
  return schema.$ref === undefined && branches(schema).length === 0
}

/** The value with every date-time in its canonical form; the same value if it has them so already. What is no date-time is left to the validator. */
export function canonicalDates<Value> (value: Value, dates: DateTimes | undefined): Value {
  return dates === undefined ? value : rewritten(value, dates) as Value
}

type Json = Record<string, unknown>

function rewritten (value: unknown, dates: DateTimes): unknown {
  if (typeof value === 'string') return dates.isDateTime ? canonicalDate(value) : value
  if (Array.isArray(value)) return dates.items === undefined ? value : rewrittenItems(value, dates.items)
  return isSchema(value) ? rewrittenObject(value, dates) : value
}

function rewrittenItems (items: readonly unknown[], dates: DateTimes): readonly unknown[] {
  const written = items.map(item => rewritten(item, dates))
  return written.some((item, index) => item !== items[index]) ? written : items
}

function rewrittenObject (value: Json, { named, others }: DateTimes): Json {
  let written = value
  const set = (name: string, dates: DateTimes): void => {
    const inner = rewritten(value[name], dates)
    if (inner === value[name]) return
    if (written === value) written = { ...value }
    written[name] = inner
  }
  for (const [name, dates] of named) if (Object.hasOwn(value, name)) set(name, dates)
  if (others !== undefined) for (const name of Object.keys(value)) if (!named.has(name)) set(name, others)
  return written
}

/** A text that is no date-time, or is out of range, stays as it is. */
function canonicalDate (text: string): string {
  const instant = toInstant(text)
  // It also reads what databases write; the format is narrower.
  return instant === undefined || instant === text || !isDateTime(text) ? text : instant
}

/** The filter, which compares date-times in their canonical form. */
export function canonicalFilter (filter: Filter, dates: DateTimes | undefined): Filter {
  if (dates === undefined) return filter
  if ('all' in filter) return { all: filter.all.map(part => canonicalFilter(part, dates)) }
  if ('any' in filter) return { any: filter.any.map(part => canonicalFilter(part, dates)) }
  if ('not' in filter) return { not: canonicalFilter(filter.not, dates) }
  return canonicalCondition(filter, dates)
}

function canonicalCondition (condition: Condition, dates: DateTimes): Condition {
  if (condition.is === 'like' || condition.is === 'null') return condition
  const place = condition.property.split('.').reduce<DateTimes | undefined>((node, name) => node?.named.get(name) ?? node?.others, dates)
  if (place?.isDateTime !== true) return condition
  return canonicalOperand(condition)
}

/** The condition on a date-time. */
export function canonicalOperand (condition: Condition): Condition {
  if (condition.is === 'like' || condition.is === 'null') return condition
  const { value } = condition
  // Several values stay several, and one stays one, as the operator has it.
  return { ...condition, value: Array.isArray(value) ? value.map(canonicalScalar) : canonicalScalar(value as Scalar) } as Condition
}

function canonicalScalar (value: Scalar): Scalar {
  return typeof value === 'string' ? canonicalDate(value) : value
}
